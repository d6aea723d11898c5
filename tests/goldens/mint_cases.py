"""Calls of `mint` whose results are compared with torch's, which names the same functions alike.

Plain Python and numpy, so that the maker of the goldens and the test share it. A case is called
with `mint` (or torch) and with tensors drawn from specifications such as `f32[2,3]:positive`. A
function that takes a dtype gets it from a tensor: `dtype=y.dtype`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.goldens.operator_cases import draw

X = "f32[2,3]"
P = "f32[2,3]:positive"
U = "f32[2,3]:unit"
S = "f32[2,3]:spread"
D = "f32[3,4]:distinct"
I = "i64[2,3]"
I32 = "i32[4]"
NAT = "i64[4]:positive"
BOOL = "bool[2,3]"
IMAGE = "f32[2,4,6,6]"
LINE = "f32[2,4,9]"
VOLUME = "f32[1,2,4,4,4]"


MODULES = ("nn", "functional", "special", "linalg")


@dataclass(frozen=True)
class Case:
    """One call, and the tensors it is given."""

    call: Callable[..., Any]
    inputs: tuple[str, ...]
    by: tuple[int, ...] | None = None  # the inputs to differentiate by; all floats when None
    tolerance: float = 2e-5

    @property
    def name(self) -> str:
        """What is called, as users write it."""
        names = self.call.__code__.co_names
        last = next(n for n, name in enumerate(names) if name not in MODULES)
        return ".".join(names[: last + 1])


def case(call: Callable[..., Any], *inputs: str, **options: Any) -> Case:
    return Case(call, inputs, **options)


def places_of(case_: Case, arrays: list[np.ndarray]) -> list[int]:
    """The inputs that a case is differentiated by."""
    floats = [n for n, a in enumerate(arrays) if a.dtype.kind == "f"]
    return floats if case_.by is None else [n for n in floats if n in case_.by]


def arrays_of(number: int, case_: Case) -> list[np.ndarray]:
    """The inputs of a case."""
    random = np.random.RandomState(number)
    return [draw(spec, random).array for spec in case_.inputs]


def seed_of(number: int, output: np.ndarray) -> np.ndarray:
    """The gradient that flows into the first result of a case."""
    random = np.random.RandomState(number + 10_000)
    return random.standard_normal(output.shape).astype(output.dtype)


def weights_of(number: int, shapes: dict[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Numbers for the parameters of a layer, by their names."""
    random = np.random.RandomState(number + 20_000)
    return {
        name: random.uniform(0.5, 1.5, shapes[name]).astype(np.float32) for name in sorted(shapes)
    }


