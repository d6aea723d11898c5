"""Running programs: gather their inputs, run them, put what they changed where it belongs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax
import numpy as np

from mycelia.core.errors import located
from mycelia.core.seed import draw_keys, peek_key
from mycelia.ir.program import Program, Source
from mycelia.ir.value import Value
from mycelia.runtime.packing import packed
from mycelia.runtime.xla import executables
from mycelia.runtime.xla.compile import Programs, options, without_engine_frames
from mycelia.runtime.xla.keeping import one
from mycelia.runtime.xla.lower import Lowered

_LARGE = 1 << 14  # numbers; smaller arrays of the host are handed over with each call
_REFERENCES = 3  # of an array that only its tensor holds: the slot, a local name, the count itself


class Overflow(Exception):  # it asks for another program
    """The stacks of a program were too small."""

    def __init__(self, needed: int) -> None:
        super().__init__()
        self.needed = needed


def finish(program: Program, found: Sequence[Any], arguments: Sequence[Any]) -> None:
    """Write what a run of `program` changed, from all it gave; raise Overflow to run it again."""
    place = program.results + len(program.writes)
    if program.drawn is None:
        drawn = int(found[place])
        place += 1
    else:
        drawn = program.drawn
    if program.capacity is not None:
        if (needed := int(found[place])) > program.capacity:
            raise Overflow(needed)
        place += 1
    if program.unbound and (use := int(found[place])):
        name, span = program.unbound[use - 1]
        raise located(
            UnboundLocalError,
            f"the name {name!r} has no value here",
            got="a path that does not assign it",
            fix="assign it on every path before it is used",
            span=span,
        )
    draw_keys(drawn)
    for which, array in zip(program.writes, found[program.results :], strict=False):
        tensor = arguments[which] if isinstance(which, int) else which
        tensor._data = array
        tensor._shared = False


def as_array(value: Any) -> Any:
    """The array of a tensor that nobody will change, or a number as an array.

    A large array of the host is given to the device for good: the next run finds it there.
    """
    if not isinstance(value, Value):
        return np.asarray(value)
    tensor: Any = value
    array = tensor._data
    if type(array) is not np.ndarray or array.size < _LARGE:
        return np.array(array) if tensor._shared else array
    moved = jax.numpy.array(array)
    if not tensor._shared:
        tensor._data = moved
    return moved


def owned_array(tensor: Any) -> Any:
    """The array of a tensor, or a copy if anyone else looks at it: it may be given away."""
    array = tensor._data
    if tensor._shared or type(array) is np.ndarray:
        return np.array(array)
    return jax.numpy.array(array) if sys.getrefcount(array) > _REFERENCES else array


class Executable:
    """A program compiled when it is first run; arrays in, arrays out."""

    def __init__(self, program: Program) -> None:
        self.program = program = packed(program)
        self.first_run: float | None = None  # seconds, with the engine's compilation
        self.was_on_disk = False  # an earlier process compiled it
        written = {id(tensor) for tensor in program.writes}
        inputs = program.inputs
        self._donated = tuple(
            i
            for i, given in enumerate(inputs)
            if given.source is Source.STATE
            and id(given.which) in written
            and program.capacity is None
            and not program.unbound
        )
        self._plan = [
            (given.source, given.which, i in self._donated) for i, given in enumerate(inputs)
        ]
        self._begin()

    def _begin(self) -> None:
        """Start without an executable, with operators lowered as the settings say now."""
        self._generation = Programs.generation
        self.first_run = None
        self._lowered = Lowered(self.program.graph, self.program.in_place)
        self._program = jax.jit(
            self._lowered,
            donate_argnums=self._donated,
            compiler_options=options(self.program.graph),
            keep_unused=True,
        )
        self._run: Callable[..., Any] = self._program

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """The results for arguments (tensors and numbers); what the program writes is written."""
        program = self.program
        if self._generation != Programs.generation:
            self._begin()
        arrays = [
            self._input(source, which, given, arguments) for source, which, given in self._plan
        ]
        arrays.append(one())
        started = perf_counter() if self.first_run is None else 0.0
        try:
            if self.first_run is None:
                self._run, self.was_on_disk = executables.kept(
                    self._program, program.graph, self._donated, arrays
                )
            found = self._run(*arrays)
        except Exception as error:
            raise without_engine_frames(error) from None
        if self.first_run is None:
            self.first_run = perf_counter() - started
            executables.tidy(self.first_run, found)
        finish(program, found, arguments)
        return list(found[: program.results])

    def _input(self, source: Source, which: Any, donated: bool, arguments: Sequence[Any]) -> Any:
        if source is Source.ARGUMENT:
            return as_array(arguments[which])
        if source is Source.RANDOM:
            return peek_key()
        return owned_array(which) if donated else as_array(which)

    @property
    def choices(self) -> dict[str, int]:
        """What was chosen for the device when the program was compiled in this process."""
        return self._lowered.choices

    def text(self, arguments: Sequence[Any]) -> str:
        """The program as XLA is given it."""
        arrays = [self._input(source, which, False, arguments) for source, which, _ in self._plan]
        return self._program.lower(*arrays, one()).as_text()

    def memory(self, arguments: Sequence[Any]) -> Any:
        """What XLA plans to need, in bytes of arguments, results and everything between."""
        arrays = [self._input(source, which, False, arguments) for source, which, _ in self._plan]
        return self._program.lower(*arrays, one()).compile().memory_analysis()
