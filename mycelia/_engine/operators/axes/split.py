"""The effect of splitting one axis of a program: divided work, and partial results."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mycelia._engine.operators.axes.dimension_symbols import DimensionSymbol
from mycelia._engine.operators.axes.partial_sums import SCATTERED, still_unfinished
from mycelia._engine.operators.axes.primitive_steps import FlatProgram, PrimitiveStep, StepValue


@dataclass(frozen=True)
class PartialSum:
    """A value of which each shard has one term: how terms are combined, which steps made them."""

    kind: str
    origins: frozenset[int]


class SymbolUses:
    """Occurrences of the values and symbols of a program, by step index."""

    def __init__(self, flat: FlatProgram) -> None:
        self.flat = flat
        self.readers: dict[int, list[int]] = {}
        self.steps_of: dict[DimensionSymbol, list[int]] = {}
        for number, step in enumerate(flat.steps):
            for value in step.inputs:
                self.readers.setdefault(id(value), []).append(number)
            for symbol in _symbols((*step.inputs, *step.outputs)):
                self.steps_of.setdefault(symbol, []).append(number)


class SymbolSplit:
    """One split symbol: which values are partial, and which must be combined inside the program.

    If the terms of a reduction meet a step that needs the complete value, they are combined right
    after the reduction, and the analysis runs again, until there is no such step.
    """

    def __init__(self, symbol: DimensionSymbol, uses: SymbolUses) -> None:
        self._symbol = symbol.root
        self._uses = uses
        self._touching = set(uses.steps_of.get(self._symbol, ()))
        self._terms: dict[int, PartialSum] = {}
        self.finished: set[int] = set()  # steps whose results are combined inside the operator
        self.is_possible = True
        while self.is_possible and self._find_new_finished():
            pass

    @property
    def flops(self) -> float:
        """The work of all steps on values that have the axis."""
        steps = (self._uses.flat.steps[number] for number in self._touching)
        return float(sum(step.flops * step.repeats for step in steps))

    @property
    def inner(self) -> float:
        """The bytes of all values that are combined inside the operator."""
        steps = (self._uses.flat.steps[number] for number in self.finished)
        return float(sum(_made_bytes(step) * step.repeats for step in steps))

    def unfinished(self, results: Sequence[StepValue]) -> tuple[tuple[int, str], ...]:
        """The indices of the results that are partial, and how their terms are combined."""
        if not self._terms:
            return ()
        found = ((leaf, self._terms.get(id(value))) for leaf, value in enumerate(results))
        return tuple((leaf, terms.kind) for leaf, terms in found if terms is not None)

    def _find_new_finished(self) -> bool:
        """Walk the program once; returns whether more reductions must be combined."""
        before = len(self.finished)
        self._terms = {}
        waiting = sorted(self._touching)
        seen: set[int] = set()
        while waiting and self.is_possible:
            number = heapq.heappop(waiting)
            if number in seen:
                continue
            seen.add(number)
            for value in self._walk(number):
                for reader in self._uses.readers.get(id(value), ()):
                    heapq.heappush(waiting, reader)
        return len(self.finished) > before

    def _walk(self, number: int) -> list[StepValue]:
        """Process one step; returns the values that it leaves partial."""
        step = self._uses.flat.steps[number]
        given = [self._terms.get(id(value)) for value in step.inputs]
        if number not in self._touching:
            return self._on_terms(step, given)
        kinds = {kind for symbol, kind in step.ends if symbol.root is self._symbol}
        made = [self._in(value) for value in step.outputs]
        if any(made):
            self._finish(given)
            read = any(self._in(value) for value in step.inputs)
            self.is_possible = not kinds and (all(made) or not read)
            return []
        if len(kinds) != 1:
            self.is_possible = False
            return []
        return self._reduced(number, step, given, kinds.pop())

    def _reduced(
        self, number: int, step: PrimitiveStep, given: list[PartialSum | None], kind: str
    ) -> list[StepValue]:
        """The axis is reduced here: each shard has a term of the results."""
        origins = {number}
        if step.name in SCATTERED:
            table, *given = given
            if table is not None and table.kind == kind:
                origins |= table.origins
            elif table is not None or (kind == "sum" and not step.inputs[0].is_zero):
                self._finish([table])
                self.finished.add(number)
        self._finish(given)
        return (
            []
            if number in self.finished
            else self._leave(step, PartialSum(kind, frozenset(origins)))
        )

    def _on_terms(self, step: PrimitiveStep, given: list[PartialSum | None]) -> list[StepValue]:
        """A step on terms, of values without the axis."""
        kind = still_unfinished(step, [None if terms is None else terms.kind for terms in given])
        if kind is None:
            self._finish(given)
            return []
        origins = frozenset().union(*(terms.origins for terms in given if terms is not None))
        return self._leave(step, PartialSum(kind, origins))

    def _leave(self, step: PrimitiveStep, terms: PartialSum) -> list[StepValue]:
        for value in step.outputs:
            self._terms[id(value)] = terms
        return list(step.outputs)

    def _finish(self, given: Iterable[PartialSum | None]) -> None:
        for terms in given:
            if terms is not None:
                self.finished |= terms.origins

    def _in(self, value: StepValue) -> bool:
        return any(symbol.root is self._symbol for symbol in value.dims)


def _symbols(values: Iterable[StepValue]) -> set[DimensionSymbol]:
    return {symbol.root for value in values for symbol in value.dims}


def _made_bytes(step: PrimitiveStep) -> int:
    return sum(value.bytes for value in step.outputs)
