"""Subscripts of tensors as operators: reading x[...], assigning x[...] = v, and their gradients.

A subscript consists of a specification, with one entry per index, and of data. Ints and the starts
of plain slices are data, so that x[0] and x[1], or x[0:4] and x[4:8], share one program:

    ("new",)                     a new axis
    ("full",)                    a whole axis; trailing ones are left out
    ("int",)                     one index, which removes its axis          data: 0-d integer
    ("window", length)           `length` elements in a row                 data: their start
    ("steps", start, count, step)  elements at equal distances
    ("array",)                   an index array, with numpy's rules         data: the array

Negative values in index arrays count from the end; in compiled programs, values out of range are
clipped to the nearest end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mycelia._engine.core.errors import IndexOutOfRangeError, problem
from mycelia._engine.core.shape import Shape, broadcast, normalize_axis
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import INTEGERS, NUMBERS, check_kinds, check_readable, check_shape
from mycelia.ops.shapes.creation import ANY_SIZE
from mycelia.ops.shapes.reshape import cast, reshape, scalar_to_tensor, sum_to

Spec = tuple[tuple[Any, ...], ...]

NEW, FULL, INT, ARRAY = ("new",), ("full",), ("int",), ("array",)

ONE = (INT,)  # the most common subscript

_READS = (
    case("f32[4,3]", "i64[]:<4", spec=(INT,)),
    case("f32[4,3]", "i64[]:<2", spec=(("window", 2), NEW, ("steps", 2, 2, -2))),
    case("f32[3,4,2]", "i64[]:<3", "i64[2]:<4", spec=(INT, ARRAY)),
    case("f32[3,4,2]", "i64[2]:<3", "i64[2]:<2", spec=(ARRAY, FULL, ARRAY)),
    case("f32[0,3]", spec=()),
)


class Subscript(Op):
    """Subscript: x[...] as a new tensor."""

    spec: Spec
    host_limit = ANY_SIZE
    examples = _READS

    def bounds(self, x: Any, *data: Any) -> tuple[IndexBound, ...]:
        return _bounds(self.spec, x.shape, 1)

    def infer(self, x: TensorType, *data: TensorType) -> TensorType:
        return x.with_shape(_named_shape(self.name, self.spec, x, data))

    def lower(self, x: Array, *data: Array) -> Array:
        return _read(self.spec, data, jnp.asarray(x))

    def host(self, x: Any, *data: Any) -> Any:
        index = data[0] if self.spec is ONE else _numpy_index(self.spec, data)
        return np.array(x[index])

    @cached_property
    def view(self) -> Callable[..., Any] | None:
        return None if ARRAY in self.spec else self._seen

    @cached_property
    def keeps_order(self) -> bool:
        *first, last = [entry[0] for entry in self.spec] or ["int"]
        return all(kind == "int" for kind in first) and last in ("int", "window")

    def _seen(self, x: Any, *data: Any) -> Any:
        return x[(*_numpy_index(self.spec, data), ...)]

    def put_back(self, x: Any, *rest: Any) -> Any:
        *data, value = rest
        return SubscriptAssign.of(self.spec)(x, value, *data)

    def grad(self, x: Any, *rest: Any) -> tuple[Any, ...]:
        *data, _, dout = rest
        return (SubscriptAddTo.of(self.spec, x.shape)(dout, *data), *(None for _ in data))

    def box(self, shape: Shape, *data: Any) -> tuple[slice, ...] | None:
        """The range that is read along each axis, or None if index arrays determine it."""
        if ARRAY in self.spec:
            return None
        entries = [entry for entry in _numpy_index(self.spec, data) if entry is not None]
        named = [
            slice(entry % size, entry % size + 1, 1) if isinstance(entry, int) else entry
            for entry, size in zip(entries, shape, strict=False)
        ]
        rest = [slice(None)] * (len(shape) - len(named))
        return tuple(
            _with_numbers(entry, size) for entry, size in zip((*named, *rest), shape, strict=True)
        )


class SubscriptAddTo(Op):
    """The gradient of Subscript: zeros of `shape`, with each element added where it was read."""

    spec: Spec
    shape: tuple[int, ...]
    examples = (
        case("f32[3]", "i64[]:<4", spec=(INT,), shape=(4, 3)),
        case(
            "f32[2,1,2]", "i64[]:<2", spec=(("window", 2), NEW, ("steps", 2, 2, -2)), shape=(4, 3)
        ),
        case("f32[2,4]", "i64[2]:<3", "i64[2]:<2", spec=(ARRAY, FULL, ARRAY), shape=(3, 4, 2)),
    )

    def infer(self, dout: TensorType, *data: TensorType) -> TensorType:
        x = dout.with_shape(self.shape)
        check_shape(self.name, "dout", dout, _named_shape(self.name, self.spec, x, data))
        check_kinds(self.name, NUMBERS, dout=dout)
        return x

    def bounds(self, dout: Any, *data: Any) -> tuple[IndexBound, ...]:
        bounds = _bounds(self.spec, self.shape, 1)
        return tuple([b.gradient("Subscript", f"index {i}") for i, b in enumerate(bounds)])

    def lower(self, dout: Array, *data: Array) -> Array:
        box = _SubscriptBox.of(self.spec, self.shape, data)
        if box.is_plain:
            box_gradient = jnp.reshape(dout, box.sizes)
        else:
            box_gradient = jnp.zeros(box.sizes, dout.dtype).at[box.inner].add(dout, mode="clip")
        if not box.is_narrow:
            return box_gradient
        return lax.dynamic_update_slice(jnp.zeros(self.shape, dout.dtype), box_gradient, box.starts)

    def host(self, dout: Any, *data: Any) -> Any:
        result = np.zeros(self.shape, dout.dtype)
        np.add.at(result, _numpy_index(self.spec, data), dout)
        return result

    def grad(self, dout: Any, *rest: Any) -> tuple[Any, ...]:
        *data, _, dout_ = rest
        return (Subscript.of(self.spec)(dout_, *data), *(None for _ in data))


class SubscriptAssign(Op):
    """Subscript assignment: a copy of x after x[...] = value.

    The value is broadcast and cast to the dtype of x.
    """

    spec: Spec
    host_limit = ANY_SIZE
    examples = (
        case("f32[4,3]", "f32[3]", "i64[]:<4", spec=(INT,)),
        case("f32[4,3]", "f32[]", "i64[]:<2", spec=(("window", 2), NEW, ("steps", 2, 2, -2))),
        case("f32[3,4,2]", "f32[1,1,2]", "i64[]:<3", "i64[1]:<4", spec=(INT, ARRAY)),
        case("i32[3]", "f32[3]", spec=()),
    )

    def infer(self, x: TensorType, value: TensorType, *data: TensorType) -> TensorType:
        selected = _named_shape(self.name, self.spec, x, data)
        _check_value(value.shape, selected)
        return x

    def bounds(self, x: Any, value: Any, *data: Any) -> tuple[IndexBound, ...]:
        return _bounds(self.spec, x.shape, 2)

    def lower(self, x: Array, value: Array, *data: Array) -> Array:
        x = jnp.asarray(x)
        box = _SubscriptBox.of(self.spec, x.shape, data)
        target = _shape_of(self.spec, x.shape, [d.shape for d in data])
        lead = max(value.ndim - len(target), 0)
        filled = jnp.reshape(value, value.shape[lead:]).astype(x.dtype)
        filled = jnp.broadcast_to(filled, target)
        if not x.size:
            return x
        if box.is_plain:
            new_box = filled.reshape(box.sizes)
        else:
            new_box = _narrowed(box, x).at[box.inner].set(filled, mode="clip")
        return lax.dynamic_update_slice(x, new_box, box.starts) if box.is_narrow else new_box

    def host(self, x: Any, value: Any, *data: Any) -> Any:
        result = np.array(x)
        result[(*_numpy_index(self.spec, data), ...)] = value.astype(x.dtype)
        return result

    def grad(self, x: Any, value: Any, *rest: Any) -> tuple[Any, ...]:
        *data, _, dout = rest
        cleared = SubscriptAssign.of(self.spec)(dout, scalar_to_tensor(0, dout.dtype), *data)
        piece = Subscript.of(self.spec)(dout, *data)
        extra = max(len(value.shape) - len(piece.shape), 0)
        summed = reshape(sum_to(piece, value.shape[extra:]), value.shape)
        return (cleared, cast(summed, value.dtype), *(None for _ in data))


def _bounds(spec: Spec, shape: Shape, first: int) -> tuple[IndexBound, ...]:
    """The valid ranges of the data of a subscript, which are the arguments from index `first`."""
    bounds = []
    axis, argument = 0, first
    for kind, *sizes in spec:
        if kind == "window":
            bounds.append(IndexBound.indices(argument, shape[axis] - sizes[0] + 1))
        elif kind in ("int", "array"):
            bounds.append(IndexBound.indices(argument, shape[axis], negative=True))
        argument += kind in ("int", "window", "array")
        axis += kind != "new"
    return tuple(bounds)


class _SubscriptBox(NamedTuple):
    """A subscript in two steps: slice a box (`starts`, `sizes`), then apply `inner` to it."""

    starts: tuple[Any, ...]
    sizes: Shape
    inner: tuple[Any, ...]
    is_narrow: bool  # the box is smaller than the tensor
    is_plain: bool  # `inner` only adds and removes axes of size 1

    @classmethod
    def of(cls, spec: Spec, shape: Shape, data: Sequence[Any]) -> _SubscriptBox:
        rest = iter(data)
        starts: list[Any] = []
        sizes: list[int] = []
        inner: list[Any] = []
        box: tuple[Any, int]
        step: Any
        for entry in spec:
            size = 0 if entry[0] == "new" else shape[len(sizes)]
            match entry:
                case ("new",):
                    inner.append(None)
                    continue
                case ("full",):
                    box, step = (0, size), slice(None)
                case ("int",):
                    index = jnp.asarray(next(rest)).astype(jnp.int64)
                    box, step = (jnp.where(index < 0, index + size, index), 1), 0
                case ("window", length):
                    box, step = (jnp.asarray(next(rest)).astype(jnp.int64), length), slice(None)
                case ("steps", start, count, distance):
                    box, step = (0, size), _steps(start, count, distance)
                case _:
                    box, step = (0, size), jnp.asarray(next(rest))
            starts.append(jnp.asarray(box[0], jnp.int64))
            sizes.append(box[1])
            inner.append(step)
        tail = shape[len(sizes) :]
        kinds = {entry[0] for entry in spec}
        return cls(
            (*starts, *(jnp.zeros((), jnp.int64) for _ in tail)),
            (*sizes, *tail),
            tuple(inner),
            not kinds.isdisjoint(("int", "window")),
            kinds.isdisjoint(("steps", "array")),
        )


def _narrowed(box: _SubscriptBox, x: Array) -> Array:
    return lax.dynamic_slice(x, box.starts, box.sizes) if box.is_narrow else x


def _read(spec: Spec, data: Sequence[Any], x: Array) -> Array:
    if not x.size:
        return jnp.zeros(_shape_of(spec, x.shape, [d.shape for d in data]), x.dtype)
    box = _SubscriptBox.of(spec, x.shape, data)
    narrowed = _narrowed(box, x)
    if any(isinstance(entry, jax.Array) for entry in box.inner):
        return narrowed.at[box.inner].get(mode="clip")
    return narrowed[box.inner]


def _named_shape(owner: str, spec: Spec, x: TensorType, data: Sequence[TensorType]) -> Shape:
    """The shape that a subscript selects; checks that its entries fit the tensor and their data."""
    axes, rest = iter(x.shape), iter(data)
    if sum(entry != NEW for entry in spec) > x.ndim:
        raise problem(
            IndexError,
            f"{owner}: more indices than the tensor has dimensions",
            got=f"{sum(entry != NEW for entry in spec)} indices of {x}",
        )
    for kind, *numbers in spec:
        length = 0 if kind == "new" else next(axes)
        if kind in ("int", "window", "array"):
            index = next(rest)
            check_kinds(owner, INTEGERS, index=index)
            if kind != "array":
                check_shape(owner, "index", index, ())
        if (kind == "int" and not length) or (kind == "window" and numbers[0] > length):
            raise problem(
                IndexOutOfRangeError,
                f"{owner}: an index is out of range",
                got=f"an axis of size {length} of {x}",
                expected=f"a size of at least {numbers[0] if numbers else 1}",
            )
    selected = _shape_of(spec, x.shape, [index.shape for index in data])
    check_readable(owner, x, selected)
    return selected


def _shape_of(spec: Spec, shape: Shape, data: Sequence[Shape]) -> Shape:
    """The shape that a subscript selects, by NumPy's rules."""
    axes, rest = iter(shape), iter(data)
    parts: list[Shape | None] = []  # None for index arrays and the ints next to them
    picked: list[Shape] = []
    for kind, *numbers in spec:
        length = 1 if kind == "new" else next(axes)
        if kind in ("int", "array"):
            picked.append(next(rest))
            parts.append(None)
        elif kind == "window":
            next(rest)
            parts.append((numbers[0],))
        elif kind == "steps":
            parts.append((len(range(length)[_steps(*numbers)]),))
        else:
            parts.append((length,))
    named = broadcast(*picked, op="Subscript")
    array_entries = [i for i, part in enumerate(parts) if part is None]
    together = not array_entries or array_entries[-1] - array_entries[0] == len(array_entries) - 1
    first = array_entries[0] if together and array_entries else 0
    kept = [[n for part in piece for n in part or ()] for piece in (parts[:first], parts[first:])]
    return (*kept[0], *named, *kept[1], *axes)


