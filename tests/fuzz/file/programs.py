"""Exported programs, compiled programs kept on disk, and plans."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

import mycelia as ms
from mycelia import Tensor, nn
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.plan import plan as plans
from mycelia._engine.runtime.xla import executable_cache
from tests.fuzz.file.format import Format, plain

_GROUP = "programs"
_KEY = b"0123456789abcdef"
_HEAD = struct.Struct("<8sIQQ32s")  # of an exported program
_X = np.arange(6, dtype=np.float32).reshape(2, 3)


def formats() -> list[Format]:
    """All of them."""
    return [
        Format("program", _GROUP, _export, _load, sealed=True),
        Format("program with right checksums", _GROUP, _export, _load, reseal=_resealed),
        Format("program encrypted", _GROUP, _export_sealed, _load_sealed, sealed=True),
        Format("compiled program", _GROUP, _keep, _load_kept, sealed=True),
        Format("plans", _GROUP, _write_plans, _read_plans),
        Format("cluster", _GROUP, _write_cluster, _read_cluster),
    ]


class _Network(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(3, 2, weight_init="ones")

    def construct(self, x: Tensor) -> Tensor:
        for _ in range(2):
            if x.sum() > 3:
                x = x * 0.5
        return self.layer(x)


def _export(folder: Path) -> None:
    ms.export(_Network(), Tensor(_X), file_name=str(folder / "net"))


def _export_sealed(folder: Path) -> None:
    ms.export(_Network(), Tensor(_X), file_name=str(folder / "net"), enc_key=_KEY)


def _load(folder: Path) -> Any:
    return str(ms.load(str(folder / "net.mindir")))


def _load_sealed(folder: Path) -> Any:
    return str(ms.load(str(folder / "net.mindir"), dec_key=_KEY))


def _resealed(data: bytes) -> bytes:
    """The sizes and the checksum of the bytes behind the head."""
    if len(data) < _HEAD.size:
        return data
    magic, version, _, numbers, _ = _HEAD.unpack_from(data)
    body = data[_HEAD.size :]
    end = body.rfind(b"}") + 1
    numbers = len(body) - end
    return _HEAD.pack(magic, version, end, numbers, hashlib.sha256(body).digest()) + body


# ---- compiled programs --------------------------------------------------------------------------


def _keep(folder: Path) -> None:
    compiled = jax.jit(lambda x: x * 2 + 1).lower(_X).compile()
    executable_cache._keep(folder / "kept.program", compiled, ())


def _load_kept(folder: Path) -> Any:
    """What the program computes; a file that is left out counts as an error that says so."""
    inputs, results = jax.tree.structure(((0,), {})), jax.tree.structure(0)
    found = executable_cache._load(folder / "kept.program", inputs, results)
    return None if found is None else plain(np.asarray(found(_X)))


# ---- plans --------------------------------------------------------------------------------------


def _write_plans(folder: Path) -> None:
    move = plans.PlanCollective("all_gather", 96.0, 1e-6, (0,), 1, "the sum is cut")
    row = plans.PlanRow(
        3, "matmul", "net.py:3", "x @ w", ("b=48",), ((0,),), ("f32[48,64]",), ("f32[48]",),
        (move,), 1e-5,
    )  # fmt: skip
    plan = plans.Plan("step", "ab12", "auto", "exact", (2,), Cluster(), (row,), 5, {"(2,)": 1.0})
    plans.save([plan], folder / "plans.json")


def _read_plans(folder: Path) -> Any:
    found = plans.load(folder / "plans.json")
    return [[asdict(plan), plan.show(), plan.seconds] for plan in found]


def _write_cluster(folder: Path) -> None:
    Cluster("mine", 2, 4).save(folder / "cluster.json")


def _read_cluster(folder: Path) -> Any:
    found = Cluster.load(folder / "cluster.json")
    return asdict(found), found.seconds(1e6, plans.Mesh((2, 4)), (0,))
