"""Markers of pipeline stage boundaries in traced programs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mycelia._engine.ir.example import case
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op


class EnterStage(Op):
    """Marks where a pipeline stage begins; returns its input.

    It occurs only in networks that are about to be split into stages, and the split removes it.
    """

    stage: int = 0
    segment: int = -1  # occurrence of this stage in the program; -1: the next one
    examples = (case("f32[2,3]", stage=1), case("i32[2]"))

    def infer(self, x: TensorType) -> TensorType:
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout,)


class _StageMarking(threading.local):
    wanted = False


_MARKING = _StageMarking()


@contextmanager
def marking() -> Iterator[None]:
    """Programs traced inside contain the markers of their stages."""
    before, _MARKING.wanted = _MARKING.wanted, True
    try:
        yield
    finally:
        _MARKING.wanted = before


def is_marking() -> bool:
    """Whether the traced program will be split into stages."""
    return _MARKING.wanted


def entered(value: Any, stage: int, segment: int | None) -> Any:
    """The arguments of a cell, with their tensors marked as used in its stage."""
    if isinstance(value, (tuple, list)):
        return type(value)([entered(v, stage, segment) for v in value])
    if isinstance(value, dict):
        return {name: entered(v, stage, segment) for name, v in value.items()}
    if not isinstance(value, TensorProtocol) or not isinstance(
        getattr(value, "_data", None), GraphNode
    ):
        return value
    if getattr(value, "_is_parameter", False) or hasattr(value, "kind"):  # parameter or scalar
        return value
    return EnterStage.of(stage, -1 if segment is None else segment)(value)
