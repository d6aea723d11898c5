"""MindSpore's import path for `reshard`."""

from mycelia.ops.collective.redistribute import reshard as reshard
