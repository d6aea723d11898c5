"""Drawing a pipeline as text and as SVG."""

from __future__ import annotations

from html import escape
from typing import Any

from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.runtime.row_errors import name_of

_WIDTH, _HEIGHT, _GAP = 300, 46, 22
_SHORT = 44
_SKIPPED = {"num_parallel_workers", "sampler", "operations", "number", "cache"}


def as_text(node: DatasetNode, depth: int = 0) -> str:
    """One line per step, the last step first."""
    line = "  " * depth + node.op_type + (f" ({facts})" if (facts := _facts(node)) else "")
    return "\n".join([line, *(as_text(child, depth + 1) for child in node.children)])


def as_svg(node: DatasetNode) -> str:
    """A box per step, with the sources on top."""
    boxes: list[tuple[float, int, DatasetNode]] = []
    lines: list[str] = []
    leaves = _place(node, 0, _depth(node), boxes, lines)
    height = (_depth(node) + 1) * (_HEIGHT + _GAP)
    body = "".join(lines) + "".join(_box(*box) for box in boxes)
    width = max(leaves, 1) * (_WIDTH + _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'font-family="sans-serif" font-size="13">{body}</svg>'
    )


def _place(
    node: DatasetNode,
    left: int,
    level: int,
    boxes: list[tuple[float, int, DatasetNode]],
    lines: list[str],
) -> int:
    """Position a node below its children; returns how many columns they occupy."""
    filled = 0
    middles = []
    for child in node.children:
        filled += _place(child, left + filled, level - 1, boxes, lines)
        middles.append(boxes[-1][0])
    middle = sum(middles) / len(middles) if middles else float(left)
    y = level * (_HEIGHT + _GAP)
    for above in middles:
        lines.append(
            f'<line x1="{_centre(above)}" y1="{y - _GAP}" x2="{_centre(middle)}" y2="{y}" '
            'stroke="#666"/>'
        )
    boxes.append((middle, y, node))
    return max(filled, 1)


def _centre(column: float) -> float:
    return column * (_WIDTH + _GAP) + _WIDTH / 2


def _box(column: float, y: int, node: DatasetNode) -> str:
    x = column * (_WIDTH + _GAP)
    facts = escape(_shortened(_facts(node)))
    return (
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#eef3fb" '
        f'stroke="#4a6fa5"/><text x="{x + 10}" y="{y + 19}" font-weight="bold">'
        f'{escape(node.op_type)}</text><text x="{x + 10}" y="{y + 37}">{facts}</text>'
    )


def _depth(node: DatasetNode) -> int:
    return 1 + max((_depth(child) for child in node.children), default=-1)


def _facts(node: DatasetNode) -> str:
    given: dict[str, Any] = {
        key: value
        for key, value in node.parameters().items()
        if key not in _SKIPPED and value not in (None, (), {}, False)
    }
    steps = getattr(node, "operations", ())
    names = [", ".join(map(name_of, steps))] if steps else []
    return ", ".join(names + [f"{key}={_shortened(repr(value))}" for key, value in given.items()])


def _shortened(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"
