"""Floating-point functions that also accept integers and bools, computed as float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import float32
from mycelia._engine.ir.tensor_protocol import TensorProtocol


def as_float(x: Any) -> Any:
    """Cast a tensor of integers or bools to float32."""
    if isinstance(x, TensorProtocol) and not x.dtype.is_inexact:
        return ops.cast(x, float32)
    return x


def on_floats(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Extend a function of one tensor to integers and bools."""

    def called(input: Any) -> Any:
        return function(as_float(input))

    called.__name__ = called.__qualname__ = function.__name__
    called.__doc__ = function.__doc__
    return called


sin = on_floats(ops.sin)
cos = on_floats(ops.cos)
tan = on_floats(ops.tan)
asin = on_floats(ops.asin)
acos = arccos = on_floats(ops.acos)
atan = arctan = on_floats(ops.atan)
sinh = on_floats(ops.sinh)
cosh = on_floats(ops.cosh)
tanh = on_floats(ops.tanh)
asinh = arcsinh = on_floats(ops.asinh)
acosh = arccosh = on_floats(ops.acosh)
atanh = arctanh = on_floats(ops.atanh)
sinc = on_floats(ops.sinc)
exp = on_floats(ops.exp)
exp2 = on_floats(ops.exp2)
expm1 = on_floats(ops.expm1)
log = on_floats(ops.log)
log2 = on_floats(ops.log2)
log10 = on_floats(ops.log10)
log1p = on_floats(ops.log1p)
sqrt = on_floats(ops.sqrt)
rsqrt = on_floats(ops.rsqrt)
reciprocal = on_floats(ops.reciprocal)
erf = on_floats(ops.erf)
erfc = on_floats(ops.erfc)
erfinv = on_floats(ops.erfinv)
sigmoid = on_floats(ops.sigmoid)


def arcsin(x: Any) -> Any:
    """Inverse sine."""
    return asin(x)
