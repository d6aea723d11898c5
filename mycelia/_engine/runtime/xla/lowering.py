"""Lowering of graphs to functions on arrays: operators by `lower`, control flow by XLA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import io_callback

from mycelia._engine.ir.analysis import ordered, reachable_graphs
from mycelia._engine.ir.control_flow import (
    CALL,
    RECOMPUTE,
    SWITCH,
    TUPLE,
    WHILE,
    Custom,
    Effect,
    Item,
    Named,
    Scan,
    Vmap,
    graphs_of,
    operands_of,
    primitive_of,
    tuple_elements,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, GraphParameter
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.rule_errors import RULE_ERRORS, raise_explained
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.device import drops_barriers, joined_products, on_cpu
from mycelia._engine.operators.operator import Op
from mycelia._engine.runtime.index_checks import (
    NOT_RUN,
    IndexCheckOutput,
    IndexChecks,
    add_index_check,
    failed_before,
    first_failure,
    index_check_outputs,
)
from mycelia._engine.runtime.xla.buffer_reuse import other_readers
from mycelia._engine.runtime.xla.channels_last import LayoutLowering
from mycelia._engine.runtime.xla.materialization import (
    delayed_until,
    materialized,
    values_to_materialize,
)
from mycelia.ops.collective.redistribute import SpreadBarrier
from mycelia.ops.shapes.reshape import Barrier


class LoweredGraph:
    """A lowered graph: a function from arrays to the arrays of its output.

    With the extra argument `materialization.runtime_one()`, whose value is unknown to XLA, values
    that are worth materializing are computed once. `in_place` maps outputs to the inputs that they
    overwrite: such an output waits for all readers of the input, so that no copy is needed.
    If it has `small_products`, the program is compiled with `joined_options`.

    With index `checks`, it returns an extra failure code (see `index_checks.add_index_check`). The
    outputs in `guarded` then equal the inputs that they overwrite unless all indices are right, and
    the function accepts an extra argument: the failure of the previous run on these `devices`, or
    0.
    """

    def __init__(
        self,
        graph: Graph,
        in_place: dict[int, int] | None = None,
        small_products: int = 0,
        guarded: dict[int, int] | None = None,
        devices: tuple[Any, ...] = (),
    ) -> None:
        self.__name__ = graph.name.replace("<", "").replace(">", "") or "program"
        self.choices: dict[str, int] = {}  # device-specific choices and their counts, after a call
        self._graph = graph
        self._readers = other_readers(graph, in_place or {})
        self._small_products = small_products
        self.checks = IndexChecks.of(graph)
        self.guarded = guarded or {} if self.checks.count else {}
        self._chain = ("guarded", devices) if self.guarded else None

    @property
    def extra(self) -> int:
        """The number of extra outputs after the results."""
        return 1 if self.checks.count else 0

    @property
    def size(self) -> int:
        """The number of output arrays."""
        return len(self._graph.output.type) + self.extra

    def noted(self, found: Sequence[Any]) -> Sequence[Any]:
        """The results of a run; registers the failure code until the results are read."""
        if not self.checks.count:
            return found
        add_index_check(self.checks, found[-1], self._chain)
        return found[:-1]

    def failed_before(self) -> tuple[Any, ...]:
        """The last argument of a program with `guarded` outputs."""
        return (failed_before(self._chain),) if self.guarded else ()

    def __call__(self, *arrays: Any) -> Any:
        with joined_products() if self._small_products else nullcontext():
            return self._traced(*arrays)

    def _traced(self, *arrays: Any) -> Any:
        count = len(self._graph.parameters)
        order = _GraphEvaluator(arrays[count] if len(arrays) > count else None, self.checks)
        if self.guarded:
            return self._guarded(order, arrays[:count], arrays[count + 1])
        values = order.values(self._graph, arrays[:count])
        found = self._outputs(order, values)
        return (*found, *([order.failure()] if self.extra else []))

    def _guarded(self, order: _GraphEvaluator, arrays: Sequence[Any], failed_before: Any) -> Any:
        """Check indices first, and compute the rest only if all are right; else change nothing.

        The rest is a single branch, so there is no cost per element: selecting between new and old
        values would make XLA compute optimizer states twice, or copy them. Convolutions stay
        outside of the branch: only there does XLA rewrite them for its fast kernel.
        """
        types = self._graph.output.type
        values = order.checked(self._graph, arrays)
        failure = jnp.where(failed_before == 0, order.failure(), NOT_RUN)

        def run() -> Any:
            return _typed(self._outputs(order, order.values(self._graph, arrays, values)), types)

        def stay() -> Any:
            old = {place: arrays[number] for place, number in self.guarded.items()}
            return tuple([old[i] if i in old else _nothing(t) for i, t in enumerate(types)])

        return *lax.cond(failure == 0, run, stay), failure

    def _outputs(self, order: _GraphEvaluator, values: dict[GraphNode, Any]) -> tuple[Any, ...]:
        """The outputs of the graph; those that overwrite an input wait for its readers."""
        found = order.layouts.plain(values[self._graph.output])
        if order.holds_back:
            found = list(found)
            for place, nodes in self._readers.items():
                after = [values[n] for n in nodes]
                found[place] = delayed_until([found[place]], after, order.one)[0]
        self.choices = order.choices(len(self._readers), self._small_products)
        return tuple(found)


class _GraphEvaluator:
    """Evaluates graphs while one program is traced, caching the node order of each graph."""

    def __init__(self, one: Any, checks: IndexChecks) -> None:
        self._orders: dict[Graph, tuple[list[GraphNode], set[GraphNode]]] = {}
        self._checks = checks
        self._marked: list[IndexCheckOutput] = []  # by checks, in the graph being traced
        self._is_checked: set[GraphNode] = set()  # before their dependents are lowered
        self._failures: list[Any] = []  # of nested graphs
        self.layouts = LayoutLowering()
        self.holds_back = (
            drops_barriers() and one is not None
        )  # values that XLA would compute early, or twice
        self.one = one

    def choices(self, in_place: int, small_products: int) -> dict[str, int]:
        """The device-specific choices with nonzero counts."""
        found = {
            "operators with channels last": self.layouts.kept,
            "images transposed": len(self.layouts.moved),
            "values materialized": sum(len(kept) for _, kept in self._orders.values()),
            "weights written after other readers": in_place,
            "operators with small products on all cores": small_products,
            **self.layouts.forms,
        }
        return {name: count for name, count in found.items() if count and self.holds_back}

    def run(self, graph: Graph, arrays: Sequence[Any]) -> Any:
        return self.values(graph, arrays)[graph.output]

    def values(
        self, graph: Graph, arrays: Sequence[Any], known: dict[GraphNode, Any] | None = None
    ) -> dict[GraphNode, Any]:
        """The values of all nodes of a graph, given the `known` ones."""
        values = known or dict(zip(graph.parameters, arrays, strict=True))
        self._add_values(values, graph, self._nodes(graph)[0])
        return values

    def checked(self, graph: Graph, arrays: Sequence[Any]) -> dict[GraphNode, Any]:
        """Evaluate the nodes that the checks of a graph need, and record the checks' outputs.

        This includes nodes that must not be in a branch, such as convolutions.
        """
        nodes = self._nodes(graph)[0]
        values: dict[GraphNode, Any] = dict(zip(graph.parameters, arrays, strict=True))
        needed = self._checks.needed(nodes, filter(_convolves, nodes) if on_cpu() else ())
        own = [node for node in nodes if node in self._checks.by_node]
        self._is_checked.update(own)
        self._add_values(values, graph, [node for node in nodes if node in needed])
        for node in own:
            assert isinstance(node, Apply)
            given = [_known(values, a) for a in node.args]
            self._marked += index_check_outputs(
                self._checks.by_node[node], self.layouts.plain(given)
            )
        return values

    def _nodes(self, graph: Graph) -> tuple[list[GraphNode], set[GraphNode]]:
        """The nodes of a graph in order, and those to materialize."""
        found = self._orders.get(graph)
        if found is None:
            nodes = ordered(graph)
            found = self._orders[graph] = nodes, values_to_materialize(nodes)
        return found

    def _add_values(
        self, values: dict[GraphNode, Any], graph: Graph, nodes: Sequence[GraphNode]
    ) -> None:
        """Evaluate nodes of a graph in order, skipping those that have values."""
        worth = self._nodes(graph)[1] if self.holds_back else ()
        for node in nodes:
            if node in values:
                continue
            if isinstance(node, GraphConstant):
                values[node] = node.value
            elif isinstance(node, Apply):
                value = self._apply(node, values)
                values[node] = materialized(value, self.one) if node in worth else value
            elif isinstance(node, GraphParameter):
                raise RuntimeError(f"{graph.name} uses {node.name} of {node.graph.name}")

    def plain(self, graph: Graph, arrays: Sequence[Any]) -> Any:
        return self.layouts.plain(self.run(graph, arrays))

    def _apply(self, node: Apply, values: dict[GraphNode, Any]) -> Any:
        op = primitive_of(node)
        if op is SWITCH:
            return self._switch(node, values)
        if op is WHILE:
            return self._while(node, values)
        if op is CALL or op is RECOMPUTE:
            return self.run(graphs_of(node)[0], [values[n] for n in operands_of(node)])
        if type(op) is Vmap:
            return self._vmap(op, node, values)
        if type(op) is Scan:
            return self._scan(op, node, values)
        args = [values[a] for a in node.args]
        if type(op) is Barrier and self.holds_back:
            return self._held_back(node, *args)
        if type(op) is SpreadBarrier and self.holds_back:
            return tuple(op.locally(partial(delayed_until, by=self.one), *args))
        if is_operator(op):
            sites = self._checks.by_node.get(node)
            if sites and node not in self._is_checked:
                self._marked += index_check_outputs(sites, self.layouts.plain(args))
            return self._lower(op, node, self._in_time(op, args))
        if type(op) is Effect:
            args = self.layouts.plain(args)
        return apply_node(op, args)

    def _lower(self, op: Primitive, node: Apply, args: list[Any]) -> Any:
        try:
            return self.layouts.apply(op, args)
        except RULE_ERRORS as error:
            raise_explained(op, tuple(map(_given, node.args)), error, node.span)

    def _in_time(self, op: Any, args: list[Any]) -> list[Any]:
        """The arguments of an operator; delays those that XLA would rearrange too early."""
        if self.holds_back and isinstance(op, Op) and on_cpu():
            for late, before in op.late().items():
                args[late] = delayed_until([args[late]], [args[before]], self.one)[0]
        return args

    def _held_back(self, node: Apply, values: tuple[Any, ...], after: tuple[Any, ...]) -> Any:
        """The values of a barrier; graph parameters do not need it."""
        assert isinstance(node.args[0], Apply)
        computed = [not isinstance(n, GraphParameter) for n in node.args[0].args]
        if not any(computed):
            return delayed_until(values, after, self.one)
        waiting = [v for v, c in zip(values, computed) if c]
        found = iter(delayed_until(waiting, after, self.one, once=True))
        return tuple([next(found) if c else v for v, c in zip(values, computed)])

    def _operands(self, node: Apply, values: dict[GraphNode, Any]) -> list[Any]:
        """The operands of the graphs of a control-flow primitive."""
        return self.layouts.plain([values[n] for n in operands_of(node)])

    def failure(self) -> Any:
        """The failure code of the first failed check so far."""
        return first_failure(self._marked, self._failures)

    def _apart(self, graph: Graph) -> Callable[..., tuple[Any, Any]]:
        """A graph as a separate function: its results, and its failure code or None."""
        types = graph.output.type

        def run(*arrays: Any) -> tuple[Any, Any]:
            outer = self._marked, self._failures
            self._marked, self._failures = [], []
            found = self.plain(graph, arrays)
            found = _typed(found, types) if isinstance(types, tuple) else found
            failure = self.failure() if self._checks.are_in(graph) else None
            self._marked, self._failures = outer
            return found, failure

        return run

    def _vmap(self, op: Vmap, node: Apply, values: dict[GraphNode, Any]) -> Any:
        run = self._apart(graphs_of(node)[0])
        mapped = jax.vmap(run, op.in_axes, (op.out_axes, 0), axis_size=op.size)
        found, failures = mapped(*self._operands(node, values))
        if failures is not None:
            self._failures.append(jnp.max(failures, initial=0))
        return found

    def _scan(self, op: Scan, node: Apply, values: dict[GraphNode, Any]) -> Any:
        graph = graphs_of(node)[0]
        run = self._apart(graph)
        operands = self._operands(node, values)
        fixed = operands[op.carry + op.mapped :]

        def body(carry: Any, places: Any) -> Any:
            before, failed_before = carry
            found, failure = run(*before, *places, *fixed)
            return (found[: op.carry], _first(failed_before, failure)), found[op.carry :]

        start = _typed(tuple(operands[: op.carry]), graph.output.type[: op.carry])
        mapped = tuple(operands[op.carry : op.carry + op.mapped])
        begin = start, self._none(graph)
        (last, failure), results = lax.scan(body, begin, mapped, op.length, reverse=op.reverse)
        self._add(failure)
        return *last, *results

    def _switch(self, node: Apply, values: dict[GraphNode, Any]) -> Any:
        index = values[node.args[0]]
        operands = self._operands(node, values)
        graphs = graphs_of(node)
        none = jnp.zeros((), jnp.int64) if any(map(self._checks.are_in, graphs)) else None

        def branch(graph: Graph) -> Callable[..., Any]:
            run = self._apart(graph)

            def with_failure(*arrays: Any) -> Any:
                found, failure = run(*arrays)
                return found, none if failure is None else failure

            return with_failure

        branches = [branch(graph) for graph in graphs]
        if jnp.asarray(index).dtype == jnp.bool_:
            found, failure = lax.cond(index, branches[1], branches[0], *operands)
        else:
            found, failure = lax.switch(index, branches, *operands)
        self._add(failure)
        return found

    def _while(self, node: Apply, values: dict[GraphNode, Any]) -> Any:
        """A while loop; it ends when one of its checks fails, which makes its values invalid."""
        goes_on, step = graphs_of(node)
        operands = self._operands(node, values)
        types = step.output.type
        count = len(types)
        fixed = operands[count:]
        ask, run = self._apart(goes_on), self._apart(step)

        def test(carry: Any) -> Any:
            arrays, failure = carry
            goes, own = ask(*arrays, *fixed)
            for found in (failure, own):
                goes = goes if found is None else goes & (found == 0)
            return goes

        def body(carry: Any) -> Any:
            arrays, failure = carry
            found, own = run(*arrays, *fixed)
            return found, _first(failure, own)

        # The barrier hides constant initial values: XLA would otherwise run loops at compile time.
        start = lax.optimization_barrier(_typed(tuple(operands[:count]), types))
        last, failure = lax.while_loop(test, body, (start, self._none(step)))
        self._add(failure)
        if self._checks.are_in(goes_on):
            self._add(ask(*last, *fixed)[1])
        return last

    def _none(self, graph: Graph) -> Any:
        """The code for no failure, if a graph has checks."""
        return jnp.zeros((), jnp.int64) if self._checks.are_in(graph) else None

    def _add(self, failure: Any) -> None:
        if failure is not None:
            self._failures.append(failure)


def _given(node: GraphNode) -> Any:
    """The type of an argument, or the value if it is static."""
    return node.value if isinstance(node, GraphConstant) and node.type is None else node.type


def _first(before: Any, failure: Any) -> Any:
    """The failure of a loop so far: the first one wins."""
    return before if before is None or failure is None else jnp.where(before == 0, failure, before)


def _known(values: dict[GraphNode, Any], node: GraphNode) -> Any:
    """The value of a node, with None for unknown values or items."""
    if node in values or not tuple_elements(node):
        return values.get(node)
    return tuple([values.get(part) for part in tuple_elements(node)])


def _convolves(node: GraphNode) -> bool:
    """Whether a node is a convolution, or runs graphs with convolutions."""
    if not isinstance(node, Apply):
        return False
    op = primitive_of(node)
    if isinstance(op, Op) and op.convolves:
        return True
    inside = [graph for own in graphs_of(node) for graph in reachable_graphs(own)]
    return any(_convolves(n) for graph in inside for n in ordered(graph))


def _nothing(type_: TensorType) -> Any:
    """A placeholder for a result that is not computed."""
    return jnp.full(type_.shape, jnp.nan if type_.dtype.is_float else 0, type_.dtype.numpy)


def is_operator(op: Any) -> bool:
    """Whether a primitive has a `lower` rule."""
    return isinstance(op, Primitive) and not isinstance(op, Named)


def apply_node(op: Any, values: list[Any]) -> Any:
    """Apply a primitive without graphs to arrays and static values."""
    if op is TUPLE:
        return tuple(values)
    if type(op) is Item:
        return values[0][op.index]
    if type(op) is Effect:
        token, *arrays = values
        io_callback(op.run, None, *arrays, ordered=True)
        return jnp.asarray(token)
    if type(op) is Custom:
        return values[-1]
    if not isinstance(op, Primitive):
        raise RuntimeError(f"the program calls {op!r}, which is not an operator")
    return op.lower(*values)


def _typed(values: tuple[Any, ...], types: tuple[Any, ...]) -> tuple[Any, ...]:
    """Cast values to exactly the inferred types, so that all branches agree."""
    return tuple(
        [
            jax.lax.convert_element_type(jnp.asarray(v), t.dtype.numpy)
            for v, t in zip(values, types, strict=True)
        ]
    )
