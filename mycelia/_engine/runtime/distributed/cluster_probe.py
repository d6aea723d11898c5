"""Benchmark of the local devices: compute throughput, memory bandwidth, and communication."""

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

_REPEATS = 5  # runs; a measurement is their median
_LONG_ENOUGH = 0.02  # seconds of one run, which make the launch overhead negligible
_PRODUCTS = (512, 1024, 2048, 4096, 8192)  # rows and columns of matrices
_COPIES = (1 << 22, 1 << 24, 1 << 26)  # elements that are copied
_FEW, _MANY = 16, 1 << 20  # elements of a short and of a long message


def probe_cluster() -> Cluster:
    """Measure the cluster of all devices, in a few seconds.

    All devices run at the same time, so devices that share cores or memory are measured under
    realistic load. Matrix products use float32 on CPU and bfloat16 elsewhere. A process counts as a
    host. With one device, the links are those of the cluster "cpu". In a job with several
    processes, all of them must call this function, and all receive the same cluster.
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
    """FLOP/s of one device, while all devices multiply matrices."""
    kind = jnp.float32 if devices[0].platform == "cpu" else jnp.bfloat16
    product = jax.jit(lambda x: jnp.einsum("nij,njk->nik", x, x))
    seconds = 0.0
    for size in _PRODUCTS:
        seconds = _seconds(product, _each(devices, (size, size), kind))
        if seconds >= _LONG_ENOUGH:
            break
    return 2 * size**3 / seconds


def _copying(devices: Sequence[Any]) -> float:
    """Memory bandwidth of one device (bytes/s, reads plus writes), while all devices copy."""
    copy = jax.jit(lambda x: x + 1)
    seconds = 0.0
    for size in _COPIES:
        seconds = _seconds(copy, _each(devices, (size,), jnp.float32))
        if seconds >= _LONG_ENOUGH:
            break
    return 2 * 4 * size / seconds


def _talk(devices: Sequence[Any]) -> tuple[float, float]:
    """Bandwidth (bytes/s) that each device sends in an all-reduce, and the latency in seconds."""
    if len(devices) == 1:
        return KNOWN["cpu"].link, KNOWN["cpu"].latency
    mesh = Mesh((len(devices),))
    together = sharding(tuple(devices), mesh, Placement(((),)))
    total = jax.jit(lambda x: x.sum(axis=0), out_shardings=together)
    short, long = [_seconds(total, _each(devices, (size,), jnp.float32)) for size in (_FEW, _MANY)]
    sent = 2 * (len(devices) - 1) / len(devices) * 4 * (_MANY - _FEW)
    return sent / max(long - short, 1e-9), short


def _seconds(program: Callable[[Any], Any], array: Any) -> float:
    """The median time of a run, excluding the first, which compiles."""
    jax.block_until_ready(program(array))
    found = []
    for _ in range(_REPEATS):
        started = perf_counter()
        jax.block_until_ready(program(array))
        found.append(perf_counter() - started)
    return float(np.median(found))


def _each(devices: Sequence[Any], shape: tuple[int, ...], kind: Any) -> Any:
    """A sharded array of ones, with a shard of this shape on each device."""
    mesh = Mesh((len(devices),))
    placed = sharding(tuple(devices), mesh, Placement(((0,), *[()] * len(shape))))
    return jax.make_array_from_callback(
        (len(devices), *shape), placed, lambda _: np.ones((1, *shape), kind)
    )


def _memory(devices: Sequence[Any]) -> float:
    """Memory of a device in bytes: as it reports, or its share of the host memory."""
    told = devices[0].memory_stats()
    if told and "bytes_limit" in told:
        return float(told["bytes_limit"])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / len(devices)


def _agreed(measured: list[float], devices: Sequence[Any], here: int) -> list[float]:
    """The means over all devices: the same values in every process."""
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
