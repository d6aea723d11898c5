"""Dumps of the IR after each compilation stage: text, dot, and SVG files (`save_graphs`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mycelia._engine.core import settings
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.graph_drawing import dot, svg
from mycelia._engine.ir.printer import show as show_graph

_NO_FILE_NAME = re.compile(r"[^\w.-]+")


def write_stages(name: str, number: int, stages: Sequence[tuple[str, Graph]]) -> None:
    """Write the graphs of one compilation to files, as `set_context(save_graphs=...)` requests.

    Level 1 writes the last stage only, 2 writes all stages, and 3 adds a picture to each; the last
    stage always has a picture. Stages are copies (`_engine/ir/program_copy.py`), because later
    passes change graphs in place.
    """
    level = settings.current().save_graphs
    if level == 0:
        return
    folder = Path(settings.current().save_graphs_path) / "graphs"
    last = len(stages) - 1
    for order, (stage, graph) in enumerate(stages):
        if order < last and level < 2:
            continue
        stem = _NO_FILE_NAME.sub("_", f"{name}_{number}_{order}_{stage}")
        _write(folder / f"{stem}.ir", show_graph(graph, lines=True) + "\n")
        _write(folder / f"{stem}.dot", dot(graph))
        if order == last or level == 3:
            _write(folder / f"{stem}.svg", svg(graph))


def _write(path: Path, text: str) -> None:
    write_atomically(path, [text.encode()])
