"""How the cost of training grows with depth, batch and width, in graph mode.

`python benchmarks/growth.py` trains GPTs, each point in processes of its own, and prints for each
axis a table and growth exponents: 1 means that twice as much costs twice the time. `growth.json`,
and `growth.svg` and `growth.png` if matplotlib is there, go into the folder `--out`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import mycelia
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.benchmark.chart import COLOURS, INSTALL, TICKS, can_draw
from mycelia.benchmark.interleave import IDLE_PATIENCE, OTHERS, others
from mycelia.benchmark.processor import busy_seconds, wait_until_idle
from mycelia.benchmark.session import machine
from mycelia.benchmark.table import NOISY
from mycelia.benchmark.worker import SCRIPTS
from mycelia.benchmark.workloads import ADAM

WORKER = Path(__file__).with_name("growth_worker.py")
DEPTHS, BATCHES, WIDTHS = (2, 4, 8, 16, 24, 48), (1, 2, 4, 8, 16, 32, 64), (64, 128, 256, 512)
QUICK_DEPTHS, QUICK_BATCHES = (2, 4), (1, 2)
STEPS, QUICK_STEPS = 15, 3
LENGTH, VOCABULARY, HEAD = 64, 1000, 32  # words, different words, width of a head
PLAIN, SCANNED = "plain", "scanned"  # blocks as they are, and with `lazy_inline`
TOLERANCE = 1e-4  # relative, of the first loss of both ways
PASSES = 3  # each product of the forward pass has two in the backward pass

Sample = dict[str, float]
Results = dict[str, Any]


@dataclass(frozen=True)
class Point:
    """One net to train, one batch at a time."""

    axis: str  # what is varied: depth, batch or width
    depth: int = 4
    batch: int = 4
    width: int = 128

    @property
    def value(self) -> int:
        """The place on the axis."""
        return getattr(self, self.axis)

    @property
    def sizes(self) -> dict[str, Any]:
        """What the worker builds it from."""
        return ADAM | {
            "width": self.width,
            "layers": self.depth,
            "heads": self.width // HEAD,
            "length": LENGTH,
            "vocabulary": VOCABULARY,
            "classes": VOCABULARY,
            "inputs": [self.batch, LENGTH],
            "labels": self.batch * LENGTH,
        }

    @property
    def multiplications(self) -> int:
        """Those of all matrix products of a step: layers, attention scores and mixes, head."""
        layer = 12 * self.width**2 + 2 * LENGTH * self.width
        return PASSES * self.batch * LENGTH * (self.depth * layer + self.width * VOCABULARY)


Samples = dict[tuple[Point, str], list[Sample]]


def main() -> None:
    options = arguments()
    points = chosen_points(options)
    samples: Samples = {(point, way): [] for point in points for way in ways(point)}
    with user_nets() as environment:
        for number in range(options.rounds):
            for (point, way), found in samples.items():
                say(f"round {number + 1}: {point.axis} {point.value}, {way}")
                found.append(run(point, way, options.steps, environment))
            check_same_losses(samples)
            results = summary(samples, options)
            keep(results, options.out)
    print(markdown(results))
    written = [options.out / "growth.json", *draw(results, options.out)]
    say(f"written: {', '.join(map(str, written))}")
    if not can_draw():
        say(f"the plots need matplotlib: {INSTALL}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="processes for each point (3)")
    parser.add_argument(
        "--out", type=Path, default=Path("benchmark-output"), help="folder (benchmark-output)"
    )
    parser.add_argument("--depths", nargs="+", type=int, default=DEPTHS, help="numbers of blocks")
    parser.add_argument(
        "--quick", action="store_true", help="two depths, two batches, few steps: a smoke test"
    )
    options = parser.parse_args()
    if options.rounds < 1 or min(options.depths) < 1:
        parser.error("--rounds and --depths must be 1 or more")
    options.steps = QUICK_STEPS if options.quick else STEPS
    return options


def chosen_points(options: argparse.Namespace) -> list[Point]:
    depths = QUICK_DEPTHS if options.quick else sorted(set(options.depths))
    batches, widths = (QUICK_BATCHES, ()) if options.quick else (BATCHES, WIDTHS)
    points = [Point("depth", depth=depth) for depth in depths]
    points += [Point("batch", batch=batch) for batch in batches]
    return points + [Point("width", width=width) for width in widths]


def ways(point: Point) -> tuple[str, ...]:
    """Both ways to write blocks, where compile times are compared."""
    both = point.axis == "depth" and hasattr(mycelia, "lazy_inline")
    return (PLAIN, SCANNED) if both else (PLAIN,)


def say(text: str) -> None:
    """Progress, apart from the tables."""
    print(text, file=sys.stderr, flush=True)


# ---- measuring --------------------------------------------------------------------------------


@contextmanager
def user_nets() -> Iterator[dict[str, str]]:
    """The environment of workers that find a copy of the nets of `mycelia benchmark`.

    Nets inside the package would be run as parts of the framework, not read as a user's.
    """
    with tempfile.TemporaryDirectory(prefix="mycelia-benchmark-") as folder:
        shutil.copytree(SCRIPTS, Path(folder) / "workers")
        path = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        yield os.environ | {"PYTHONPATH": path, "MS_COMPILER_CACHE_ENABLE": "0"}


def run(point: Point, way: str, steps: int, environment: dict[str, str]) -> Sample:
    """What one new process measures, and the cores that other programs used meanwhile."""
    command = [sys.executable, str(WORKER), way, str(steps), json.dumps(point.sizes)]
    wait_until_idle(IDLE_PATIENCE)
    busy, own, started = busy_seconds(), processor_seconds(), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"the worker of {point.axis} {point.value}, {way}, failed")
    used = {"processor": processor_seconds() - own, "seconds": time.perf_counter() - started}
    sample = json.loads(done.stdout.splitlines()[-1])
    return sample | {"others": others(busy, busy_seconds(), used)}


def processor_seconds() -> float:
    """Processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def check_same_losses(samples: Samples) -> None:
    """Both ways of a point must train the same net from the same weights."""
    for (point, way), found in samples.items():
        expected, loss = samples[point, PLAIN][-1]["loss"], found[-1]["loss"]
        if abs(loss - expected) > TOLERANCE * abs(expected):
            raise SystemExit(f"depth {point.value}: {PLAIN} has loss {expected}, {way} {loss}")


