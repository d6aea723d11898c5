"""Tensor methods that call an operator function with the tensor as its first argument."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import FunctionType
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import promote
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import unfitting
from mycelia.ops.tensor_method_forms import FORMS, IN_PLACE_FORMS

SAME = """
abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint amax amin aminmax angle
approximate_equal arccos arccosh arcsin arcsinh arctan arctan2 arctanh argwhere asin asinh atan
atan2 atanh baddbmm bernoulli_ bincount bitwise_and bitwise_left_shift bitwise_or
bitwise_right_shift bitwise_xor bmm broadcast_to ceil cholesky cholesky_inverse cholesky_solve chunk
clamp col2im conj copysign cos cosh count_nonzero cov cross cummax cummin cumprod cumsum deg2rad det
diag diagflat diagonal diagonal_scatter diff digamma div divide dot dsplit eigvals equal erf erfc
erfinv exp expand_dims expm1 exponential_ fills flip fliplr flipud float_power floor floor_divide
fmax fmin fmod fold frac gather_elements gather_nd gcd ge geqrf ger greater greater_equal gt
hardshrink heaviside histc hsplit hypot i0 igamma igammac imag index_fill index_select inner
inplace_update inv inverse invert isclose isfinite isinf isnan isneginf isposinf isreal lcm ldexp le
lerp less less_equal lgamma log log10 log1p log2 log_matrix_determinant logaddexp logaddexp2
logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logsumexp lstsq lt lu_solve
masked_fill masked_select matmul matrix_determinant matrix_power maximum median minimum mm moveaxis
movedim msort mul multinomial multiply mvlgamma nan_to_num nanmean nanmedian nanquantile nansum
narrow neg negative nextafter nonzero norm normal_ not_equal orgqr outer positive pow put_ quantile
rad2deg random_ random_categorical real reciprocal remainder renorm reverse reverse_sequence roll
rot90 round rsqrt select_scatter sgn sigmoid sign signbit sin sinc sinh slice_scatter slogdet
soft_shrink split sqrt square squeeze sub subtract svd swapaxes swapdims t tan tanh tensor_split
top_k topk tril triu true_divide trunc unbind unfold uniform_ unique unique_consecutive
unique_with_pad unsorted_segment_max unsorted_segment_min unsorted_segment_prod unsqueeze view_as
vsplit xdivy xlogy
""".split()

RENAMED = {
    "eq": "equal",
    "ne": "not_equal",
    "scatter_div": "tensor_scatter_div",
    "scatter_max": "tensor_scatter_max",
    "scatter_min": "tensor_scatter_min",
    "scatter_mul": "tensor_scatter_mul",
    "scatter_sub": "tensor_scatter_sub",
}

OWN = (  # methods of `TensorMethods` whose arguments have alternative names
    *("all", "any", "argmax", "argmin", "mean", "prod", "std", "sum", "var"),
    *("expand_as", "take", "where"),
)

SECOND_NAMES: dict[str, dict[str, str]] = {  # of arguments, in MindSpore's other overloads
    "approximate_equal": {"other": "y"},
    "diagonal": {"axis1": "dim1", "axis2": "dim2"},
    "expand_as": {"x": "other"},
    "float_power": {"other": "exponent"},
    "isclose": {"x2": "other"},
    "logical_and": {"y": "other"},
    "logical_or": {"y": "other"},
    "matmul": {"tensor2": "other"},
    "multiply": {"value": "other"},
    "remainder": {"divisor": "other"},
    "split": {"split_size": "split_size_or_sections"},
    "std": {"correction": "ddof"},
    "sub": {"y": "other"},
    "take": {"index": "indices"},
    "true_divide": {"other": "divisor"},
    "unsqueeze": {"axis": "dim"},
    "var": {"correction": "ddof"},
    "where": {"other": "y"},
}

IN_PLACE = """
add sub mul div exp log floor sign sigmoid tanh clamp erfinv masked_fill remainder floor_divide
""".split()


def attach(cls: type) -> None:
    """Add a method to `cls` for every listed function, and the in-place variants (`name_`)."""
    for name in SAME:
        setattr(cls, name, _method(getattr(ops, name), name))
    for name, function_name in RENAMED.items():
        setattr(cls, name, _method(getattr(ops, function_name), name))
    for name in IN_PLACE:
        setattr(cls, name + "_", _in_place(getattr(ops, name), name))
    for name, function in FORMS.items():
        setattr(cls, name, _method(function, name))
    for name, function in IN_PLACE_FORMS.items():
        setattr(cls, name, _in_place(function, name.rstrip("_")))
    for name in OWN:
        setattr(cls, name, _method(getattr(cls, name), name))
    for base in cls.__mro__:
        for name, member in vars(base).items():
            if isinstance(member, FunctionType) and not name.startswith("_"):
                member.__qualname__ = f"{cls.__name__}.{name}"  # the name that users see in errors


def _method(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    others = _other_names(fn) | SECOND_NAMES.get(name, {})

    @wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs and others:
            kwargs = {others.get(given, given): value for given, value in kwargs.items()}
        try:
            return fn(self, *args, **kwargs)
        except TypeError as error:
            better = unfitting(error, fn, f"Tensor.{method.__name__}", kwargs)
            if better is not None:
                raise better from None
            raise

    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    return method


def _other_names(fn: Callable[..., Any]) -> dict[str, str]:
    """Alternative argument names that MindSpore's methods accept, mapped to those of `fn`."""
    named = signature(fn).parameters
    found = {}
    for other, ours in (("dim", ("axis",)), ("keepdim", ("keepdims", "keep_dims"))):
        known = [name for name in ours if name in named]
        if known and other not in named:
            found[other] = known[0]
    return found


def _in_place(fn: Callable[..., Any], name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = fn(self, *args, **kwargs)
        except TypeError as error:
            better = unfitting(error, fn, f"Tensor.{method.__name__}", kwargs)
            if better is not None:
                raise better from None
            raise
        self._become(_fitting(result, self, method.__name__))
        return self

    method.__name__ = name + "_"
    method.__qualname__ = f"Tensor.{method.__name__}"
    method.__doc__ = f"The in-place variant of `{name}`."
    return method


def _fitting(result: Any, target: Any, owner: str) -> Any:
    """Cast `result` so that it fits into `target`."""
    if result.shape != target.shape:
        raise problem(
            ValueError,
            f"{owner}: the result and the tensor have different shapes",
            got=f"a result of shape {list(result.shape)}",
            expected=f"shape {list(target.shape)}",
        )
    if result.dtype is target.dtype:
        return result
    if promote(result.dtype, target.dtype) is not target.dtype and not (
        result.dtype.is_inexact and target.dtype.is_inexact
    ):
        raise problem(
            TypeError,
            f"{owner}: the tensor cannot hold the result",
            got=f"a result of {result.dtype} for a tensor of {target.dtype}",
            fix=f"cast the tensor first: x.astype(mycelia.{str(result.dtype).lower()})",
        )
    return ops.cast(result, target.dtype)
