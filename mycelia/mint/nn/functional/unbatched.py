"""Batched functions applied to unbatched inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core.errors import problem


def batched(owner: str, spatial: int, function: Callable[..., Any], *inputs: Any) -> Any:
    """Call `function` of (N, C, ...) inputs with `spatial` spatial axes; the N axis is optional."""
    rank = len(inputs[0].shape)
    if rank == spatial + 2:
        return function(*inputs)
    if rank != spatial + 1:
        raise problem(
            ValueError,
            f"{owner}: the input must have {spatial + 1} or {spatial + 2} dimensions",
            got=f"shape {list(inputs[0].shape)}",
        )
    result = function(*(ops.expand_dims(x, 0) for x in inputs))
    if isinstance(result, tuple):
        return tuple(ops.squeeze(part, 0) for part in result)
    return ops.squeeze(result, 0)
