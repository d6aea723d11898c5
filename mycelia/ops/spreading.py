"""Laying tensors out over devices: the operator that says how, and the devices it means."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

import numpy as np

from mycelia.ir.example import case
from mycelia.ir.types import TensorType
from mycelia.ops.engine import Array, jax, jnp
from mycelia.ops.op import Op
from mycelia.parallel.layout import Layout, Strategy, checked_strategy
from mycelia.parallel.mesh import Mesh, Placement


class _Current(threading.local):
    devices: tuple[Any, ...] = ()


_CURRENT = _Current()


@contextmanager
def over(devices: Sequence[Any]) -> Iterator[None]:
    """What is traced inside is spread over these devices."""
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
    """How the engine calls a placement on these devices."""
    grid = _grid(devices, mesh.sizes)
    dims = [tuple([grid.axis_names[axis] for axis in dim]) or None for dim in placement.dims]
    return jax.sharding.NamedSharding(grid, jax.sharding.PartitionSpec(*dims))


class Redistribute(Op):
    """The tensor itself, laid out over a mesh of devices; whole where there is one device."""

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


class LayOut(Op):
    """The tensor itself, of which users say how it is cut over devices, as (2, 1) or a Layout.

    The search for layouts keeps to it; `owner` is whose wish it is, for errors.
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
    """The tensor, cut over devices as `layout` says; it changes nothing on one device."""
    return LayOut.of(checked_strategy("reshard", "layout", layout))(tensor)