ELEMENTWISE = [
    *[case(f, X) for f in (
        lambda mint, x: mint.sin(x), lambda mint, x: mint.cos(x), lambda mint, x: mint.sinh(x),
        lambda mint, x: mint.cosh(x), lambda mint, x: mint.tanh(x), lambda mint, x: mint.asinh(x),
        lambda mint, x: mint.arcsinh(x), lambda mint, x: mint.atan(x),
        lambda mint, x: mint.arctan(x), lambda mint, x: mint.exp(x), lambda mint, x: mint.exp2(x),
        lambda mint, x: mint.expm1(x), lambda mint, x: mint.erf(x), lambda mint, x: mint.erfc(x),
        lambda mint, x: mint.sigmoid(x), lambda mint, x: mint.square(x),
        lambda mint, x: mint.neg(x), lambda mint, x: mint.negative(x),
        lambda mint, x: mint.abs(x), lambda mint, x: mint.sinc(x), lambda mint, x: mint.frac(x),
        lambda mint, x: mint.floor(x), lambda mint, x: mint.ceil(x), lambda mint, x: mint.trunc(x),
        lambda mint, x: mint.fix(x), lambda mint, x: mint.sign(x), lambda mint, x: mint.round(x),
        lambda mint, x: mint.round(x, decimals=1), lambda mint, x: mint.clone(x),
        lambda mint, x: mint.isfinite(x), lambda mint, x: mint.isinf(x / 0),
        lambda mint, x: mint.isnan(x), lambda mint, x: mint.isneginf(x / 0),
        lambda mint, x: mint.nan_to_num(x / 0, 1.0, 2.0, 3.0),
        lambda mint, x: mint.special.erfc(x), lambda mint, x: mint.special.exp2(x),
        lambda mint, x: mint.special.expm1(x), lambda mint, x: mint.special.sinc(x),
        lambda mint, x: mint.special.round(x),
    )],
    *[case(f, P) for f in (
        lambda mint, x: mint.log(x), lambda mint, x: mint.log2(x), lambda mint, x: mint.log10(x),
        lambda mint, x: mint.log1p(x), lambda mint, x: mint.special.log1p(x),
        lambda mint, x: mint.sqrt(x), lambda mint, x: mint.rsqrt(x),
        lambda mint, x: mint.reciprocal(x), lambda mint, x: mint.acosh(x + 1),
        lambda mint, x: mint.arccosh(x + 1),
    )],
    *[case(f, U) for f in (
        lambda mint, x: mint.asin(x), lambda mint, x: mint.arcsin(x), lambda mint, x: mint.acos(x),
        lambda mint, x: mint.arccos(x), lambda mint, x: mint.atanh(x),
        lambda mint, x: mint.arctanh(x), lambda mint, x: mint.tan(x), lambda mint, x: mint.erfinv(x),
    )],
    *[case(f, I) for f in (
        lambda mint, x: mint.sin(x), lambda mint, x: mint.cos(x), lambda mint, x: mint.exp(x),
        lambda mint, x: mint.sqrt(x * x), lambda mint, x: mint.tanh(x), lambda mint, x: mint.erf(x),
        lambda mint, x: mint.sigmoid(x), lambda mint, x: mint.log1p(x * x),
        lambda mint, x: mint.exp2(x), lambda mint, x: mint.reciprocal(x * x + 1),
        lambda mint, x: mint.rsqrt(x * x + 1), lambda mint, x: mint.asinh(x),
        lambda mint, x: mint.abs(x), lambda mint, x: mint.neg(x), lambda mint, x: mint.floor(x),
        lambda mint, x: mint.ceil(x), lambda mint, x: mint.trunc(x), lambda mint, x: mint.sign(x),
        lambda mint, x: mint.square(x), lambda mint, x: mint.round(x),
        lambda mint, x: mint.bitwise_not(x), lambda mint, x: mint.isfinite(x),
        lambda mint, x: mint.isinf(x), lambda mint, x: mint.isnan(x), lambda mint, x: mint.sinc(x),
        lambda mint, x: mint.logical_not(x), lambda mint, x: mint.isneginf(x),
        lambda mint, x: mint.clamp(x, -1, 2), lambda mint, x: mint.clamp(x, min=0.5),
    )],
    case(lambda mint, x: mint.bitwise_not(x), BOOL),
    case(lambda mint, x: mint.logical_not(x), BOOL),
    case(lambda mint, x: mint.cos(x), BOOL),
    *[case(f, X, S) for f in (
        lambda mint, x, y: mint.add(x, y), lambda mint, x, y: mint.add(x, y, alpha=2),
        lambda mint, x, y: mint.sub(x, y), lambda mint, x, y: mint.sub(x, y, alpha=0.5),
        lambda mint, x, y: mint.mul(x, y), lambda mint, x, y: mint.div(x, y),
        lambda mint, x, y: mint.div(x, y, rounding_mode="floor"),
        lambda mint, x, y: mint.divide(x, y), lambda mint, x, y: mint.divide(x, y, rounding_mode="trunc"),
        lambda mint, x, y: mint.remainder(x, y),
        lambda mint, x, y: mint.fmod(x, y), lambda mint, x, y: mint.maximum(x, y),
        lambda mint, x, y: mint.minimum(x, y), lambda mint, x, y: mint.atan2(x, y),
        lambda mint, x, y: mint.arctan2(x, y), lambda mint, x, y: mint.logaddexp(x, y),
        lambda mint, x, y: mint.logaddexp2(x, y), lambda mint, x, y: mint.eq(x, y),
        lambda mint, x, y: mint.ne(x, y), lambda mint, x, y: mint.not_equal(x, y),
        lambda mint, x, y: mint.gt(x, y), lambda mint, x, y: mint.greater(x, y),
        lambda mint, x, y: mint.greater_equal(x, y), lambda mint, x, y: mint.lt(x, y),
        lambda mint, x, y: mint.less(x, y), lambda mint, x, y: mint.le(x, y),
        lambda mint, x, y: mint.less_equal(x, y), lambda mint, x, y: mint.isclose(x, y, 0.5, 0.1),
        lambda mint, x, y: mint.allclose(x, y), lambda mint, x, y: mint.allclose(x, x + 0 * y),
        lambda mint, x, y: mint.equal(x, y), lambda mint, x, y: mint.equal(x, x + 0 * y),
        lambda mint, x, y: mint.lerp(x, y, 0.3), lambda mint, x, y: mint.lerp(x, y, x * y),
        lambda mint, x, y: mint.clamp(x, y, y + 1), lambda mint, x, y: mint.where(x > y, x, y),
        lambda mint, x, y: mint.where(x > y, x, 2.0), lambda mint, x, y: mint.add(x, 3),
        lambda mint, x, y: mint.addcdiv(x, y * x, y, value=0.5),
        lambda mint, x, y: mint.real(mint.polar(x * x, y)),
        lambda mint, x, y: mint.imag(mint.polar(x * x, y)), lambda mint, x, y: mint.real(x),
        lambda mint, x, y: mint.max(x, y), lambda mint, x, y: mint.min(x, y),
    )],
    *[case(f, P, X) for f in (
        lambda mint, x, y: mint.pow(x, y), lambda mint, x, y: mint.pow(x, 2.5),
        lambda mint, x, y: mint.pow(2.5, y), lambda mint, x, y: mint.float_power(x, y),
        lambda mint, x, y: mint.xlogy(y, x), lambda mint, x, y: mint.xlogy(y, 2.0),
    )],
    *[case(f, NAT, NAT) for f in (
        lambda mint, x, y: mint.add(x, y), lambda mint, x, y: mint.add(x, y, alpha=2),
        lambda mint, x, y: mint.sub(x, 1.5), lambda mint, x, y: mint.mul(x, 2),
        lambda mint, x, y: mint.div(x, y), lambda mint, x, y: mint.div(x, y, rounding_mode="trunc"),
        lambda mint, x, y: mint.floor_divide(-x, y), lambda mint, x, y: mint.remainder(-x, y),
        lambda mint, x, y: mint.fmod(-x, y), lambda mint, x, y: mint.bitwise_and(x, y),
        lambda mint, x, y: mint.bitwise_or(x, 6), lambda mint, x, y: mint.bitwise_xor(x, y),
        lambda mint, x, y: mint.pow(x, y), lambda mint, x, y: mint.float_power(x, y),
        lambda mint, x, y: mint.atan2(x, y), lambda mint, x, y: mint.xlogy(x, y),
        lambda mint, x, y: mint.logical_and(x, y - 1), lambda mint, x, y: mint.logical_or(x - 1, y),
        lambda mint, x, y: mint.logical_xor(x, y - 1), lambda mint, x, y: mint.equal(x, y),
        lambda mint, x, y: mint.maximum(x, 3 + 0 * y),
    )],
    case(lambda mint, x, y: mint.floor_divide(x, y), X, S, by=()),
    case(lambda mint, x, y: mint.add(x, y), "f16[3]", "f32[3]"),
    case(lambda mint, x, y: mint.mul(x, y), I32, "f32[4]"),
]  # fmt: skip

