"""Calls of mindspore.numpy whose results are compared with the real MindSpore's.

Each case is (call, specs): the call gets the numpy module of either framework and one tensor for
each spec, written as in operator_cases.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

X = "f32[2,3]"
Y = "f32[3]"
P = "f32[2,3]:positive"
U = "f32[2,3]:unit"
S = "f32[2,3]:spread"
D = "f32[2,3]:distinct"
I = "i32[2,3]"
J = "i32[3]:positive"
CUBE = "f32[2,3,4]"
SQUARE = "f32[3,3]"
VECTOR = "f32[5]:distinct"
MASK = "bool[2,3]"
HALF = "f16[2,3]"
DOUBLE = "f64[2,3]"
NAN = float("nan")

Case = tuple[Callable[..., Any], tuple[str, ...]]


def case(call: Callable[..., Any], *specs: str) -> Case:
    return call, specs


def name_of(call: Callable[..., Any]) -> str:
    """The function of numpy that a case calls first."""
    return next(name for name in call.__code__.co_names if name != "str")


CREATION = [
    case(lambda mnp: mnp.array([1, 2])),
    case(lambda mnp: mnp.array([[1, 2.5], [3, 4]], ndmin=3)),
    case(lambda mnp: mnp.array([1, 2], dtype=mnp.float16)),
    case(lambda mnp, x: mnp.array(x, dtype=int), X),
    case(lambda mnp: mnp.asarray([True, False])),
    case(lambda mnp, x: mnp.asarray(x), "i8[3]"),
    case(lambda mnp: mnp.asfarray([1, 2])),
    case(lambda mnp, x: mnp.asfarray(x, mnp.int32), "i64[3]"),
    case(lambda mnp: mnp.copy([1, 2])),
    case(lambda mnp: mnp.zeros((2, 3))),
    case(lambda mnp: mnp.zeros(2, mnp.int8)),
    case(lambda mnp: mnp.ones((2, 1), mnp.bool_)),
    case(lambda mnp: mnp.empty((2, 3))),
    case(lambda mnp: mnp.full((2, 2), 3)),
    case(lambda mnp: mnp.full((2, 2), [1, 2.5])),
    case(lambda mnp: mnp.full((2,), 3.5, mnp.int32)),
    case(lambda mnp: mnp.zeros_like([1, 2])),
    case(lambda mnp, x: mnp.zeros_like(x, shape=(4,)), X),
    case(lambda mnp, x: mnp.ones_like(x, dtype=mnp.int64), X),
    case(lambda mnp: mnp.empty_like([1, 2])),
    case(lambda mnp, x: mnp.full_like(x, 7), X),
    case(lambda mnp: mnp.eye(2, 3, 1)),
    case(lambda mnp: mnp.eye(3, 2, -1, dtype=mnp.int32)),
    case(lambda mnp: mnp.identity(3)),
    case(lambda mnp: mnp.tri(2, 3, 1)),
    case(lambda mnp: mnp.arange(5)),
    case(lambda mnp: mnp.arange(0, 1, 0.25)),
    case(lambda mnp: mnp.arange(7, 0, -2)),
    case(lambda mnp: mnp.arange(2, 5, dtype=mnp.float16)),
    case(lambda mnp: mnp.linspace(0, 5)),
    case(lambda mnp: mnp.linspace(0, 5, 5, endpoint=False, retstep=True)),
    case(lambda mnp: mnp.linspace([0, 1], [5, 6], 3, axis=1)),
    case(lambda mnp, x: mnp.linspace(x, 5, 4, dtype=mnp.int32), Y),
    case(lambda mnp: mnp.logspace(0, 2, 5, base=2)),
    case(lambda mnp: mnp.logspace([0, 1], 2, 3, axis=1)),
    case(lambda mnp: mnp.geomspace(1, 256, 9)),
    case(lambda mnp: mnp.geomspace([-1, 2], [-8, 16], 4, endpoint=False)),
    case(lambda mnp: mnp.bartlett(6)),
    case(lambda mnp: mnp.blackman(6)),
    case(lambda mnp: mnp.hamming(6)),
    case(lambda mnp: mnp.hanning(6)),
    case(lambda mnp, x, y: mnp.meshgrid(x, y), Y, "i32[2]"),
    case(lambda mnp, x, y: mnp.meshgrid(x, y, sparse=True, indexing="ij"), Y, "f32[2]"),
    case(lambda mnp: mnp.mgrid[0:3, 0:2]),
    case(lambda mnp: mnp.mgrid[0:1:5j, 0:2]),
    case(lambda mnp: mnp.ogrid[0:3:1.5, 0:2]),
    case(lambda mnp: mnp.indices((2, 3))),
    case(lambda mnp: mnp.indices((2, 3), sparse=True)),
    case(lambda mnp, x, y: mnp.ix_(x, y), "i32[2]", "i64[3]"),
    case(lambda mnp, x: mnp.vander(x, 4), Y),
    case(lambda mnp: mnp.vander([1, 2, 3], increasing=True)),
    case(lambda mnp, x: mnp.diag(x, 1), Y),
    case(lambda mnp, x: mnp.diag(x, -1), SQUARE),
    case(lambda mnp, x: mnp.diagflat(x, -1), "i32[2,2]"),
    case(lambda mnp, x: mnp.diagonal(x, 1, 0, 2), CUBE),
    case(lambda mnp, x: mnp.tril(x, 1), SQUARE),
    case(lambda mnp, x: mnp.triu(x, -1), "i64[2,3,3]"),
    case(lambda mnp: mnp.triu([1, 2, 3])),
    case(lambda mnp: mnp.tril_indices(3, 1, 2)),
    case(lambda mnp: mnp.triu_indices(3, -1, 2)),
    case(lambda mnp, x: mnp.tril_indices_from(x), X),
    case(lambda mnp, x: mnp.triu_indices_from(x, 1), X),
    case(lambda mnp: mnp.diag_indices(2, 3)),
]

SHAPING = [
    case(lambda mnp, x: mnp.reshape(x, (3, -1)), X),
    case(lambda mnp, x: mnp.ravel(x), X),
    case(lambda mnp, x: mnp.expand_dims(x, (0, 2)), Y),
    case(lambda mnp, x: mnp.squeeze(x), "f32[1,3,1]"),
    case(lambda mnp, x: mnp.squeeze(x, (0, 2)), "f32[1,1,1]"),
    case(lambda mnp, x: mnp.transpose(x), CUBE),
    case(lambda mnp, x: mnp.transpose(x, (1, 0, 2)), CUBE),
    case(lambda mnp, x: mnp.swapaxes(x, 0, 2), CUBE),
    case(lambda mnp, x: mnp.moveaxis(x, (0, 1), (-1, -2)), CUBE),
    case(lambda mnp, x: mnp.rollaxis(x, 2, 1), CUBE),
    case(lambda mnp, x: mnp.rollaxis(x, 0, 3), CUBE),
    case(lambda mnp, x, y: mnp.atleast_1d(x, y), "f32[]", Y),
    case(lambda mnp, x, y: mnp.atleast_2d(x, y), "f32[]", Y),
    case(lambda mnp, x, y, z: mnp.atleast_3d(x, y, z), "f32[]", Y, X),
    case(lambda mnp, x: mnp.broadcast_to(x, (2, 3)), Y),
    case(lambda mnp, x, y: mnp.broadcast_arrays(x, y), Y, "f32[2,1]"),
    case(lambda mnp, x: mnp.tile(x, (2, 1, 2)), X),
    case(lambda mnp: mnp.repeat([1, 2], [1, 2])),
    case(lambda mnp, x: mnp.repeat(x, 2, axis=1), X),
    case(lambda mnp, x: mnp.flip(x), X),
    case(lambda mnp, x: mnp.flip(x, 1), X),
    case(lambda mnp, x: mnp.flipud(x), X),
    case(lambda mnp, x: mnp.fliplr(x), X),
    case(lambda mnp, x: mnp.rot90(x), X),
    case(lambda mnp, x: mnp.rot90(x, 3, (1, 0)), X),
    case(lambda mnp, x: mnp.roll(x, 1), X),
    case(lambda mnp, x: mnp.roll(x, (1, 2), (0, 1)), X),
    case(lambda mnp, x: mnp.roll(x, (1, 2), 0), SQUARE),
    case(lambda mnp, x, y: mnp.concatenate((x, y), 1), X, "i32[2,2]"),
    case(lambda mnp, x: mnp.concatenate(x, None), X),
    case(lambda mnp, x, y: mnp.append(x, y), X, "i32[2]"),
    case(lambda mnp, x, y: mnp.append(x, y, 0), X, "f32[1,3]"),
    case(lambda mnp, x, y: mnp.stack((x, y), -1), Y, "i32[3]"),
    case(lambda mnp, x, y: mnp.vstack((x, y)), Y, X),
    case(lambda mnp, x, y: mnp.hstack((x, y)), Y, "f32[2]"),
    case(lambda mnp, x: mnp.hstack(x), X),
    case(lambda mnp, x, y: mnp.dstack((x, y)), X, X),
    case(lambda mnp, x, y: mnp.column_stack((x, y)), "f32[2]", X),
    case(lambda mnp, x: mnp.split(x, 3, 1), X),
    case(lambda mnp, x: mnp.split(x, [1, -1]), VECTOR),
    case(lambda mnp, x: mnp.array_split(x, 3), VECTOR),
    case(lambda mnp, x: mnp.hsplit(x, [1]), X),
    case(lambda mnp, x: mnp.vsplit(x, 2), X),
    case(lambda mnp, x: mnp.dsplit(x, 2), CUBE),
    case(lambda mnp, x: mnp.pad(x, ((1, 2), (0, 1))), X),
    case(lambda mnp, x: mnp.pad(x, (1, 2), constant_values=(5, 6)), "i32[3]"),
    case(lambda mnp, x: mnp.pad(x, 2, mode="edge"), X),
    case(lambda mnp, x: mnp.pad(x, (4, 5), mode="reflect"), Y),
    case(lambda mnp, x: mnp.pad(x, (3, 4), mode="reflect", reflect_type="odd"), Y),
    case(lambda mnp, x: mnp.pad(x, (4, 5), mode="symmetric"), Y),
    case(lambda mnp, x: mnp.pad(x, (3, 4), mode="symmetric", reflect_type="odd"), Y),
    case(lambda mnp, x: mnp.pad(x, (4, 5), mode="wrap"), Y),
    case(lambda mnp, x: mnp.pad(x, ((1, 1), (2, 0)), mode="mean", stat_length=2), X),
    case(lambda mnp, x: mnp.pad(x, 1, mode="maximum"), X),
    case(lambda mnp, x: mnp.pad(x, (1, 2), mode="minimum", stat_length=((2, 3),)), VECTOR),
    case(lambda mnp, x: mnp.pad(x, 2, mode="linear_ramp", end_values=((1, 2), (3, 4))), X),
    case(lambda mnp, x: mnp.pad(x, 1, mode="linear_ramp"), "i32[2,3]"),
    case(lambda mnp, x: mnp.pad(x, (1, 2), mode="empty"), Y),
]

INDEXING = [
    case(lambda mnp, x, n: mnp.take(x, n), X, "i32[2,2]"),
    case(lambda mnp, x, n: mnp.take(x, n, axis=1), X, "i64[4]"),
    case(lambda mnp, x, n: mnp.take(x, n, axis=1, mode="wrap"), X, "i32[4]"),
    case(lambda mnp, x, n: mnp.take_along_axis(x, n, 1), X, "i32[2,2]:<3"),
    case(lambda mnp, x, n: mnp.take_along_axis(x, n, None), X, "i64[4]:<6"),
    case(lambda mnp, c, x, y: mnp.where(c, x, y), MASK, X, Y),
    case(lambda mnp, x: mnp.where(x, 1.5, x), I),
    case(lambda mnp, c, x: mnp.where(c, x, 3), MASK, "i8[2,3]"),
    case(lambda mnp, a, b, x, y: mnp.select([a, b], [x, y], 9), MASK, MASK, X, I),
    case(lambda mnp: mnp.select([[True, False], [False, False]], [[1, 2], [3, 4]], default=1.5)),
    case(lambda mnp, n: mnp.choose(n, [[1, 2, 3], [4, 5, 6]]), "i32[3]"),
    case(lambda mnp, n: mnp.choose(n, [[1, 2, 3], [4, 5, 6]], mode="wrap"), "i64[3]"),
    case(lambda mnp, x: mnp.argwhere(x), I),
    case(lambda mnp: mnp.unravel_index([1, 9, -1], (2, 3))),
    case(lambda mnp, n: mnp.unravel_index(n, (2, 3), order="F"), "i64[4]:<6"),
    case(lambda mnp: mnp.ravel_multi_index([[3, 6, 6], [4, 5, 1]], (7, 6))),
    case(lambda mnp, n: mnp.ravel_multi_index(n, (4, 6), mode="wrap", order="F"), "i64[2,3]"),
    case(lambda mnp, x: mnp.unique(x), "i32[9]"),
    case(lambda mnp, x: mnp.unique(x, return_inverse=True), "i64[2,4]"),
    case(lambda mnp, x: mnp.unique(x, return_inverse=True), "i32[2,4]"),
    case(lambda mnp: mnp.intersect1d([1, 3, 4, 3], [3, 1, 2, 1])),
    case(lambda mnp: mnp.intersect1d([3, 1, 1, 2, 2], [2, 2, 3, 7], return_indices=True)),
    case(lambda mnp: mnp.setdiff1d([1, 2, 3, 2, 4, 1], [3, 4, 5, 6])),
    case(lambda mnp: mnp.setdiff1d([3, 1, 2], [1], assume_unique=True)),
    case(lambda mnp: mnp.searchsorted([1, 2, 3, 4, 5], [-10, 10, 2, 3])),
    case(lambda mnp: mnp.searchsorted([1, 2, 3, 4, 5], 3, side="right")),
    case(lambda mnp: mnp.digitize([0.2, 6.4, 3.0, 1.6], [0, 1, 2.5, 4, 10])),
    case(lambda mnp: mnp.digitize([1, 2, 3], [3, 2, 1], right=True)),
    case(lambda mnp: mnp.interp([0, 1, 1.5, 2.72, 3.14], [1, 2, 3], [3, 2, 0])),
    case(lambda mnp: mnp.interp([0.0, 4.0], [1, 2, 3], [3, 2, 0], left=-1, right=-2)),
    case(lambda mnp: mnp.bincount([0, 1, 1, 3], minlength=6)),
    case(lambda mnp: mnp.bincount([0, 1, 1, 7], weights=[0.5, 1, 2, 3], length=3)),
    case(lambda mnp, x: mnp.histogram(x, 4), X),
    case(lambda mnp, x: mnp.histogram(x, [-1, 0, 1, 2], density=True), X),
    case(lambda mnp, x, w: mnp.histogram(x, 3, range=(-1, 1), weights=w), X, P),
    case(lambda mnp: mnp.histogram([1.0, 1.0], 2)),
    case(lambda mnp: mnp.bincount([0, -1, 1])),
    case(lambda mnp, x: mnp.histogram_bin_edges(x, 3), X),
    case(lambda mnp, x, y: mnp.histogram2d(x, y, [2, 3], density=True), VECTOR, VECTOR),
    case(lambda mnp, x: mnp.histogramdd(x, 2), "f32[5,3]"),
    case(lambda mnp, x, w: mnp.histogramdd(x, [2, [-1, 0, 2]], weights=w), "f32[5,2]", "f32[5]"),
]

_UNARY_SPECS = {
    X: [
        lambda mnp, x: mnp.exp(x), lambda mnp, x: mnp.expm1(x), lambda mnp, x: mnp.exp2(x),
        lambda mnp, x: mnp.sin(x), lambda mnp, x: mnp.cos(x), lambda mnp, x: mnp.tan(x),
        lambda mnp, x: mnp.sinh(x), lambda mnp, x: mnp.cosh(x), lambda mnp, x: mnp.tanh(x),
        lambda mnp, x: mnp.arctan(x), lambda mnp, x: mnp.arcsinh(x), lambda mnp, x: mnp.deg2rad(x),
        lambda mnp, x: mnp.rad2deg(x), lambda mnp, x: mnp.radians(x), lambda mnp, x: mnp.floor(x),
        lambda mnp, x: mnp.ceil(x), lambda mnp, x: mnp.trunc(x), lambda mnp, x: mnp.rint(x),
        lambda mnp, x: mnp.fix(x), lambda mnp, x: mnp.around(x, 1), lambda mnp, x: mnp.sign(x),
        lambda mnp, x: mnp.signbit(x), lambda mnp, x: mnp.negative(x),
        lambda mnp, x: mnp.positive(x), lambda mnp, x: mnp.square(x), lambda mnp, x: mnp.cbrt(x),
        lambda mnp, x: mnp.absolute(x), lambda mnp, x: mnp.isnan(x), lambda mnp, x: mnp.isinf(x),
        lambda mnp, x: mnp.isfinite(x), lambda mnp, x: mnp.isposinf(x),
        lambda mnp, x: mnp.isneginf(x), lambda mnp, x: mnp.logical_not(x, dtype=mnp.int32),
    ],
    P: [
        lambda mnp, x: mnp.sqrt(x), lambda mnp, x: mnp.log(x), lambda mnp, x: mnp.log2(x),
        lambda mnp, x: mnp.log10(x), lambda mnp, x: mnp.log1p(x), lambda mnp, x: mnp.reciprocal(x),
    ],
    U: [
        lambda mnp, x: mnp.arcsin(x), lambda mnp, x: mnp.arccos(x), lambda mnp, x: mnp.arctanh(x),
    ],
    "f32[3]:above_one": [lambda mnp, x: mnp.arccosh(x)],
    I: [
        lambda mnp, x: mnp.abs(x), lambda mnp, x: mnp.fabs(x), lambda mnp, x: mnp.sign(x),
        lambda mnp, x: mnp.square(x), lambda mnp, x: mnp.ceil(x), lambda mnp, x: mnp.trunc(x),
        lambda mnp, x: mnp.fix(x), lambda mnp, x: mnp.around(x, 2), lambda mnp, x: mnp.sin(x),
        lambda mnp, x: mnp.deg2rad(x), lambda mnp, x: mnp.invert(x), lambda mnp, x: mnp.isnan(x),
        lambda mnp, x: mnp.bitwise_not(x), lambda mnp, x: mnp.logical_not(x),
    ],
    J: [
        lambda mnp, x: mnp.sqrt(x), lambda mnp, x: mnp.exp2(x), lambda mnp, x: mnp.reciprocal(x),
        lambda mnp, x: mnp.cbrt(x),
    ],
    HALF: [
        lambda mnp, x: mnp.exp(x), lambda mnp, x: mnp.fix(x), lambda mnp, x: mnp.sqrt(mnp.abs(x)),
    ],
    DOUBLE: [
        lambda mnp, x: mnp.exp(x), lambda mnp, x: mnp.fix(x), lambda mnp, x: mnp.tanh(x),
    ],
}  # fmt: skip

ELEMENTWISE = [case(call, spec) for spec, calls in _UNARY_SPECS.items() for call in calls]

_BINARY_SPECS = {
    (X, S): [
        lambda mnp, x, y: mnp.add(x, y), lambda mnp, x, y: mnp.subtract(x, y),
        lambda mnp, x, y: mnp.multiply(x, y), lambda mnp, x, y: mnp.divide(x, y),
        lambda mnp, x, y: mnp.floor_divide(x, y), lambda mnp, x, y: mnp.remainder(x, y),
        lambda mnp, x, y: mnp.mod(x, y), lambda mnp, x, y: mnp.fmod(x, y),
        lambda mnp, x, y: mnp.divmod(x, y), lambda mnp, x, y: mnp.maximum(x, y),
        lambda mnp, x, y: mnp.minimum(x, y), lambda mnp, x, y: mnp.hypot(x, y),
        lambda mnp, x, y: mnp.arctan2(x, y), lambda mnp, x, y: mnp.heaviside(x, y),
        lambda mnp, x, y: mnp.logaddexp(x, y), lambda mnp, x, y: mnp.logaddexp2(x, y),
        lambda mnp, x, y: mnp.copysign(x, y), lambda mnp, x, y: mnp.less(x, y),
        lambda mnp, x, y: mnp.isclose(x, y, rtol=0.5), lambda mnp, x, y: mnp.isin(x, y),
    ],
    (P, Y): [
        lambda mnp, x, y: mnp.power(x, y), lambda mnp, x, y: mnp.float_power(x, y),
    ],
    (I, J): [
        lambda mnp, x, y: mnp.add(x, y), lambda mnp, x, y: mnp.divide(x, y),
        lambda mnp, x, y: mnp.true_divide(x, y), lambda mnp, x, y: mnp.floor_divide(x, y),
        lambda mnp, x, y: mnp.remainder(x, y), lambda mnp, x, y: mnp.fmod(x, y),
        lambda mnp, x, y: mnp.power(x, y), lambda mnp, x, y: mnp.float_power(x, y),
        lambda mnp, x, y: mnp.gcd(x, y), lambda mnp, x, y: mnp.lcm(x, y),
        lambda mnp, x, y: mnp.copysign(x, y), lambda mnp, x, y: mnp.hypot(x, y),
        lambda mnp, x, y: mnp.bitwise_and(x, y), lambda mnp, x, y: mnp.bitwise_or(x, y),
        lambda mnp, x, y: mnp.bitwise_xor(x, y), lambda mnp, x, y: mnp.equal(x, y),
        lambda mnp, x, y: mnp.not_equal(x, y), lambda mnp, x, y: mnp.less(x, y),
        lambda mnp, x, y: mnp.less_equal(x, y), lambda mnp, x, y: mnp.greater(x, y),
        lambda mnp, x, y: mnp.greater_equal(x, y, dtype=mnp.int32),
        lambda mnp, x, y: mnp.logical_and(x, y), lambda mnp, x, y: mnp.logical_or(x, y),
        lambda mnp, x, y: mnp.logical_xor(x, y), lambda mnp, x, y: mnp.in1d(x, y, invert=True),
    ],
    ("i64[3]", "f16[3]:positive"): [
        lambda mnp, x, y: mnp.add(x, y), lambda mnp, x, y: mnp.divide(x, y),
    ],
    ("f64[3]", "f64[3]:positive"): [
        lambda mnp, x, y: mnp.divide(x, y), lambda mnp, x, y: mnp.hypot(x, y),
        lambda mnp, x, y: mnp.float_power(y, x),
    ],
    ("u8[3]", "i8[3]"): [lambda mnp, x, y: mnp.add(x, y), lambda mnp, x, y: mnp.multiply(x, y)],
}  # fmt: skip

ARITHMETIC = [
    *[case(call, *specs) for specs, calls in _BINARY_SPECS.items() for call in calls],
    case(lambda mnp, x: mnp.add(x, 1), "i8[3]"),
    case(lambda mnp, x: mnp.add(x, 2.5), "f16[3]"),
    case(lambda mnp, x: mnp.power(x, 2), "f16[3]"),
    case(lambda mnp, x: mnp.maximum(x, 1.5), "i32[3]"),
    case(lambda mnp, x: mnp.minimum(1, x), "i8[3]"),
    case(lambda mnp: mnp.add(1, 2.5)),
    case(lambda mnp: mnp.subtract([1, 2], [3, 4.0], dtype=mnp.float16)),
    case(lambda mnp, x: mnp.clip(x, -0.5, 0.5), X),
    case(lambda mnp, x: mnp.clip(x, None, 2), I),
    case(lambda mnp, x: mnp.clip(x, 1.5, 3), "i64[4]"),
    case(lambda mnp: mnp.array_equal([1, NAN], [1, NAN], equal_nan=True)),
    case(lambda mnp: mnp.array_equal([1, 2], [1, 2, 3])),
    case(lambda mnp: mnp.array_equiv([1, 2], [[1, 2], [1, 2]])),
    case(lambda mnp, x: mnp.sometrue(x, 0), MASK),
    case(lambda mnp, x: mnp.size(x, 1), X),
    case(lambda mnp: mnp.isscalar(3)),
    case(lambda mnp, x: mnp.isscalar(x), Y),
    case(lambda mnp, x: mnp.array_str(x), "i32[3]"),
    case(lambda mnp: str(mnp.promote_types("int32", mnp.float16))),
    case(lambda mnp: str(mnp.promote_types(mnp.uint32, mnp.int32))),
    case(lambda mnp, x: str(mnp.result_type(x, 3, True)), "i8[2]"),
]

REDUCTION = [
    *[
        case(call, D)
        for call in (
            lambda mnp, x: mnp.sum(x),
            lambda mnp, x: mnp.sum(x, (0, 1), None, True, 2),
            lambda mnp, x: mnp.mean(x, 0),
            lambda mnp, x: mnp.amax(x, 1),
            lambda mnp, x: mnp.amin(x, 0, True),
            lambda mnp, x: mnp.max(x),
            lambda mnp, x: mnp.min(x, -1),
            lambda mnp, x: mnp.max(x, 1, initial=0.5),
            lambda mnp, x: mnp.ptp(x, 1, True),
            lambda mnp, x: mnp.argmax(x),
            lambda mnp, x: mnp.argmax(x, 1),
            lambda mnp, x: mnp.argmin(x, 0),
            lambda mnp, x: mnp.std(x),
            lambda mnp, x: mnp.std(x, 0, 1),
            lambda mnp, x: mnp.var(x, 1, 0, True),
            lambda mnp, x: mnp.average(x, 1),
            lambda mnp, x: mnp.average(x, 0, None, True),
            lambda mnp, x: mnp.count_nonzero(x, 1, True),
            lambda mnp, x: mnp.cumsum(x),
            lambda mnp, x: mnp.cumsum(x, 1),
            lambda mnp, x: mnp.cumprod(x, 1),
            lambda mnp, x: mnp.nancumsum(x, 0),
            lambda mnp, x: mnp.nanmax(x, 0),
            lambda mnp, x: mnp.nanmin(x, 1),
            lambda mnp, x: mnp.cov(x),
            lambda mnp, x: mnp.corrcoef(x),
            lambda mnp, x: mnp.cov(x, rowvar=False, bias=True),
        )
    ],
    case(lambda mnp, x, m: mnp.amin(x, 1, initial=9, where=m), X, MASK),
    *[
        case(call, I)
        for call in (
            lambda mnp, x: mnp.sum(x, 0),
            lambda mnp, x: mnp.mean(mnp.abs(x), 1),
            lambda mnp, x: mnp.amax(x),
            lambda mnp, x: mnp.argmin(x),
            lambda mnp, x: mnp.cumsum(x, 0),
            lambda mnp, x: mnp.cumprod(x, 1),
            lambda mnp, x: mnp.nansum(x),
            lambda mnp, x: mnp.nanmean(x),
            lambda mnp, x: mnp.ptp(x),
        )
    ],
    case(lambda mnp, x: mnp.sum(x), "i8[4]"),
    case(lambda mnp, x: mnp.cumsum(x), "i8[4]"),
    case(lambda mnp, x: mnp.sum(x, 1), HALF),
    case(lambda mnp, x: mnp.nanvar(x), DOUBLE),
    case(lambda mnp: mnp.nansum([[1, NAN], [3, 4]], 0, keepdims=True)),
    case(lambda mnp: mnp.nanmean([[1, NAN], [3, 4]], 0)),
    case(lambda mnp: mnp.nanmax([[1, NAN], [3, 4]], 1)),
    case(lambda mnp: mnp.nanmin([[1, NAN], [3, 4]], 0)),
    case(lambda mnp: mnp.nanstd([1, 2, 3, NAN], ddof=1)),
    case(lambda mnp: mnp.nanvar([[1, NAN], [3, 4]], 0, keepdims=True)),
    case(lambda mnp, x, w: mnp.average(x, 1, w), X, P),
    case(lambda mnp, x, w: mnp.average(x, 1, w, True), X, "f32[3]:positive"),
    case(lambda mnp, x: mnp.cov(x, fweights=[1, 2, 3], aweights=[1, 2, 5]), X),
]

LINEAR = [
    case(lambda mnp, x, y: mnp.matmul(x, y), X, "f32[3,2]"),
    case(lambda mnp, x, y: mnp.matmul(x, y), CUBE, "f32[4]"),
    case(lambda mnp, x, y: mnp.matmul(x, y), I, "i32[3,2]"),
    case(lambda mnp, x, y: mnp.dot(x, y), CUBE, "f32[5,4,2]"),
    case(lambda mnp, x, y: mnp.dot(x, y), Y, "f32[3]"),
    case(lambda mnp, x, y: mnp.dot(x, y), Y, "f32[]"),
    case(lambda mnp, x, y: mnp.inner(x, y), CUBE, "f32[5,4]"),
    case(lambda mnp, x, y: mnp.outer(x, y), X, "f32[2]"),
    case(lambda mnp, x, y: mnp.tensordot(x, y), X, P),
    case(lambda mnp, x, y: mnp.tensordot(x, y, ((1, 2), (1, 0))), CUBE, "f32[4,3,2]"),
    case(lambda mnp, x, y: mnp.tensordot(x, y, 0), Y, "f32[2]"),
    case(lambda mnp, x, y: mnp.kron(x, y), X, "i32[2]"),
    case(lambda mnp, x, y: mnp.cross(x, y), X, Y),
    case(lambda mnp: mnp.cross([1, 2], [4, 5, 6])),
    case(lambda mnp, x, y: mnp.cross(x, y, axis=0), "f32[3,2]", "f32[3,2]"),
    case(lambda mnp, x: mnp.trace(x, 1), SQUARE),
    case(lambda mnp, x: mnp.trace(x), "i32[3,3]"),
    case(lambda mnp, x: mnp.matrix_power(x, 3), SQUARE),
    case(lambda mnp: mnp.matrix_power([[1, 1], [1, 0]], 4)),
    case(lambda mnp, x, y, z: mnp.multi_dot([x, y, z]), "f32[2,5]", "f32[5,3]", SQUARE),
    case(lambda mnp, x, y, z: mnp.multi_dot([x, y, z]), Y, SQUARE, Y),
    case(lambda mnp, x: mnp.norm(x), CUBE),
    case(lambda mnp, x: mnp.norm(x, axis=1), X),
    case(lambda mnp, x: mnp.norm(x, 3), Y),
    case(lambda mnp, x: mnp.norm(x, 0), Y),
    case(lambda mnp, x: mnp.norm(x, np.inf, (0, 2), True), CUBE),
    case(lambda mnp, x: mnp.norm(x, "fro", (1, 2), True), CUBE),
    case(lambda mnp, x: mnp.norm(x, -1), SQUARE),
    case(lambda mnp, x: mnp.norm(x), "f16[3]"),
]

CALCULUS = [
    case(lambda mnp, x: mnp.diff(x), X),
    case(lambda mnp, x: mnp.diff(x, 2), "i32[5]"),
    case(lambda mnp, x: mnp.diff(x, prepend=5, axis=0), X),
    case(lambda mnp, x: mnp.diff(x), "bool[4]"),
    case(lambda mnp, x: mnp.ediff1d(x, to_begin=-99, to_end=[88, 99]), X),
    case(lambda mnp: mnp.trapz([1, 2, 3], dx=2)),
    case(lambda mnp, x, y: mnp.trapz(x, y), X, Y),
    case(lambda mnp, x: mnp.trapz(x, axis=0), DOUBLE),
    case(lambda mnp, x: mnp.gradient(x), SQUARE),
    case(lambda mnp, x: mnp.gradient(x, 2, axis=0), HALF),
    case(lambda mnp, x: mnp.unwrap(x), "f32[6]:distinct"),
    case(lambda mnp: mnp.unwrap([0, 4, 8, 12], discont=5)),
    case(lambda mnp, x, y: mnp.convolve(x, y), VECTOR, "f32[2]"),
    case(lambda mnp, x, y: mnp.convolve(x, y, "same"), "f32[5]", "f32[4]"),
    case(lambda mnp, x, y: mnp.convolve(x, y, "valid"), "i32[2]", "i32[4]"),
    case(lambda mnp, x, y: mnp.correlate(x, y, "same"), "f32[5]", "f32[4]"),
    case(lambda mnp, x, y: mnp.correlate(x, y, "same"), "i32[2]", "i32[5]"),
    case(lambda mnp, x, y: mnp.correlate(x, y, "full"), "i64[3]", "i64[2]"),
    case(lambda mnp: mnp.polyadd([1, 2], [9, 5, 4])),
    case(lambda mnp: mnp.polysub([2, 10], 3.5)),
    case(lambda mnp: mnp.polymul([1, 2, 3], [9, 5, 1])),
    case(lambda mnp, x, y: mnp.polyval(x, y), Y, X),
    case(lambda mnp: mnp.polyval([3, 0, 1], 5)),
    case(lambda mnp: mnp.polyder([1, 1, 1, 1], 2)),
    case(lambda mnp, x: mnp.polyder(x), Y),
    case(lambda mnp: mnp.polyint([1, 1, 1], 2, k=[3, 4])),
    case(lambda mnp, x: mnp.polyint(x), "f64[3]"),
    case(lambda mnp, x: mnp.apply_along_axis(lambda v: v.sum(), 0, x), X),
    case(lambda mnp, x: mnp.apply_along_axis(mnp.diag, 0, x), "f32[3,2]"),
    case(lambda mnp, x: mnp.apply_over_axes(mnp.sum, x, [0, 2]), CUBE),
    case(lambda mnp, x: mnp.piecewise(x, [x < 0, x >= 0], [-1, 1]), X),
    case(lambda mnp, x: mnp.piecewise(x, [x < 0], [lambda v: v - 5, lambda v: v * 2]), X),
]

CASES: list[Case] = [
    *CREATION, *SHAPING, *INDEXING, *ELEMENTWISE, *ARITHMETIC, *REDUCTION, *LINEAR, *CALCULUS,
]  # fmt: skip
