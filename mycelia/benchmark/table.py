"""Results as Markdown tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia.benchmark.columns import OURS

Results = dict[str, Any]
NOISY = "~"  # marks times measured while other programs ran


def markdown(results: Results) -> str:
    """The whole page."""
    notes = Notes()
    parts = [
        "# Benchmark",
        _about(results),
        "## Time, milliseconds",
        f"In parentheses: Mycelia's time divided by this column's; below 1, Mycelia is faster. "
        f"`{NOISY}`: other programs ran.",
        _grid(results, notes, _time, summary=_ratio_of("milliseconds")),
        "## First call, seconds",
        "Tracing, compiling, and running for the first time, without a disk cache.",
        _grid(results, notes, _number("first_call", "{:.2f}"), summary=_ratio_of("first_call")),
        "## Peak memory of the process, MB",
        _grid(results, notes, _number("memory", "{:.0f}"), summary=_ratio_of("memory")),
        "The last line of each table is the geometric mean of Mycelia's value divided by the "
        "column's, over the rows where both have one.",
        "## Workloads",
        _workloads(results),
        "## Columns",
        _columns(results),
        notes.text(),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def geometric_mean(results: Results, column: str, key: str) -> tuple[float, int] | None:
    """The geometric mean of Mycelia's values divided by a column's, and the number of rows."""
    ratios = [r for row in results["rows"].values() if (r := ratio(row["cells"], column, key))]
    if not ratios:
        return None
    return math.exp(sum(map(math.log, ratios)) / len(ratios)), len(ratios)


def ratio(cells: dict[str, Any], column: str, key: str = "milliseconds") -> float | None:
    """Mycelia's value divided by a column's, if both have one."""
    ours, theirs = cells.get(OURS, {}).get(key), cells.get(column, {}).get(key)
    return ours / theirs if ours and theirs else None


class Notes:
    """Footnotes: why cells are empty."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def mark(self, text: str) -> str:
        return f"[{self.numbers.setdefault(text, len(self.numbers) + 1)}]"

    def text(self) -> str:
        lines = [f"{number}. {_one_line(text)}" for text, number in self.numbers.items()]
        return "\n".join(["## Why cells are empty", "", *lines]) if lines else ""


def _about(results: Results) -> str:
    machine, settings = results["machine"], results["settings"]
    problems = [
        f"**The columns of {name} compute different things: {row['problem']}.**"
        for name, row in results["rows"].items()
        if row["problem"]
    ]
    text = (
        f"Suite {settings['suite']}: columns interleaved in {settings['rounds']} round(s) of "
        f"{settings['seconds']:g} s, on {machine['processor']} ({machine['cores']} cores), "
        f"{machine['system']}, {machine['date']}. Times of different sessions are not comparable."
    )
    return "\n\n".join([text, *problems])


def _grid(
    results: Results,
    notes: Notes,
    show: Callable[[dict[str, Any], str], str],
    summary: Callable[[Results, str], str],
) -> str:
    columns = list(results["columns"])
    lines = [["workload", *columns]]
    for name, row in results["rows"].items():
        lines.append([name, *[_cell(row["cells"], column, notes, show) for column in columns]])
    lines.append(["**geometric mean**", *[summary(results, column) for column in columns]])
    head, *body = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([head, "|---|" + "---:|" * len(columns), *body])


def _cell(
    cells: dict[str, Any],
    column: str,
    notes: Notes,
    show: Callable[[dict[str, Any], str], str],
) -> str:
    cell = cells.get(column)
    if cell is None:
        return "-"
    if "error" in cell:
        return notes.mark(f"{column}: {cell['error']}")
    return show(cells, column)


def _time(cells: dict[str, Any], column: str) -> str:
    cell = cells[column]
    noisy = NOISY if not cell["clean"] else ""
    text = f"{noisy}{significant(cell['milliseconds'])}"
    relative = ratio(cells, column)
    return text if relative is None or column == OURS else f"{text} ({relative:.2f})"


def significant(value: float) -> str:
    """Three significant digits, without an exponent."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value > 0 else "0"


def _number(key: str, form: str) -> Callable[[dict[str, Any], str], str]:
    return lambda cells, column: form.format(cells[column][key])


def _ratio_of(key: str) -> Callable[[Results, str], str]:
    def show(results: Results, column: str) -> str:
        mean = geometric_mean(results, column, key)
        return "" if mean is None or column == OURS else f"**{mean[0]:.2f}** of {mean[1]}"

    return show


def _workloads(results: Results) -> str:
    lines = ["| workload | what | one run | parameters |", "|---|---|---|---:|"]
    for name, row in results["rows"].items():
        counts = {c["parameters"] for c in row["cells"].values() if "parameters" in c}
        shown = ", ".join(f"{count:,}" for count in sorted(counts))
        lines.append(f"| {name} | {row['title']} | {row['run']} | {shown} |")
    return "\n".join(lines)


def _columns(results: Results) -> str:
    lines = ["| column | what | version | malloc |", "|---|---|---|---|"]
    for name, column in results["columns"].items():
        cells = [row["cells"].get(name, {}) for row in results["rows"].values()]
        versions = sorted({c["version"] for c in cells if "version" in c})
        mallocs = sorted({c["malloc"] for c in cells if "malloc" in c})
        missing = f"not measured: {column['missing']}" if column["missing"] else ""
        what = missing or column["about"]
        lines.append(f"| {name} | {what} | {', '.join(versions)} | {', '.join(mallocs)} |")
    return "\n".join(lines)


def _one_line(text: str, limit: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
