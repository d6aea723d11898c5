"""Inspecting graphs: `show` prints what a function or cell is traced into."""

from mycelia.transforms.show import show as show
