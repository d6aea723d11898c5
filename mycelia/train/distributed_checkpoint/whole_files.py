"""Files of whole tensors seen as parts: each tensor is one part, which is all of it."""

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
    """What a safetensors file of whole tensors holds; None if it is one of parts, or missing."""
    if not path.is_file():
        return None
    if path.suffix == ".ckpt":
        raise problem(
            ValueError,
            "load_distributed_checkpoint: a file of format 'ckpt' does not say where parts belong",
            got=str(path),
            fix="a whole one: load_checkpoint(file, network)",
        )
    try:
        entries, metadata = safetensors_format.places(path)
    except ValueError as error:
        raise problem(
            ValueError,
            f"load_distributed_checkpoint: {path} is damaged, or no checkpoint",
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
