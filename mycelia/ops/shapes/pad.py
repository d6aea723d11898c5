"""Padding of tensors: constant, reflect, replicate, and circular."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_string, is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import check_one_number, check_shape
from mycelia.ops.elementwise.arithmetic import sub
from mycelia.ops.shapes.reshape import cast, identity, scalar_to_tensor, sum_to

Paddings = tuple[tuple[int, int], ...]

_NUMPY_MODES = {"reflect": "reflect", "edge": "edge", "circular": "wrap"}


class Pad(Op):
    """Zero padding before and after each axis."""

    paddings: Paddings
    examples = (
        case("f32[2,2]", paddings=((1, 0), (0, 2))),
        case("f32[]", paddings=()),
        case("i32[0]", paddings=((1, 1),)),
    )

    def normalize(self) -> dict[str, Any]:
        if not isinstance(self.paddings, tuple):
            raise wrong_type("Pad", "paddings", self.paddings, "tuple")
        return {"paddings": freeze(self.paddings)}

    def infer(self, input_x: TensorType) -> TensorType:
        pairs = _check_pairs(self.name, input_x.shape, self.paddings)
        if any(n < 0 for pair in pairs for n in pair):
            raise problem(ValueError, "Pad: paddings must not be negative", got=str(self.paddings))
        return input_x.with_shape(_padded(input_x.shape, pairs))

    def lower(self, input_x: Array) -> Array:
        zero = jnp.zeros((), input_x.dtype)
        return lax.pad(jnp.asarray(input_x), zero, [(a, b, 0) for a, b in self.paddings])

    def grad(self, input_x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = ConstantPad.of(tuple((-a, -b) for a, b in self.paddings))
        return (back(dout, scalar_to_tensor(0, dout.dtype)),)


class ConstantPad(Op):
    """Constant padding before and after each axis; negative paddings crop."""

    paddings: Paddings
    examples = (
        case("f32[2,2]", "f32[]", paddings=((1, 0), (-1, 2))),
        case("f32[3]", "f32[]", paddings=((0, -1),)),
    )

    def infer(self, x: TensorType, value: TensorType) -> TensorType:
        check_shape("pad", "value", value, ())
        return x.with_shape(_padded(x.shape, _check_pairs("pad", x.shape, self.paddings)))

    def lower(self, x: Array, value: Array) -> Array:
        fill = jnp.asarray(value).astype(x.dtype)
        return lax.pad(jnp.asarray(x), fill, [(a, b, 0) for a, b in self.paddings])

    def host(self, x: Any, value: Any) -> Any:
        pairs = _check_pairs("pad", x.shape, self.paddings)
        result = np.full(_padded(x.shape, pairs), value.astype(x.dtype))
        inner = [slice(max(a, 0), n - max(b, 0)) for n, (a, b) in zip(result.shape, pairs)]
        result[tuple(inner)] = x[_cut(x.shape, pairs)]
        return result

    def grad(self, x: Any, value: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = ConstantPad.of(tuple((-a, -b) for a, b in self.paddings))
        inner = back(dout, scalar_to_tensor(0, dout.dtype))
        border = sub(sum_to(dout, ()), sum_to(inner, ()))
        return inner, cast(border, value.dtype)


class PadV3(Op):
    """Padding in a mode: constant, reflect, edge, or circular.

    `paddings` lists a pair for the last axis first, then the one before it; without
    `paddings_contiguous` all the lower paddings come before all the upper ones.
    """

    static = ("paddings",)
    mode: str = "constant"
    paddings_contiguous: bool = True
    examples = (
        case("f32[2,2]", (1, 0), "f32[]"),
        case("f32[2,4]", (1, 2), None, mode="reflect"),
        case("f32[1,2,3]", (1, 2), None, mode="edge"),
        case("f32[1,2,3]", (1, -1), None, mode="circular"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("PadV3", "mode", self.mode, ("constant", *_NUMPY_MODES))
        return {}

    def infer(self, x: TensorType, paddings: Any, value: TensorType | None = None) -> TensorType:
        pairs = self._pairs(x.shape, paddings)
        if self.mode == "reflect":
            _check_reflect(self.name, x.shape, pairs, 1)
        if self.mode == "constant" and value is not None:
            check_one_number(self.name, "value", value)
        elif self.mode in ("edge", "circular"):
            _check_repeated(self.name, x.shape, pairs)
        return x.with_shape(_padded(x.shape, pairs))

    def lower(self, x: Array, paddings: Any, value: Array | None = None) -> Array:
        pairs = self._pairs(x.shape, paddings)
        if self.mode == "constant":
            fill = jnp.zeros((), x.dtype) if value is None else jnp.asarray(value).astype(x.dtype)
            return lax.pad(jnp.asarray(x), fill.reshape(()), [(a, b, 0) for a, b in pairs])
        cut = jnp.asarray(x)[_cut(x.shape, pairs)]
        grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
        return jnp.pad(cut, grown, mode=_NUMPY_MODES[self.mode])

    def _pairs(self, shape: Shape, paddings: Any) -> Paddings:
        numbers = as_shape(paddings, self.name)
        if not self.paddings_contiguous:
            half = len(numbers) // 2
            numbers = tuple(n for pair in zip(numbers[:half], numbers[half:]) for n in pair)
        return pairs_from_last("PadV3", shape, numbers)


class MirrorPad(Op):
    """Mirror padding: REFLECT excludes the edge element, SYMMETRIC includes it."""

    static = ("paddings",)
    mode: str = "REFLECT"
    examples = (
        case("f32[3,3]", ((1, 1), (2, 2))),
        case("f32[3,3]", ((1, 0), (3, 2)), mode="SYMMETRIC"),
    )

    def normalize(self) -> dict[str, Any]:
        check_string("MirrorPad", "mode", self.mode, ("REFLECT", "SYMMETRIC"))
        return {}

    def infer(self, input_x: TensorType, paddings: Any) -> TensorType:
        pairs = _check_pairs(self.name, input_x.shape, paddings)
        _check_reflect(self.name, input_x.shape, pairs, 1 if self.mode == "REFLECT" else 0)
        return input_x.with_shape(_padded(input_x.shape, pairs))

    def lower(self, input_x: Array, paddings: Any) -> Array:
        return jnp.pad(jnp.asarray(input_x), paddings, mode=self.mode.lower())

    def host(self, input_x: Any, paddings: Any) -> Any:
        pairs = _check_pairs(self.name, input_x.shape, paddings)
        _check_reflect(self.name, input_x.shape, pairs, 1 if self.mode == "REFLECT" else 0)
        return np.pad(input_x, pairs, mode=self.mode.lower())  # type: ignore[call-overload]


class Padding(Op):
    """Pads the last axis, of size 1, with zeros to `pad_dim_size`."""

    pad_dim_size: int = 8
    examples = (case("f32[2,1]", pad_dim_size=4), case("i32[1]"))

    def infer(self, x: TensorType) -> TensorType:
        if not x.ndim or x.shape[-1] != 1 or not is_int(self.pad_dim_size) or self.pad_dim_size < 1:
            raise problem(
                ValueError,
                "Padding: the last axis must have size 1, and pad_dim_size must be larger",
                got=f"{x}, pad_dim_size={self.pad_dim_size}",
            )
        return x.with_shape((*x.shape[:-1], self.pad_dim_size))

    def lower(self, x: Array) -> Array:
        config = [(0, 0, 0)] * (x.ndim - 1) + [(0, self.pad_dim_size - 1, 0)]
        return lax.pad(jnp.asarray(x), jnp.zeros((), x.dtype), config)


def pairs_from_last(owner: str, shape: Shape, numbers: tuple[int, ...]) -> Paddings:
    """One padding pair per axis, from a flat list that starts with the last axis."""
    if len(numbers) % 2 or len(numbers) > 2 * len(shape):
        raise problem(
            ValueError,
            f"{owner}: the paddings do not match the tensor",
            got=f"paddings {list(numbers)} for a tensor of shape {list(shape)}",
            expected="a pair for the last axis, a pair for the one before it, ...",
        )
    listed = [(numbers[i], numbers[i + 1]) for i in range(0, len(numbers), 2)]
    missing = [(0, 0)] * (len(shape) - len(listed))
    return tuple(missing + listed[::-1])


def _check_pairs(owner: str, shape: Shape, paddings: Any) -> Paddings:
    pairs: Paddings = tuple(as_shape(pair, owner) for pair in paddings)  # type: ignore[misc]
    if len(pairs) != len(shape) or any(len(pair) != 2 for pair in pairs):
        raise problem(
            ValueError,
            f"{owner}: there must be one pair of paddings per axis",
            got=f"paddings {paddings} for a tensor of shape {list(shape)}",
        )
    return pairs


def _check_reflect(owner: str, shape: Shape, pairs: Paddings, kept: int) -> None:
    for n, pair in zip(shape, pairs, strict=True):
        if max(pair) > n - kept:
            raise problem(
                ValueError,
                f"{owner}: a reflected padding is too large for its axis",
                got=f"padding {pair} for an axis of size {n}",
                expected=f"at most {max(n - kept, 0)}",
            )


def _check_repeated(owner: str, shape: Shape, pairs: Paddings) -> None:
    """Checks that cropped axes still have elements to repeat."""
    for n, (a, b) in zip(shape, pairs, strict=True):
        if max(a, b) > 0 and n + min(a, 0) + min(b, 0) <= 0:
            raise problem(
                ValueError,
                f"{owner}: an axis has no elements left to repeat",
                got=f"padding {(a, b)} for an axis of size {n}",
                expected="at least one element that is not cropped",
            )


def _padded(shape: Shape, pairs: Paddings) -> Shape:
    sizes = tuple(n + a + b for n, (a, b) in zip(shape, pairs, strict=True))
    if any(n < 0 for n in sizes):
        raise problem(
            ValueError,
            "pad: the negative paddings exceed the size of an axis",
            got=f"paddings {pairs} for the shape {list(shape)}",
        )
    return sizes


def _cut(shape: Shape, pairs: Paddings) -> tuple[slice, ...]:
    """Slices of each axis that remain after negative paddings."""
    return tuple(slice(max(-a, 0), n - max(-b, 0)) for n, (a, b) in zip(shape, pairs, strict=True))


def pad(input_x: Any, padding: Any, mode: str = "constant", value: Any = None) -> Any:
    """Pads `input_x`; `padding` lists pairs, starting with the last axis.

    Modes: constant (with `value`), reflect, replicate, circular. Negative paddings crop.
    """
    numbers = as_shape(freeze(padding), "pad")
    kind = "edge" if mode == "replicate" else mode
    check_string("pad", "mode", kind, ("constant", *_NUMPY_MODES))
    if kind != "constant" and value is not None:
        raise problem(
            ValueError, f"pad: mode {mode!r} does not accept a value", got=f"value={value}"
        )
    pairs = pairs_from_last("pad", input_x.shape, numbers)
    if not any(n for pair in pairs for n in pair):
        return identity(input_x)
    if kind == "constant":
        fill = (
            value
            if isinstance(value, TensorProtocol)
            else scalar_to_tensor(value or 0, input_x.dtype)
        )
        return ConstantPad.of(pairs)(input_x, fill)
    if len(input_x.shape) - len(numbers) // 2 not in (1, 2):
        raise problem(
            ValueError,
            f"pad: mode {mode!r} pads all but the first one or two axes",
            got=f"{len(numbers) // 2} pairs for a tensor of shape {list(input_x.shape)}",
        )
    return PadV3.of(kind)(input_x, numbers, None)


def mirror_pad(input_x: Any, paddings: Any, mode: str) -> Any:
    """Pads `input_x` with its own elements, mirrored at the edge."""
    return MirrorPad.of(mode)(input_x, paddings)


def padding(x: Any, pad_dim_size: int = 8) -> Any:
    """Pads the last axis, of size 1, with zeros to `pad_dim_size`."""
    return Padding.of(pad_dim_size)(x)
