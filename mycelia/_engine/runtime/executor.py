"""Running programs: gather their inputs, run them, put what they changed where it belongs."""

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


class LoopStackOverflow(Exception):  # it asks for another program
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
    """Write what a run of `program` changed, from all it gave; raise Overflow to run it again.

    `check` is called when the run is known to be whole, and nothing is written yet.
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
    """The array of a tensor that nobody will change, or a number as an array.

    An array of the host with so many numbers is given to the device for good: the next run finds
    it there. Only the CPU needs none of that for a large one, which it reads where it lies.
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
    """The array of a tensor that outlives the call: however small, it is on the device for good."""
    array = tensor._data
    return as_array(tensor, least=1) if type(array) is np.ndarray else array


def donatable_arrays(tensors: Iterable[Any]) -> list[Any]:
    """The arrays of tensors, or copies if anyone else looks at them: they may be given away.

    A large array of the host moves to the device before the first run, which needs most memory.
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
    """Whether a program may write parameters in place: it never fails once it has begun.

    One that writes its arguments, too, writes everything when it is over, and so does one that
    writes what has another shape or dtype.
    """
    if any(isinstance(which, int) for which in program.writes) or not program.keeps_types:
        return False
    return program.capacity is None and not program.unbound and not calls_python(program)


def guarded(program: Program) -> dict[int, int]:
    """The outputs that stay as they are if an index is wrong, by the inputs they are written over.

    Where shapes or dtypes change there are none: the checks are waited for before the writes.
    """
    return program.replaced if program.keeps_types else {}


def calls_python(program: Program) -> bool:
    """Whether a program calls Python functions as it runs, which may fail."""
    nodes = chain.from_iterable(nodes_by_graph(program.graph).values())
    return any(getattr(primitive_of(node), "calls_python", False) for node in nodes)


class Executable:
    """A program compiled when it is first run; arrays in, arrays out."""

    devices: tuple[Any, ...] = ()  # if it is spread over several

    def __init__(self, program: Program) -> None:
        self.program = program = self._fitted(program)
        self.first_run: float | None = None  # seconds, with the engine's compilation
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
        self._order = np.argsort(gathered).tolist()  # of inputs among those gathered
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
        """The program as it is run: on packs of parameters, where that is better."""
        return pack_parameters(program)

    def _begin(self) -> None:
        """Start without an executable, with operators lowered as the settings say now."""
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
        self._generation = generation  # at last: what an interruption leaves is begun again

    def _lowered_with(self, in_place: dict[int, int], products: int) -> LoweredGraph:
        program = self.program
        return LoweredGraph(program.graph, in_place, products, guarded(program), self.devices)

    def _results_of(self, lowered: Callable[..., Any]) -> Callable[..., Any]:
        """A function to compile, with results that are delivered if it takes over arrays."""
        self._handover.forget()
        return self._handover.delivery.of(lowered) if self._donated else lowered

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        """The results for arguments (tensors and numbers); what the program writes is written."""
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
        """Raise what is known of earlier runs; a program that writes anyway waits for them."""
        if self._writes_anyway:
            wait_for_checks()
        poll_checks()

    def _note(self, found: Sequence[Any]) -> None:
        """Remember what a run found out, and wait for it if that decides what is written."""
        self._lowered.noted(found)
        if self._writes_anyway:
            wait_for_checks()

    @property
    def _writes_anyway(self) -> bool:
        """Whether the program gives new arrays also where an index is wrong."""
        return bool(self.program.writes) and not self._lowered.guarded

    def _run_in_place(self, arguments: Sequence[Any]) -> list[Any]:
        """What a run gives that writes parameters into the memory of their old arrays."""
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
        """What a run gives; the first one is preceded by compiling, and told to have been long."""
        if self.first_run is not None:
            return observed(self.program.graph.name, run)
        started = perf_counter()
        uninterruptible(partial(self._prepare, arrays))  # the engine does not bear interruptions
        found = observed(self.program.graph.name, run)
        self.first_run = perf_counter() - started
        executable_cache.tidy(self.first_run, found)
        return found

    def _prepare(self, arrays: Sequence[Any]) -> None:
        """Before the first run: an earlier process may have compiled the program."""
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
        """All inputs of a run: arguments and state, arrays to be given away, and the number one."""
        gathered = [*given_away, *[state_array(tensor) for _, tensor in self._state]]
        for _, number in self._arguments:
            gathered.append(peek_key() if number is None else as_array(arguments[number]))
        extra = runtime_one(), *self._lowered.failed_before()
        arrays = [*[gathered[place] for place in self._order], *extra]
        return move_to_default_device(arrays) if StageArraysFlag.present else arrays

    def _lowered_for(self, arguments: Sequence[Any]) -> Any:
        """The program as it is lowered for some arguments; nothing is given away."""
        arrays = self._inputs(arguments, [state_array(tensor) for tensor in self._given_away])
        return self._program.lower(*arrays)

    @property
    def choices(self) -> dict[str, int]:
        """What was chosen for the device when the program was compiled in this process."""
        return self._lowered.choices

    def text(self, arguments: Sequence[Any]) -> str:
        """The program as XLA is given it."""
        return self._lowered_for(arguments).as_text()

    def memory(self, arguments: Sequence[Any]) -> Any:
        """What XLA plans to need, in bytes of arguments, results and everything between."""
        return self._lowered_for(arguments).compile().memory_analysis()
