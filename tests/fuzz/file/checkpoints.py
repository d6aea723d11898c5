"""Checkpoints in all layouts: whole, encrypted, in parts, and with the state of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

import mycelia as ms
from mycelia import Parameter, Tensor
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.runtime.distributed.sharded_arrays import LocalShard
from mycelia.train import ckpt_format
from mycelia.train.checkpoint import RUN_ENTRY
from mycelia.train.distributed_checkpoint import index as part_index
from mycelia.train.distributed_checkpoint import part_file
from mycelia.train.resume import saved_run
from mycelia.train.run_state import RunState
from tests.fuzz.file.format import Format, plain

_GROUP = "checkpoints"
_KEY = b"0123456789abcdef"
_CRC_SIZE = 17  # of the bytes behind the content


def formats() -> list[Format]:
    """All of them."""
    made = [
        _whole("plain", sealed=False),
        _whole("with a checksum", sealed=True, reseal=_resealed, crc_check=True),
        _whole("safetensors", sealed=False, reseal=_fitting_header, format="safetensors"),
        _whole("safetensors with a checksum", sealed=True, format="safetensors", crc_check=True),
        _whole("encrypted", sealed=True, enc_key=_KEY),
        _whole("encrypted in chains", sealed=False, enc_key=_KEY, enc_mode="AES-CBC"),
        _whole("encrypted twice checked", sealed=True, enc_key=_KEY, crc_check=True),
    ]
    for suffix, reseal in (("ckpt", _resealed), ("safetensors", None)):
        made.append(_run(suffix, sealed=True, reseal=None))
        if reseal is not None:
            made.append(_run(suffix, sealed=False, reseal=reseal))
    made.append(Format("checkpoint in parts", _GROUP, _write_parts, _read_index, sealed=True))
    made.append(
        Format("checkpoint in parts into a network", _GROUP, _write_parts, _read_parts, sealed=True)
    )
    return made


def _content() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        "layer.weight": Tensor(rng.normal(size=(3, 4)).astype(np.float32)),
        "layer.bias": Tensor(rng.normal(size=4), ms.bfloat16),
        "steps": Tensor(np.array([7], np.int32)),
        "mask": Tensor(np.array([True, False])),
        "scale": Tensor(np.float16(0.5)),
    }


def _whole(name: str, *, sealed: bool, reseal: Any = None, **options: Any) -> Format:
    suffix = options.get("format", "ckpt")

    def write(folder: Path) -> None:
        ms.save_checkpoint(_content(), str(folder / f"net.{suffix}"), **options)

    def read(folder: Path) -> Any:
        given = {k: options[k] for k in ("format", "crc_check") if k in options}
        if "enc_key" in options:
            given |= {"dec_key": _KEY, "dec_mode": options.get("enc_mode", "AES-GCM")}
        return plain(ms.load_checkpoint(str(folder / f"net.{suffix}"), **given))

    return Format(f"checkpoint {name}", _GROUP, write, read, sealed, reseal)


def _resealed(data: bytes) -> bytes:
    content = data[:-_CRC_SIZE]
    return content + ckpt_format.checksum_bytes(crc32(content))


def _fitting_header(data: bytes) -> bytes:
    """A length that fits the JSON object which begins the file, if there is one."""
    end = data.find(b"}}", 8)
    if end < 0:
        return data
    return (end + 2 - 8).to_bytes(8, "little") + data[8:]


# ---- with the state of a run --------------------------------------------------------------------


def _run(suffix: str, *, sealed: bool, reseal: Any) -> Format:
    def write(folder: Path) -> None:
        state = RunState(
            epoch=2, initial_epoch=0, steps=7, taken=3, batches=4, event="on_train_step_end",
            stopped=False, data={"rows": np.arange(200)}, on_host=[], random={"seed": 3},
            loss_scale={}, outputs=Tensor(np.float32(0.25)), results={"loss": 1.5},
            callbacks=[{"kind": "ModelCheckpoint", "heard": True, "state": {"files": ["a"]}}],
        )  # fmt: skip
        ms.save_checkpoint(
            _content(), str(folder / f"net.{suffix}"), append_dict=state.entries(),
            crc_check=True, format=suffix,
        )  # fmt: skip

    def read(folder: Path) -> Any:
        found = saved_run(folder / f"net.{suffix}", [], _Facts())
        assert found is not None
        return plain([found.parameters, vars(found.state)])

    name = f"run in a {suffix}" + (" with right checksums" if reseal else "")
    return Format(name, _GROUP, write, read, sealed, reseal)


class _Network:
    def get_parameters(self) -> list[Parameter]:
        return [Parameter(value, name=name) for name, value in _content().items()]


class _Facts:
    """What a run knows about itself, as far as resuming asks."""

    train_network, epoch_num = _Network(), 5

    class train_dataset:
        @staticmethod
        def get_dataset_size() -> int:
            return 4


# ---- in parts -----------------------------------------------------------------------------------


def _write_parts(folder: Path) -> None:
    """What two processes would write that hold half of a matrix each."""
    content = {name: value.asnumpy() for name, value in _content().items()}
    index = folder / "net.index.json"
    for rank in range(2):
        parts: list[Any] = []
        if rank == 0:
            parts = [
                (name, array.shape, LocalShard((0,) * array.ndim, array))
                for name, array in content.items()
                if name != "layer.weight"
            ]
        half = content["layer.weight"][:, 2 * rank : 2 * rank + 2]
        parts.append(("layer.weight", (3, 4), LocalShard((0, 2 * rank), half)))
        own = [(RUN_ENTRY, np.frombuffer(json.dumps({"rank": rank}).encode(), np.uint8))]
        texts = {"note": "written by two"} if rank == 0 else {}
        write_atomically(
            part_index.part_path(index, rank, 1), part_file.encode(parts, own, texts, rank, 2)
        )
    write_atomically(index, [part_index.made(index, 1, 2).content()])


def _read_index(folder: Path) -> Any:
    return plain(ms.load_checkpoint(str(folder)))


def _read_parts(folder: Path) -> Any:
    network = _Loaded()
    ms.load_distributed_checkpoint(network, unified_safetensors_dir=str(folder))
    return plain({p.name: p for p in network.get_parameters()})


class _Loaded(ms.nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.weight = Parameter(Tensor(np.zeros((3, 4), np.float32)), name="layer.weight")
        self.steps = Parameter(Tensor(np.zeros(1, np.int32)), name="steps")

    def construct(self) -> None:
        """Never called: the cell only holds parameters."""
