"""Laying tensors out over devices: the operator that says how, and the devices it means."""

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


class SpreadBarrier(Op):
    """A barrier whose tensors lie on a mesh of devices as told; None where that is not known."""

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
        """`function(x, after)` on what each device has; tensors that are not cut evenly stay out.

        A tensor of `x` that stays out comes back as it is.
        """
        mesh = Mesh(self.mesh)
        places = [n for n, one in enumerate(x) if _is_even(one, self.values[n], mesh)]
        waits = [n for n, one in enumerate(after) if _is_even(one, self.waits[n], mesh)]
        if not places or not waits or not _CURRENT.devices:
            return list(x)
        specs = [
            tuple([self._spec(told[n], mesh) for n in numbers])
            for told, numbers in ((self.values, places), (self.waits, waits))
        ]
        run = jax.shard_map(
            function,
            mesh=_grid(_CURRENT.devices, mesh.sizes),
            in_specs=tuple(specs),
            out_specs=specs[0],
            check_vma=False,
        )
        held = run(tuple([x[n] for n in places]), tuple([after[n] for n in waits]))
        found = dict(zip(places, held, strict=True))
        return [found.get(n, one) for n, one in enumerate(x)]

    def _spec(self, dims: Any, mesh: Mesh) -> Any:
        return sharding(_CURRENT.devices, mesh, Placement(dims)).spec


def _is_even(array: Array, dims: Any, mesh: Mesh) -> bool:
    return dims is not None and Placement(dims).is_even(jnp.shape(array), mesh)


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
