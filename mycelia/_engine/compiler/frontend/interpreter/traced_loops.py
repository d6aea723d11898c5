"""Traced loops: the body is traced once, and everything it changes becomes the carry."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from mycelia._engine.compiler.frontend.graph_builder import GraphBuilder, constant
from mycelia._engine.compiler.frontend.interpreter.branches import held_by, unassigned
from mycelia._engine.compiler.frontend.interpreter.ends import (
    BREAKS,
    CONTINUES,
    FALLS,
    RETURNS,
    STOPS,
    End,
    Mixed,
    as_end,
    kinds_of,
    tag_of,
)
from mycelia._engine.compiler.frontend.interpreter.loop_aliases import LoopAliases, Slot
from mycelia._engine.compiler.frontend.interpreter.statements import StatementInterpreter
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame
from mycelia._engine.compiler.frontend.mutation_journal import (
    MISSING,
    Key,
    Location,
    MutationJournal,
    Mutations,
    TensorLocation,
)
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber, both, convert
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    MaybeUnbound,
    Structure,
    containers_in,
    extend_structure,
    leaf_data,
    leaf_type,
    version_structure,
)
from mycelia._engine.core.errors import located
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.tensor import Tensor

MOST_TRIALS = 12  # traces of a loop body until the types of its variables converge


@dataclass
class LoopCarry:
    """A location that a loop changes: its structure, and its value before the loop."""

    place: Location
    form: Structure
    initial: Any


@dataclass
class LoopAssumptions:
    """The assumed carry of a loop: the locations that its body changes."""

    carried: dict[Key, LoopCarry] = field(default_factory=dict)
    aliases: LoopAliases = field(default_factory=LoopAliases)


@dataclass
class LoopTrace:
    """One trace of test and body: the graphs, the values afterwards, and how the body ended."""

    condition: GraphBuilder
    step: GraphBuilder
    test: Any
    after: Mutations
    end: End
    tag_parameter: GraphNode | None
    converged: bool
    test_changes: bool  # whether the test has side effects


class TracedLoopInterpreter(StatementInterpreter):
    """Traces loops."""

    def loop(
        self,
        test: Callable[[], Any],
        body: Callable[[], End],
        node: ast.While | ast.For,
        frame: Frame,
    ) -> End:
        """Trace a loop: repeat tracing the body until the types of the carry converge."""
        tracer = self.tracer
        span = tracer.span
        plan = LoopAssumptions()
        for _ in range(MOST_TRIALS):
            trial = self._try_body(plan, test, body)
            if trial.test_changes:
                return self.loop(lambda: True, self._with_test(test, body), node, frame)
            if trial.converged:
                break
        else:
            raise located(
                TypeError,
                "the types of the variables of a loop do not converge",
                got=", ".join(str(getattr(c.place, "name", "?")) for c in plan.carried.values()),
                fix="before the loop, give the variables the types they have after one iteration",
                span=span,
            )
        tracer.span = span
        return self._finish(plan, trial, node, frame)

    def _with_test(self, test: Callable[[], Any], body: Callable[[], End]) -> Callable[[], End]:
        """A body that begins with the test, for a test with side effects.

        It runs one more time than the original body.
        """

        def tested() -> End:
            kinds: set[int] = {STOPS}

            def proceed() -> Any:
                end = body()
                kinds.update(kinds_of(end))
                return tag_of(end)

            truth = self.truth(test())
            if isinstance(truth, bool):
                return body() if truth else STOPS
            tag = self.branches(truth, (lambda: STOPS, proceed))
            return as_end(tag, frozenset(kinds))

        return tested

    def _try_body(
        self, plan: LoopAssumptions, test: Callable[[], Any], body: Callable[[], End]
    ) -> LoopTrace:
        tracer = self.tracer
        condition, step = (
            GraphBuilder(n, tracer.builder, tracer.span) for n in ("goes_on", "step")
        )
        writes = tracer.store.writes
        tracer.depth += 1
        try:
            tags = []
            for part, builder in ((0, condition), (1, step)):
                with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
                    try:
                        tags.append(builder.parameter("end", leaf_type(int)))
                        inside = self._enter(plan, builder)
                        with tracer.store.watched() as watch:
                            found = test()
                        if part == 0:
                            wanted, test_changes = found, watch.changed
                            continue
                        end = body()
                    finally:
                        after = journal.take_back()
        finally:
            tracer.depth -= 1
        converged = self._extend(plan, after)
        is_same = self._find_aliases(plan, journal, inside, after)
        converged = converged and (
            is_same or tracer.store.writes == writes
        )  # otherwise aliases do not matter
        return LoopTrace(condition, step, wanted, after, end, tags[0], converged, test_changes)

    def _enter(self, plan: LoopAssumptions, builder: GraphBuilder) -> dict[Slot, Any]:
        """Set every carried location to its value at the start of an iteration."""
        found: dict[Slot, Any] = {}
        for number, (key, carried) in enumerate(plan.carried.items()):
            name = getattr(carried.place, "name", f"carried_{number}").strip("<>").split()[0]
            targets = [t for _, t in carried.form.leaves(MISSING)]
            nodes = [builder.parameter(name, leaf_type(t)) for t in targets]
            self._put(plan, key, nodes, found)
        plan.aliases.relate(self.tracer.store, found)
        return found

    def _put(
        self, plan: LoopAssumptions, key: Key, nodes: Sequence[GraphNode], found: dict[Slot, Any]
    ) -> None:
        """Rebuild a carried location from new nodes; `found` gets its tensors and containers."""
        carried, made = plan.carried[key], self.tracer.store.made
        items: list[Any] = list(nodes)
        for number, (_, target) in enumerate(carried.form.leaves(MISSING)):
            if isinstance(target, TensorType) and not isinstance(carried.place, TensorLocation):
                first = plan.aliases.first((key, "tensor", number))
                if first not in found:
                    found[first] = made(Tensor._wrap(nodes[number]))
                items[number] = found[key, "tensor", number] = found[first]
        value = carried.form.build(iter(items))
        self.rewrite_place(carried.place, carried.form, value)
        own = held_by(carried.place, carried.form)
        for number, container in enumerate(containers_in(carried.form, value)[own:]):
            found[key, "container", number] = container

    def _extend(self, plan: LoopAssumptions, after: Mutations) -> bool:
        """Widen the structures of locations that the body changed; True if nothing was widened."""
        converged = True
        initials = {key: unassigned(place, place.read()) for key, (place, _) in after.items()}
        with after.applied():
            for key, (place, value) in after.items():
                self.tracer.store.refuse_stale(value)
                carried = plan.carried.get(key)
                if carried is None:
                    initial = initials[key]
                    form = extend_structure(ConstantStructure(initial), value)
                    if isinstance(place, TensorLocation):
                        form = version_structure(form, [initial, value])
                    if form == ConstantStructure(initial):
                        continue
                    if isinstance(initial, MaybeUnbound) and _is_function(value):
                        continue  # a function created in the body: each iteration creates a new one
                    self.tracer.store.needs(key)
                    plan.carried[key] = LoopCarry(place, form, initial)
                    converged = False
                    continue
                form = extend_structure(carried.form, value)
                if form != carried.form:
                    carried.form = form
                    converged = False
        return converged

    def _find_aliases(
        self,
        plan: LoopAssumptions,
        body: MutationJournal,
        inside: dict[Slot, Any],
        after: Mutations,
    ) -> bool:
        """Compare the carry before and after an iteration; True if there are no new aliases."""
        given: dict[Slot, Any] = {}
        left: dict[Slot, Any] = {}
        for key, carried in plan.carried.items():
            if not isinstance(carried.place, TensorLocation):
                given |= _objects(key, carried, carried.initial)
                left |= _objects(key, carried, after[key][1])
        common = [slot for slot in given if slot in left]
        found = plan.aliases.after(
            body,
            {slot: given[slot] for slot in common},
            inside,
            {slot: left[slot] for slot in common},
        )
        converged = found == plan.aliases
        plan.aliases = found
        return converged

    def _finish(self, plan: LoopAssumptions, trial: LoopTrace, node: Any, frame: Frame) -> End:
        tracer = self.tracer
        kinds = kinds_of(trial.end)
        leaves_early = not kinds <= {FALLS, CONTINUES}
        step_data: list[Any] = []
        initial: list[Any] = []
        with tracer.building(trial.step), trial.after.applied():
            step_data.append(self._end_data(trial.end))
            for key, carried in plan.carried.items():
                value = trial.after[key][1]
                step_data += [leaf_data(v, t) for v, t in carried.form.leaves(value)]
            trial.step.finish(trial.step.tuple(tuple(step_data)))
        initial.append(convert(FALLS, int)._data)
        for carried in plan.carried.values():
            initial += [leaf_data(v, t) for v, t in carried.form.leaves(carried.initial)]
        with tracer.building(trial.condition):
            trial.condition.finish(trial.condition.local(self._condition(trial, leaves_early)))
        carry = [n if isinstance(n, GraphNode) else constant(n) for n in initial]
        found = tracer.builder.loop(trial.condition, trial.step, carry, tracer.span)
        items = iter([tracer.builder.item(found, i) for i in range(len(carry))])
        tag = SymbolicNumber.of(next(items), int)
        made: dict[Slot, Any] = {}
        for key, carried in plan.carried.items():
            count = len(carried.form.leaves(MISSING))
            self._put(plan, key, list(islice(items, count)), made)
        plan.aliases.relate(tracer.store, made)
        return self._end_of_loop(tag, kinds, trial.test is True, node, frame)

    def _end_data(self, end: End) -> Any:
        """The tag that the loop condition checks: 0 to continue, else how the loop ended."""
        if not isinstance(end, Mixed):
            return convert(FALLS if end == CONTINUES else end, int)._data
        if CONTINUES not in end.kinds:
            return end.tag._data
        return (end.tag * convert(end.tag != CONTINUES, int))._data

    def _condition(self, trial: LoopTrace, leaves_early: bool) -> GraphNode:
        test = convert(trial.test, bool)
        if not leaves_early:
            data = test._data
        else:
            tag = SymbolicNumber.of(trial.tag_parameter, int)
            data = both(convert(tag == FALLS, bool), test)._data
        return data if isinstance(data, GraphNode) else constant(data)

    def _end_of_loop(
        self, tag: SymbolicNumber, kinds: frozenset[int], endless: bool, node: Any, frame: Frame
    ) -> End:
        if STOPS in kinds:
            tag, endless = tag * convert(tag != STOPS, int), False
        possible = {k for k in kinds if k in (BREAKS, RETURNS)}
        if endless and possible:
            both_ways = convert(tag == RETURNS, int) * RETURNS
            return as_end(both_ways, frozenset(FALLS if k == BREAKS else k for k in possible))
        possible |= {FALLS}
        seen: set[int] = set()

        def otherwise() -> Any:
            end = self.run(node.orelse, frame)
            seen.update(kinds_of(end))
            return tag_of(end)

        def left() -> Any:
            seen.update(FALLS if k == BREAKS else k for k in possible if k != FALLS)
            if RETURNS not in possible:
                return FALLS
            return convert(tag == RETURNS, int) * RETURNS if BREAKS in possible else RETURNS

        if possible == {FALLS}:
            return self.run(node.orelse, frame)
        if node.orelse:
            found = self.branches(convert(tag == FALLS, bool), (left, otherwise))
            return as_end(found, frozenset(seen))
        if RETURNS not in possible:
            return FALLS
        return Mixed(convert(tag == RETURNS, int) * RETURNS, frozenset((FALLS, RETURNS)))


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, Tensor)


def _objects(key: Key, carried: LoopCarry, value: Any) -> dict[Slot, Any]:
    """The tensors and containers in the value of a carried location, by slot."""
    found: dict[Slot, Any] = {
        (key, "tensor", number): leaf
        for number, (leaf, target) in enumerate(carried.form.leaves(value))
        if isinstance(target, TensorType)
        and type(leaf) is not SymbolicNumber
        and isinstance(leaf, Tensor)
    }
    own = held_by(carried.place, carried.form)
    containers = enumerate(containers_in(carried.form, value)[own:])
    return found | {(key, "container", i): c for i, c in containers if c is not MISSING}
