"""The stages of a compilation as files: text, dot and pictures of the graphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from mycelia.core import settings
from mycelia.core.files import write_atomically
from mycelia.ir.draw import dot, svg
from mycelia.ir.graph import Graph
from mycelia.ir.text import show as show_graph

_NO_FILE_NAME = re.compile(r"[^\w.-]+")


def write_stages(name: str, number: int, stages: Sequence[tuple[str, Graph]]) -> None:
    """Write the graphs of one compilation, as `set_context(save_graphs=...)` asks for.

    Level 1 writes the last stage only, 2 all of them, 3 all with pictures; the last stage always
    has a picture. Stages are copies (`ir/snapshot.py`): later passes change graphs in place.
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
