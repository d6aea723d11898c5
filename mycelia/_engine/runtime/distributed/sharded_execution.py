"""Execution of programs that are sharded over several devices, as one XLA program."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.seed import peek_key
from mycelia._engine.core.wait_registry import collective_wait, wait_registry
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.ir.program import Program
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.runtime.distributed import multiprocess_jit
from mycelia._engine.runtime.distributed.stage_transfer import StageArray, replicate_everywhere
from mycelia._engine.runtime.executor import Executable, as_array
from mycelia._engine.runtime.xla.compile import ProgramCache, spread_options, start_engine
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia._engine.runtime.xla.memory_plan import memory_plan
from mycelia.ops.collective.redistribute import over, sharding


def all_devices() -> tuple[Any, ...]:
    """The devices of all processes, grouped by process."""
    return tuple(sorted(jax.devices(), key=lambda device: (device.process_index, device.id)))


def gathered(array: Any) -> np.ndarray:
    """Gather the shards of an array from several processes, all of which must call it.

    This includes processes that hold no shard (of an array on a pipeline stage).
    """
    if isinstance(array, StageArray):
        return np.asarray(replicate_everywhere(array))
    if not array.is_fully_replicated:
        devices = array.sharding.mesh.devices
        mesh = Mesh(devices.shape)
        wanted = sharding(tuple(devices.flat), mesh, replicated(array.ndim))
        array = jax.jit(_same, out_shardings=wanted)(array)
    return np.array(array.addressable_data(0))


def _same(array: Any) -> Any:
    return array


def _one(index: Any) -> np.ndarray:
    return np.ones((), np.float32)


class ShardedExecutable(Executable):
    """A program over the first devices of a job, which every process runs."""

    def __init__(self, program: Program) -> None:
        assert program.spread is not None
        self.spread = program.spread
        self.devices = all_devices()[: self.spread.mesh.devices]
        if len(self.devices) < self.spread.mesh.devices:
            raise problem(
                RuntimeError,
                "the plan needs more devices than are available",
                got=f"{self.spread.mesh.devices} devices planned, {len(self.devices)} available",
                fix="start the script with `mycelia launch --virtual N` or `mycelia launch -n N`",
            )
        self._meets_others = len({device.process_index for device in self.devices}) > 1
        super().__init__(program)
        self._wanted = [self._sharding(placement) for placement in self.spread.inputs]
        self._one = jax.make_array_from_callback(
            (), self._sharding(replicated(0)), _one, dtype=np.float32
        )

    @property
    def _is_shared(self) -> bool:
        return self._meets_others

    def _sharding(self, placement: Placement) -> Any:
        return sharding(self.devices, self.spread.mesh, placement)

    def _fitted(self, program: Program) -> Program:
        return program

    def _begin(self) -> None:
        generation = ProgramCache.generation
        self.first_run = None
        self._handover.forget()
        start_engine()
        program = self.program
        self._lowered = self._lowered_with({}, 0)
        self._handover.delivery.size = self._lowered.size
        self._program = jax.jit(
            partial(self._traced, self._lowered),
            donate_argnums=self._donated,
            out_shardings=self._results(),
            compiler_options=spread_options(program.graph),
            keep_unused=True,
        )
        self._run = self._program
        self._ready: Any = None  # the executable, if it was compiled before its first run
        self._generation = generation  # last, so that an interrupted setup is repeated

    def peak(self) -> int:
        """Peak memory on each device, in bytes; compiles the program to determine it."""
        types = [parameter.type for parameter in self.program.graph.parameters]
        given = [
            jax.ShapeDtypeStruct(type_.shape, type_.dtype.numpy, sharding=wanted)
            for type_, wanted in zip(types, self._wanted, strict=True)
        ]
        self._ready = multiprocess_jit.compiled(self._program, [*given, *self._extra()])
        if not self._is_shared:
            self._run, self._handover.in_thread = self._ready, True
        return memory_plan(self._ready).peak

    def _traced(self, lowered: LoweredGraph, *arrays: Any) -> Any:
        with over(self.devices), reference_implementations():
            return lowered(*arrays)

    def _results(self) -> tuple[Any, ...]:
        """The shardings of results: written state keeps its sharding; XLA chooses the rest.

        With several processes, the rest is replicated, so that each process can read it.
        """
        types, first = self.program.graph.output.type, self.program.results
        found: list[Any] = [None] * len(types)
        if self._is_shared:
            found = [self._sharding(replicated(len(type_.shape))) for type_ in types]
        for place, placement in enumerate(self.spread.writes, first):
            found[place] = self._sharding(placement)
        return (*found, *[self._sharding(replicated(0))] * self._lowered.extra)

    def _prepare(self, arrays: Sequence[Any]) -> None:
        """Multi-device executables are not cached on disk; processes synchronize at each run."""
        if self._is_shared:
            ready = self._ready or multiprocess_jit.compiled(self._program, arrays)
            self._run = partial(self._met, ready)

    def _met(self, program: Callable[..., Any], *arrays: Any) -> Any:
        """Run with all processes and wait; a watchdog tracks the missing ranks."""
        every = tuple(sorted({device.process_index for device in self.devices}))
        with collective_wait(self.program.name, every):
            try:
                found = jax.block_until_ready(program(*arrays))
            except Exception as error:
                raise multiprocess_jit.translate_error(error, self.program.name, every) from None
        wait_registry.runs += 1
        return found

    def _inputs(self, arguments: Sequence[Any], given_away: Sequence[Any]) -> list[Any]:
        arrays: list[Any] = [None] * len(self.program.inputs)
        for place, array in zip(self._donated, given_away, strict=True):
            arrays[place] = self._placed(array, place)
        for place, tensor in self._state:
            array = tensor._data
            arrays[place] = moved = self._placed(array, place)
            if moved is not array and not tensor._shared:
                tensor._data = moved
        for place, number in self._arguments:
            array = peek_key() if number is None else as_array(arguments[number])
            arrays[place] = self._placed(array, place)
        return [*arrays, *self._extra()]

    def _extra(self) -> list[Any]:
        """The extra arguments of a program, replicated on all devices."""
        everywhere = self._sharding(replicated(0))
        return [self._one, *[self._moved(a, everywhere) for a in self._lowered.failed_before()]]

    def _placed(self, array: Any, place: int) -> Any:
        """An array with the sharding of the program, from the data of this process."""
        wanted = self._wanted[place]
        is_part = self._is_shared and place in self.spread.parts and np.ndim(array)
        if is_part and getattr(array, "sharding", None) != wanted:
            return jax.make_array_from_process_local_data(wanted, np.asarray(array))
        return self._moved(array, wanted)

    def _moved(self, array: Any, wanted: Any) -> Any:
        """The array, resharded to `wanted`."""
        if isinstance(array, jax.Array) and array.sharding == wanted:
            return array
        if not self._is_shared:
            return jax.device_put(array, wanted)
        if isinstance(array, jax.Array) and not array.is_fully_addressable:
            return jax.jit(_same, out_shardings=wanted)(array)
        numbers = np.asarray(array)
        return jax.make_array_from_callback(numbers.shape, wanted, numbers.__getitem__)

    def __call__(self, arguments: Sequence[Any]) -> list[Any]:
        found = super().__call__(arguments)
        if self._is_shared:  # every process continues with a local copy
            return [array.addressable_data(0) for array in found]
        return found