def _numpy_index(spec: Spec, data: Sequence[Any]) -> tuple[Any, ...]:
    """The subscript as a NumPy index."""
    rest = iter(data)
    index: list[Any] = []
    for entry in spec:
        match entry:
            case ("new",):
                index.append(None)
            case ("full",):
                index.append(slice(None))
            case ("int",):
                index.append(int(next(rest)))
            case ("window", length):
                start = int(next(rest))
                index.append(slice(start, start + length))
            case ("steps", start, count, distance):
                index.append(_steps(start, count, distance))
            case _:
                index.append(next(rest))
    return tuple(index)


def _with_numbers(entry: slice, size: int) -> slice:
    """A slice of an axis with explicit start, stop, and step."""
    return slice(*entry.indices(size)) if entry.step in (None, 1) else entry


def _steps(start: int, count: int, distance: int) -> slice:
    stop = start + count * distance
    return slice(start, stop if stop >= 0 else None, distance)


def _check_value(shape: Shape, target: Shape) -> None:
    """Checks that a value broadcasts to the selected shape, ignoring leading axes of size 1."""
    extra = max(len(shape) - len(target), 0)
    if any(n != 1 for n in shape[:extra]):
        raise problem(
            ValueError,
            "cannot assign a value with more dimensions than the selected elements",
            got=f"a value of shape {list(shape)} for a selection of {len(target)} dimensions",
        )
    sizes = zip(reversed(shape), reversed(target), strict=False)
    if any(n not in (1, wanted) for n, wanted in sizes):
        raise problem(
            ValueError,
            "the value does not broadcast to the selected elements",
            got=f"a value of shape {list(shape)} for a selection of shape {list(target)}",
            expected="sizes that equal those of the selection, or 1",
        )


