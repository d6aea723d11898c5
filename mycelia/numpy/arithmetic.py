"""Element-wise functions of two arrays: arithmetic, bitwise, comparison, and logical."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import bool_, float16, float32
from mycelia._engine.core.errors import problem
from mycelia.numpy.array_conversion import NUMBERS, floating, single, to_tensor, together, typed
from mycelia.tensor.tensor import Tensor

Pair = tuple[Tensor, ...]


def _function(
    name: str, prepare: Callable[[Any, Any], Pair], of: Callable[[Any, Any], Any], meaning: str
) -> Callable[..., Any]:
    """Create the function `name` of two arrays: `prepare` converts them, `of` computes."""

    def function(x1: Any, x2: Any, dtype: Any = None) -> Any:
        return typed(of(*prepare(x1, x2)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


def _floats(x1: Any, x2: Any) -> Pair:
    return together(*map(floating, together(x1, x2)))


def _singles(x1: Any, x2: Any) -> Pair:
    return single(x1), single(x2)


def _quotient(x1: Any, x2: Any) -> Pair:
    """Convert both sides to float32, unless one has half or single precision."""
    tensors = to_tensor(x1), to_tensor(x2)
    if any(t.dtype in (float16, float32) or t.dtype.is_complex for t in tensors):
        return together(*tensors)
    return _singles(*tensors)


def _following(x1: Any, x2: Any) -> Pair:
    """Convert to tensors; a Python number adopts the dtype of the tensor."""
    if isinstance(x1, Tensor) and isinstance(x2, NUMBERS):
        return x1, ops.cast(to_tensor(x2), x1.dtype)
    if isinstance(x2, Tensor) and isinstance(x1, NUMBERS):
        return ops.cast(to_tensor(x1), x2.dtype), x2
    return together(x1, x2)


def _bools(x1: Any, x2: Any) -> Pair:
    return ops.cast(to_tensor(x1), bool_), ops.cast(to_tensor(x2), bool_)


# ---- arithmetic -----------------------------------------------------------------------------


def _greatest_divisor(x: Any, y: Any) -> Any:
    """Greatest common divisor: Euclid's algorithm for floats; integers have an operator."""
    if not x.dtype.is_float:
        return ops.gcd(x, y)
    x, y = ops.abs(x), ops.abs(y)
    while ops.any(ops.not_equal(y, 0)):
        goes_on = ops.not_equal(y, 0)
        rest = ops.fmod(x, ops.where(goes_on, y, ops.ones_like(y)))
        x, y = ops.where(goes_on, y, x), ops.where(goes_on, rest, y)
    return x


def _least_multiple(x: Any, y: Any) -> Any:
    if not x.dtype.is_float:
        return ops.lcm(x, y)
    divisor = _greatest_divisor(x, y)
    safe = ops.where(ops.equal(divisor, 0), ops.ones_like(divisor), divisor)
    return ops.abs(ops.mul(ops.div(x, safe), y))


add = _function("add", together, ops.add, "x1 + x2.")
subtract = _function("subtract", together, ops.sub, "x1 - x2.")
multiply = _function("multiply", together, ops.mul, "x1 * x2.")
divide = _function("divide", _quotient, ops.div, "x1 / x2, as floats.")
true_divide = _function("true_divide", _quotient, ops.div, "x1 / x2: alias of `divide`.")
floor_divide = _function("floor_divide", together, ops.floor_div, "x1 / x2 rounded down.")
remainder = _function(
    "remainder", together, ops.floor_mod, "The remainder of floor division, with the sign of x2."
)
mod = _function("mod", together, ops.floor_mod, "Alias of `remainder`.")
fmod = _function(
    "fmod", together, ops.fmod, "The remainder of division toward zero, with the sign of x1."
)
power = _function("power", together, ops.pow, "x1 to the power of x2.")
float_power = _function("float_power", _singles, ops.pow, "x1 to the power of x2, in float32.")
maximum = _function("maximum", _following, ops.maximum, "The element-wise maximum.")
minimum = _function("minimum", _following, ops.minimum, "The element-wise minimum.")
hypot = _function("hypot", _floats, ops.hypot, "The hypotenuse: sqrt(x1**2 + x2**2).")
arctan2 = _function("arctan2", _floats, ops.atan2, "The angle of the point (x2, x1).")
heaviside = _function(
    "heaviside",
    together,
    ops.heaviside,
    "The Heaviside step function of x1: 0 or 1, and x2 where x1 is 0.",
)
logaddexp = _function("logaddexp", _floats, ops.logaddexp, "log(exp(x1) + exp(x2)).")
logaddexp2 = _function("logaddexp2", _floats, ops.logaddexp2, "log2(2**x1 + 2**x2).")
gcd = _function("gcd", together, _greatest_divisor, "The greatest common divisor.")
lcm = _function("lcm", together, _least_multiple, "The least common multiple.")


def divmod(x1: Any, x2: Any, dtype: Any = None) -> tuple[Any, Any]:
    """The quotient of floor division, and the remainder."""
    return floor_divide(x1, x2, dtype), remainder(x1, x2, dtype)


def copysign(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """x1 with the sign of x2; the dtype is that of x1."""
    size, sign = to_tensor(x1), to_tensor(x2)
    if size.dtype.is_bool:
        raise problem(TypeError, "copysign: bools have no sign", fix="cast to a number first")
    positive = ops.abs(size)
    return typed(ops.where(ops.less(floating(sign), 0.0), ops.neg(positive), positive), dtype)


def clip(x: Any, xmin: Any, xmax: Any, dtype: Any = None) -> Any:
    """Clip `x` to [xmin, xmax], either of which may be None; the dtype of `x` stays."""
    if xmin is None and xmax is None:
        raise problem(
            ValueError, "clip: xmin and xmax are both None", expected="xmin, xmax or both"
        )
    source = to_tensor(x)
    if xmin is not None:
        source = ops.maximum(source, ops.cast(to_tensor(xmin), source.dtype))
    if xmax is not None:
        source = ops.minimum(source, ops.cast(to_tensor(xmax), source.dtype))
    return typed(source, dtype)


# ---- bits -----------------------------------------------------------------------------------

bitwise_and = _function("bitwise_and", together, ops.bitwise_and, "Bitwise AND.")
bitwise_or = _function("bitwise_or", together, ops.bitwise_or, "Bitwise OR.")
bitwise_xor = _function("bitwise_xor", together, ops.bitwise_xor, "Bitwise XOR.")

# ---- comparisons ----------------------------------------------------------------------------

equal = _function("equal", together, ops.equal, "x1 == x2.")
not_equal = _function("not_equal", together, ops.not_equal, "x1 != x2.")
less = _function("less", together, ops.less, "x1 < x2.")
less_equal = _function("less_equal", together, ops.less_equal, "x1 <= x2.")
greater = _function("greater", together, ops.greater, "x1 > x2.")
greater_equal = _function("greater_equal", together, ops.greater_equal, "x1 >= x2.")
logical_and = _function("logical_and", _bools, ops.logical_and, "Logical AND.")
logical_or = _function("logical_or", _bools, ops.logical_or, "Logical OR.")
logical_xor = _function("logical_xor", _bools, ops.logical_xor, "Logical XOR.")