# ---- results ----------------------------------------------------------------------------------


def summary(samples: Samples, options: argparse.Namespace) -> Results:
    """Medians of all points, and how they grow."""
    axes: dict[str, list[dict[str, Any]]] = {}
    for point in dict.fromkeys(point for point, _ in samples):
        cells = {way: medians(samples[point, way]) for way in ways(point)}
        row = {"value": point.value, "multiplications": point.multiplications, "ways": cells}
        axes.setdefault(point.axis, []).append(row)
    return {
        "machine": machine(),
        "settings": {"rounds": options.rounds, "steps": options.steps},
        "axes": {name: {"points": rows, "exponents": growth(rows)} for name, rows in axes.items()},
    }


def medians(found: list[Sample]) -> dict[str, Any]:
    """Medians of the samples of a quiet machine, or of all if there are none."""
    quiet = [sample for sample in found if sample["others"] < OTHERS]
    cell = {part: median(s[part] for s in quiet or found) for part in found[0]}
    return cell | {"samples": len(found), "quiet": len(quiet)}


def growth(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Exponents of both times in what is varied, and of the step in the multiplications."""
    values = [row["value"] for row in rows]
    work = [row["multiplications"] for row in rows]
    found = {}
    for way in rows[0]["ways"]:
        step = [row["ways"][way]["step"] for row in rows]
        compilation = [row["ways"][way]["compile"] for row in rows]
        found[way] = {
            "step": exponent(values, step),
            "compile": exponent(values, compilation),
            "step by multiplications": exponent(work, step),
        }
    return found


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float | None:
    """The slope of the upper half of the points, both sides as logarithms; None for one point."""
    upper = max(2, (len(sizes) + 1) // 2)
    if len(sizes) < 2 or min(costs[-upper:]) <= 0:
        return None
    slope, _ = np.polyfit(np.log(sizes[-upper:]), np.log(costs[-upper:]), 1)
    return float(slope)


def keep(results: Results, folder: Path) -> None:
    """Write growth.json, whole or not at all."""
    write_atomically(folder / "growth.json", [(json.dumps(results, indent=1) + "\n").encode()])


# ---- tables -----------------------------------------------------------------------------------


def markdown(results: Results) -> str:
    """A table for each axis, with exponents in its last line."""
    tables = [table(name, axis) for name, axis in results["axes"].items()]
    note = (
        "The last line of a table is the growth exponent: the slope of a line through the upper "
        "half of the points, both sides as logarithms; 1 is growth in proportion. Multiplications "
        f"are those of all matrix products of a step. `{NOISY}`: other programs ran."
    )
    return "\n\n".join([*tables, note])


def table(name: str, axis: dict[str, Any]) -> str:
    ways = list(axis["points"][0]["ways"])
    heads = [f"step, ms ({way})" for way in ways] + [f"compile, s ({way})" for way in ways]
    heads += ["multiplications", "ps a multiplication"]
    lines = [f"| {name} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for row in axis["points"]:
        lines.append(f"| {row['value']} | {' | '.join(cells(row))} |")
    exponents = [axis["exponents"][way] for way in ways]
    last = [shown(e["step"]) for e in exponents] + [shown(e["compile"]) for e in exponents]
    last += ["", f"step by multiplications: {shown(exponents[0]['step by multiplications'])}"]
    return "\n".join([*lines, f"| exponent | {' | '.join(last)} |"])


def cells(row: dict[str, Any]) -> list[str]:
    """One line of a table; the last cell is of plain blocks."""
    ways = row["ways"].values()
    marks = [NOISY if way["quiet"] == 0 else "" for way in ways]
    steps = [f"{mark}{way['step'] * 1e3:.2f}" for mark, way in zip(marks, ways)]
    compilations = [f"{mark}{way['compile']:.2f}" for mark, way in zip(marks, ways)]
    each = row["ways"][PLAIN]["step"] / row["multiplications"] * 1e12
    return [*steps, *compilations, f"{row['multiplications']:.3g}", f"{each:.1f}"]


def shown(slope: float | None) -> str:
    return "-" if slope is None else f"{slope:.2f}"


# ---- plots ------------------------------------------------------------------------------------


def draw(results: Results, folder: Path) -> list[Path]:
    """Write growth.svg and growth.png, if matplotlib is there; gives the files."""
    if not can_draw():
        return []
    drawing = import_module("matplotlib.figure")  # not at the top: it is an optional dependency
    plots = [(name, "step") for name in results["axes"]]
    plots.insert(1, ("depth", "compile"))
    figure = drawing.Figure(figsize=(8, 3.2 * ((len(plots) + 1) // 2)), layout="constrained")
    for number, (name, part) in enumerate(plots, 1):
        plot(figure.add_subplot((len(plots) + 1) // 2, 2, number), name, part, results)
    written = []
    for kind in ("svg", "png"):
        content = BytesIO()
        figure.savefig(content, format=kind, dpi=150)
        written.append(folder / f"growth.{kind}")
        write_atomically(written[-1], [content.getvalue()])
    return written


def plot(axes: Any, name: str, part: str, results: Results) -> None:
    """One small plot: measured times, and a dashed line for growth in proportion."""
    rows, exponents = results["axes"][name]["points"], results["axes"][name]["exponents"]
    values = [row["value"] for row in rows]
    for colour, way in zip(COLOURS, rows[0]["ways"]):
        times = [row["ways"][way][part] for row in rows]
        label = f"{way}: exponent {shown(exponents[way][part])}"
        axes.plot(values, times, "o-", color=colour, label=label, markersize=4)
    work = values if part == "compile" else [row["multiplications"] for row in rows]
    last = rows[-1]["ways"][PLAIN][part]
    guide = f"in proportion to {'depth' if part == 'compile' else 'multiplications'}"
    axes.plot(values, [last * w / work[-1] for w in work], "--", color="grey", label=guide)
    axes.set(xscale="log", yscale="log", xlabel=name, ylabel="seconds")
    axes.set_xticks(values, [str(value) for value in values])
    low, high = axes.get_ylim()
    ticks = [tick for tick in TICKS if low <= tick <= high]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_title("time to compile" if part == "compile" else "time of a training step")
    axes.legend(fontsize="small")


if __name__ == "__main__":
    main()
