"""Plots of a search, drawn with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.tune.records import FINISHED, STOPPED, Record

_COLOURS = {FINISHED: "#4c72b0", STOPPED: "#bbbbbb"}
Trials = Sequence[Record]


def draw(trials: Trials, heading: dict[str, Any], path: Path) -> Path:
    """Plot values by trial, with the best so far, and values by setting."""
    figure = _matplotlib().Figure
    names = list(heading["space"])
    columns = min(3, 1 + len(names))
    rows = math.ceil((1 + len(names)) / columns)
    drawing = figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    panels = drawing.subplots(rows, columns, squeeze=False).ravel()
    _scatter(panels[0], trials, "trial", lambda record: record.number)
    _best_so_far(panels[0], trials, max if heading["direction"] == "maximize" else min)
    for panel, name in zip(panels[1:], names, strict=False):
        _over_setting(panel, trials, name, heading["space"][name])
    for panel in panels[1 + len(names) :]:
        panel.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing.savefig(path, dpi=120)
    return path


def _matplotlib() -> Any:
    """Import matplotlib's figures, or raise an error that names the extra."""
    if find_spec("matplotlib") is None:
        raise problem(
            ImportError,
            "Results.plot: needs matplotlib, which is not installed",
            fix="pip install 'mycelia[tune]'",
        )
    return import_module("matplotlib.figure")  # not at the top: it is an optional dependency


def _scatter(panel: Any, trials: Trials, title: str, place: Callable[[Any], Any]) -> None:
    for state, colour in _COLOURS.items():
        shown = [r for r in trials if r.state == state and math.isfinite(r.value or 0.0)]
        places, values = [place(r) for r in shown], [r.value for r in shown]
        panel.scatter(places, values, s=18, color=colour, label=state)
    panel.set_xlabel(title)
    panel.set_ylabel("value")


def _best_so_far(panel: Any, trials: Trials, better: Callable[..., float]) -> None:
    places, course, best = [], [], None
    for record in trials:
        if record.state == FINISHED and record.value is not None:
            best = record.value if best is None else better(best, record.value)
            places.append(record.number)
            course.append(best)
    panel.plot(places, course, color="#dd8452", drawstyle="steps-post", label="best so far")
    panel.legend(fontsize="small")


def _over_setting(panel: Any, trials: Trials, name: str, kind: dict[str, Any]) -> None:
    if "options" in kind:
        _scatter(panel, trials, name, lambda r: str(_name(r.settings[name])))
        return
    _scatter(panel, trials, name, lambda r: r.settings[name])
    if kind["log"]:
        panel.set_xscale("log")


def _name(setting: Any) -> Any:
    return getattr(setting, "__qualname__", setting)
