"""Functions of one array, element by element: roots, logarithms, angles, rounding, signs."""

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
    """The function `name` of one array: `prepare` makes the tensor, `of` works on it."""

    def function(x: Any, dtype: Any = None) -> Any:
        return typed(of(prepare(x)), dtype)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = meaning
    return function


# ---- powers and logarithms ------------------------------------------------------------------

sqrt = _function("sqrt", floating, ops.sqrt, "The square root.")
exp = _function("exp", floating, ops.exp, "e to the power of each element.")
expm1 = _function("expm1", floating, ops.expm1, "exp(x) - 1, exact for small x.")
log = _function("log", floating, ops.log, "The natural logarithm.")
log2 = _function("log2", floating, ops.log2, "The logarithm to base 2.")
log10 = _function("log10", floating, ops.log10, "The logarithm to base 10.")
log1p = _function("log1p", floating, ops.log1p, "log(1 + x), exact for small x.")
square = _function("square", to_tensor, ops.square, "Each element times itself.")


def exp2(x: Any, dtype: Any = None) -> Any:
    """2 to the power of each element; whole numbers stay whole."""
    power = to_tensor(x)
    kind = dtypes.promote(power.dtype, dtypes.int32) if power.dtype.is_bool else power.dtype
    return typed(ops.pow(ops.cast(to_tensor(2), kind), ops.cast(power, kind)), dtype)


def cbrt(x: Any, dtype: Any = None) -> Any:
    """The cube root, of negative numbers too."""
    source = floating(x)
    return typed(ops.mul(ops.sign(source), ops.pow(ops.abs(source), 1.0 / 3.0)), dtype)


def reciprocal(x: Any, dtype: Any = None) -> Any:
    """1 / x; whole numbers stay whole, cut off towards zero."""
    source = to_tensor(x)
    return typed(ops.cast(ops.div(1.0, floating(source)), source.dtype), dtype)


# ---- angles ---------------------------------------------------------------------------------

sin = _function("sin", floating, ops.sin, "The sine.")
cos = _function("cos", floating, ops.cos, "The cosine.")
tan = _function("tan", floating, ops.tan, "The tangent.")
arcsin = _function("arcsin", floating, ops.asin, "The angle with this sine.")
arctan = _function("arctan", floating, ops.atan, "The angle with this tangent.")
sinh = _function("sinh", floating, ops.sinh, "The hyperbolic sine.")
cosh = _function("cosh", floating, ops.cosh, "The hyperbolic cosine.")
tanh = _function("tanh", floating, ops.tanh, "The hyperbolic tangent.")
arcsinh = _function("arcsinh", floating, ops.asinh, "The inverse hyperbolic sine.")
arccosh = _function("arccosh", floating, ops.acosh, "The inverse hyperbolic cosine.")
arctanh = _function("arctanh", floating, ops.atanh, "The inverse hyperbolic tangent.")


def arccos(input: Any, dtype: Any = None) -> Any:
    """The angle with this cosine."""
    return typed(ops.acos(floating(input)), dtype)


def deg2rad(x: Any, dtype: Any = None) -> Any:
    """Degrees as radians."""
    return typed(ops.mul(floating(x), math.pi / 180.0), dtype)


def rad2deg(x: Any, dtype: Any = None) -> Any:
    """Radians as degrees."""
    return typed(ops.mul(floating(x), 180.0 / math.pi), dtype)


def radians(x: Any, dtype: Any = None) -> Any:
    """Degrees as radians: another name of `deg2rad`."""
    return deg2rad(x, dtype)


# ---- rounding -------------------------------------------------------------------------------

floor = _function("floor", floating, ops.floor, "The next whole number below.")
ceil = _function("ceil", floating, ops.ceil, "The next whole number above.")
trunc = _function("trunc", floating, ops.trunc, "The next whole number towards zero.")
rint = _function("rint", floating, ops.Rint.of(), "The nearest whole number, halves to even.")


def fix(x: Any) -> Any:
    """The next whole number towards zero, in float32; float16 stays."""
    source = to_tensor(x)
    return ops.trunc(source if source.dtype is dtypes.float16 else single(source))


def around(a: Any, decimals: int = 0) -> Any:
    """Rounded to `decimals` places after the point, halves to even."""
    places = integer("around", "decimals", decimals)
    if places < 0:
        raise problem(ValueError, "around: decimals is negative", got=str(places))
    source = to_tensor(a)
    return ops.round(source, decimals=places) if source.dtype.is_inexact else source


round = around


# ---- signs ----------------------------------------------------------------------------------

absolute = _function("absolute", to_tensor, ops.abs, "The distance from zero.")
abs = _function("abs", to_tensor, ops.abs, "The distance from zero: another name of `absolute`.")
fabs = _function("fabs", to_tensor, ops.abs, "The distance from zero.")


def sign(x: Any, dtype: Any = None) -> Any:
    """-1, 0 or 1 as a number is negative, zero or positive; whole numbers give float32."""
    source = to_tensor(x)
    if source.dtype.is_bool:
        raise problem(TypeError, "sign: bools have no sign", fix="cast to a number first")
    return typed(ops.sign(floating(source)), dtype)


def signbit(x: Any, dtype: Any = None) -> Any:
    """Whether a number is below zero."""
    return typed(ops.less(floating(x), 0.0), dtype)


def negative(a: Any, dtype: Any = None) -> Any:
    """Each element with the other sign."""
    return typed(ops.neg(to_tensor(a)), dtype)


def positive(a: Any, dtype: Any = None) -> Any:
    """Each element as it is."""
    source = to_tensor(a)
    if source.dtype.is_bool:
        raise problem(TypeError, "positive: bools have no sign", fix="cast to a number first")
    return typed(source.copy(), dtype)


# ---- bits and kinds of numbers --------------------------------------------------------------

invert = _function("invert", to_tensor, ops.invert, "Every bit turned over.")
bitwise_not = _function("bitwise_not", to_tensor, ops.invert, "Every bit turned over: `invert`.")
isnan = _function("isnan", floating, ops.isnan, "Whether an element is not a number.")
isinf = _function("isinf", floating, ops.isinf, "Whether an element is infinite.")
isfinite = _function("isfinite", floating, ops.isfinite, "Whether an element is finite.")


def isposinf(x: Any) -> Any:
    """Whether an element is plus infinity."""
    return ops.equal(floating(x), math.inf)


def isneginf(x: Any) -> Any:
    """Whether an element is minus infinity."""
    return ops.equal(floating(x), -math.inf)


def logical_not(a: Any, dtype: Any = None) -> Any:
    """Whether an element is zero or False."""
    return typed(ops.logical_not(ops.cast(to_tensor(a), dtypes.bool_)), dtype)
