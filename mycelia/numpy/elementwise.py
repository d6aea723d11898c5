"""Element-wise functions of one array: powers, logarithms, trigonometry, rounding, signs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem
from mycelia.numpy.array_conversion import floating, integer, single, to_tensor, typed


def _function(
    name: str, prepare: Callable[[Any], Any], of: Callable[[Any], Any], meaning: str
) -> Callable[..., Any]:
    """Create the function `name` of one array: `prepare` converts it, `of` computes."""

    def function(x: Any, dtype: Any = None) -> Any:
        return typed(of(prepare(x)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


# ---- powers and logarithms ------------------------------------------------------------------

sqrt = _function("sqrt", floating, ops.sqrt, "The square root.")
exp = _function("exp", floating, ops.exp, "The exponential function.")
expm1 = _function("expm1", floating, ops.expm1, "exp(x) - 1, accurate for small x.")
log = _function("log", floating, ops.log, "The natural logarithm.")
log2 = _function("log2", floating, ops.log2, "The logarithm to base 2.")
log10 = _function("log10", floating, ops.log10, "The logarithm to base 10.")
log1p = _function("log1p", floating, ops.log1p, "log(1 + x), accurate for small x.")
square = _function("square", to_tensor, ops.square, "The square of each element.")


def exp2(x: Any, dtype: Any = None) -> Any:
    """2 to the power of each element; integers stay integers."""
    power = to_tensor(x)
    kind = dtypes.promote(power.dtype, dtypes.int32) if power.dtype.is_bool else power.dtype
    return typed(ops.pow(ops.cast(to_tensor(2), kind), ops.cast(power, kind)), dtype)


def cbrt(x: Any, dtype: Any = None) -> Any:
    """The cube root, of negative numbers too."""
    source = floating(x)
    return typed(ops.mul(ops.sign(source), ops.pow(ops.abs(source), 1.0 / 3.0)), dtype)


def reciprocal(x: Any, dtype: Any = None) -> Any:
    """1 / x; integers stay integers, truncated toward zero."""
    source = to_tensor(x)
    return typed(ops.cast(ops.div(1.0, floating(source)), source.dtype), dtype)


# ---- angles ---------------------------------------------------------------------------------

sin = _function("sin", floating, ops.sin, "The sine.")
cos = _function("cos", floating, ops.cos, "The cosine.")
tan = _function("tan", floating, ops.tan, "The tangent.")
arcsin = _function("arcsin", floating, ops.asin, "The inverse sine.")
arctan = _function("arctan", floating, ops.atan, "The inverse tangent.")
sinh = _function("sinh", floating, ops.sinh, "The hyperbolic sine.")
cosh = _function("cosh", floating, ops.cosh, "The hyperbolic cosine.")
tanh = _function("tanh", floating, ops.tanh, "The hyperbolic tangent.")
arcsinh = _function("arcsinh", floating, ops.asinh, "The inverse hyperbolic sine.")
arccosh = _function("arccosh", floating, ops.acosh, "The inverse hyperbolic cosine.")
arctanh = _function("arctanh", floating, ops.atanh, "The inverse hyperbolic tangent.")


def arccos(input: Any, dtype: Any = None) -> Any:
    """The inverse cosine."""
    return typed(ops.acos(floating(input)), dtype)


def deg2rad(x: Any, dtype: Any = None) -> Any:
    """Convert degrees to radians."""
    return typed(ops.mul(floating(x), math.pi / 180.0), dtype)


def rad2deg(x: Any, dtype: Any = None) -> Any:
    """Convert radians to degrees."""
    return typed(ops.mul(floating(x), 180.0 / math.pi), dtype)


def radians(x: Any, dtype: Any = None) -> Any:
    """Convert degrees to radians: alias of `deg2rad`."""
    return deg2rad(x, dtype)


# ---- rounding -------------------------------------------------------------------------------

floor = _function("floor", floating, ops.floor, "Round down to the nearest integer.")
ceil = _function("ceil", floating, ops.ceil, "Round up to the nearest integer.")
trunc = _function("trunc", floating, ops.trunc, "Round toward zero.")
rint = _function(
    "rint", floating, ops.Rint.of(), "Round to the nearest integer; halves round to even."
)


def fix(x: Any) -> Any:
    """Round toward zero, in float32; float16 stays."""
    source = to_tensor(x)
    return ops.trunc(source if source.dtype is dtypes.float16 else single(source))


def around(a: Any, decimals: int = 0) -> Any:
    """Round to `decimals` decimal places; halves round to even."""
    places = integer("around", "decimals", decimals)
    if places < 0:
        raise problem(ValueError, "around: decimals is negative", got=str(places))
    source = to_tensor(a)
    return ops.round(source, decimals=places) if source.dtype.is_inexact else source


round = around


# ---- signs ----------------------------------------------------------------------------------

absolute = _function("absolute", to_tensor, ops.abs, "The absolute value.")
abs = _function("abs", to_tensor, ops.abs, "The absolute value: alias of `absolute`.")
fabs = _function("fabs", to_tensor, ops.abs, "The absolute value.")


def sign(x: Any, dtype: Any = None) -> Any:
    """The sign of each element: -1, 0, or 1; the result for integers is float32."""
    source = to_tensor(x)
    if source.dtype.is_bool:
        raise problem(TypeError, "sign: bools have no sign", fix="cast to a number first")
    return typed(ops.sign(floating(source)), dtype)


def signbit(x: Any, dtype: Any = None) -> Any:
    """Whether each element is negative."""
    return typed(ops.less(floating(x), 0.0), dtype)


def negative(a: Any, dtype: Any = None) -> Any:
    """The negative of each element."""
    return typed(ops.neg(to_tensor(a)), dtype)


def positive(a: Any, dtype: Any = None) -> Any:
    """Each element unchanged."""
    source = to_tensor(a)
    if source.dtype.is_bool:
        raise problem(TypeError, "positive: bools have no sign", fix="cast to a number first")
    return typed(source.copy(), dtype)


# ---- bits and kinds of numbers --------------------------------------------------------------

invert = _function("invert", to_tensor, ops.invert, "Bitwise NOT.")
bitwise_not = _function("bitwise_not", to_tensor, ops.invert, "Bitwise NOT: alias of `invert`.")
isnan = _function("isnan", floating, ops.isnan, "Whether each element is NaN.")
isinf = _function("isinf", floating, ops.isinf, "Whether each element is infinite.")
isfinite = _function("isfinite", floating, ops.isfinite, "Whether each element is finite.")


def isposinf(x: Any) -> Any:
    """Whether each element is +infinity."""
    return ops.equal(floating(x), math.inf)


def isneginf(x: Any) -> Any:
    """Whether each element is -infinity."""
    return ops.equal(floating(x), -math.inf)


def logical_not(a: Any, dtype: Any = None) -> Any:
    """Logical NOT: whether each element is zero or False."""
    return typed(ops.logical_not(ops.cast(to_tensor(a), dtypes.bool_)), dtype)
