"""What operators give for the types of arrays, without compiling anything."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import Op

KEY = np.array([7, 11], np.uint32)


def abstract(op: Op, arrays: tuple[Any, ...]) -> Any:
    """The types that `lower` gives, without compiling it."""
    data, static = op.arguments.split(arrays)
    return jax.eval_shape(lambda *d: op.lower(*op.arguments.merge(d, static)), *data)


def with_key(op: Op, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    if not op.draws:
        return arrays
    missing = [
        op.arguments.defaults[i]
        for i in range(len(arrays), len(op.arguments.names))
        if i in op.arguments.defaults
    ]
    return (*arrays, *missing, KEY)


def type_of(value: Any) -> Any:
    if is_array_tuple(value):
        return tuple(type_of(v) for v in value)
    if is_array(value):
        return TensorType(from_numpy(value.dtype), tuple(value.shape))
    return value


def type_of_result(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(type_of_result(v) for v in value)
    return type_of(value)


def is_array_tuple(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and any(is_array(v) for v in value)


def is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")
