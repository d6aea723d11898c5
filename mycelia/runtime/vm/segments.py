"""Segments: the nodes between two decisions of Python, compiled and run as one program each."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.core.pending import settle
from mycelia.ir.control import primitive_of
from mycelia.ir.node import Apply, Constant, Node
from mycelia.ir.primitive import Primitive, tagged
from mycelia.runtime.index_checks import Marked, Sites, first_failure, marked, note
from mycelia.runtime.ranks import compile_with
from mycelia.runtime.watching import watched
from mycelia.runtime.xla.compile import Programs, kinds_of, without_engine_frames
from mycelia.runtime.xla.lower import apply_node

_PROGRAMS = Programs()


class Segments:
    """The numbers known so far; asking for others compiles and runs what they need."""

    def __init__(self) -> None:
        self.values: dict[Node, Any] = {}
        self.runs = 0

    def force(self, node: Node) -> np.ndarray:
        """The numbers behind a node, for Python to decide by: indices up to here must be right."""
        found = np.asarray(self.arrays([node])[0])
        settle()
        return found

    def arrays(self, nodes: list[Node]) -> list[Any]:
        """The arrays behind some nodes, made by one program if they are not there yet."""
        missing = [n for n in nodes if not isinstance(n, Constant) and n not in self.values]
        if missing:
            self._run(missing)
        return [n.value if isinstance(n, Constant) else self.values[n] for n in nodes]

    def _run(self, wanted: list[Node]) -> None:
        segment = _Segment(wanted, self.values)
        key = (segment.key, kinds_of(segment.inputs))
        program = _PROGRAMS.use(key)
        if program is None:
            operators = [op for op, _ in segment.plan]
            program = compile_with(operators, segment.run)
            _PROGRAMS.keep(key, program)
        try:
            found = watched("segment", program, (segment.inputs,))
        except Exception as error:
            raise without_engine_frames(error) from None
        if segment.checks.count:
            note(segment.checks, found[-1])
            found = found[:-1]
        self.values.update(zip(segment.nodes, found, strict=True))
        self.runs += 1


class _Segment:
    """Nodes to compute, inputs first, numbered so that equal segments have equal keys."""

    def __init__(self, wanted: list[Node], known: dict[Node, Any]) -> None:
        self.inputs: list[Any] = []
        self.nodes: list[Apply] = []
        self.plan: list[tuple[Any, tuple[Any, ...]]] = []
        places: dict[Node, Any] = {}
        stack: list[tuple[Node, bool]] = [(n, False) for n in reversed(wanted)]
        while stack:
            node, done = stack.pop()
            if node in places:
                continue
            if node in known:
                places[node] = ("in", len(self.inputs))
                self.inputs.append(known[node])
            elif isinstance(node, Constant):
                places[node] = self._constant(node)
            elif not isinstance(node, Apply):
                raise RuntimeError(f"{node!r} has no value in this segment")
            elif done:
                places[node] = ("node", len(self.nodes))
                self.nodes.append(node)
                self.plan.append((primitive_of(node), tuple([places[a] for a in node.args])))
            else:
                stack.append((node, True))
                stack.extend((a, False) for a in reversed(node.args) if a not in places)
        self.checks = Sites([self.nodes])
        self.key = (self.checks.count, *[(_identity(op), args) for op, args in self.plan])

    def _constant(self, node: Constant) -> Any:
        if node.type is not None:
            self.inputs.append(node.value)
            return ("in", len(self.inputs) - 1)
        return ("static", tagged(node.value), _Held(node.value))

    def run(self, inputs: list[Any]) -> list[Any]:
        """The values of all nodes, and which check failed, if there are checks."""
        found: list[Any] = []
        wrong: list[Marked] = []
        for node, (op, args) in zip(self.nodes, self.plan, strict=True):
            values = []
            for kind, place, *held in args:
                if kind == "static":
                    values.append(held[0].value)
                else:
                    values.append(inputs[place] if kind == "in" else found[place])
            wrong += marked(self.checks.by_node.get(node, ()), values)
            found.append(apply_node(op, values))
        return [*found, first_failure(wrong)] if self.checks.count else found


class _Held:
    """A static value beside its key: it takes no part in comparing keys."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)


def _identity(op: Any) -> Any:
    return op if isinstance(op, Primitive) else id(op)
