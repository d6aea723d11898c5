"""Cluster descriptions: hosts, devices, and their compute and communication speeds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from math import prod
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.text_files import json_value, made_of
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.tracebacks import is_explained
from mycelia._engine.distributed.mesh import Mesh


@dataclass(frozen=True)
class Cluster(CheckedKeywords):
    """`hosts` with `devices_per_host` each; rates are per second, `memory` is in bytes.

    Links within a host and between hosts each have a bandwidth (bytes per second, per device and
    direction) and a `latency` per message. `reduce_scatter` says whether the compiler fuses a sum
    of which every device keeps one shard into one collective (XLA does on GPU and TPU, not on CPU).
    """

    name: str = "cpu"
    hosts: int = 1
    devices_per_host: int = 1
    flops: float = 5e10
    memory: float = 16e9
    memory_bandwidth: float = 2e10
    link: float = 4e9
    link_between_hosts: float = 1e9
    latency: float = 5e-6
    latency_between_hosts: float = 3e-5
    reduce_scatter: bool = False

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if not isinstance(value, (str, bool)) and value <= 0:
                raise problem(
                    ValueError,
                    f"Cluster: {entry.name} must be positive",
                    got=repr(value),
                    expected="a number above 0",
                )

    @property
    def devices(self) -> int:
        return self.hosts * self.devices_per_host

    def with_devices(self, devices: int) -> Cluster:
        """A copy with another number of devices: whole hosts, or part of one host."""
        per_host = min(devices, self.devices_per_host)
        if devices <= self.devices_per_host or devices % per_host:
            return replace(self, hosts=1, devices_per_host=devices)
        return replace(self, hosts=devices // per_host, devices_per_host=per_host)

    def crosses_hosts(self, mesh: Mesh, axes: Iterable[int]) -> bool:
        """Whether a collective along these mesh axes crosses hosts."""
        spans = [prod(mesh.sizes[axis:]) for axis in axes if mesh.sizes[axis] > 1]
        return max(spans, default=1) > self.devices_per_host

    def seconds(self, moved: float, mesh: Mesh, axes: Iterable[int]) -> float:
        """Seconds of one collective in which each device sends `moved` bytes."""
        if self.crosses_hosts(mesh, axes):
            return self.latency_between_hosts + moved / self.link_between_hosts
        return self.latency + moved / self.link

    def save(self, path: str | Path) -> None:
        """Write the cluster description to a JSON file."""
        write_atomically(path, [json.dumps(asdict(self), indent=2).encode() + b"\n"])

    @classmethod
    def load(cls, path: str | Path) -> Cluster:
        """Read a cluster description; missing entries have their defaults."""
        try:
            return cls.of(json_value(Path(path).read_bytes()))
        except (OSError, ValueError) as error:
            raise problem(
                ValueError,
                "Cluster.load: the file cannot be read",
                got=f"{path}: {str(error).splitlines()[0]}",
            ) from None

    @classmethod
    def of(cls, found: Any) -> Cluster:
        """Create a cluster from a dict of its fields."""
        known = {entry.name for entry in fields(cls)}
        if not isinstance(found, dict) or not set(found) <= known:
            unknown = sorted(set(found) - known) if isinstance(found, dict) else repr(found)
            raise problem(
                ValueError,
                "Cluster: unknown entries",
                got=str(unknown),
                expected=f"some of {', '.join(sorted(known))}",
            )
        try:
            return made_of(cls, found)
        except ValueError as error:
            if is_explained(error):
                raise
            raise problem(
                ValueError, "Cluster: an entry has the wrong type", got=str(error)
            ) from None


# From data sheets, rounded: dense half-precision FLOPS, bandwidth per device and direction.
KNOWN = {
    "cpu": Cluster(),
    "a100": Cluster(
        "a100", 1, 8, 2.4e14, 8e10, 1.5e12, 2.4e11, 2.5e10, 3e-6, 1e-5, reduce_scatter=True
    ),
    "h100": Cluster(
        "h100", 1, 8, 8e14, 8e10, 3.3e12, 3.6e11, 5e10, 3e-6, 1e-5, reduce_scatter=True
    ),
    "tpu_v4": Cluster(
        "tpu_v4", 1, 4, 2.2e14, 3.2e10, 1.2e12, 1.3e11, 2.5e10, 2e-6, 1e-5, reduce_scatter=True
    ),
}
