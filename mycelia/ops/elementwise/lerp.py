"""Linear interpolation, addcmul, addcdiv, and clamp."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia.ops.elementwise.arithmetic import div, maximum, minimum, mul, neg, sub
from mycelia.ops.elementwise.comparison import greater, less, logical_not
from mycelia.ops.shapes.reshape import cast, sum_to


class Lerp(Op):
    """Linear interpolation: input + weight * (end - input)."""

    promotes = ("input", "end", "weight")
    examples = (
        case("f32[2,3]", "f32[3]", "f32[]"),
        case("f32[2,1]", "f32[3]", "f32[2,3]:unit"),
        case("f16[0]", "f16[1]", "f16[]"),
    )

    def infer(self, input: TensorType, end: TensorType, weight: TensorType) -> TensorType:
        if not input.dtype.is_float:
            raise unsupported_dtype(self.name, input, "float tensors")
        shape = broadcast(input.shape, end.shape, weight.shape, op=self.name)
        return input.with_shape(shape)

    def lower(self, input: Array, end: Array, weight: Array) -> Array:
        return jnp.add(input, jnp.multiply(weight, jnp.subtract(end, input)))

    def grad(self, input: Any, end: Any, weight: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        toward_end = mul(dout, weight)
        return (
            sum_to(sub(dout, toward_end), input.shape),
            sum_to(toward_end, end.shape),
            sum_to(mul(dout, sub(end, input)), weight.shape),
        )


class _Combination(Op, register=False):
    """Base class of input + value * f(x1, x2) for tensors of the same dtype."""

    promotes = ("input", "value")

    def infer(
        self, input: TensorType, x1: TensorType, x2: TensorType, value: TensorType
    ) -> TensorType:
        for other in (x1, x2):
            if other.dtype is not input.dtype:
                raise problem(
                    TypeError,
                    f"{self.name}: the tensors differ in dtype",
                    got=f"{input}, {x1}, {x2}",
                    fix="cast them to the same dtype with astype",
                )
        return input.with_shape(
            broadcast(input.shape, x1.shape, x2.shape, value.shape, op=self.name)
        )


class Addcmul(_Combination):
    """Product added to a tensor: input + value * x1 * x2."""

    examples = (
        case("f32[2,3]", "f32[3]", "f32[2,1]", "f32[]"),
        case("i32[2]", "i32[2]", "i32[2]", "i32[1]"),
        case("f32[0]", "f32[1]", "f32[]", "f32[]"),
    )

    def lower(self, input: Array, x1: Array, x2: Array, value: Array) -> Array:
        return jnp.add(input, jnp.multiply(value, jnp.multiply(x1, x2)))

    def grad(
        self, input: Any, x1: Any, x2: Any, value: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        scaled = mul(dout, value)
        return (
            sum_to(dout, input.shape),
            sum_to(mul(scaled, x2), x1.shape),
            sum_to(mul(scaled, x1), x2.shape),
            sum_to(mul(dout, mul(x1, x2)), value.shape),
        )


class Addcdiv(_Combination):
    """Quotient added to a tensor: input + value * x1 / x2."""

    examples = (
        case("f32[2,3]", "f32[3]", "f32[2,1]:spread", "f32[]"),
        case("f32[2]", "f32[2]", "f32[2]:positive", "f32[1]"),
        case("f32[0]", "f32[1]", "f32[]:positive", "f32[]"),
    )

    def infer(
        self, input: TensorType, x1: TensorType, x2: TensorType, value: TensorType
    ) -> TensorType:
        if not input.dtype.is_inexact:
            raise unsupported_dtype(self.name, input, "float tensors")
        return super().infer(input, x1, x2, value)

    def lower(self, input: Array, x1: Array, x2: Array, value: Array) -> Array:
        return jnp.add(input, jnp.multiply(value, jnp.true_divide(x1, x2)))

    def grad(
        self, input: Any, x1: Any, x2: Any, value: Any, out: Any, dout: Any
    ) -> tuple[Any, ...]:
        scaled = div(mul(dout, value), x2)
        return (
            sum_to(dout, input.shape),
            sum_to(scaled, x1.shape),
            sum_to(neg(mul(scaled, div(x1, x2))), x2.shape),
            sum_to(mul(dout, div(x1, x2)), value.shape),
        )


class ClampTensor(Op):
    """Clamps input to the range from `min` to `max`; either bound may be None."""

    promotes = ("input", "min", "max")
    examples = (
        case("f32[2,3]", "f32[3]:zeros", "f32[]:unit"),
        case("f32[2,3]", None, "f32[2,1]:unit"),
        case("i32[4]", "i32[]:zeros", None),
        case("f16[0]", "f16[1]:zeros", None),
    )

    def infer(
        self, input: TensorType, min: TensorType | None, max: TensorType | None
    ) -> TensorType:
        if min is None and max is None:
            raise problem(ValueError, "clamp: no bound is set", expected="min, max, or both")
        if input.dtype.is_complex:
            raise unsupported_dtype("clamp", input, "an integer or float tensor")
        limits = [limit.shape for limit in (min, max) if limit is not None]
        return input.with_shape(broadcast(input.shape, *limits, op="clamp"))

    def lower(self, input: Array, min: Array | None = None, max: Array | None = None) -> Array:
        raised = input if min is None else jnp.maximum(input, min)
        return raised if max is None else jnp.minimum(raised, max)

    def grad(self, input: Any, min: Any, max: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        inside, toward_min, toward_max = dout, None, None
        if max is not None:
            raised = input if min is None else maximum(input, min)
            over = greater(raised, max)
            toward_max = sum_to(mul(dout, cast(over, dout.dtype)), max.shape)
            inside = mul(inside, cast(logical_not(over), dout.dtype))
        if min is not None:
            under = less(input, min)
            toward_min = sum_to(mul(inside, cast(under, dout.dtype)), min.shape)
            inside = mul(inside, cast(logical_not(under), dout.dtype))
        return sum_to(inside, input.shape), toward_min, toward_max


def lerp(input: Any, end: Any, weight: Any) -> Any:
    """Linear interpolation: input + weight * (end - input)."""
    if not isinstance(weight, (float, TensorProtocol)):
        raise wrong_type("lerp", "weight", weight, "float or Tensor")
    for name, value in (("input", input), ("end", end)):
        if not isinstance(value, TensorProtocol):
            raise wrong_type("lerp", name, value, "Tensor")
        if not value.dtype.is_float:
            raise unsupported_dtype("lerp", TensorType(value.dtype, value.shape), "a float tensor")
    return Lerp.of()(input, end, weight)


def addcmul(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """Product added to a tensor: input + value * tensor1 * tensor2."""
    return Addcmul.of()(input, tensor1, tensor2, value)


def addcdiv(input: Any, tensor1: Any, tensor2: Any, value: Any = 1) -> Any:
    """Quotient added to a tensor: input + value * tensor1 / tensor2."""
    return Addcdiv.of()(input, tensor1, tensor2, value)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Clamps `input` to the range from `min` to `max`. The gradient passes at the bounds."""
    return ClampTensor.of()(input, min, max)


clip = clamp


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """Clamps x, or each tensor of a tuple or list, to a range, keeping the dtype of x."""
    limits = {"clip_value_min": clip_value_min, "clip_value_max": clip_value_max}
    if clip_value_min is None and clip_value_max is None:
        raise problem(ValueError, "clip_by_value: no bound is set", expected=" or ".join(limits))
    for name, limit in limits.items():
        if limit is not None and not isinstance(limit, (int, float, TensorProtocol)):
            raise wrong_type("clip_by_value", name, limit, "None, Tensor, float or int")
    if isinstance(x, (tuple, list)):
        return tuple(clip_by_value(one, **limits) for one in x)
    clipped = x if clip_value_min is None else maximum(x, clip_value_min)
    clipped = clipped if clip_value_max is None else minimum(clipped, clip_value_max)
    return cast(clipped, x.dtype)
