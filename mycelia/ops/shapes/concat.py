"""Joining and splitting tensors along an axis: concat, stack, split, unstack."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int, check_positive_int, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol, check_tensors
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_axes
from mycelia.ops.indexing.subscript import with_box
from mycelia.ops.shapes.reshape import copied, expand_dims, reshape
from mycelia.ops.shapes.views import atleast_1d, atleast_2d, atleast_3d


class Concat(Op):
    """Concatenates tensors along an existing axis."""

    axis: int = 0
    examples = (
        case(("f32[2,3]", "f32[1,3]")),
        case(("f32[2,1]", "f32[2,2]", "f32[2,0]"), axis=-1),
        case(("i32[2]",)),
    )

    def infer(self, tensors: Any) -> TensorType:
        first = check_alike(self.name, tensors)
        axis = normalize_axis(self.axis, first.ndim, self.name) if first.ndim else 0
        rests = [(*t.shape[:axis], *t.shape[axis + 1 :]) for t in tensors]
        if (
            not first.ndim
            or any(len(t.shape) != first.ndim for t in tensors)
            or len(set(rests)) > 1
        ):
            raise problem(
                ValueError,
                "Concat: the shapes do not match",
                got=" and ".join(str(t) for t in tensors),
                expected=f"at least one dimension, and equal sizes except along axis {axis}",
            )
        total = sum(t.shape[axis] for t in tensors)
        return first.with_shape((*first.shape[:axis], total, *first.shape[axis + 1 :]))

    def lower(self, tensors: tuple[Array, ...]) -> Array:
        return jnp.concatenate(tensors, axis=self.axis)

    def host(self, tensors: Any) -> Any:
        if not isinstance(tensors, tuple) or len({t.dtype for t in tensors}) > 1:
            raise TypeError("not a tuple of one dtype")
        return np.concatenate(tensors, axis=self.axis)

    def grad(self, tensors: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        sizes = tuple(t.shape[self.axis] for t in tensors)
        return (SplitV.of(sizes, self.axis, len(sizes))(dout),)


class Stack(Op):
    """Stacks tensors of one shape along a new axis."""

    axis: int = 0
    examples = (
        case(("f32[2,3]", "f32[2,3]")),
        case(("f32[2]",) * 3, axis=-1),
        case(("f32[]",) * 2),
    )

    def normalize(self) -> dict[str, Any]:
        return {"axis": check_int(self.name, "axis", self.axis)}

    def infer(self, tensors: Any) -> TensorType:
        first = check_alike(self.name, tensors)
        if any(t.shape != first.shape for t in tensors):
            raise problem(
                ValueError,
                f"{self.name}: the shapes differ",
                got=" and ".join(str(t) for t in tensors),
                expected="tensors of one shape",
            )
        place = normalize_axis(self.axis, first.ndim + 1, self.name)
        return first.with_shape((*first.shape[:place], len(tensors), *first.shape[place:]))

    def lower(self, tensors: tuple[Array, ...]) -> Array:
        return jnp.stack(tensors, axis=self.axis)

    def host(self, tensors: Any) -> Any:
        if not isinstance(tensors, tuple) or len({t.dtype for t in tensors}) > 1:
            raise TypeError("not a tuple of one dtype")
        return np.stack(tensors, axis=self.axis)

    def grad(self, tensors: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Unstack.of(self.axis)(dout),)


class Pack(Stack):
    """Former name of Stack."""


class Unstack(Op):
    """Splits a tensor into its slices along one axis, which is removed."""

    axis: int = 0
    num: int | None = None
    examples = (case("f32[2,3]"), case("f32[2,3]", axis=-1), case("f32[2,0]"))

    def normalize(self) -> dict[str, Any]:
        return {"axis": check_int(self.name, "axis", self.axis)}

    def infer(self, input_x: TensorType) -> tuple[TensorType, ...]:
        axis = self._axis(input_x.shape)
        rest = input_x.with_shape((*input_x.shape[:axis], *input_x.shape[axis + 1 :]))
        return (rest,) * input_x.shape[axis]

    def lower(self, input_x: Array) -> tuple[Array, ...]:
        axis = self._axis(input_x.shape)
        return tuple(
            lax.index_in_dim(jnp.asarray(input_x), i, axis, keepdims=False)
            for i in range(input_x.shape[axis])
        )

    def host(self, input_x: Any) -> Any:
        return tuple(copied(row) for row in np.moveaxis(input_x, self._axis(input_x.shape), 0))

    def view(self, input_x: Any) -> Any:
        rows = np.moveaxis(input_x, self._axis(input_x.shape), 0)
        return tuple(rows[i, ...] for i in range(len(rows)))

    def put_back(self, input_x: Any, value: Any, part: int) -> Any:
        axis = self._axis(input_x.shape)
        return with_part(input_x, axis, part, expand_dims(value, axis))

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Stack.of(self.axis)(dout),)

    def _axis(self, shape: Shape) -> int:
        if not shape:
            raise problem(ValueError, f"{self.name}: a 0-d tensor has no axis to split")
        return normalize_axis(self.axis, len(shape), self.name)


class Unpack(Unstack):
    """Former name of Unstack."""


class Split(Op):
    """Splits a tensor into `output_num` equal parts along an axis."""

    axis: int = 0
    output_num: int = 1
    examples = (
        case("f32[4,3]", output_num=2),
        case("f32[2,6]", axis=-1, output_num=3),
        case("f32[2]"),
    )

    def infer(self, x: TensorType) -> tuple[TensorType, ...]:
        check_axes(self.name, "x", x)
        axis, length = self._part(x.shape)
        part = x.with_shape((*x.shape[:axis], length, *x.shape[axis + 1 :]))
        return (part,) * self.output_num

    def lower(self, x: Array) -> tuple[Array, ...]:
        axis, length = self._part(x.shape)
        return _cut(jnp.asarray(x), [i * length for i in range(self.output_num + 1)], axis)

    def host(self, x: Any) -> Any:
        axis, _ = self._part(x.shape)
        return tuple(copied(part) for part in np.split(x, self.output_num, axis))

    def view(self, x: Any) -> Any:
        return tuple(np.split(x, self.output_num, self._part(x.shape)[0]))

    def put_back(self, x: Any, value: Any, part: int) -> Any:
        axis, length = self._part(x.shape)
        return with_part(x, axis, part * length, value)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Concat.of(self.axis)(dout),)

    def _part(self, shape: Shape) -> tuple[int, int]:
        axis = normalize_axis(self.axis, len(shape), self.name)
        check_positive_int(self.name, "output_num", self.output_num)
        if shape[axis] % self.output_num:
            raise problem(
                ValueError,
                "Split: the axis does not split into equal parts",
                got=f"shape {list(shape)}, axis {axis}, {self.output_num} parts",
                fix="use ops.split or ops.tensor_split for parts of different sizes",
            )
        return axis, shape[axis] // self.output_num


class SplitV(Op):
    """Splits a tensor along an axis into parts of the given sizes."""

    size_splits: tuple[int, ...]
    split_dim: int
    num_split: int
    examples = (
        case("f32[4,3]", size_splits=(1, 3), split_dim=0, num_split=2),
        case("f32[2,5]", size_splits=(2, 0, 3), split_dim=-1, num_split=3),
    )

    def normalize(self) -> dict[str, Any]:
        return {"size_splits": tuple(self.size_splits)}

    def infer(self, input_x: TensorType) -> tuple[TensorType, ...]:
        axis = self._axis(input_x.shape)
        left, right = input_x.shape[:axis], input_x.shape[axis + 1 :]
        return tuple(input_x.with_shape((*left, n, *right)) for n in self.size_splits)

    def lower(self, input_x: Array) -> tuple[Array, ...]:
        axis = self._axis(input_x.shape)
        return _cut(jnp.asarray(input_x), [0, *accumulate(self.size_splits)], axis)

    def host(self, input_x: Any) -> Any:
        return tuple(copied(part) for part in self.view(input_x))

    def view(self, input_x: Any) -> Any:
        places = list(accumulate(self.size_splits))[:-1]
        return tuple(np.split(input_x, places, self._axis(input_x.shape)))

    def put_back(self, input_x: Any, value: Any, part: int) -> Any:
        start = sum(self.size_splits[:part])
        return with_part(input_x, self._axis(input_x.shape), start, value)

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (Concat.of(self.split_dim)(dout),)

    def _axis(self, shape: Shape) -> int:
        axis = normalize_axis(self.split_dim, len(shape), self.name)
        if sum(self.size_splits) != shape[axis] or len(self.size_splits) != self.num_split:
            raise problem(
                ValueError,
                "SplitV: the sizes do not add up to the axis",
                got=f"sizes {list(self.size_splits)} for axis {axis} of shape {list(shape)}",
                expected=f"{self.num_split} sizes with the sum {shape[axis]}",
            )
        return axis


def with_part(x: Any, axis: int, start: int, value: Any) -> Any:
    """Copy of `x` whose slice along `axis` from `start` on is replaced by `value`."""
    stop = start + value.shape[axis]
    box = [slice(start, stop) if i == axis else slice(0, n) for i, n in enumerate(x.shape)]
    return with_box(x, box, value)


def check_alike(owner: str, tensors: Any) -> TensorType:
    """The first tensor, after checking that there is one and all have the same dtype."""
    if not isinstance(tensors, (tuple, list)):
        raise problem(
            TypeError, f"{owner}: the inputs must be a tuple of tensors", got=str(tensors)
        )
    if not tensors:
        raise problem(ValueError, f"{owner}: there are no tensors to join", got="an empty tuple")
    if any(t.dtype is not tensors[0].dtype for t in tensors):
        raise problem(
            TypeError,
            f"{owner}: the tensors have different dtypes",
            got=" and ".join(str(t) for t in tensors),
            fix="cast them to one dtype first",
        )
    return tensors[0]


def _cut(x: Array, bounds: list[int], axis: int) -> tuple[Array, ...]:
    return tuple(lax.slice_in_dim(x, a, b, axis=axis) for a, b in pairwise(bounds))


def concat(tensors: Any, axis: int = 0) -> Any:
    """Concatenates tensors along `axis`."""
    return Concat.of(check_int("concat", "axis", axis))(tuple(tensors))


def cat(tensors: Any, axis: int = 0) -> Any:
    """Concatenates tensors along `axis`."""
    return concat(tensors, axis)


def stack(tensors: Any, axis: int = 0) -> Any:
    """Stacks tensors of one shape along a new `axis`."""
    listed = (tensors,) if isinstance(tensors, TensorProtocol) else tuple(tensors)
    return Stack.of(check_int("stack", "axis", axis))(listed)


def unstack(input_x: Any, axis: int = 0) -> Any:
    """Splits a tensor into its slices along `axis`, which is removed."""
    return Unstack.of(check_int("unstack", "axis", axis))(input_x)


def unbind(input: Any, dim: int = 0) -> Any:
    """Splits a tensor into its slices along `dim`, which is removed."""
    return unstack(input, dim)


def split(tensor: Any, split_size_or_sections: Any, axis: int = 0) -> Any:
    """Splits a tensor into parts of a given size (the last may be smaller) or the listed sizes."""
    place = normalize_axis(axis, len(tensor.shape), "split")
    length = tensor.shape[place]
    if is_int(split_size_or_sections):
        step = check_positive_int("split", "split_size_or_sections", split_size_or_sections)
        sizes = [min(step, length - start) for start in range(0, length, step)] or [0]
    elif isinstance(split_size_or_sections, (tuple, list)):
        sizes = [check_int("split", "split_size_or_sections", n) for n in split_size_or_sections]
        if any(n < 0 for n in sizes):
            raise wrong_type("split", "split_size_or_sections", sizes, "sizes of at least 0")
    else:
        kinds = "int or a tuple or list of ints"
        raise wrong_type("split", "split_size_or_sections", split_size_or_sections, kinds)
    return SplitV.of(tuple(sizes), place, len(sizes))(tensor)


def chunk(input: Any, chunks: int, axis: int = 0) -> Any:
    """Splits a tensor into at most `chunks` equal parts along `axis`; the last may be smaller."""
    check_tensors("chunk", input=input)
    count = check_positive_int("chunk", "chunks", chunks)
    place = normalize_axis(axis, len(input.shape), "chunk")
    return split(input, max(1, -(-input.shape[place] // count)), place)


def tensor_split(input: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    """Splits a tensor into n nearly equal parts, or at the listed indices."""
    check_tensors("tensor_split", input=input)
    place = normalize_axis(axis, len(input.shape), "tensor_split")
    length = input.shape[place]
    if is_int(indices_or_sections):
        count = check_positive_int("tensor_split", "indices_or_sections", indices_or_sections)
        small, extra = divmod(length, count)
        sizes = tuple(small + 1 if i < extra else small for i in range(count))
        return SplitV.of(sizes, place, count)(input)
    if not isinstance(indices_or_sections, (tuple, list)):
        kinds = "int or a tuple or list of ints"
        raise wrong_type("tensor_split", "indices_or_sections", indices_or_sections, kinds)
    bounds = [check_int("tensor_split", "indices_or_sections", i) for i in indices_or_sections]
    inside = [min(max(b + length if b < 0 else b, 0), length) for b in bounds]
    return tuple(
        _between(input, place, start, stop) for start, stop in pairwise([0, *inside, length])
    )


def _between(x: Any, axis: int, start: int, stop: int) -> Any:
    length = x.shape[axis]
    sizes = (start, max(stop - start, 0), length - max(stop, start))
    return SplitV.of(sizes, axis, 3)(x)[1]


def hsplit(input: Any, indices_or_sections: Any) -> Any:
    """`tensor_split` along the second axis."""
    check_tensors("hsplit", input=input)
    return _split_axis("hsplit", input, indices_or_sections, 1)


def vsplit(input: Any, indices_or_sections: Any) -> Any:
    """`tensor_split` along the first axis."""
    check_tensors("vsplit", input=input)
    return _split_axis("vsplit", input, indices_or_sections, 0)


def dsplit(input: Any, indices_or_sections: Any) -> Any:
    """`tensor_split` along the third axis."""
    return _split_axis("dsplit", input, indices_or_sections, 2)


def _split_axis(owner: str, x: Any, indices_or_sections: Any, axis: int) -> Any:
    if len(x.shape) <= axis:
        raise wrong_value(owner, "input", x.shape, f"a tensor with at least {axis + 1} dimensions")
    return tensor_split(x, indices_or_sections, axis)


def hstack(tensors: Any) -> Any:
    """Concatenates tensors along the second axis; vectors along their only axis."""
    listed = atleast_1d(tuple(tensors))
    return concat(listed, 0 if len(listed[0].shape) == 1 else 1)


def vstack(inputs: Any) -> Any:
    """Concatenates tensors along the first axis; vectors count as rows."""
    return concat(atleast_2d(tuple(inputs)), 0)


def row_stack(tensors: Any) -> Any:
    """Concatenates tensors along the first axis; vectors count as rows."""
    return vstack(tensors)


def dstack(tensors: Any) -> Any:
    """Concatenates tensors along the third axis."""
    return concat(atleast_3d(tuple(tensors)), 2)


def column_stack(tensors: Any) -> Any:
    """Concatenates tensors along the second axis; vectors count as columns."""

    def column(x: Any) -> Any:
        return expand_dims(x, 1) if len(x.shape) == 1 else x

    return concat(tuple(column(reshape(x, (1,)) if not x.shape else x) for x in tensors), 1)
