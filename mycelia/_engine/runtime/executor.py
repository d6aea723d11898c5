"""Execution of programs: gather the inputs, run, and write back state."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from sys import getrefcount
from time import perf_counter
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.atomic_assignment import assign_atomically
from mycelia._engine.core.errors import located
from mycelia._engine.core.pending_checks import poll_checks, wait_for_checks
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.seed import drawing, peek_key
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.runtime.atomic_writes import after_writing, before_writing
from mycelia._engine.runtime.buffer_donation import (
    BufferDonation,
    DeliveredResults,
    array_attribute,
)
from mycelia._engine.runtime.distributed import multiprocess_jit
from mycelia._engine.runtime.distributed.stage_arrays import StageArraysFlag, move_to_default_device
from mycelia._engine.runtime.host_to_device import LARGE, is_in_place
from mycelia._engine.runtime.observers import observed
from mycelia._engine.runtime.parameter_layout.packed_programs import pack_parameters
from mycelia._engine.runtime.uninterruptible import uninterruptible
from mycelia._engine.runtime.xla import executable_cache
from mycelia._engine.runtime.xla.compile import (
    ProgramCache,
    joined_options,
    small_products,
    without_engine_frames,
)
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia._engine.runtime.xla.materialization import runtime_one
from mycelia.tensor.consumed_array import ConsumedArray, check_not_consumed
from mycelia.tensor.views import check_apart, replace

_REFERENCES = 3  # of an array that only its tensor holds: the slot, a local name, the count itself


class LoopStackOverflow(Exception):  # the caller recompiles with larger stacks
    """The stacks of a program were too small."""

    def __init__(self, needed: int) -> None:
        super().__init__()
        self.needed = needed


def write_back(
    program: Program,
    found: Sequence[Any],
    arguments: Sequence[Any],
    check: Callable[[], None] = wait_for_checks,
) -> None:
    """Write back the state that a run of `program` changed; LoopStackOverflow requests a rerun.

    `check` is called when the run is known to be complete, before anything is written.
    """
    place = program.results + len(program.writes)
    if program.drawn is None:
        drawn = int(found[place])
        place += 1
    else:
        drawn = program.drawn
    if program.capacity is not None:
        if (needed := int(found[place])) > program.capacity:
            raise LoopStackOverflow(needed)
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
    check()
    written = [arguments[which] if type(which) is int else which for which in program.writes]
    given = [arguments[which] for which in program.writes if type(which) is int]
    related = [argument for argument in given if argument._relation is not None]
    if related:
        check_apart(related, [*arguments, *[i.which for i in program.inputs]])
    before_writing(written)
    owner, name, before = drawing()
    arrays = zip(written, map(array_attribute, written), found[program.results :], strict=False)
    assign_atomically([*arrays, (owner, name, before + drawn)])
    after_writing(written)
    for argument in related:
        replace(argument, argument._data)


def as_array(value: Any, least: int = LARGE) -> Any:
    """The array of a tensor that will not be changed, or a number as an array.

    A host array with at least `least` elements moves to the device permanently, so that the next
    run finds it there. The CPU device instead reads large host arrays in place.
    """
    if not isinstance(value, TensorProtocol):
        return np.asarray(value)
    tensor: Any = value
    array = tensor._data
    if type(array) is not np.ndarray or array.size < least:
        return np.array(array) if tensor._shared else array
    if array.size >= LARGE and not tensor._shared and is_in_place(array):
        return array
    moved = jax.numpy.array(array)
    if not tensor._shared:
        tensor._data = moved
    return moved


def state_array(tensor: Any) -> Any:
    """The array of a tensor that outlives the call, moved to the device whatever its size."""
    array = tensor._data
    return as_array(tensor, least=1) if type(array) is np.ndarray else array


def donatable_arrays(tensors: Iterable[Any]) -> list[Any]:
    """The arrays of tensors for donation, copied if they are shared.

    A large host array moves to the device before the first run, which needs the most memory.
    """
    found = []
    for tensor in tensors:
        array = tensor._data
        on_host = type(array) is np.ndarray
        if on_host and array.size >= LARGE and not tensor._shared:
            array = tensor._data = jax.numpy.array(array)
        elif on_host or tensor._shared:
            array = np.array(array)
        elif getrefcount(array) > _REFERENCES:
            array = jax.numpy.array(array)
        found.append(array)
    return found


def may_donate(program: Program) -> bool:
    """Whether a program may write parameters in place, because it never fails once it has started.

    A program that also writes its arguments, or state of another shape or dtype, writes everything
    after the run.
    """
    if any(isinstance(which, int) for which in program.writes) or not program.keeps_types:
        return False
    return program.capacity is None and not program.unbound and not calls_python(program)


def guarded(program: Program) -> dict[int, int]:
    """The outputs that keep their old value if an index is wrong, by the inputs they overwrite.

    There are none if shapes or dtypes change: the writes then wait for the checks.
    """
    return program.replaced if program.keeps_types else {}


def calls_python(program: Program) -> bool:
    """Whether a program calls Python functions while it runs, which may fail."""
    nodes = chain.from_iterable(nodes_by_graph(program.graph).values())
    return any(getattr(primitive_of(node), "calls_python", False) for node in nodes)


class Executable:
    """A program that is compiled at its first run."""

    devices: tuple[Any, ...] = ()  # if it is sharded over several

    def __init__(self, program: Program) -> None:
        self.program = program = self._fitted(program)
        self.first_run: float | None = None  # seconds, including XLA's compilation
        self.was_on_disk = False  # an earlier process compiled it
        written = {id(tensor) for tensor in program.writes}
        inputs = program.inputs
        self._donated = tuple(
            i
            for i, given in enumerate(inputs)
            if given.source is InputSource.STATE
            and id(given.which) in written
            and may_donate(program)
        )
        self._given_away = [inputs[i].which for i in self._donated]
        others = [(i, g) for i, g in enumerate(inputs) if i not in set(self._donated)]
        self._state = [(i, g.which) for i, g in others if g.source is InputSource.STATE]
        self._arguments = [(i, g.which) for i, g in others if g.source is not InputSource.STATE]
        gathered = [*self._donated, *[i for i, _ in (*self._state, *self._arguments)]]
        self._order = np.argsort(gathered).tolist()  # of the inputs among those gathered
        outputs = program.graph.output.type
        self._handover = BufferDonation(
            DeliveredResults(len(outputs)),
            program.writes,
            program.results,
            in_thread=self._is_shared,
        )
        self._calls_python = calls_python(program)
        self._begin()

    @property
    def _is_shared(self) -> bool:
        """Whether several processes run the program."""
        return world().size > 1

    def _fitted(self, program: Program) -> Program:
        """The program to run: on packed parameters where that is faster."""
        return pack_parameters(program)

    def _begin(self) -> None:
        """Reset to no executable, with the current lowering settings."""
        generation = ProgramCache.generation
        self.first_run = None
        graph = self.program.graph
        products = small_products(graph)
        self._lowered = self._lowered_with(self.program.in_place, products)
        self._handover.delivery.size = self._lowered.size
        self._program = multiprocess_jit.jit(
            self._results_of(self._lowered),
            graph,
            donate_argnums=self._donated,
            compiler_options=joined_options(graph, products),
            keep_unused=True,
        )
        self._run: Callable[..., Any] = self._program
        self._generation = generation  # last, so that an interrupted setup is repeated

    def _lowered_with(self, in_place: dict[int, int], products: int) -> LoweredGraph:
        program = self.program
        return LoweredGraph(program.graph, in_place, products, guarded(program), self.devices)

    def _results_of(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """The function to compile; its results are delivered if it consumes donated arrays."""
        self._handover.forget()
        return self._handover.delivery.of(lowered) if self._donated else lowered

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """Run on arguments (tensors and numbers), write back state, and return the results."""
        if self._generation != ProgramCache.generation:
            self._begin()
        self._ask()
        if ConsumedArray.present:
            state = [i.which._data for i in self.program.inputs if i.source is InputSource.STATE]
            check_not_consumed([*state, *[getattr(a, "_data", a) for a in arguments]])
        try:
            if self._donated:
                with self._handover.turn:
                    found = self._run_in_place(arguments)
            else:
                arrays = self._inputs(arguments, [])
                found = self._timed(arrays, lambda: self._run(*arrays))
                if self._calls_python:
                    jax.block_until_ready(found)  # an error of such a call comes before any write
        except Exception as error:
            raise without_engine_frames(error) from None
        if self._donated:
            self._lowered.noted(found)
        else:
            write_back(self.program, found, arguments, partial(self._note, found))
        return list(found[: self.program.results])

    def _ask(self) -> None:
        """Raise failed index checks of earlier runs; unguarded programs wait for these runs."""
        if self._writes_anyway:
            wait_for_checks()
        poll_checks()

    def _note(self, found: Sequence[Any]) -> None:
        """Register the index checks of a run, and wait for them if writes depend on them."""
        self._lowered.noted(found)
        if self._writes_anyway:
            wait_for_checks()

    @property
    def _writes_anyway(self) -> bool:
        """Whether the program returns new arrays even if an index is wrong."""
        return bool(self.program.writes) and not self._lowered.guarded

    def _run_in_place(self, arguments: Sequence[Any]) -> list[Any]:
        """Run with donation: parameters are written into the memory of their old arrays."""
        handover, written = self._handover, self.program.writes
        handover.delivery.clear()
        before_writing(written)
        owned = donatable_arrays(self._given_away)
        arrays = self._inputs(arguments, owned)
        state = [arrays[i] for i, _ in self._state]
        given = [arrays[i] for i, _ in self._arguments]

        def run() -> list[Any]:
            return handover.run(self._run, arrays, owned, state, given, self.program.drawn)

        found = self._timed(arrays, run)
        after_writing(written)
        return found

    def _timed(self, arrays: Sequence[Any], run: Callable[[], Any]) -> Any:
        """Run; the first run compiles before and measures its time."""
        if self.first_run is not None:
            return observed(self.program.graph.name, run)
        started = perf_counter()
        uninterruptible(partial(self._prepare, arrays))  # JAX does not tolerate interruptions
        found = observed(self.program.graph.name, run)
        self.first_run = perf_counter() - started
        executable_cache.tidy(self.first_run, found)
        return found

    def _prepare(self, arrays: Sequence[Any]) -> None:
        """Before the first run: load the executable if an earlier process has compiled it."""
        if world().size > 1:
            self._run = multiprocess_jit.compiled(self._program, arrays)
            return
        delivery = self._handover.delivery
        plain = jax.tree.structure((0,) * delivery.size)
        results = delivery.structure() if self._donated else plain
        executable, self.was_on_disk = executable_cache.cached_executable(
            self._program,
            self.program.graph,
            (self._donated, self._lowered.guarded),
            arrays,
            results,
        )
        self._run = executable_cache.in_turn(executable) if self._donated else executable

    def _inputs(self, arguments: Sequence[Any], given_away: Sequence[Any]) -> list[Any]:
        """All inputs of a run: arguments and state, donated arrays, and the number one."""
        gathered = [*given_away, *[state_array(tensor) for _, tensor in self._state]]
        for _, number in self._arguments:
            gathered.append(peek_key() if number is None else as_array(arguments[number]))
        extra = runtime_one(), *self._lowered.failed_before()
        arrays = [*[gathered[place] for place in self._order], *extra]
        return move_to_default_device(arrays) if StageArraysFlag.present else arrays

    def _lowered_for(self, arguments: Sequence[Any]) -> Any:
        """The program lowered for some arguments, without donation."""
        arrays = self._inputs(arguments, [state_array(tensor) for tensor in self._given_away])
        return self._program.lower(*arrays)

    @property
    def choices(self) -> dict[str, int]:
        """The device-specific choices of the compilation in this process, with their counts."""
        return self._lowered.choices

    def text(self, arguments: Sequence[Any]) -> str:
        """The input of XLA, as text."""
        return self._lowered_for(arguments).as_text()

    def memory(self, arguments: Sequence[Any]) -> Any:
        """XLA's memory analysis: the bytes of arguments, results, and temporaries."""
        return self._lowered_for(arguments).compile().memory_analysis()
