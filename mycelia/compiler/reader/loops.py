"""Loops: run while their test is known, else read once and made a loop of the program."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from mycelia.compiler.building import Builder, constant
from mycelia.compiler.forms import (
    Form,
    Known,
    Maybe,
    containers_in,
    extend,
    leaf_data,
    leaf_type,
    versions,
)
from mycelia.compiler.reader.branches import Unreachable, held_by, unassigned
from mycelia.compiler.reader.function import Frame
from mycelia.compiler.reader.iteration import (
    SymbolicRange,
    SymbolicZip,
    element_at,
    elements,
    known_length,
)
from mycelia.compiler.reader.loop_aliases import LoopAliases, Slot
from mycelia.compiler.reader.statements import (
    BREAKS,
    CONTINUES,
    FALLS,
    RETURNS,
    End,
    Mixed,
    Statements,
    as_end,
    kinds_of,
    tag_of,
)
from mycelia.compiler.store import MISSING, Changes, Entry, Journal, Key, Numbers, Place
from mycelia.compiler.symbolic import Number, ValueNeeded, both, convert, either
from mycelia.core.errors import located
from mycelia.ir.node import Node
from mycelia.ir.types import TensorType
from mycelia.tensor.tensor import Tensor

MOST_PASSES = 10_000  # of a loop that is run while reading
ROLLS_AFTER = 64  # passes of a known loop; from then on it is a loop of the program, if it can be
MOST_NESTED = 8  # passes, each in a branch of the one before, that are not made a loop
MOST_TRIALS = 12  # of reading a loop body until the types of its variables settle


@dataclass
class Carried:
    """A place a loop changes: its form, and what it held before the loop."""

    place: Place
    form: Form
    initial: Any


@dataclass
class Plan:
    """A loop body read under the assumption that these places change."""

    carried: dict[Key, Carried] = field(default_factory=dict)
    aliases: LoopAliases = field(default_factory=LoopAliases)


@dataclass
class Trial:
    """One reading of test and body: graphs, what the places held after, how the body ended."""

    goes_on: Builder
    step: Builder
    test: Any
    after: Changes
    end: End
    tag_parameter: Node | None
    settled: bool


class Loops(Statements):
    """Runs loops."""

    def run_While(self, node: ast.While, frame: Frame) -> End:
        def test() -> Any:
            return self.test(node.test, frame)

        def body() -> End:
            return self.run(node.body, frame)

        for number in range(MOST_PASSES):
            if self.is_symbolic_test(test):
                self.at(node.test, frame)
                return self.loop(test, body, node, frame)
            if number == ROLLS_AFTER and self._ends(test, body, node, frame):
                end = self._rolled(test, body, node, frame)
                if end is not None:
                    return end
            if not test():
                return self.run(node.orelse, frame)
            end = self.run(node.body, frame)
            if end in (FALLS, CONTINUES):
                continue
            if isinstance(end, Mixed):
                return self._after_mixed_pass(end, node, frame)
            return FALLS if end == BREAKS else end
        raise self.too_long(node, frame)

    def _after_mixed_pass(self, end: Mixed, node: ast.While, frame: Frame) -> End:
        """The run decides whether this pass was the last: the rest of the loop is conditional."""
        goes_on = self._one_of(end, (FALLS, CONTINUES))

        def rest() -> End:
            def test() -> Any:
                return self.test(node.test, frame)

            rolled = self._rolled(test, lambda: self.run(node.body, frame), node, frame)
            return self.run_While(node, frame) if rolled is None else rolled

        return self._rest_of_loop(end, goes_on, rest)

    def is_symbolic_test(self, test: Callable[[], Any]) -> bool:
        """Whether a test gives a number of the program; its own changes are taken back."""
        found: list[Any] = []
        if self.attempt("test", lambda: found.append(test())) is None:
            raise Unreachable
        return isinstance(found[0], Number)

    def run_For(self, node: ast.For, frame: Frame) -> End:
        source = self.eval(node.iter, frame)
        if known_length(source) is None:
            return self._symbolic_for(node, source, frame)
        return self._known_for(node, source, elements(source), 0, frame)

    def _known_for(
        self, node: ast.For, source: Any, parts: list[Any], start: int, frame: Frame
    ) -> End:
        for place in range(start, len(parts)):
            if place >= MOST_PASSES:
                raise self.too_long(node, frame)
            if place == ROLLS_AFTER and isinstance(source, (range, Tensor)):
                rolled = self._rolled_for(node, source, place, frame)
                if rolled is not None:
                    return rolled
            self.assign(node.target, parts[place], frame)
            end = self.run(node.body, frame)
            if end in (FALLS, CONTINUES):
                continue
            if not isinstance(end, Mixed):
                return FALLS if end == BREAKS else end
            goes_on = self._one_of(end, (FALLS, CONTINUES))
            rest = partial(self._rest_of_for, node, source, parts, place + 1, frame)
            return self._rest_of_loop(end, goes_on, rest)
        return self.run(node.orelse, frame)

    def _rest_of_for(
        self, node: ast.For, source: Any, parts: list[Any], start: int, frame: Frame
    ) -> End:
        """What is left of a loop that the run may have left: a loop again, if it is long."""
        if len(parts) - start > MOST_NESTED and isinstance(source, (range, Tensor)):
            rolled = self._rolled_for(node, source, start, frame)
            if rolled is not None:
                return rolled
        return self._known_for(node, source, parts, start, frame)

    def _rest_of_loop(self, end: Mixed, goes_on: Any, rest: Callable[[], End]) -> End:
        """Run `rest` where the loop goes on; elsewhere it has been left by break or return."""
        kinds: set[int] = set()

        def go_on() -> Any:
            found = rest()
            kinds.update(kinds_of(found))
            return tag_of(found)

        def leave() -> Any:
            left = end.kinds - {FALLS, CONTINUES}
            kinds.update(FALLS if k == BREAKS else k for k in left)
            if len(left) == 1:
                return FALLS if BREAKS in left else next(iter(left))
            returns = convert(end.tag == RETURNS, int)
            return returns * RETURNS

        if goes_on is True:
            return rest()
        tag = leave() if goes_on is False else self.branches(goes_on, (leave, go_on))
        return as_end(tag, frozenset(kinds))

    def _one_of(self, end: Mixed, wanted: tuple[int, ...]) -> Any:
        """Whether the end is one of `wanted`: known, or a number of the program."""
        if end.kinds <= set(wanted):
            return True
        present = [k for k in wanted if k in end.kinds]
        if not present:
            return False
        found = convert(end.tag == present[0], bool)
        for kind in present[1:]:
            found = either(found, convert(end.tag == kind, bool))
        return found

    def _ends(
        self, test: Callable[[], Any], body: Callable[[], End], node: Any, frame: Frame
    ) -> bool:
        """Whether a loop whose test is known comes to an end: it is run on and taken back."""

        def run_on() -> bool:
            for _ in range(MOST_PASSES):
                truth = test()
                if not isinstance(truth, bool) or not truth:
                    return True
                end = body()
                if end not in (FALLS, CONTINUES):
                    return True
            raise self.too_long(node, frame)

        found = self.attempt("passes", run_on)
        if found is None:
            raise Unreachable
        return bool(found.result)

    def _rolled(
        self, test: Callable[[], Any], body: Callable[[], End], node: Any, frame: Frame
    ) -> End | None:
        """A long loop whose test is known, as a loop of the program; None if it cannot be one."""
        self.at(node, frame)
        try:
            return self.loop(test, body, node, frame)
        except (ValueNeeded, TypeError, ValueError, IndexError, KeyError, AttributeError):
            return None  # it needs to know its numbers, so it goes on pass by pass

    def _rolled_for(self, node: ast.For, source: Any, start: int, frame: Frame) -> End | None:
        counter = Entry(frame.variables, f"<counter {node.lineno}>")
        self.tracer.store.write(counter, start)
        test, body = self._counted(node, source, known_length(source), counter, frame)
        return self._rolled(test, body, node, frame)

    def _symbolic_for(self, node: ast.For, source: Any, frame: Frame) -> End:
        """A loop over a range whose length the run decides."""
        counter = Entry(frame.variables, f"<counter {node.lineno}>")
        self.tracer.store.write(counter, 0)
        test, body = self._counted(node, source, _count(source), counter, frame)
        return self.loop(test, body, node, frame)

    def _counted(
        self, node: ast.For, source: Any, count: Any, counter: Entry, frame: Frame
    ) -> tuple[Callable[[], Any], Callable[[], End]]:
        """Test and body of a loop that takes element after element by a counter."""

        def test() -> Any:
            return self.truth(counter.read() < count)

        def body() -> End:
            self.assign(node.target, element_at(source, counter.read()), frame)
            end = self.run(node.body, frame)
            self.tracer.store.write(counter, counter.read() + 1)
            return end

        return test, body

    # ---- loops of the program ---------------------------------------------------------------

    def loop(
        self,
        test: Callable[[], Any],
        body: Callable[[], End],
        node: ast.While | ast.For,
        frame: Frame,
    ) -> End:
        """Make a loop of the program: read the body until the types of what it changes settle."""
        tracer = self.tracer
        span = tracer.span
        plan = Plan()
        for _ in range(MOST_TRIALS):
            trial = self._try_body(plan, test, body)
            if trial.settled:
                break
        else:
            raise located(
                TypeError,
                "the types of the variables of a loop do not settle",
                got=", ".join(str(getattr(c.place, "name", "?")) for c in plan.carried.values()),
                fix="give the variables the types they have after one pass before the loop",
                span=span,
            )
        tracer.span = span
        return self._finish(plan, trial, node, frame)

    def _try_body(self, plan: Plan, test: Callable[[], Any], body: Callable[[], End]) -> Trial:
        tracer = self.tracer
        goes_on, step = (Builder(n, tracer.builder, tracer.span) for n in ("goes_on", "step"))
        writes = tracer.store.writes
        tracer.depth += 1
        try:
            tags = []
            for part, builder in ((0, goes_on), (1, step)):
                with tracer.building(builder), tracer.store.journal(builder.graph) as journal:
                    try:
                        tags.append(builder.parameter("end", leaf_type(int)))
                        inside = self._enter(plan, builder)
                        found = test()
                        if part == 0:
                            wanted = found
                            continue
                        end = body()
                    finally:
                        after = journal.take_back()
        finally:
            tracer.depth -= 1
        settled = self._extend(plan, after)
        if tracer.store.writes > writes:
            settled = self._find_aliases(plan, journal, inside, after) and settled
        return Trial(goes_on, step, wanted, after, end, tags[0], settled)

    def _enter(self, plan: Plan, builder: Builder) -> dict[Slot, Any]:
        """Give every carried place the value it has at the start of some pass."""
        found: dict[Slot, Any] = {}
        for number, (key, carried) in enumerate(plan.carried.items()):
            name = getattr(carried.place, "name", f"carried_{number}").strip("<>").split()[0]
            targets = [t for _, t in carried.form.leaves(MISSING)]
            nodes = [builder.parameter(name, leaf_type(t)) for t in targets]
            self._put(plan, key, nodes, found)
        plan.aliases.relate(self.tracer.store, found)
        return found

    def _put(self, plan: Plan, key: Key, nodes: Sequence[Node], found: dict[Slot, Any]) -> None:
        """Write a carried place around new nodes; `found` gets its tensors and containers."""
        carried, made = plan.carried[key], self.tracer.store.made
        items: list[Any] = list(nodes)
        for number, (_, target) in enumerate(carried.form.leaves(MISSING)):
            if isinstance(target, TensorType) and not isinstance(carried.place, Numbers):
                first = plan.aliases.first((key, "tensor", number))
                if first not in found:
                    found[first] = made(Tensor._wrap(nodes[number]))
                items[number] = found[key, "tensor", number] = found[first]
        value = carried.form.build(iter(items))
        self.rewrite_place(carried.place, value)
        own = held_by(carried.place, carried.form)
        for number, container in enumerate(containers_in(carried.form, value)[own:]):
            found[key, "container", number] = container

    def _extend(self, plan: Plan, after: Changes) -> bool:
        """Widen the forms of places that the body changed in a new way; True if there are none."""
        settled = True
        initials = {key: unassigned(place, place.read()) for key, (place, _) in after.items()}
        with after.applied():
            for key, (place, value) in after.items():
                self.tracer.store.refuse_stale(value)
                carried = plan.carried.get(key)
                if carried is None:
                    initial = initials[key]
                    form = extend(Known(initial), value)
                    if isinstance(place, Numbers):
                        form = versions(form, [initial, value])
                    if form == Known(initial):
                        continue
                    if isinstance(initial, Maybe) and _is_function(value):
                        continue  # a function made inside the body: each pass makes it anew
                    self.tracer.store.needs(key)
                    plan.carried[key] = Carried(place, form, initial)
                    settled = False
                    continue
                form = extend(carried.form, value)
                if form != carried.form:
                    carried.form = form
                    settled = False
        return settled

    def _find_aliases(
        self, plan: Plan, body: Journal, inside: dict[Slot, Any], after: Changes
    ) -> bool:
        """Compare what carried places hold before and after a pass; True if nothing is new."""
        given, left = {}, {}
        for key, carried in plan.carried.items():
            if not isinstance(carried.place, Numbers):
                given |= _objects(key, carried, carried.initial)
                left |= _objects(key, carried, after[key][1])
        common = [slot for slot in given if slot in left]
        found = plan.aliases.after(
            body,
            {slot: given[slot] for slot in common},
            inside,
            {slot: left[slot] for slot in common},
        )
        settled = found == plan.aliases
        plan.aliases = found
        return settled

    def _finish(self, plan: Plan, trial: Trial, node: Any, frame: Frame) -> End:
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
        with tracer.building(trial.goes_on):
            trial.goes_on.finish(trial.goes_on.local(self._goes_on(trial, leaves_early)))
        carry = [n if isinstance(n, Node) else constant(n) for n in initial]
        found = tracer.builder.loop(trial.goes_on, trial.step, carry, tracer.span)
        items = iter([tracer.builder.item(found, i) for i in range(len(carry))])
        tag = Number.of(next(items), int)
        made: dict[Slot, Any] = {}
        for key, carried in plan.carried.items():
            count = len(carried.form.leaves(MISSING))
            self._put(plan, key, list(islice(items, count)), made)
        plan.aliases.relate(tracer.store, made)
        return self._end_of_loop(tag, kinds, trial.test is True, node, frame)

    def _end_data(self, end: End) -> Any:
        """What the next pass asks: 0 to go on, else how the loop was left."""
        if not isinstance(end, Mixed):
            return convert(FALLS if end == CONTINUES else end, int)._data
        if CONTINUES not in end.kinds:
            return end.tag._data
        return (end.tag * convert(end.tag != CONTINUES, int))._data

    def _goes_on(self, trial: Trial, leaves_early: bool) -> Node:
        test = convert(trial.test, bool)
        if not leaves_early:
            data = test._data
        else:
            tag = Number.of(trial.tag_parameter, int)
            data = both(convert(tag == FALLS, bool), test)._data
        return data if isinstance(data, Node) else constant(data)

    def _end_of_loop(
        self, tag: Number, kinds: frozenset[int], endless: bool, node: Any, frame: Frame
    ) -> End:
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

    def too_long(self, node: ast.AST, frame: Frame) -> Exception:
        self.at(node, frame)
        return located(
            RuntimeError,
            f"a loop was run {MOST_PASSES} times while compiling",
            got=f"the loop in {self.tracer.span.function if self.tracer.span else '?'}",
            expected=f"at most {MOST_PASSES} passes of a loop whose test is known",
            fix="make the test depend on a tensor, so that the loop runs in the program",
            span=self.tracer.span,
        )


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, Tensor)


def _objects(key: Key, carried: Carried, value: Any) -> dict[Slot, Any]:
    """The tensors and containers in a value of a carried place, by their slots."""
    found: dict[Slot, Any] = {
        (key, "tensor", number): leaf
        for number, (leaf, target) in enumerate(carried.form.leaves(value))
        if isinstance(target, TensorType) and type(leaf) is not Number and isinstance(leaf, Tensor)
    }
    own = held_by(carried.place, carried.form)
    containers = enumerate(containers_in(carried.form, value)[own:])
    return found | {(key, "container", i): c for i, c in containers if c is not MISSING}


def _count(source: Any) -> Any:
    """How many passes a loop over `source` takes, as a number of the program."""
    if isinstance(source, SymbolicZip):
        counts = [_count(part) for part in source.parts]
        least = counts[0]
        for count in counts[1:]:
            smaller = convert(convert(count, int) < convert(least, int), int)
            least = smaller * count + (smaller * -1 + 1) * least
        return least
    if isinstance(source, SymbolicRange):
        start, stop = (convert(b, int) for b in (source.start, source.stop))
        ahead = stop - start if source.step > 0 else start - stop
        step = abs(source.step)
        return (ahead + (step - 1)) // step
    if known_length(source) == -1:
        raise ValueNeeded(None, "an iterator stands beside a range of unknown length")
    return known_length(source)
