"""Bar charts of results, drawn with matplotlib if it is installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mycelia.benchmark.columns import OURS
from mycelia.benchmark.table import NOISY, ratio

INSTALL = "pip install 'mycelia[benchmark]'"
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#da8bc3")
TICKS = [digit * 10.0**power for power in range(-3, 5) for digit in (1, 2, 5)]


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Write chart.svg and chart.png, unless no peer was measured; returns the files."""
    bars = {
        column: values
        for column in results["columns"]
        if column != OURS and any(values := _relative(results, column))
    }
    if not bars:
        return []
    names = [_label(name, row["cells"]) for name, row in results["rows"].items()]
    drawing = import_module("matplotlib.figure")  # not at the top: it is an optional dependency
    figure = drawing.Figure(figsize=(10, 1.5 + 0.6 * len(names)), layout="constrained")
    axes = figure.add_subplot()
    _fill(axes, names, bars)
    figure.legend(loc="outside lower center", ncols=3, fontsize="small")
    paths = [folder / "chart.svg", folder / "chart.png"]
    for path in paths:
        figure.savefig(path, dpi=150)
    return paths


def _label(name: str, cells: dict[str, Any]) -> str:
    """The name of a row, marked if other programs ran during its measurement."""
    noisy = any(cell.get("clean") == 0 for cell in cells.values())
    return f"{NOISY}{name}" if noisy else name


def _relative(results: dict[str, Any], column: str) -> list[float]:
    """A column's times as multiples of Mycelia's; 0 for missing ones."""
    ratios = [ratio(row["cells"], column) for row in results["rows"].values()]
    return [1 / r if r else 0.0 for r in ratios]


def _fill(axes: Any, names: list[str], bars: dict[str, list[float]]) -> None:
    height = 0.8 / len(bars)
    for i, (column, values) in enumerate(bars.items()):
        positions = [row + (i - (len(bars) - 1) / 2) * height for row in range(len(names))]
        drawn = [(at, value) for at, value in zip(positions, values, strict=True) if value]
        axes.barh(
            [at for at, _ in drawn],
            [value - 1 for _, value in drawn],
            height,
            left=1,
            label=column,
            color=COLOURS[i % len(COLOURS)],
        )
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("time as a multiple of Mycelia's; right of the line, Mycelia is faster")
    axes.set_title("Mycelia and its peers")
