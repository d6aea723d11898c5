"""Buffer donation: a program consumes arrays, and tensors receive the new ones atomically.

XLA writes the new array of a parameter into the memory of the old one, which is invalid as soon as
a run starts. An interruption between that and the assignment of the new array would leave
parameters without an array. So JAX itself puts the results into a list (a `DeliveredResults`)
before the call that runs the program returns, and one call of C code assigns the delivered results,
in a `finally` block. When JAX runs Python code after the run has started, as it does for the first
arguments of each type, all this happens in a thread that cannot be interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, filterfalse, islice, repeat, starmap
from operator import is_, itemgetter
from threading import Lock
from typing import Any

import jax
from numpy import ndarray

from mycelia._engine.core.atomic_assignment import exhaust
from mycelia._engine.core.seed import drawing
from mycelia._engine.runtime.parameter_layout.packs import ParameterPack
from mycelia._engine.runtime.uninterruptible import uninterruptible
from mycelia.tensor.consumed_array import ConsumedArray

_KINDS = 4  # argument signatures that are remembered for each program


class DeliveredResults(list[Any]):
    """The results of a program; JAX appends them as soon as they exist.

    JAX sees a pytree of `size` arrays that is rebuilt by appending the arrays to itself.
    """

    __slots__ = ("size",)
    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__

    def __init__(self, size: int) -> None:
        super().__init__(repeat(0, size))
        self.size = size

    def structure(self) -> Any:
        """The pytree structure of such results."""
        self[:] = repeat(0, self.size)
        return jax.tree.structure(self)

    def of(self, function: Callable[..., Any]) -> Callable[..., DeliveredResults]:
        """Wrap a function so that its results are delivered here."""

        def delivering(*arguments: Any) -> DeliveredResults:
            self[:] = function(*arguments)
            return self

        delivering.__name__ = getattr(function, "__name__", "program")
        return delivering


def _leaves(delivery: DeliveredResults) -> tuple[tuple[Any, ...], DeliveredResults]:
    return tuple(delivery[len(delivery) - delivery.size :]), delivery


jax.tree_util.register_pytree_node(DeliveredResults, _leaves, list.__iadd__)


class BufferDonation:
    """The tensors that a program writes, and the code to run it on their arrays.

    Their new arrays start at index `first` of the results. Calling a program must be one call of C
    code, or the program must deliver its results itself; otherwise every run must be `in_thread`.
    """

    def __init__(
        self,
        delivery: DeliveredResults,
        tensors: Sequence[Any],
        first: int,
        *,
        in_thread: bool = False,
    ) -> None:
        self.delivery, self.turn = delivery, Lock()
        self._tensors, self._first = tuple(tensors), first
        self._end = first + len(self._tensors)
        self._is_delivery = partial(is_, delivery)
        self._names = [array_attribute(tensor) for tensor in self._tensors]
        self.in_thread = in_thread
        self._delivered: set[int] = set()  # identities of the new arrays of the last run
        self._known: list[Any] = []  # input signatures that JAX has run before

    def forget(self) -> None:
        """Reset after the executable has been replaced or dropped."""
        self._known.clear()
        self.delivery.clear()

    def run(
        self,
        program: Callable[..., Any],
        inputs: Sequence[Any],
        owned: Sequence[Any],
        state: Sequence[Any],
        arguments: Sequence[Any],
        drawn: int | None,
    ) -> list[Any]:
        """Run a program on `inputs`: it consumes the `owned` arrays and reads the others.

        It draws `drawn` random keys, or returns their number after the new arrays. The caller must
        hold the `turn`.
        """
        self.delivery.clear()
        swap = self._swap(drawn)
        kinds = (id(program), *self._kinds(owned, state, arguments))
        try:
            if kinds in self._known:
                self._run(program, inputs, swap)
            else:
                uninterruptible(partial(self._run, program, inputs, swap))
                if not self.in_thread:
                    self._known = [*self._known[1 - _KINDS :], kinds]
        except Exception:
            self._mark_lost()
            raise
        found = self.delivery[: self.delivery.size]
        self.delivery.clear()
        self._delivered = set(map(id, found[self._first : self._end]))
        return found

    def _run(self, program: Callable[..., Any], inputs: Sequence[Any], swap: Iterator[Any]) -> None:
        """Run a program; results that it returns instead of delivering are delivered here."""
        returned = filterfalse(self._is_delivery, starmap(program, (inputs,)))
        results = chain.from_iterable(returned)
        try:
            self.delivery.extend(results)
        finally:
            exhaust(swap)

    def _kinds(self, owned: Sequence[Any], state: Sequence[Any], arguments: Sequence[Any]) -> Any:
        """The properties of arrays by which JAX selects an executable.

        Identity checks recognize arrays that the program returned itself or that are unchanged,
        which is faster than inspecting each array.
        """
        is_own = self._delivered.issuperset(map(id, owned))
        kinds = None if is_own else [*map(_kind, owned)]
        return kinds, [*map(id, state)], [*map(_kind, arguments)]

    def _swap(self, drawn: int | None) -> Iterator[Any]:
        """An iterator that assigns the delivered results when it is exhausted, or nothing."""
        delivery, end = self.delivery, self._end
        arrays = map(setattr, self._tensors, self._names, islice(delivery, self._first, end))
        if drawn == 0:
            return arrays
        owner, name, before = drawing()
        if drawn is None:
            counts: Iterator[Any] = zip((before,), islice(delivery, end, None), strict=False)
        else:
            counts = map(itemgetter(0), zip((before + drawn,), delivery, strict=False))
        return chain(arrays, map(setattr, (owner,), (name,), counts))

    def _mark_lost(self) -> None:
        """After an error, replace the consumed arrays by placeholders that raise on use."""
        for tensor, name in zip(self._tensors, self._names, strict=True):
            array = getattr(tensor, name)
            if isinstance(array, jax.Array) and array.is_deleted():
                setattr(tensor, name, ConsumedArray(array, getattr(tensor, "name", "a tensor")))


def array_attribute(tensor: Any) -> str:
    """The attribute that holds the array of a tensor or a pack."""
    return "_array" if isinstance(tensor, ParameterPack) else "_data"


def _kind(array: Any) -> Any:
    """The properties that JAX checks in an array, besides shape and dtype, which do not change."""
    if type(array) is ndarray:
        return None
    return array.sharding, array.committed, array.weak_type
