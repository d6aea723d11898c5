"""Compile-time constant arguments of operators."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, is_symbolic
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.primitive import Primitive
from mycelia.ops.shapes.reshape import Cast
from mycelia.tensor.promotion import promote
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import TensorView

FOLDED = 1024  # operators on constants are evaluated while tracing up to this result size


def check_static(op: Primitive, value: Any) -> None:
    """Raise GraphBreak if a static argument is not a compile-time constant."""
    if isinstance(value, (tuple, list)):
        for part in value:
            check_static(op, part)
    elif is_symbolic(value):
        raise GraphBreak(value._data, f"{op.name} needs the value of an argument at compile time")


def is_known(value: Any) -> bool:
    """Whether an argument is a compile-time constant."""
    if isinstance(value, (tuple, list)):
        return all(map(is_known, value))
    if isinstance(value, Tensor):
        is_input = value._is_parameter or is_outer_view(value)
        return not is_input and not isinstance(value._data, GraphNode)
    return value is None or isinstance(value, (int, float, complex, np.generic))


def known_array(value: Any) -> Any:
    """A compile-time constant as a host array."""
    return np.asarray(value) if is_known(value) and value is not None else None


def is_outer_view(tensor: Tensor) -> bool:
    """Whether a tensor is a view of another one, which may change before the next run."""
    return type(tensor._relation) is TensorView and not tensor._relation.is_traced


def is_small(value: Any) -> bool:
    """Whether an operator on constants is small enough to be evaluated while tracing."""
    if isinstance(value, (tuple, list)):
        return all(map(is_small, value))
    if isinstance(value, Tensor):
        return type(value._data) is np.ndarray and value._data.size <= FOLDED
    return True


_SAMPLES: dict[type, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}


def promote_numbers(op: Primitive, data: tuple[Any, ...]) -> tuple[Any, ...]:
    """Type promotion with symbolic numbers, which are promoted by their kind."""
    stand_ins = tuple([_SAMPLES[a.kind] if isinstance(a, SymbolicNumber) else a for a in data])
    promoted = promote(op, stand_ins)
    return tuple(
        [
            Cast.of()(given.strong, new.dtype)
            if isinstance(given, SymbolicNumber) and isinstance(new, Tensor)
            else new
            for given, new in zip(data, promoted, strict=True)
        ]
    )
