"""Resharding: operators that place tensors on a device mesh, and the current devices."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mycelia._engine.distributed.layout import Layout, Strategy, checked_strategy
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import Barrier


class _CurrentDevices(threading.local):
    devices: tuple[Any, ...] = ()


_CURRENT = _CurrentDevices()


@contextmanager
def over(devices: Sequence[Any]) -> Iterator[None]:
    """Programs traced inside are placed on these devices."""
    before, _CURRENT.devices = _CURRENT.devices, tuple(devices)
    try:
        yield
    finally:
        _CURRENT.devices = before


@cache
def _grid(devices: tuple[Any, ...], sizes: tuple[int, ...]) -> Any:
    names = tuple([chr(ord("a") + axis) for axis in range(len(sizes))])
    kinds = (jax.sharding.AxisType.Auto,) * len(sizes)
    return jax.sharding.Mesh(np.array(devices).reshape(sizes), names, axis_types=kinds)


@lru_cache(maxsize=4096)
def sharding(devices: tuple[Any, ...], mesh: Mesh, placement: Placement) -> Any:
    """A placement on these devices as a JAX sharding."""
    grid = _grid(devices, mesh.sizes)
    dims = [tuple([grid.axis_names[axis] for axis in dim]) or None for dim in placement.dims]
    return jax.sharding.NamedSharding(grid, jax.sharding.PartitionSpec(*dims))


class Redistribute(Op):
    """Places a tensor on a device mesh; its values do not change."""

    mesh: tuple[int, ...]
    dims: tuple[tuple[int, ...], ...]
    takes_sequences = False
    examples = (case("f32[4,6]", mesh=(2, 3), dims=((0,), (1,))),)

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        devices = _CURRENT.devices
        if not devices:
            return x
        wanted = sharding(devices, Mesh(self.mesh), Placement(self.dims))
        return jax.lax.with_sharding_constraint(x, wanted)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (self(dout),)


class SpreadBarrier(Op):
    """A barrier for tensors with known layouts on a mesh; None where a layout is unknown."""

    mesh: tuple[int, ...]
    values: tuple[tuple[tuple[int, ...], ...] | None, ...]
    waits: tuple[tuple[tuple[int, ...], ...] | None, ...]
    examples = (case(("f32[4,6]",), ("f32[2]",), mesh=(2,), values=(((0,), ()),), waits=(None,)),)

    def infer(self, x: tuple[TensorType, ...], after: tuple[TensorType, ...]) -> Any:
        return x

    def lower(self, x: tuple[Array, ...], after: tuple[Array, ...]) -> tuple[Array, ...]:
        return Barrier.of().lower(x, after)

    def grad(self, x: Any, after: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, None

    def locally(
        self, function: Callable[..., Any], x: Sequence[Array], after: Sequence[Array]
    ) -> list[Array]:
        """Applies `function(x, after)` to the shards of each device.

        Tensors that are not sharded evenly are excluded; those of `x` are returned unchanged.
        """
        mesh = Mesh(self.mesh)
        even = [n for n, array in enumerate(x) if _is_even(array, self.values[n], mesh)]
        waits = [n for n, array in enumerate(after) if _is_even(array, self.waits[n], mesh)]
        if not even or not waits or not _CURRENT.devices:
            return list(x)
        specs = [
            tuple([self._spec(layouts[n], mesh) for n in indices])
            for layouts, indices in ((self.values, even), (self.waits, waits))
        ]
        run = jax.shard_map(
            function,
            mesh=_grid(_CURRENT.devices, mesh.sizes),
            in_specs=tuple(specs),
            out_specs=specs[0],
            check_vma=False,
        )
        results = run(tuple([x[n] for n in even]), tuple([after[n] for n in waits]))
        by_index = dict(zip(even, results, strict=True))
        return [by_index.get(n, array) for n, array in enumerate(x)]

    def _spec(self, dims: Any, mesh: Mesh) -> Any:
        return sharding(_CURRENT.devices, mesh, Placement(dims)).spec


def _is_even(array: Array, dims: Any, mesh: Mesh) -> bool:
    return dims is not None and Placement(dims).is_even(jnp.shape(array), mesh)


class LayOut(Op):
    """Fixes the layout of a tensor, as (2, 1) or a Layout; its values do not change.

    The layout search respects it; `owner` names the source of the request in errors.
    """

    strategy: Strategy
    owner: str = "reshard"
    takes_sequences = False
    elementwise = True
    examples = (case("f32[4,6]", strategy=(2, 3)), case("i32[4]", strategy=(2,)))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (self(dout),)


def reshard(tensor: Any, layout: Layout | tuple[int, ...]) -> Any:
    """Places `tensor` on the devices according to `layout`. On one device it has no effect."""
    return LayOut.of(checked_strategy("reshard", "layout", layout))(tensor)
