"""Data layout operators: bit packing, image axis orders, sparse tensors, volume patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_positive_int, check_string
from mycelia._engine.core.dtype import uint8
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels.shifted_windows import shifted
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.window import Window
from mycelia.ops.argument_types import FLOATS, INTEGERS, NUMBERS, check_kinds, check_shape
from mycelia.ops.indexing.unique import SizedByValues as SizedByValues

_FORMATS = ("NHWC", "NCHW")


class CompareAndBitpack(Op):
    """Compares elements with a threshold and packs eight results per byte, highest bit first."""

    differentiable = False
    examples = (case("f32[2,8]", "f32[]"), case("i32[16]", "i32[]"))

    def infer(self, x: TensorType, threshold: TensorType) -> TensorType:
        if not x.ndim or x.shape[-1] % 8 or threshold.ndim:
            raise problem(
                ValueError,
                "CompareAndBitpack: the last axis must be a multiple of 8, the threshold a scalar",
                got=f"x {x}, threshold {threshold}",
            )
        return TensorType(uint8, (*x.shape[:-1], x.shape[-1] // 8))

    def lower(self, x: Array, threshold: Array) -> Array:
        return jnp.packbits(jnp.asarray(x) > threshold, axis=-1)


class DataFormatDimMap(Op):
    """Maps axis indices of one image format to another."""

    src_format: str = "NHWC"
    dst_format: str = "NCHW"
    differentiable = False
    examples = (case("i32[4]:<4"), case("i32[2]:<4", src_format="NCHW", dst_format="NHWC"))

    def normalize(self) -> dict[str, Any]:
        return _check_formats(self)

    def infer(self, input_x: TensorType) -> TensorType:
        if not input_x.dtype.is_integer:
            raise unsupported_dtype(self.name, input_x, "an integer tensor")
        return input_x

    def lower(self, input_x: Array) -> Array:
        table = np.array([self.src_format.index(axis) for axis in self.dst_format])
        return jnp.asarray(table)[jnp.mod(input_x, 4)].astype(input_x.dtype)


class DataFormatVecPermute(Op):
    """Permutes four sizes (or pairs) of one image format to the order of another."""

    src_format: str = "NHWC"
    dst_format: str = "NCHW"
    differentiable = False
    examples = (case("i32[4]"), case("i64[4,2]", src_format="NCHW", dst_format="NHWC"))

    def normalize(self) -> dict[str, Any]:
        return _check_formats(self)

    def infer(self, input_x: TensorType) -> TensorType:
        if input_x.shape not in ((4,), (4, 2)):
            raise problem(
                ValueError,
                "DataFormatVecPermute: the input must have four elements or four pairs",
                got=str(input_x),
            )
        return input_x

    def lower(self, input_x: Array) -> Array:
        order = np.array([self.src_format.index(axis) for axis in self.dst_format])
        return jnp.asarray(input_x)[order]


class NoRepeatNGram(Op):
    """Sets log-probabilities of words that would repeat an n-gram to the lowest float."""

    ngram_size: int = 1
    differentiable = False
    examples = (
        case("i32[2,2,6]:<3", "f32[2,2,3]", ngram_size=2),
        case("i32[1,1,2]:<3", "f32[1,1,4]", ngram_size=3),
    )

    def normalize(self) -> dict[str, Any]:
        return {"ngram_size": check_positive_int("NoRepeatNGram", "ngram_size", self.ngram_size)}

    def infer(self, state_seq: TensorType, log_probs: TensorType) -> TensorType:
        if state_seq.ndim != 3 or log_probs.shape[:-1] != state_seq.shape[:-1]:
            raise problem(
                ValueError,
                "NoRepeatNGram: words and probabilities must be (batch, beam, ...)",
                got=f"state_seq {state_seq}, log_probs {log_probs}",
            )
        check_kinds(self.name, INTEGERS, state_seq=state_seq)
        check_kinds(self.name, FLOATS, log_probs=log_probs)
        return log_probs

    def lower(self, state_seq: Array, log_probs: Array) -> Array:
        words, before = jnp.asarray(state_seq), self.ngram_size - 1
        count = words.shape[-1] - before
        if count <= 0:
            return jnp.asarray(log_probs)
        same = jnp.ones((*words.shape[:-1], count), bool)
        for place in range(before):
            last = words[..., words.shape[-1] - before + place, None]
            same = same & (words[..., place : place + count] == last)
        following = words[..., before : before + count]
        vocabulary = jnp.arange(log_probs.shape[-1])
        banned = jnp.any(same[..., None] & (following[..., None] == vocabulary), axis=-2)
        return jnp.where(banned, jnp.finfo(log_probs.dtype).min, log_probs)


class SparseToDense(Op):
    """Dense tensor from a sparse one: values at the given indices, zeros elsewhere."""

    static = ("sparse_shape",)
    examples = (case("i64[3,2]:<3", "f32[3]", (3, 4)), case("i32[2,2]:<2", "i32[2]", (2, 2)))

    def infer(self, indices: TensorType, values: TensorType, sparse_shape: Any) -> TensorType:
        if indices.ndim != 2 or values.shape != indices.shape[:1]:
            raise problem(
                ValueError,
                "SparseToDense: there must be one row of indices per value",
                got=f"indices {indices}, values {values}",
            )
        check_shape(self.name, "indices", indices, (indices.shape[0], len(sparse_shape)))
        check_kinds(self.name, INTEGERS, indices=indices)
        check_kinds(self.name, NUMBERS, values=values)
        return values.with_shape(tuple(sparse_shape))

    def bounds(self, indices: Any, values: Any, sparse_shape: Any) -> tuple[IndexBound, ...]:
        return (IndexBound.positions(0, tuple(sparse_shape), indices.shape),)

    def lower(self, indices: Array, values: Array, sparse_shape: Any) -> Array:
        place = tuple(jnp.asarray(indices).T)
        return jnp.zeros(sparse_shape, values.dtype).at[place].add(values, mode="drop")


class Coalesce(SizedByValues):
    """Sorts the indices (columns) of a sparse tensor and adds the values of equal ones."""

    examples = (case("i64[2,4]:<2", "f32[4]", "i64[2]:<9"),)

    def lower(self, x_indices: Array, x_values: Array, x_shape: Array) -> tuple[Array, ...]:
        raise self.unsizable()

    def check(self, x_indices: Any, x_values: Any, x_shape: Any) -> None:
        if x_indices.ndim != 2 or x_values.shape != x_indices.shape[1:]:
            raise problem(
                ValueError,
                "coalesce: there must be one column of indices per value",
                got=f"indices {x_indices.shape}, values {x_values.shape}",
            )

    def host(self, x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Any, ...]:
        self.check(x_indices, x_values, x_shape)
        found, inverse = np.unique(x_indices, axis=1, return_inverse=True)
        sums = np.zeros(found.shape[1], x_values.dtype)
        np.add.at(sums, inverse.ravel(), x_values)
        return found, sums, np.array(x_shape)


class ExtractVolumePatches(Op):
    """Patches of volumes (N, C, D, H, W), with the elements of each patch as channels."""

    kernel_size: Shape
    strides: Shape
    padding: str
    examples = (
        case(
            "f32[1,2,3,3,3]", kernel_size=(1, 1, 2, 2, 2), strides=(1, 1, 1, 1, 1), padding="VALID"
        ),
        case("f32[1,1,3,3,3]", kernel_size=2, strides=2, padding="SAME"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("ExtractVolumePatches", "padding", self.padding.upper(), ("SAME", "VALID"))
        return {
            name: _three("ExtractVolumePatches", name, getattr(self, name))
            for name in ("kernel_size", "strides")
        }

    def lower(self, input_x: Array) -> Array:
        window = Window(self.kernel_size, self.strides, (1, 1, 1), self.padding.lower())
        return jnp.concatenate(shifted(jnp.asarray(input_x), window), 1)


def coalesce(x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Any, Any, Any]:
    """Sorts the indices of a sparse tensor and adds the values of equal indices."""
    return Coalesce.of()(x_indices, x_values, x_shape)


def _three(owner: str, name: str, value: Any) -> Shape:
    numbers = (value,) * 3 if isinstance(value, int) else tuple(value)
    if len(numbers) == 5 and numbers[:2] == (1, 1):
        numbers = numbers[2:]
    if len(numbers) != 3 or any(n < 1 for n in numbers):
        raise problem(ValueError, f"{owner}: '{name}' must be 1, 1 and three sizes", got=f"{value}")
    return numbers


def _check_formats(op: Any) -> dict[str, Any]:
    for name in ("src_format", "dst_format"):
        check_string(type(op).__name__, name, getattr(op, name), _FORMATS)
    return {}
