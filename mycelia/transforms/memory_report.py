"""Memory reports: the peak memory of a compiled function, by operator and source line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mycelia._engine.compiler.passes.memory_estimate import readers_of, written_bytes
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import TUPLE, Item, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.runtime.executor import Executable
from mycelia.transforms.show import trace_for

_MEGABYTE = 1 << 20
_ROWS = 12


@dataclass(frozen=True)
class LiveValue:
    """A value that is live at the memory peak: its size and where it comes from."""

    bytes: int
    operator: str
    type: str
    span: Span | None

    @property
    def line(self) -> str:
        return "" if self.span is None else f"{self.span.file}:{self.span.line} {self.span.text}"


@dataclass(frozen=True)
class MemoryReport:
    """The memory of a program in bytes, as XLA allocates it, and the values live at the peak.

    `held` comes from the graph: the values that are live at the peak. XLA reuses buffers where it
    can, so `temporary` may be less than their sum.
    """

    name: str
    arguments: int  # parameters, optimizer state, and inputs
    results: int  # without those that reuse the buffers of arguments
    temporary: int  # intermediate values
    at: str  # the operator that runs at the peak
    held: tuple[LiveValue, ...]  # largest first

    @property
    def peak(self) -> int:
        return self.arguments + self.results + self.temporary

    def __str__(self) -> str:
        parts = ("peak", "arguments", "results", "temporary")
        sizes = ", ".join(f"{part} {getattr(self, part) / _MEGABYTE:.1f} MB" for part in parts)
        lines = [f"{self.name}: {sizes}", f"  peak at {self.at}:"]
        for held in self.held[:_ROWS]:
            lines.append(f"  {held.bytes / _MEGABYTE:9.1f} MB  {held.operator} {held.type}")
            lines += [f"                {held.line.strip()}"] if held.line else []
        rest = self.held[_ROWS:]
        if rest:
            total = sum(h.bytes for h in rest) / _MEGABYTE
            lines.append(f"  {total:9.1f} MB  in {len(rest)} smaller values")
        return "\n".join(lines)


def memory_report(fn: Callable[..., Any], *args: Any) -> MemoryReport:
    """Report the memory that `fn` (a function or Cell) needs for these arguments.

    `fn` is compiled, but not run.
    """
    found = trace_for(fn, args)
    leaves = [value for value, _ in found.arguments.leaves((args, {}))]
    planned = Executable(found.read.program).memory(leaves)
    at, held = _most_held(found.read.program.graph)
    return MemoryReport(
        found.read.program.name,
        planned.argument_size_in_bytes,
        planned.output_size_in_bytes - planned.alias_size_in_bytes,
        planned.temp_size_in_bytes,
        at,
        tuple(sorted(held, key=lambda h: -h.bytes)),
    )


def _most_held(graph: Graph) -> tuple[str, list[LiveValue]]:
    """The operator of a graph at which live values need the most memory, and those values."""
    nodes = [n for n in ordered(graph) if isinstance(n, Apply)]
    last = _last_uses(nodes)
    readers = readers_of(nodes)
    needs = {node: written_bytes(node, readers) for node in nodes}
    alive: dict[Apply, int] = {}
    most, at = -1, None
    best: dict[Apply, int] = {}
    for place, node in enumerate(nodes):
        if needs[node]:
            alive[node] = needs[node]
        if (total := sum(alive.values())) > most:
            most, best, at = total, dict(alive), node
        alive = {n: b for n, b in alive.items() if last[n] > place}
    held = [LiveValue(b, primitive_of(n).name, _text(n.type), n.span) for n, b in best.items()]
    return ("nothing" if at is None else primitive_of(at).name), held


def _last_uses(nodes: list[Apply]) -> dict[GraphNode, int]:
    """The index of the last node that reads each value; items of a tuple keep it alive."""
    last: dict[GraphNode, int] = {node: place for place, node in enumerate(nodes)}
    for place in reversed(range(len(nodes))):
        node = nodes[place]
        until = last[node] if primitive_of(node) is TUPLE or _is_item(node) else place
        for used in node.args:
            last[used] = max(last.get(used, 0), until)
    return last


def _is_item(node: GraphNode) -> bool:
    return type(primitive_of(node)) is Item


def _text(type_: Any) -> str:
    """The text of a type, or of the first of several."""
    return f"{_text(type_[0])}, ..." if isinstance(type_, tuple) and type_ else str(type_)
