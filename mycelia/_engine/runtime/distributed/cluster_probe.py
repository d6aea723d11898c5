"""Measuring the devices that are here: how fast they compute, copy and talk."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mycelia._engine.distributed.cluster import KNOWN, Cluster
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.runtime.distributed.sharded_execution import all_devices
from mycelia.ops.collective.redistribute import sharding

_REPEATS = 5  # a measurement is the median of so many
_LONG_ENOUGH = 0.02  # seconds of one run, beside which the start of a program is nothing
_PRODUCTS = (512, 1024, 2048, 4096, 8192)  # rows and columns of matrices
_COPIES = (1 << 22, 1 << 24, 1 << 26)  # numbers that are copied
_FEW, _MANY = 16, 1 << 20  # numbers of a short message and of a long one


def probe_cluster() -> Cluster:
    """The cluster of all devices here, measured in a few seconds.

    All devices work at the same time, so those that share cores or memory are measured as they will
    be used. Products are of float32 on CPU, of bfloat16 elsewhere. A process counts as a host. With
    one device there is no link to measure: links are then those of the cluster "cpu". In a job of
    several processes all of them must call this, and all get the same cluster.
    """
    devices = all_devices()
    here = tuple([d for d in devices if d.process_index == jax.process_index()])
    link, latency = _talk(here)
    between, latency_between = (link, latency) if len(here) == len(devices) else _talk(devices)
    if len(here) == 1:
        link, latency = between, latency_between
    measured = [_flops(here), _copying(here), _memory(here), link, latency]
    flops, copying, memory, link, latency, between, latency_between = _agreed(
        [*measured, between, latency_between], devices, len(here)
    )
    return Cluster(
        f"{devices[0].platform} as measured",
        hosts=len(devices) // len(here),
        devices_per_host=len(here),
        flops=flops,
        memory=memory,
        memory_bandwidth=copying,
        link=link,
        link_between_hosts=between,
        latency=latency,
        latency_between_hosts=latency_between,
        reduce_scatter=devices[0].platform != "cpu",
    )


def _flops(devices: Sequence[Any]) -> float:
    """Multiplications and additions a second of one device, while all multiply matrices."""
    kind = jnp.float32 if devices[0].platform == "cpu" else jnp.bfloat16
    product = jax.jit(lambda x: jnp.einsum("nij,njk->nik", x, x))
    seconds = 0.0
    for size in _PRODUCTS:
        seconds = _seconds(product, _each(devices, (size, size), kind))
        if seconds >= _LONG_ENOUGH:
            break
    return 2 * size**3 / seconds


def _copying(devices: Sequence[Any]) -> float:
    """Bytes a second that one device reads and writes, while all copy."""
    copy = jax.jit(lambda x: x + 1)
    seconds = 0.0
    for size in _COPIES:
        seconds = _seconds(copy, _each(devices, (size,), jnp.float32))
        if seconds >= _LONG_ENOUGH:
            break
    return 2 * 4 * size / seconds


def _talk(devices: Sequence[Any]) -> tuple[float, float]:
    """Bytes a second that each device sends in a sum over all, and seconds before the first."""
    if len(devices) == 1:
        return KNOWN["cpu"].link, KNOWN["cpu"].latency
    mesh = Mesh((len(devices),))
    together = sharding(tuple(devices), mesh, Placement(((),)))
    total = jax.jit(lambda x: x.sum(axis=0), out_shardings=together)
    short, long = [_seconds(total, _each(devices, (size,), jnp.float32)) for size in (_FEW, _MANY)]
    sent = 2 * (len(devices) - 1) / len(devices) * 4 * (_MANY - _FEW)
    return sent / max(long - short, 1e-9), short


def _seconds(program: Callable[[Any], Any], array: Any) -> float:
    """The median time of a run, without the first, which compiles."""
    jax.block_until_ready(program(array))
    found = []
    for _ in range(_REPEATS):
        started = perf_counter()
        jax.block_until_ready(program(array))
        found.append(perf_counter() - started)
    return float(np.median(found))


def _each(devices: Sequence[Any], shape: tuple[int, ...], kind: Any) -> Any:
    """An array of ones of this shape on each device, together one array."""
    mesh = Mesh((len(devices),))
    placed = sharding(tuple(devices), mesh, Placement(((0,), *[()] * len(shape))))
    return jax.make_array_from_callback(
        (len(devices), *shape), placed, lambda _: np.ones((1, *shape), kind)
    )


def _memory(devices: Sequence[Any]) -> float:
    """Bytes a device may use: as it says itself, or its share of the machine's."""
    told = devices[0].memory_stats()
    if told and "bytes_limit" in told:
        return float(told["bytes_limit"])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / len(devices)


def _agreed(measured: list[float], devices: Sequence[Any], here: int) -> list[float]:
    """The means over all devices: the same numbers in every process."""
    if len(devices) == here:
        return measured
    mesh = Mesh((len(devices),))
    apart = sharding(tuple(devices), mesh, Placement(((0,), ())))
    together = sharding(tuple(devices), mesh, Placement(((),)))
    rows = jax.make_array_from_process_local_data(
        apart, np.tile(np.array(measured, np.float32), (here, 1))
    )
    mean = jax.jit(lambda x: x.mean(axis=0), out_shardings=together)(rows)
    return [float(value) for value in np.asarray(mean.addressable_data(0))]