REDUCTIONS = [
    *[case(f, D) for f in (
        lambda mint, x: mint.sum(x), lambda mint, x: mint.sum(x, 1, True),
        lambda mint, x: mint.mean(x), lambda mint, x: mint.mean(x, (0, 1), keepdim=True),
        lambda mint, x: mint.prod(x), lambda mint, x: mint.prod(x, 1, True),
        lambda mint, x: mint.amax(x), lambda mint, x: mint.amax(x, 1, True),
        lambda mint, x: mint.amin(x, (0, 1)), lambda mint, x: mint.amin(x, -1),
        lambda mint, x: mint.max(x), lambda mint, x: mint.max(x, 1),
        lambda mint, x: mint.min(x), lambda mint, x: mint.min(x, 0, keepdim=True),
        lambda mint, x: mint.argmax(x), lambda mint, x: mint.argmax(x, 1, True),
        lambda mint, x: mint.argmin(x), lambda mint, x: mint.argmin(x, 0),
        lambda mint, x: mint.argsort(x), lambda mint, x: mint.argsort(x, 0, True),
        lambda mint, x: mint.sort(x), lambda mint, x: mint.sort(x, dim=0, descending=True),
        lambda mint, x: mint.sort(x, stable=True, dim=1),
        lambda mint, x: mint.topk(x, 2), lambda mint, x: mint.topk(x, 2, 0, False),
        lambda mint, x: mint.kthvalue(x, 2), lambda mint, x: mint.kthvalue(x, 3, 0, True),
        lambda mint, x: mint.median(x), lambda mint, x: mint.median(x, 1),
        lambda mint, x: mint.median(x, 0, True),
        lambda mint, x: mint.std(x), lambda mint, x: mint.std(x, 1, correction=0, keepdim=True),
        lambda mint, x: mint.var(x), lambda mint, x: mint.var(x, (0, 1), correction=0),
        lambda mint, x: mint.std_mean(x, 0), lambda mint, x: mint.var_mean(x),
        lambda mint, x: mint.logsumexp(x, 1), lambda mint, x: mint.logsumexp(x, (0, 1), True),
        lambda mint, x: mint.cumsum(x, 1), lambda mint, x: mint.cumprod(x, 0),
        lambda mint, x: mint.cummax(x, 1), lambda mint, x: mint.cummin(x, 0),
        lambda mint, x: mint.count_nonzero(x), lambda mint, x: mint.count_nonzero(x, 1),
        lambda mint, x: mint.norm(x), lambda mint, x: mint.norm(x, 1, 1),
        lambda mint, x: mint.norm(x, 2.0, (0, 1), True), lambda mint, x: mint.norm(x, 3.0, dim=0),
        lambda mint, x: mint.nansum(x), lambda mint, x: mint.nansum(x, 1, True),
        lambda mint, x: mint.softmax(x, 0), lambda mint, x: mint.special.log_softmax(x, 1),
        lambda mint, x: mint.any(x), lambda mint, x: mint.all(x, 1),
        lambda mint, x: mint.histc(x, 4), lambda mint, x: mint.histc(x, 3, -1, 1),
        lambda mint, x: mint.diff(x), lambda mint, x: mint.diff(x, 2, 0),
        lambda mint, x: mint.diff(x, prepend=x, append=x), lambda mint, x: mint.trace(x),
        lambda mint, x: mint.cdist(x, x + 1), lambda mint, x: mint.cdist(x, x + 1, p=1.0),
    )],
    *[case(f, I) for f in (
        lambda mint, x: mint.sum(x), lambda mint, x: mint.sum(x, 0), lambda mint, x: mint.prod(x),
        lambda mint, x: mint.prod(x, 1), lambda mint, x: mint.cumsum(x, 1),
        lambda mint, x: mint.cumprod(x, 0), lambda mint, x: mint.cummax(x, 0),
        lambda mint, x: mint.cummin(x, 1), lambda mint, x: mint.argmax(x * 7 % 11, 1),
        lambda mint, x: mint.amax(x, 0), lambda mint, x: mint.max(x), lambda mint, x: mint.min(x),
        lambda mint, x: mint.nansum(x, 0), lambda mint, x: mint.trace(x), lambda mint, x: mint.diff(x),
        lambda mint, x: mint.logsumexp(x, 0), lambda mint, x: mint.all(x), lambda mint, x: mint.any(x, 0),
        lambda mint, x: mint.unique(x), lambda mint, x: mint.unique(x, True, True, True),
        lambda mint, x: mint.unique_consecutive(x // 4, True, True),
        lambda mint, x: mint.nonzero(x), lambda mint, x: mint.nonzero(x, as_tuple=True),
        lambda mint, x: mint.where(x), lambda mint, x: mint.masked_select(x, x > 0),
    )],
    case(lambda mint, x: mint.cumsum(x, 0), I32),
    case(lambda mint, x: mint.cumsum(x, 0), "bool[5]"),
    case(lambda mint, x: mint.sum(x), "u8[4]:<5"),
    case(lambda mint, x: mint.prod(x), I32),
    case(lambda mint, x: mint.nansum(x), I32),
    case(lambda mint, x: mint.diff(x), "bool[5]"),
    case(lambda mint, x: mint.any(x, 1, True), BOOL),
    case(lambda mint, x: mint.all(x), BOOL),
    case(lambda mint, x: mint.sum(x, 1), BOOL),
    case(lambda mint, x: mint.nansum(x / 0 - x / 0 + x), X, by=()),
    case(lambda mint, x: mint.unique(x, dim=0), "i64[5,1]:<3"),
    case(lambda mint, x: mint.unique(x, return_inverse=True, return_counts=True, dim=1), "i64[2,6]:<2"),
    case(lambda mint, x: mint.bincount(x), "i64[9]:<5"),
    case(lambda mint, x, w: mint.bincount(x, w, 7), "i64[9]:<5", "f32[9]", by=()),
    *[case(f, X, "f64[1]") for f in (
        lambda mint, x, y: mint.sum(x, dtype=y.dtype), lambda mint, x, y: mint.mean(x, 1, dtype=y.dtype),
        lambda mint, x, y: mint.prod(x, 0, dtype=y.dtype), lambda mint, x, y: mint.cumsum(x, 0, dtype=y.dtype),
        lambda mint, x, y: mint.cumprod(x, 0, dtype=y.dtype), lambda mint, x, y: mint.softmax(x, 1, dtype=y.dtype),
        lambda mint, x, y: mint.special.log_softmax(x, 1, dtype=y.dtype),
        lambda mint, x, y: mint.nansum(x, dtype=y.dtype), lambda mint, x, y: mint.norm(x, dtype=y.dtype),
        lambda mint, x, y: mint.ones_like(x, dtype=y.dtype), lambda mint, x, y: mint.zeros_like(x, dtype=y.dtype),
        lambda mint, x, y: mint.full_like(x, 2, dtype=y.dtype), lambda mint, x, y: mint.ones((2, 3), dtype=y.dtype),
        lambda mint, x, y: mint.zeros(3, dtype=y.dtype), lambda mint, x, y: mint.full((2, 2), 1.5, dtype=y.dtype),
        lambda mint, x, y: mint.eye(2, 3, dtype=y.dtype), lambda mint, x, y: mint.arange(1, 7, 2, dtype=y.dtype),
        lambda mint, x, y: mint.linspace(0, 1, 5, dtype=y.dtype),
        lambda mint, x, y: mint.nn.functional.softmax(x, dim=0, dtype=y.dtype),
        lambda mint, x, y: mint.nn.functional.log_softmax(x, 0, dtype=y.dtype),
        lambda mint, x, y: mint.linalg.vector_norm(x, dtype=y.dtype),
        lambda mint, x, y: mint.linalg.matrix_norm(x, dtype=y.dtype),
        lambda mint, x, y: mint.linalg.norm(x, dtype=y.dtype),
    )],
]  # fmt: skip

SHAPES = [
    *[case(f, "f32[2,3,4]") for f in (
        lambda mint, x: mint.flatten(x), lambda mint, x: mint.flatten(x, 1), lambda mint, x: mint.flatten(x, 0, 1),
        lambda mint, x: mint.reshape(x, (4, 6)), lambda mint, x: mint.ravel(x),
        lambda mint, x: mint.permute(x, (2, 0, 1)), lambda mint, x: mint.transpose(x, 0, 2),
        lambda mint, x: mint.swapaxes(x, 1, 2), lambda mint, x: mint.unsqueeze(x, 1),
        lambda mint, x: mint.squeeze(mint.unsqueeze(x, -1), -1), lambda mint, x: mint.squeeze(x),
        lambda mint, x: mint.broadcast_to(x, (2, 2, 3, 4)), lambda mint, x: mint.tile(x, (2, 1)),
        lambda mint, x: mint.flip(x, (0, 2)), lambda mint, x: mint.roll(x, 2),
        lambda mint, x: mint.roll(x, (1, -1), (0, 2)), lambda mint, x: mint.select(x, 1, 2),
        lambda mint, x: mint.narrow(x, 2, 1, 2), lambda mint, x: mint.chunk(x, 2, 2),
        lambda mint, x: mint.chunk(x, 3, 2), lambda mint, x: mint.split(x, 3, 2),
        lambda mint, x: mint.split(x, (1, 2), dim=1), lambda mint, x: mint.unbind(x),
        lambda mint, x: mint.unbind(x, 2), lambda mint, x: mint.cat((x, x), 1),
        lambda mint, x: mint.concat((x, 2 * x)), lambda mint, x: mint.stack((x, x), -1),
        lambda mint, x: mint.repeat_interleave(x, 2), lambda mint, x: mint.repeat_interleave(x, 2, 1),
        lambda mint, x: mint.tril(x, -1), lambda mint, x: mint.triu(x, 1), lambda mint, x: mint.triu(x),
        lambda mint, x: mint.ones_like(x), lambda mint, x: mint.zeros_like(x),
        lambda mint, x: mint.full_like(x, 3), lambda mint, x: mint.full((2,), 3),
        lambda mint, x: mint.full((2, 2), 1.5), lambda mint, x: mint.full((2,), True),
        lambda mint, x: mint.ones(3), lambda mint, x: mint.zeros((2, 0)), lambda mint, x: mint.eye(3),
        lambda mint, x: mint.eye(2, 4), lambda mint, x: mint.arange(4), lambda mint, x: mint.arange(1, 2, 0.25),
        lambda mint, x: mint.linspace(-1, 3, 5),
        lambda mint, x: mint.einsum("abc,abd->acd", x, x), lambda mint, x: mint.nn.Flatten()(x),
        lambda mint, x: mint.nn.Flatten(0, 1)(x), lambda mint, x: mint.nn.Identity()(x),
    )],
    case(lambda mint, x, n: mint.repeat_interleave(x, n, 1), X, "i64[3]:<3", by=()),
    case(lambda mint, x: mint.t(x), X),
    case(lambda mint, x: mint.t(x), "f32[3]"),
    case(lambda mint, x: mint.diag(x), "f32[3,4]"),
    case(lambda mint, x: mint.diag(x, 1), "f32[3,4]"),
    case(lambda mint, x: mint.diag(x, -1), "f32[3]"),
    case(lambda mint, x, y: mint.meshgrid(x, y, indexing="ij"), "f32[2]", "f32[3]"),
    case(lambda mint, x, y: mint.meshgrid(x, y, indexing="xy"), "f32[2]", "f32[3]"),
    case(lambda mint, x, y: mint.cat((x, y), 1), X, I, by=()),
    case(lambda mint, x, i: mint.gather(x, 1, i), "f32[2,5]", "i64[2,3]:<5"),
    case(lambda mint, x, i: mint.index_select(x, 1, i), "f32[2,5]", "i64[3]:<5"),
    case(lambda mint, x, i, y: mint.scatter(x, 1, i, y), "f32[2,5]", "i64[2,1]:<5", "f32[2,1]"),
    case(lambda mint, x, i: mint.scatter(x, 1, i, 2.5), "f32[2,5]", "i64[2,3]:<5"),
    case(lambda mint, x, i, y: mint.scatter_add(x, 0, i, y), "f32[4,3]", "i64[5,3]:<4", "f32[5,3]"),
    case(lambda mint, x, i, y: mint.index_add(x, 1, i, y), "f32[2,5]", "i64[3]:<5", "f32[2,3]"),
    case(lambda mint, x, i, y: mint.index_add(x, 0, i, y, alpha=2), "f32[4,2]", "i64[3]:<4", "f32[3,2]"),
    case(lambda mint, x, m: mint.masked_select(x, m), X, BOOL),
    case(lambda mint, x, y: mint.searchsorted(mint.cumsum(x, 0), y), "f32[5]:positive", P),
    case(lambda mint, x, y: mint.searchsorted(mint.cumsum(x, 0), y, out_int32=True, right=True), "f32[5]:positive", P),
]  # fmt: skip

MATRICES = [
    *[case(f, "f32[3,4]", "f32[4,5]") for f in (
        lambda mint, x, y: mint.matmul(x, y), lambda mint, x, y: mint.mm(x, y),
        lambda mint, x, y: mint.mv(x, y[:, 0]), lambda mint, x, y: mint.matmul(x, y[:, 0]),
    )],
    case(lambda mint, x, y: mint.bmm(x, y), "f32[2,3,4]", "f32[2,4,2]"),
    case(lambda mint, x, y: mint.matmul(x, y), "f32[2,3,4]", "f32[4,2]"),
    case(lambda mint, x, y: mint.dot(x, y), "f32[4]", "f32[4]"),
    case(lambda mint, x, y: mint.vdot(x, y), "f32[4]", "f32[4]"),
    case(lambda mint, x, y: mint.outer(x, y), "f32[4]", "f32[3]"),
    case(lambda mint, x, y: mint.cross(x, y), "f32[2,3]", "f32[2,3]"),
    case(lambda mint, x, y: mint.cross(x, y, dim=0), "f32[3,3]", "f32[3,3]"),
    case(lambda mint, a, x, y: mint.addmm(a, x, y, beta=0.5, alpha=2), "f32[3,2]", "f32[3,4]", "f32[4,2]"),
    case(lambda mint, a, x, y: mint.addmv(a, x, y, alpha=2), "f32[3]", "f32[3,4]", "f32[4]"),
    case(lambda mint, a, x, y: mint.addbmm(a, x, y, beta=0.5), "f32[3,2]", "f32[2,3,4]", "f32[2,4,2]"),
    case(lambda mint, a, x, y: mint.baddbmm(a, x, y, alpha=0.5), "f32[2,3,2]", "f32[2,3,4]", "f32[2,4,2]"),
    case(lambda mint, x: mint.inverse(x + 3 * mint.eye(3)), "f32[3,3]"),
    case(lambda mint, x: mint.linalg.inv(x + 3 * mint.eye(3)), "f32[2,3,3]"),
    case(lambda mint, x: mint.linalg.norm(x), D),
    case(lambda mint, x: mint.linalg.norm(x, 1, dim=1), D),
    case(lambda mint, x: mint.linalg.norm(x, "nuc"), D),
    case(lambda mint, x: mint.linalg.vector_norm(x), D),
    case(lambda mint, x: mint.linalg.vector_norm(x, 3, 1, True), D),
    case(lambda mint, x: mint.linalg.vector_norm(x, float("inf"), 0), D),
    case(lambda mint, x: mint.linalg.matrix_norm(x), "f32[2,3,4]"),
    case(lambda mint, x: mint.linalg.matrix_norm(x, 1, (0, 1), True), "f32[2,3,4]"),
    case(lambda mint, x, w, b: mint.conv_tbc(x, w, b, 1), "f32[5,2,3]", "f32[3,3,4]", "f32[4]"),
]  # fmt: skip

ACTIVATIONS = [
    *[case(f, "f32[4,6]:spread") for f in (
        lambda mint, x: mint.nn.functional.relu(x), lambda mint, x: mint.nn.functional.relu6(4 * x),
        lambda mint, x: mint.nn.functional.elu(x, 0.5), lambda mint, x: mint.nn.functional.selu(x),
        lambda mint, x: mint.nn.functional.leaky_relu(x), lambda mint, x: mint.nn.functional.leaky_relu(x, 0.3),
        lambda mint, x: mint.nn.functional.gelu(x), lambda mint, x: mint.nn.functional.gelu(x, approximate="tanh"),
        lambda mint, x: mint.nn.functional.silu(x), lambda mint, x: mint.nn.functional.mish(x),
        lambda mint, x: mint.nn.functional.softplus(x), lambda mint, x: mint.nn.functional.softplus(x, 3, 2),
        lambda mint, x: mint.nn.functional.sigmoid(x), lambda mint, x: mint.nn.functional.tanh(x),
        lambda mint, x: mint.nn.functional.logsigmoid(x), lambda mint, x: mint.nn.functional.hardshrink(x, 0.7),
        lambda mint, x: mint.nn.functional.softshrink(x, 0.7), lambda mint, x: mint.nn.functional.hardsigmoid(3 * x),
        lambda mint, x: mint.nn.functional.hardswish(3 * x), lambda mint, x: mint.nn.functional.hardtanh(x, -0.5, 1.5),
        lambda mint, x: mint.nn.functional.threshold(x, 0.5, 2.0), lambda mint, x: mint.nn.functional.glu(x),
        lambda mint, x: mint.nn.functional.glu(x, 0), lambda mint, x: mint.nn.functional.softmax(x, 1),
        lambda mint, x: mint.nn.functional.log_softmax(x, 0), lambda mint, x: mint.nn.functional.normalize(x),
        lambda mint, x: mint.nn.functional.normalize(x, 1.0, 0),
        lambda mint, x: mint.nn.functional.relu_(x * 1), lambda mint, x: mint.nn.functional.elu_(x * 1, 0.5),
        lambda mint, x: mint.nn.functional.hardtanh_(x * 1, -1, 0.5),
        lambda mint, x: mint.nn.functional.threshold_(x * 1, 0.5, 2.0),
        lambda mint, x: mint.nn.functional.relu(x * 1, inplace=True),
        lambda mint, x: mint.nn.functional.silu(x * 1, inplace=True),
        lambda mint, x: mint.nn.ReLU()(x), lambda mint, x: mint.nn.ReLU6()(4 * x), lambda mint, x: mint.nn.ELU(0.5)(x),
        lambda mint, x: mint.nn.SELU()(x), lambda mint, x: mint.nn.GELU()(x), lambda mint, x: mint.nn.GELU("tanh")(x),
        lambda mint, x: mint.nn.SiLU()(x), lambda mint, x: mint.nn.Mish()(x), lambda mint, x: mint.nn.Sigmoid()(x),
        lambda mint, x: mint.nn.Tanh()(x), lambda mint, x: mint.nn.LogSigmoid()(x),
        lambda mint, x: mint.nn.Hardshrink(0.7)(x), lambda mint, x: mint.nn.Softshrink(0.7)(x),
        lambda mint, x: mint.nn.Hardsigmoid()(3 * x), lambda mint, x: mint.nn.Hardswish()(3 * x),
        lambda mint, x: mint.nn.Hardtanh(-0.5, 1.5)(x), lambda mint, x: mint.nn.Threshold(0.5, 2.0)(x),
        lambda mint, x: mint.nn.GLU()(x), lambda mint, x: mint.nn.GLU(0)(x), lambda mint, x: mint.nn.Softmax(1)(x),
        lambda mint, x: mint.nn.LogSoftmax(0)(x),
    )],
    case(lambda mint, x, w: mint.nn.functional.prelu(x, w), "f32[2,3,2]:spread", "f32[3]:unit"),
]  # fmt: skip

WINDOWS = [
    *[case(f, LINE) for f in (
        lambda mint, x: mint.nn.functional.avg_pool1d(x, 2), lambda mint, x: mint.nn.functional.avg_pool1d(x, 3, 2, 1),
        lambda mint, x: mint.nn.functional.avg_pool1d(x, 3, 2, 1, True, False),
        lambda mint, x: mint.nn.functional.adaptive_avg_pool1d(x, 4),
        lambda mint, x: mint.nn.functional.adaptive_max_pool1d(x, 4),
        lambda mint, x: mint.nn.functional.adaptive_max_pool1d(x, 4, return_indices=True),
        lambda mint, x: mint.nn.functional.pad(x, (1, 2)), lambda mint, x: mint.nn.functional.pad(x, (1, 2), "constant", 3.0),
        lambda mint, x: mint.nn.functional.pad(x, (1, 2), "reflect"), lambda mint, x: mint.nn.functional.pad(x, (1, 2), mode="replicate"),
        lambda mint, x: mint.nn.functional.pad(x, (1, 2), mode="circular"),
        lambda mint, x: mint.nn.functional.interpolate(x, 5), lambda mint, x: mint.nn.functional.interpolate(x, 5, mode="linear"),
        lambda mint, x: mint.nn.AvgPool1d(2)(x), lambda mint, x: mint.nn.AvgPool1d(3, 2, 1, False, False)(x),
        lambda mint, x: mint.nn.AdaptiveAvgPool1d(4)(x), lambda mint, x: mint.nn.AdaptiveMaxPool1d(4)(x),
        lambda mint, x: mint.nn.AdaptiveMaxPool1d(4, return_indices=True)(x), lambda mint, x: mint.nn.ConstantPad1d((1, 2), 0.5)(x),
        lambda mint, x: mint.nn.ReflectionPad1d((1, 2))(x), lambda mint, x: mint.nn.ReplicationPad1d(2)(x),
        lambda mint, x: mint.nn.ZeroPad1d((2, 0))(x), lambda mint, x: mint.nn.Upsample(scale_factor=2)(x),
    )],
    *[case(f, IMAGE) for f in (
        lambda mint, x: mint.nn.functional.avg_pool2d(x, 2), lambda mint, x: mint.nn.functional.avg_pool2d(x, (3, 2), 2, 1),
        lambda mint, x: mint.nn.functional.avg_pool2d(x, 3, 2, 1, True, False),
        lambda mint, x: mint.nn.functional.avg_pool2d(x, 2, divisor_override=3),
        lambda mint, x: mint.nn.functional.max_pool2d(x, 2), lambda mint, x: mint.nn.functional.max_pool2d(x, 3, 2, 1),
        lambda mint, x: mint.nn.functional.max_pool2d(x, 3, 2, 1, 1, True),
        lambda mint, x: mint.nn.functional.max_pool2d(x, 2, return_indices=True),
        lambda mint, x: mint.nn.functional.max_pool2d(x, 2, 1, 0, 2),
        lambda mint, x: mint.nn.functional.max_unpool2d(*mint.nn.functional.max_pool2d(x, 2, return_indices=True), 2),
        lambda mint, x: mint.nn.functional.adaptive_avg_pool2d(x, 4), lambda mint, x: mint.nn.functional.adaptive_avg_pool2d(x, (None, 3)),
        lambda mint, x: mint.nn.functional.pad(x, (1, 2, 0, 1), mode="reflect"),
        lambda mint, x: mint.nn.functional.pad(x, (1, -2, 0, 1)),
        lambda mint, x: mint.nn.functional.interpolate(x, (4, 9)), lambda mint, x: mint.nn.functional.interpolate(x, scale_factor=2.0),
        lambda mint, x: mint.nn.functional.interpolate(x, scale_factor=1.5, mode="bilinear"),
        lambda mint, x: mint.nn.functional.interpolate(x, (4, 9), mode="bilinear", align_corners=True),
        lambda mint, x: mint.nn.functional.interpolate(x, (4, 9), mode="bicubic"),
        lambda mint, x: mint.nn.functional.upsample(x, scale_factor=2),
        lambda mint, x: mint.nn.functional.unfold(x, 2), lambda mint, x: mint.nn.functional.unfold(x, (2, 3), 2, 1, 2),
        lambda mint, x: mint.nn.functional.pixel_shuffle(x, 2),
        lambda mint, x: mint.nn.AvgPool2d(2)(x), lambda mint, x: mint.nn.AvgPool2d(3, 2, 1, False, False, 5)(x),
        lambda mint, x: mint.nn.AdaptiveAvgPool2d((3, 2))(x), lambda mint, x: mint.nn.ConstantPad2d((1, 2, 0, 1), 0.5)(x),
        lambda mint, x: mint.nn.ReflectionPad2d(2)(x), lambda mint, x: mint.nn.ReplicationPad2d((1, 2, 0, 1))(x),
        lambda mint, x: mint.nn.ZeroPad2d((1, 2, 0, 1))(x), lambda mint, x: mint.nn.Unfold(2, stride=2)(x),
        lambda mint, x: mint.nn.PixelShuffle(2)(x), lambda mint, x: mint.nn.Upsample((4, 9))(x),
        lambda mint, x: mint.nn.Upsample(scale_factor=2.0, mode="bilinear", align_corners=False)(x),
        lambda mint, x: mint.nn.UpsamplingBilinear2d((4, 9))(x), lambda mint, x: mint.nn.UpsamplingBilinear2d(scale_factor=2)(x),
        lambda mint, x: mint.nn.UpsamplingNearest2d((4, 9))(x),
        lambda mint, x: mint.nn.MaxUnpool2d(2)(*mint.nn.functional.max_pool2d(x, 2, return_indices=True)),
        lambda mint, x: mint.nn.MaxUnpool2d(2)(*mint.nn.functional.max_pool2d(x[:, :, :5, :5], 2, return_indices=True), (5, 5)),
        lambda mint, x: mint.nn.functional.group_norm(x, 2),
        lambda mint, x: mint.nn.functional.layer_norm(x, (6, 6)),
    )],
    *[case(f, VOLUME) for f in (
        lambda mint, x: mint.nn.functional.avg_pool3d(x, 2), lambda mint, x: mint.nn.functional.avg_pool3d(x, 3, 2, 1, False, False),
        lambda mint, x: mint.nn.functional.avg_pool3d(x, 2, 1, divisor_override=3),
        lambda mint, x: mint.nn.functional.adaptive_avg_pool3d(x, 3), lambda mint, x: mint.nn.functional.adaptive_avg_pool3d(x, (None, 1, 2)),
        lambda mint, x: mint.nn.functional.interpolate(x, (2, 3, 5)), lambda mint, x: mint.nn.functional.interpolate(x, (2, 3, 5), mode="trilinear"),
        lambda mint, x: mint.nn.functional.pad(x, (1, 2, 0, 1, 1, 0), mode="replicate"),
        lambda mint, x: mint.nn.AvgPool3d(2)(x), lambda mint, x: mint.nn.AdaptiveAvgPool3d(3)(x),
        lambda mint, x: mint.nn.ConstantPad3d(1, 0.5)(x), lambda mint, x: mint.nn.ReflectionPad3d(1)(x),
        lambda mint, x: mint.nn.ReplicationPad3d((1, 2, 0, 1, 1, 0))(x), lambda mint, x: mint.nn.ZeroPad3d(1)(x),
    )],
    case(lambda mint, x: mint.nn.functional.fold(x, (4, 5), 2), "f32[2,12,12]"),
    case(lambda mint, x: mint.nn.functional.fold(x, (4, 5), (2, 3), 1, 1, 2), "f32[2,12,9]"),
    case(lambda mint, x: mint.nn.Fold((4, 5), 2)(x), "f32[2,12,12]"),
    case(lambda mint, x, g: mint.nn.functional.grid_sample(x, g), "f32[2,3,4,4]", "f32[2,3,2,2]:unit"),
    case(lambda mint, x, g: mint.nn.functional.grid_sample(x, g, "bilinear", "border", True), "f32[2,3,4,4]", "f32[2,3,2,2]"),
    case(lambda mint, x, w, b: mint.nn.functional.linear(x, w, b), "f32[2,3]", "f32[4,3]", "f32[4]"),
    case(lambda mint, x, w: mint.nn.functional.linear(x, w), "f32[2,2,3]", "f32[4,3]"),
    case(lambda mint, x, w, b: mint.nn.functional.conv1d(x, w, b, 2, 1), LINE, "f32[6,4,3]", "f32[6]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv1d(x, w, padding="same", groups=2), LINE, "f32[6,2,4]", tolerance=1e-4),
    case(lambda mint, x, w, b: mint.nn.functional.conv2d(x, w, b), IMAGE, "f32[3,4,3,3]", "f32[3]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv2d(x, w, None, 2, (1, 2), 1, 2), IMAGE, "f32[4,2,3,2]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv2d(x, w, padding="same", dilation=2), IMAGE, "f32[3,4,3,2]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv2d(x, w), "f32[4,6,6]", "f32[3,4,3,3]", tolerance=1e-4),
    case(lambda mint, x, w, b: mint.nn.functional.conv3d(x, w, b, (1, 2, 1), 1), VOLUME, "f32[3,2,3,2,3]", "f32[3]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv3d(x, w, padding="same"), VOLUME, "f32[3,2,3,2,3]", tolerance=1e-4),
    case(lambda mint, x, w, b: mint.nn.functional.conv_transpose2d(x, w, b), "f32[1,4,3,3]", "f32[4,2,3,3]", "f32[2]", tolerance=1e-4),
    case(lambda mint, x, w: mint.nn.functional.conv_transpose2d(x, w, None, 2, 1, 1, 2, 2), "f32[1,4,3,3]", "f32[4,2,3,3]", tolerance=1e-4),
    case(lambda mint, x, w, b: mint.nn.functional.group_norm(x, 2, w, b, 1e-3), IMAGE, "f32[4]", "f32[4]"),
    case(lambda mint, x, w, b: mint.nn.functional.layer_norm(x, (3, 4), w, b), "f32[2,3,4]", "f32[3,4]", "f32[3,4]"),
    case(lambda mint, x, m, v: mint.nn.functional.batch_norm(x, m, v), IMAGE, "f32[4]", "f32[4]:positive", by=(0,)),
    case(lambda mint, x, w, b: mint.nn.functional.batch_norm(x, None, None, w, b, True), IMAGE, "f32[4]", "f32[4]", tolerance=1e-4),
    case(lambda mint, x: mint.nn.functional.batch_norm(x, None, None, training=True), "f32[5,3]", tolerance=1e-4),
    case(lambda mint, i, w: mint.nn.functional.embedding(i, w), "i64[2,3]:<5", "f32[5,4]"),
    case(lambda mint, i, w: mint.nn.functional.embedding(i, w, 2), "i64[2,3]:<5", "f32[5,4]"),
    case(lambda mint, i, w: mint.nn.functional.embedding(i, w, scale_grad_by_freq=True), "i64[2,5]:<5", "f32[5,4]"),
    case(lambda mint, i, w: mint.nn.functional.embedding(i, w * 1, None, 1.5, 2.0), "i64[2,3]:<5", "f32[5,4]", by=()),
    case(lambda mint, i: mint.nn.functional.one_hot(i), "i64[2,3]:<5"),
    case(lambda mint, i: mint.nn.functional.one_hot(i, 7), "i64[4]:<5"),
    case(lambda mint, x: mint.nn.functional.dropout(x, 0.4, False), X),
    case(lambda mint, x: mint.nn.functional.dropout2d(x, 0.4, False), IMAGE),
]  # fmt: skip

LOSSES = [
    *[case(f, X, X) for f in (
        lambda mint, x, y: mint.nn.functional.mse_loss(x, y), lambda mint, x, y: mint.nn.functional.mse_loss(x, y, reduction="sum"),
        lambda mint, x, y: mint.nn.functional.l1_loss(x, y), lambda mint, x, y: mint.nn.functional.l1_loss(x, y, reduction="none"),
        lambda mint, x, y: mint.nn.functional.smooth_l1_loss(x, y), lambda mint, x, y: mint.nn.functional.smooth_l1_loss(x, y, reduction="sum", beta=0.5),
        lambda mint, x, y: mint.nn.MSELoss()(x, y), lambda mint, x, y: mint.nn.MSELoss(reduction="none")(x, y),
        lambda mint, x, y: mint.nn.L1Loss()(x, y), lambda mint, x, y: mint.nn.L1Loss(reduction="sum")(x, y),
        lambda mint, x, y: mint.nn.SmoothL1Loss()(x, y), lambda mint, x, y: mint.nn.SmoothL1Loss(reduction="none", beta=2.0)(x, y),
    )],
    *[case(f, X, U) for f in (
        lambda mint, x, y: mint.nn.functional.kl_div(x, y), lambda mint, x, y: mint.nn.functional.kl_div(x, y, reduction="batchmean"),
        lambda mint, x, y: mint.nn.functional.kl_div(x, y, reduction="sum", log_target=True),
        lambda mint, x, y: mint.nn.functional.binary_cross_entropy_with_logits(x, y),
        lambda mint, x, y: mint.nn.KLDivLoss()(x, y), lambda mint, x, y: mint.nn.KLDivLoss(reduction="sum", log_target=True)(x, y),
        lambda mint, x, y: mint.nn.BCEWithLogitsLoss()(x, y), lambda mint, x, y: mint.nn.BCEWithLogitsLoss(reduction="sum")(x, y),
    )],
    *[case(f, U, U) for f in (
        lambda mint, x, y: mint.nn.functional.binary_cross_entropy(x, y), lambda mint, x, y: mint.nn.functional.binary_cross_entropy(x, y, reduction="none"),
        lambda mint, x, y: mint.nn.BCELoss()(x, y), lambda mint, x, y: mint.nn.BCELoss(reduction="sum")(x, y),
    )],
    case(
        lambda mint, x, y: mint.nn.functional.binary_cross_entropy_with_logits(
            x, y, y, reduction="none", pos_weight=y[0] + 1
        ), X, U, by=(0,)
    ),
    *[case(f, "f32[4,5]", "i64[4]:<5", "f32[5]:positive", by=(0,)) for f in (
        lambda mint, x, i, w: mint.nn.functional.cross_entropy(x, i), lambda mint, x, i, w: mint.nn.functional.cross_entropy(x, i, w, ignore_index=2, reduction="mean"),
        lambda mint, x, i, w: mint.nn.functional.cross_entropy(x, i, w, reduction="none", label_smoothing=0.1),
        lambda mint, x, i, w: mint.nn.functional.nll_loss(x, i), lambda mint, x, i, w: mint.nn.functional.nll_loss(x, i, w, reduction="sum"),
        lambda mint, x, i, w: mint.nn.CrossEntropyLoss()(x, i), lambda mint, x, i, w: mint.nn.CrossEntropyLoss(w, ignore_index=1, reduction="sum", label_smoothing=0.2)(x, i),
        lambda mint, x, i, w: mint.nn.NLLLoss()(x, i), lambda mint, x, i, w: mint.nn.NLLLoss(w, ignore_index=3, reduction="mean")(x, i),
    )],
    case(lambda mint, x, p: mint.nn.functional.cross_entropy(x, p), "f32[4,5]", "f32[4,5]:probability"),
    case(lambda mint, x, i: mint.nn.functional.cross_entropy(x, i), "f32[2,5,3]", "i64[2,3]:<5"),
    *[case(f, X, X) for f in (
        lambda mint, x, y: mint.nn.functional.cosine_embedding_loss(x, y, mint.sign(x[:, 0]) ** 2),
        lambda mint, x, y: mint.nn.functional.cosine_embedding_loss(x, y, -mint.sign(x[:, 0]) ** 2, margin=-0.9, reduction="sum"),
        lambda mint, x, y: mint.nn.CosineEmbeddingLoss(-0.9, reduction="none")(x, y, -mint.sign(x[:, 0]) ** 2),
    )],
]  # fmt: skip

CASES = [*ELEMENTWISE, *REDUCTIONS, *SHAPES, *MATRICES, *ACTIVATIONS, *WINDOWS, *LOSSES]

# Layers with parameters: made once, given the numbers of `weights_of`, called with the inputs.
LAYERS = {
    "linear": case(lambda mint: mint.nn.Linear(3, 4), "f32[2,3]"),
    "linear_without_bias": case(lambda mint: mint.nn.Linear(3, 4, bias=False), "f32[2,5,3]"),
    "conv1d": case(lambda mint: mint.nn.Conv1d(4, 6, 3, 2, 1), LINE),
    "conv1d_same": case(lambda mint: mint.nn.Conv1d(4, 6, 4, padding="same"), LINE),
    "conv2d": case(lambda mint: mint.nn.Conv2d(4, 6, 3), IMAGE),
    "conv2d_grouped": case(
        lambda mint: mint.nn.Conv2d(4, 6, (3, 2), 2, (1, 2), 1, 2, False), IMAGE
    ),
    "conv2d_reflect": case(
        lambda mint: mint.nn.Conv2d(4, 2, 3, padding=1, padding_mode="reflect"), IMAGE
    ),
    "conv2d_circular": case(
        lambda mint: mint.nn.Conv2d(4, 2, 3, padding=1, padding_mode="circular"), IMAGE
    ),
    "conv3d": case(lambda mint: mint.nn.Conv3d(2, 3, 2, 1, 1), VOLUME),
    "conv_transpose2d": case(lambda mint: mint.nn.ConvTranspose2d(4, 6, 3, 2, 1, 1, 2), IMAGE),
    "group_norm": case(lambda mint: mint.nn.GroupNorm(2, 4), IMAGE),
    "layer_norm": case(lambda mint: mint.nn.LayerNorm((6, 6)), IMAGE),
    "layer_norm_without_bias": case(lambda mint: mint.nn.LayerNorm(6, 1e-3, bias=False), IMAGE),
    "batch_norm1d": case(lambda mint: mint.nn.BatchNorm1d(4), LINE),
    "batch_norm1d_flat": case(lambda mint: mint.nn.BatchNorm1d(3, 1e-3, 0.3), "f32[5,3]"),
    "batch_norm2d": case(lambda mint: mint.nn.BatchNorm2d(4), IMAGE),
    "batch_norm2d_averaged": case(lambda mint: mint.nn.BatchNorm2d(4, momentum=None), IMAGE),
    "batch_norm2d_plain": case(
        lambda mint: mint.nn.BatchNorm2d(4, affine=False, track_running_stats=False), IMAGE
    ),
    "batch_norm3d": case(lambda mint: mint.nn.BatchNorm3d(2), VOLUME),
    "prelu": case(lambda mint: mint.nn.PReLU(3), "f32[2,3,2]:spread"),
    "embedding": case(lambda mint: mint.nn.Embedding(5, 4, padding_idx=1), "i64[2,3]:<5"),
}

# Optimizers: three steps on two parameters with gradients that do not depend on them.
OPTIMIZERS = {
    "sgd": lambda mint, params: mint.optim.SGD(params, lr=0.1),
    "sgd_momentum": lambda mint, params: mint.optim.SGD(params, 0.1, momentum=0.9, dampening=0.2, weight_decay=0.1),
    "sgd_nesterov": lambda mint, params: mint.optim.SGD(params, 0.1, momentum=0.9, nesterov=True),
    "sgd_maximize": lambda mint, params: mint.optim.SGD(params, 0.1, weight_decay=0.1, maximize=True),
    "adam": lambda mint, params: mint.optim.Adam(params),
    "adam_decayed": lambda mint, params: mint.optim.Adam(params, 0.1, (0.8, 0.9), 1e-3, 0.1),
    "adam_amsgrad": lambda mint, params: mint.optim.Adam(params, 0.1, (0.8, 0.9), amsgrad=True),
    "adam_maximize": lambda mint, params: mint.optim.Adam(params, lr=0.1, weight_decay=0.1, maximize=True),
    "adamw": lambda mint, params: mint.optim.AdamW(params),
    "adamw_decayed": lambda mint, params: mint.optim.AdamW(params, 0.1, (0.8, 0.9), 1e-3, 0.1),
    "adamw_amsgrad": lambda mint, params: mint.optim.AdamW(params, 0.1, (0.8, 0.9), amsgrad=True, maximize=True),
    "sgd_groups": lambda mint, params: mint.optim.SGD(
        [{"params": params[:1], "lr": 0.5, "momentum": 0.5}, {"params": params[1:], "weight_decay": 0.2}], lr=0.1
    ),
    "adamw_groups": lambda mint, params: mint.optim.AdamW(
        [{"params": params[:1], "lr": 0.5, "betas": (0.5, 0.6)}, {"params": params[1:], "amsgrad": True}], lr=0.1
    ),
}  # fmt: skip


def training_of(name: str) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """The two parameters of an optimizer case, and the gradients of three steps."""
    random = np.random.RandomState(len(name))
    shapes = ((2, 3), (4,))
    values = [random.standard_normal(shape).astype(np.float32) for shape in shapes]
    steps = [
        [random.standard_normal(shape).astype(np.float32) for shape in shapes] for _ in range(3)
    ]
    return values, steps