def slice_scatter(
    input: Any, src: Any, axis: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    """Replaces every `step`-th slice from `start` to `end` along `axis` with `src`.

    The result is a new tensor.
    """
    normalized = normalize_axis(axis, len(input.shape), "slice_scatter")
    first, stop, distance = slice(start, end, step).indices(input.shape[normalized])
    count = len(range(first, stop, distance))
    _check_source(
        "slice_scatter", src, (*input.shape[:normalized], count, *input.shape[normalized + 1 :])
    )
    entries = (*(FULL,) * normalized, ("steps", first, count, distance))
    return SubscriptAssign.of(entries)(input, src)


def select_scatter(input: Any, src: Any, axis: int, index: int) -> Any:
    """Replaces the slice at `index` along `axis` with `src`. The result is a new tensor."""
    normalized = normalize_axis(axis, len(input.shape), "select_scatter")
    number = normalize_axis(index, input.shape[normalized], "select_scatter")
    _check_source(
        "select_scatter", src, (*input.shape[:normalized], *input.shape[normalized + 1 :])
    )
    entries = (*(FULL,) * normalized, INT)
    return SubscriptAssign.of(entries)(input, src, scalar_to_tensor(number, "int64"))


def with_box(x: Any, box: Sequence[slice], value: Any) -> Any:
    """`x` with one box replaced; the box is a slice with explicit bounds for each axis."""
    spec: list[tuple[Any, ...]] = []
    starts = []
    for one in box:
        step = one.step or 1
        stop = -1 if one.stop is None and step < 0 else one.stop
        count = len(range(one.start, stop, step))
        if step == 1:
            spec.append(("window", count))
            starts.append(np.int64(one.start))
        else:
            spec.append(("steps", one.start, count, step))
    return SubscriptAssign.of(tuple(spec))(x, value, *starts)


def _check_source(owner: str, src: Any, shape: Shape) -> None:
    if src.shape != shape:
        raise problem(
            ValueError,
            f"{owner}: src has the wrong shape",
            got=f"shape {list(src.shape)}",
            expected=f"shape {list(shape)}",
        )
