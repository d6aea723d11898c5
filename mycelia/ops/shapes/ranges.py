"""Evenly spaced values: arange, linspace, logspace."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np

from mycelia._engine.core.checks import (
    check_non_negative_int,
    check_positive_int,
    is_int,
    is_number,
)
from mycelia._engine.core.dtype import as_dtype, float32, int64
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import FLOATS, check_kinds, check_shape
from mycelia.ops.shapes.creation import Creation
from mycelia.ops.shapes.reshape import cast, scalar_to_tensor


class Range(Creation):
    """Values from `start` up to (not including) `limit`: int64, or float32 for fractions."""

    static = ("start", "limit", "delta")
    maxlen: int = 1000000
    examples = (case(0, 5, 2), case(0.0, 1.0, 0.25), case(5, 0, -2), case(3, 3, 1))

    def lower(self, start: Any, limit: Any, delta: Any) -> Array:
        return jnp.asarray(self.host(start, limit, delta))

    def host(self, start: Any, limit: Any, delta: Any) -> Any:
        numbers = (start, limit, delta)
        if not all(is_number(n) for n in numbers) or len({is_int(n) for n in numbers}) > 1:
            raise problem(
                TypeError,
                "Range: start, limit, and delta must be all ints or all floats",
                got=", ".join(f"{n!r}" for n in numbers),
            )
        return _steps(self.name, start, limit, delta, int64 if is_int(start) else float32)


class LinSpace(Op):
    """`num` evenly spaced values from `start` to `stop`, both included."""

    static = ("num",)
    examples = (case("f32[]", "f32[]", 5), case("f64[]", "f64[]", 1), case("f32[]", "f32[]", 2))

    def infer(self, start: TensorType, stop: TensorType, num: Any) -> TensorType:
        for end in (start, stop):
            if end.dtype.name not in ("float32", "float64"):
                raise problem(
                    TypeError, "LinSpace: the ends must be float32 or float64", got=str(end)
                )
            if end.ndim:
                raise problem(ValueError, "LinSpace: the ends must be 0-d", got=str(end))
        return start.with_shape((check_positive_int(self.name, "num", num),))

    def lower(self, start: Array, stop: Array, num: Any) -> Array:
        return jnp.linspace(start, stop, num, dtype=start.dtype)


class LogSpace(Op):
    """`steps` values from base ** start to base ** end, evenly spaced on a log scale."""

    steps: int = 10
    base: int = 10
    dtype: Any = float32
    examples = (
        case("f32[]", "f32[]", steps=3, differentiate=False),
        case("f64[]", "f64[]", steps=4, base=2, dtype="float64"),
    )

    def normalize(self) -> dict[str, Any]:
        check_non_negative_int("LogSpace", "steps", self.steps)
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, start: TensorType, end: TensorType) -> TensorType:
        for name, found in (("start", start), ("end", end)):
            check_shape(self.name, name, found, ())
        check_kinds(self.name, FLOATS, start=start, end=end)
        return TensorType(self.dtype, (self.steps,))

    def lower(self, start: Array, end: Array) -> Array:
        exponents = jnp.linspace(start, end, self.steps, dtype=start.dtype)
        return jnp.power(jnp.asarray(self.base, start.dtype), exponents).astype(self.dtype.numpy)


@entry_point
def linspace(start: Any, end: Any, steps: Any) -> Any:
    """`steps` evenly spaced values from `start` to `end`, both included."""
    return LinSpace.of()(_as_float(start), _as_float(end), steps)


def logspace(start: Any, end: Any, steps: int, base: int = 10, *, dtype: Any = float32) -> Any:
    """`steps` values from base ** start to base ** end, evenly spaced on a log scale."""
    return LogSpace.of(steps, base, as_dtype(dtype))(_as_float(start), _as_float(end))


def range(start: Any, end: Any, step: Any, maxlen: int = 1000000) -> Any:
    """Values from `start` up to (not including) `end`: int64, or float32 for fractions."""
    return Range.of(maxlen)(start, end, step)


def tensor_range(start: Any, end: Any, step: Any) -> Any:
    """Values from `start` up to (not including) `end`: int64, or float32 for fractions."""
    return range(start, end, step)


def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Any:
    """Values from `start` (default 0) up to (not including) `end`, `step` apart."""
    if end is None:
        start, end = 0, start
    bounds = tuple(freeze(v) for v in (start, end, step))
    for value in bounds:
        if type(value) not in (int, float):
            raise wrong_type("arange", "start, end and step", value, "int, float or 0-d Tensor")
    if not all(is_int(v) for v in bounds):
        bounds = tuple(float(v) for v in bounds)
    made = Range.of()(*bounds)
    return made if dtype is None else cast(made, dtype)


def _steps(owner: str, start: Any, limit: Any, delta: Any, dtype: Any) -> np.ndarray:
    if delta == 0 or (limit - start) * delta < 0:
        raise problem(
            ValueError,
            f"{owner}: the step has the wrong sign or is 0",
            got=f"from {start} to {limit} in steps of {delta}",
            expected="a step that is not 0 and has the sign of end - start",
        )
    count = ceil((limit - start) / delta)
    return (start + np.arange(count) * delta).astype(dtype.numpy)


def _as_float(value: Any) -> Any:
    return value if isinstance(value, TensorProtocol) else scalar_to_tensor(value, float32)
