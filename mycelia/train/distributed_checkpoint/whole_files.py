"""Reading files of whole tensors as shard files: each tensor is a single shard."""

from __future__ import annotations

from pathlib import Path

from mycelia._engine.core.errors import problem
from mycelia.train import safetensors_format
from mycelia.train.distributed_checkpoint.part_file import (
    PLACES,
    CheckpointShard,
    CheckpointShardFile,
)


def whole_file(path: Path) -> CheckpointShardFile | None:
    """The content of a safetensors file of whole tensors; None for shard files or no file."""
    if not path.is_file():
        return None
    if path.suffix == ".ckpt":
        raise problem(
            ValueError,
            "load_distributed_checkpoint: a 'ckpt' file has no layouts",
            got=str(path),
            fix="load a whole one: load_checkpoint(file, network)",
        )
    try:
        entries, metadata = safetensors_format.places(path)
    except ValueError as error:
        raise problem(
            ValueError,
            f"load_distributed_checkpoint: {path} is damaged, or not a checkpoint",
            got=str(error).splitlines()[0],
            expected="a file that save_checkpoint(..., format='safetensors') wrote",
        ) from None
    if PLACES in metadata:
        return None
    parts = [
        CheckpointShard(path, name, (0,) * len(e.shape), e.shape, e.shape, e.dtype, e.begin, None)
        for name, e in entries.items()
    ]
    return CheckpointShardFile(path, 0, 1, tuple(parts), (), {})
