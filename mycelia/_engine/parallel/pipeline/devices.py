"""The devices of pipeline stages: placing arrays and running programs on them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.wait_registry import busy, collective_wait
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.runtime.distributed.multiprocess_jit import translate_error
from mycelia._engine.runtime.distributed.stage_transfer import (
    StageArray,
    own_rank,
    ranks_of,
    replicate_everywhere,
    transfer,
)
from mycelia._engine.runtime.xla.compile import spread_options, start_engine, without_engine_frames
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia.ops.collective.redistribute import over, sharding


def stage_devices(stages: int, wanted: int | None, alone: bool) -> list[tuple[Any, ...]]:
    """The devices of each stage, in process order; one device per stage if `alone`.

    All devices are used: if they do not divide evenly, the first stages have one more.
    """
    devices = sorted(jax.devices(), key=lambda device: (device.process_index, device.id))
    count = len(devices) if wanted is None else wanted
    if count > len(devices) or count < stages:
        raise problem(
            RuntimeError,
            "a pipeline needs at least one device per stage",
            got=f"{stages} stages, device_num={wanted}, {len(devices)} devices",
            fix="reduce pipeline_stages, or start with more (virtual) devices or processes",
        )
    ends = np.cumsum([0, *stage_sizes(stages, count)])
    found = [tuple(devices[ends[s] : ends[s + 1]]) for s in range(stages)]
    return [own[:1] for own in found] if alone else found


def stage_sizes(stages: int, devices: int) -> list[int]:
    """The number of devices of each stage."""
    each, more = divmod(devices, stages)
    return [each + (stage < more) for stage in range(stages)]


class StageDevices:
    """The devices of one stage.

    In a multi-process job, values are `StageArray`: every process has a handle, but only processes
    with the stage's devices hold the data and run its programs. All processes call all methods in
    the same order. If not `is_shared`, the devices and values belong to this process alone.
    """

    def __init__(self, devices: Sequence[Any], is_shared: bool | None = None) -> None:
        self.devices = tuple(devices)
        self.everywhere = Mesh((len(self.devices),))
        self.is_shared = jax.process_count() > 1 if is_shared is None else is_shared
        self.ranks = ranks_of(self.devices)
        self.is_mine = own_rank() in self.ranks

    def sharding(self, placement: Placement, mesh: Mesh | None = None) -> Any:
        return sharding(self.devices, mesh or self.everywhere, placement)

    def put(self, array: Any, wanted: Any) -> Any:
        """Move an array from anywhere to these devices, with the sharding `wanted`."""
        if self.is_shared:
            return transfer(array, wanted)
        return jax.device_put(replicate_everywhere(array), wanted)

    def whole(self, array: Any) -> Any:
        """Replicate an array on all devices of the stage."""
        return self.put(array, self.sharding(replicated(array.ndim)))

    def holds(self, array: Any) -> bool:
        """Whether an array is on the devices of the stage, with any sharding."""
        kind = StageArray if self.is_shared else jax.Array
        return isinstance(array, kind) and set(array.devices()) == set(self.devices)

    def has(self, array: Any, wanted: Any) -> bool:
        """Whether an array is on the devices of the stage with the sharding `wanted`."""
        return self.holds(array) and array.sharding.is_equivalent_to(wanted, array.ndim)

    def compiled(
        self, graph: Graph, donated: Iterable[int] = (), outputs: Sequence[Any] | None = None
    ) -> Callable[..., Any]:
        """Compile a graph to a function on arrays on these devices.

        `outputs` are shardings of the results, None where XLA may choose; a result that other
        processes use needs one.
        """
        start_engine()
        lowered = LoweredGraph(graph)
        chosen: dict[str, Any] = {}
        if outputs is not None:
            extra = [self.sharding(replicated(0))] * lowered.extra
            chosen = {"out_shardings": (*outputs, *extra)}
        program = jax.jit(
            lowered,
            donate_argnums=tuple(donated),
            compiler_options=spread_options(graph),
            keep_unused=True,
            **chosen,
        )
        if not self.is_shared:
            run = self.run(program)
            return lambda *arrays: lowered.noted(run(*arrays))
        types = graph.output.type
        wanted = outputs or [None] * len(types)
        return _MultiProcessStageProgram(self, graph.name, program, types, wanted, lowered)

    def run(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a compiled function so that it is traced for these devices."""

        def call(*arrays: Any) -> Any:
            try:
                with self.tracing():
                    return program(*arrays)
            except Exception as error:
                raise without_engine_frames(error) from None

        return call

    def zeros(self, types: Sequence[TensorType], shardings: Sequence[Any]) -> Callable[[], Any]:
        """A function that creates arrays of zeros on these devices."""

        def make() -> Any:
            return tuple([jax.numpy.zeros(t.shape, t.dtype.numpy) for t in types])

        program = jax.jit(make, out_shardings=tuple(shardings))
        if not self.is_shared:
            return program
        return _MultiProcessStageProgram(self, "zeros", program, types, shardings)

    @contextmanager
    def tracing(self) -> Any:
        """Trace functions inside the block for these devices."""
        with (
            over(self.devices),
            reference_implementations() if len(self.devices) > 1 else _nothing(),
        ):
            yield


class _MultiProcessStageProgram:
    """A program of one stage in a multi-process job; processes without its devices do not run it.

    If several processes share its devices, they synchronize before and after every run.
    """

    def __init__(
        self,
        place: StageDevices,
        name: str,
        program: Any,
        types: Sequence[Any],
        outputs: Sequence[Any],
        lowered: LoweredGraph | None = None,
    ) -> None:
        self._lowered = lowered
        self._place, self._name, self._program = place, name, program
        self._types, self._outputs = types, outputs
        self._compiled: dict[Any, Any] = {}  # by the shardings of the arguments

    def __call__(self, *values: Any) -> list[Any]:
        found: Sequence[Any] = [None] * len(self._types)
        if self._place.is_mine:
            arrays = [v.array if isinstance(v, StageArray) else v for v in values]
            try:
                found = self._run(arrays)
            except Exception as error:
                raise without_engine_frames(error) from None
            found = found if self._lowered is None else self._lowered.noted(found)
        return [
            array if wanted is None else StageArray(type_.shape, type_.dtype.numpy, wanted, array)
            for array, type_, wanted in zip(found, self._types, self._outputs, strict=True)
        ]

    def _run(self, arrays: Sequence[Any]) -> Any:
        place = self._place
        key = tuple([array.sharding for array in arrays])
        if key not in self._compiled:
            with busy(), place.tracing():
                self._compiled[key] = self._program.lower(*arrays).compile()
        program = self._compiled[key]
        if len(place.ranks) == 1:
            return program(*arrays)
        with collective_wait(self._name, place.ranks):
            try:
                return jax.block_until_ready(program(*arrays))
            except Exception as error:
                raise translate_error(error, self._name, place.ranks) from None


@contextmanager
def _nothing() -> Any:
    yield
