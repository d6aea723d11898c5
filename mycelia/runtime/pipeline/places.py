"""Devices of the stages of a pipeline, and moving arrays between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from typing import Any

import jax

from mycelia.core.errors import problem
from mycelia.ir.graph import Graph
from mycelia.ops.device import plain_forms
from mycelia.ops.spreading import over, sharding
from mycelia.parallel.mesh import Mesh, Placement, whole
from mycelia.runtime.xla.compile import options, without_engine_frames
from mycelia.runtime.xla.lower import Lowered


def stage_devices(stages: int, wanted: int | None, alone: bool) -> list[tuple[Any, ...]]:
    """The devices of each stage: as many for each as there are, or one if `alone`."""
    devices = jax.devices()
    if jax.process_count() > 1:
        raise problem(
            RuntimeError,
            "a pipeline runs in one process with several devices",
            got=f"{jax.process_count()} processes",
        )
    count = len(devices) if wanted is None else wanted
    if count > len(devices) or count < stages:
        raise problem(
            RuntimeError,
            "a pipeline needs a device for each stage",
            got=f"{stages} stages, device_num={wanted}, {len(devices)} devices",
            fix="set pipeline_stages to fewer, or start with more (virtual) devices",
        )
    each = 1 if alone else count // stages
    return [tuple(devices[s * each : (s + 1) * each]) for s in range(stages)]


class Place:
    """The devices of one stage."""

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = tuple(devices)
        self.everywhere = Mesh((len(self.devices),))

    def sharding(self, placement: Placement, mesh: Mesh | None = None) -> Any:
        return sharding(self.devices, mesh or self.everywhere, placement)

    def whole(self, array: Any) -> Any:
        """An array, whole on each device of the stage."""
        return jax.device_put(array, self.sharding(whole(array.ndim)))

    def compiled(
        self, graph: Graph, donated: Iterable[int] = (), outputs: Sequence[Any] | None = None
    ) -> Callable[..., Any]:
        """A graph as a function on arrays that lie on these devices.

        `outputs` are shardings of the results, None where the engine may choose.
        """
        chosen: dict[str, Any] = {} if outputs is None else {"out_shardings": tuple(outputs)}
        program = jax.jit(
            Lowered(graph),
            donate_argnums=tuple(donated),
            compiler_options=options(graph),
            keep_unused=True,
            **chosen,
        )
        return self.run(program)

    def run(self, program: Callable[..., Any]) -> Callable[..., Any]:
        """A compiled function that is traced for these devices."""
        several = len(self.devices) > 1

        def call(*arrays: Any) -> Any:
            try:
                with over(self.devices), plain_forms() if several else _nothing():
                    return program(*arrays)
            except Exception as error:
                raise without_engine_frames(error) from None

        return call


@contextmanager
def _nothing() -> Any:
    yield
