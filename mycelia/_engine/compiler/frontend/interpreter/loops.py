"""Loops: unrolled while their test is constant, otherwise traced to a loop of the program."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.branches import UnreachablePath
from mycelia._engine.compiler.frontend.interpreter.ends import (
    BREAKS,
    CONTINUES,
    FALLS,
    RETURNS,
    End,
    Mixed,
    as_end,
    kinds_of,
    tag_of,
)
from mycelia._engine.compiler.frontend.interpreter.iterables import (
    SymbolicRange,
    SymbolicZip,
    element_at,
    iterate,
    known_length,
)
from mycelia._engine.compiler.frontend.interpreter.traced_loops import TracedLoopInterpreter
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame
from mycelia._engine.compiler.frontend.mutation_journal import VariableLocation
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, convert, either
from mycelia._engine.core.errors import located
from mycelia.tensor.tensor import Tensor

MOST_PASSES = 10_000  # iterations of a loop that is run while tracing
UNROLL_LIMIT = 64  # iterations to unroll; longer loops become loops of the program, if possible
MOST_NESTED = 8  # iterations, each in a branch of the previous one, before a loop is traced


class LoopInterpreter(TracedLoopInterpreter):
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
            if number == UNROLL_LIMIT and self._ends(test, body, node, frame):
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
        """A runtime value decides whether the loop ended: the rest of the loop is conditional."""
        continues = self._one_of(end, (FALLS, CONTINUES))

        def rest() -> End:
            def test() -> Any:
                return self.test(node.test, frame)

            rolled = self._rolled(test, lambda: self.run(node.body, frame), node, frame)
            return self.run_While(node, frame) if rolled is None else rolled

        return self._rest_of_loop(end, continues, rest)

    def is_symbolic_test(self, test: Callable[[], Any]) -> bool:
        """Whether a test is symbolic; its side effects are undone."""
        found: list[Any] = []
        if self.attempt("test", lambda: found.append(test())) is None:
            raise UnreachablePath
        return isinstance(found[0], SymbolicNumber)

    def run_For(self, node: ast.For, frame: Frame) -> End:
        source = self.eval(node.iter, frame)
        if known_length(source) is None:
            return self._symbolic_for(node, source, frame)
        return self._known_for(node, source, iterate(source), 0, frame)

    def _known_for(
        self, node: ast.For, source: Any, parts: Iterator[Any], start: int, frame: Frame
    ) -> End:
        for place in itertools.count(start):
            if place == UNROLL_LIMIT and isinstance(source, (range, Tensor)):
                rolled = self._rolled_for(node, source, place, frame)
                if rolled is not None:
                    return rolled
            try:
                element = next(parts)
            except StopIteration:
                break
            if place >= MOST_PASSES:
                raise self.too_long(node, frame)
            self.assign(node.target, element, frame)
            end = self.run(node.body, frame)
            if end in (FALLS, CONTINUES):
                continue
            if not isinstance(end, Mixed):
                return FALLS if end == BREAKS else end
            continues = self._one_of(end, (FALLS, CONTINUES))
            rest = partial(self._rest_of_for, node, source, parts, place + 1, frame)
            return self._rest_of_loop(end, continues, rest)
        return self.run(node.orelse, frame)

    def _rest_of_for(
        self, node: ast.For, source: Any, parts: Iterator[Any], start: int, frame: Frame
    ) -> End:
        """The rest of a loop that may have ended at run time: a loop again, if it is long."""
        if isinstance(source, (range, Tensor)) and len(source) - start > MOST_NESTED:
            rolled = self._rolled_for(node, source, start, frame)
            if rolled is not None:
                return rolled
        return self._known_for(node, source, parts, start, frame)

    def _rest_of_loop(self, end: Mixed, continues: Any, rest: Callable[[], End]) -> End:
        """Run `rest` if the loop continues; otherwise break or return has ended it."""
        kinds: set[int] = set()

        def proceed() -> Any:
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

        if continues is True:
            return rest()
        tag = leave() if continues is False else self.branches(continues, (leave, proceed))
        return as_end(tag, frozenset(kinds))

    def _one_of(self, end: Mixed, wanted: tuple[int, ...]) -> Any:
        """Whether the end is one of `wanted`: a bool, or a symbolic bool."""
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
        """Whether a loop with a constant test terminates: it is run to the end and undone."""

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
            raise UnreachablePath
        return bool(found.result)

    def _rolled(
        self, test: Callable[[], Any], body: Callable[[], End], node: Any, frame: Frame
    ) -> End | None:
        """A long loop with a constant test as a loop of the program; None if that is impossible."""
        self.at(node, frame)
        try:
            return self.loop(test, body, node, frame)
        except (GraphBreak, TypeError, ValueError, IndexError, KeyError, AttributeError):
            return None  # it needs constant values, so it is unrolled

    def _rolled_for(self, node: ast.For, source: Any, start: int, frame: Frame) -> End | None:
        counter = VariableLocation(frame.variables, f"<counter {node.lineno}>")
        self.tracer.store.write(counter, start)
        test, body = self._counted(node, source, known_length(source), counter, frame)
        return self._rolled(test, body, node, frame)

    def _symbolic_for(self, node: ast.For, source: Any, frame: Frame) -> End:
        """A loop over a range of symbolic length."""
        counter = VariableLocation(frame.variables, f"<counter {node.lineno}>")
        self.tracer.store.write(counter, 0)
        test, body = self._counted(node, source, _count(source), counter, frame)
        return self.loop(test, body, node, frame)

    def _counted(
        self, node: ast.For, source: Any, count: Any, counter: VariableLocation, frame: Frame
    ) -> tuple[Callable[[], Any], Callable[[], End]]:
        """The test and body of a loop that indexes elements by a counter."""

        def test() -> Any:
            return self.truth(counter.read() < count)

        def body() -> End:
            self.assign(node.target, element_at(source, counter.read()), frame)
            end = self.run(node.body, frame)
            self.tracer.store.write(counter, counter.read() + 1)
            return end

        return test, body

    def too_long(self, node: ast.AST, frame: Frame) -> Exception:
        self.at(node, frame)
        return located(
            RuntimeError,
            f"a loop ran for {MOST_PASSES} iterations during compilation",
            got=f"the loop in {self.tracer.span.function if self.tracer.span else '?'}",
            expected=f"at most {MOST_PASSES} iterations of a loop with a constant test",
            fix="make the test depend on a tensor, so that the loop runs in the program",
            span=self.tracer.span,
        )


def _count(source: Any) -> Any:
    """The number of iterations of a loop over `source`, as a symbolic number."""
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
        raise GraphBreak(None, "zip combines an iterator with a range of unknown length")
    return known_length(source)
