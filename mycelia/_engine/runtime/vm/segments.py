"""Compiled segments of the fallback interpreter: the nodes between two graph breaks."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.pending_checks import wait_for_checks
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode
from mycelia._engine.ir.primitive import Primitive, tagged
from mycelia._engine.runtime.distributed.multiprocess_jit import compile_with
from mycelia._engine.runtime.index_checks import (
    IndexCheckOutput,
    IndexChecks,
    add_index_check,
    first_failure,
    index_check_outputs,
)
from mycelia._engine.runtime.observers import observed
from mycelia._engine.runtime.xla.compile import ProgramCache, kinds_of, without_engine_frames
from mycelia._engine.runtime.xla.lowering import apply_node

_PROGRAMS = ProgramCache()


class SegmentRunner:
    """Holds computed values; a request for another value compiles and runs the nodes it needs."""

    def __init__(self) -> None:
        self.values: dict[GraphNode, Any] = {}
        self.runs = 0

    def force(self, node: GraphNode) -> np.ndarray:
        """The value of a node for Python control flow; raises pending index errors first."""
        found = np.asarray(self.arrays([node])[0])
        wait_for_checks()
        return found

    def arrays(self, nodes: list[GraphNode]) -> list[Any]:
        """The arrays of some nodes, computed by one program if they are missing."""
        missing = [n for n in nodes if not isinstance(n, GraphConstant) and n not in self.values]
        if missing:
            self._run(missing)
        return [n.value if isinstance(n, GraphConstant) else self.values[n] for n in nodes]

    def _run(self, wanted: list[GraphNode]) -> None:
        segment = _Segment(wanted, self.values)
        key = (segment.key, kinds_of(segment.inputs))
        program = _PROGRAMS.use(key)
        if program is None:
            operators = [op for op, _ in segment.plan]
            program = compile_with(operators, segment.run)
            _PROGRAMS.keep(key, program)
        try:
            found = observed("segment", program, (segment.inputs,))
        except Exception as error:
            raise without_engine_frames(error) from None
        if segment.checks.count:
            add_index_check(segment.checks, found[-1])
            found = found[:-1]
        self.values.update(zip(segment.nodes, found, strict=True))
        self.runs += 1


class _Segment:
    """The nodes to compute, inputs first, numbered so that equal segments have equal keys."""

    def __init__(self, wanted: list[GraphNode], known: dict[GraphNode, Any]) -> None:
        self.inputs: list[Any] = []
        self.nodes: list[Apply] = []
        self.plan: list[tuple[Any, tuple[Any, ...]]] = []
        places: dict[GraphNode, Any] = {}
        stack: list[tuple[GraphNode, bool]] = [(n, False) for n in reversed(wanted)]
        while stack:
            node, done = stack.pop()
            if node in places:
                continue
            if node in known:
                places[node] = ("in", len(self.inputs))
                self.inputs.append(known[node])
            elif isinstance(node, GraphConstant):
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
        self.checks = IndexChecks([self.nodes])
        self.key = (self.checks.count, *[(_identity(op), args) for op, args in self.plan])

    def _constant(self, node: GraphConstant) -> Any:
        if node.type is not None:
            self.inputs.append(node.value)
            return ("in", len(self.inputs) - 1)
        return ("static", tagged(node.value), _KeyedStaticValue(node.value))

    def run(self, inputs: list[Any]) -> list[Any]:
        """The values of all nodes, and the failure code if there are checks."""
        found: list[Any] = []
        wrong: list[IndexCheckOutput] = []
        for node, (op, args) in zip(self.nodes, self.plan, strict=True):
            values = []
            for kind, place, *held in args:
                if kind == "static":
                    values.append(held[0].value)
                else:
                    values.append(inputs[place] if kind == "in" else found[place])
            wrong += index_check_outputs(self.checks.by_node.get(node, ()), values)
            found.append(apply_node(op, values))
        return [*found, first_failure(wrong)] if self.checks.count else found


class _KeyedStaticValue:
    """A static value that is ignored when keys are compared."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _KeyedStaticValue)


def _identity(op: Any) -> Any:
    return op if isinstance(op, Primitive) else id(op)
