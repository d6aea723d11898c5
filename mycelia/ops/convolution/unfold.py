"""Unfold (im2col), fold (col2im), and image patches."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.checks import as_tuple, check_string
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import Shape, as_shape
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.shapes.reshape import reshape

Pair = tuple[int, int]


class Im2Col(Op):
    """Unfolds sliding windows into columns: (N, C, H, W) to (N, C, window, positions)."""

    ksizes: Pair
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: Pair = (0, 0)
    examples = (
        case("f32[1,2,3,3]", ksizes=(2, 2)),
        case("f32[2,1,4,5]", ksizes=(2, 3), strides=2, dilations=(2, 1), pads=(1, 0)),
    )

    def normalize(self) -> dict[str, Any]:
        return _pairs(self, ("ksizes", "strides", "dilations", "pads"))

    def infer(self, x: TensorType) -> TensorType:
        if x.ndim != 4:
            raise problem(ValueError, "Im2Col: expected an NCHW tensor", got=str(x))
        counts = self._position_counts(x.shape[2:])
        if min(counts) < 1:
            raise problem(
                ValueError,
                "Im2Col: the window is larger than the padded image",
                got=f"{x}, {self!r}",
            )
        return x.with_shape((*x.shape[:2], prod(self.ksizes), prod(counts)))

    def lower(self, x: Array) -> Array:
        counts = self._position_counts(x.shape[2:])
        (ph, pw), (sh, sw) = self.pads, self.strides
        grown = jnp.pad(jnp.asarray(x), ((0, 0), (0, 0), (ph, ph), (pw, pw)))
        columns = [
            lax.slice(
                grown,
                (0, 0, i, j),
                (*x.shape[:2], i + (counts[0] - 1) * sh + 1, j + (counts[1] - 1) * sw + 1),
                (1, 1, sh, sw),
            ).reshape(*x.shape[:2], 1, prod(counts))
            for i, j in self._offsets()
        ]
        return jnp.concatenate(columns, axis=2)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = Col2Im.of(self.ksizes, self.dilations, self.pads, self.strides)
        return (back(dout, x.shape[2:]),)

    def _position_counts(self, size: Shape) -> Shape:
        return _position_counts(size, self.ksizes, self.dilations, self.pads, self.strides)

    def _offsets(self) -> list[Pair]:
        return _offsets(self.ksizes, self.dilations)


class Col2Im(Op):
    """Folds columns into an image by summing overlaps.

    (N, C, window, positions) becomes (N, C, *output_size).
    """

    static = ("output_size",)
    kernel_size: Pair
    dilation: Pair = (1, 1)
    padding: Pair = (0, 0)
    stride: Pair = (1, 1)
    examples = (
        case("f32[1,2,4,4]", (3, 3), kernel_size=(2, 2)),
        case("f32[2,1,6,4]", (4, 5), kernel_size=(2, 3), stride=2, dilation=(2, 1), padding=(1, 0)),
    )

    def normalize(self) -> dict[str, Any]:
        return _pairs(self, ("kernel_size", "dilation", "padding", "stride"))

    def infer(self, x: TensorType, output_size: Any) -> TensorType:
        size = as_tuple(self.name, "output_size", output_size, 2)
        counts = self._position_counts(size)
        if x.ndim != 4 or x.shape[2:] != (prod(self.kernel_size), prod(counts)):
            raise problem(
                ValueError,
                "Col2Im: the shape of the columns does not match the image",
                got=f"{x}, output_size {size}, {self!r}",
                expected=f"shape [N, C, {prod(self.kernel_size)}, {prod(counts)}]",
            )
        return x.with_shape((*x.shape[:2], *size))

    def lower(self, x: Array, output_size: Any) -> Array:
        h, w = output_size
        counts = self._position_counts((h, w))
        (ph, pw), (sh, sw) = self.padding, self.stride
        lead = x.shape[:2]
        total = jnp.zeros((*lead, h + 2 * ph, w + 2 * pw), x.dtype)
        zero = jnp.zeros((), x.dtype)
        for number, (i, j) in enumerate(_offsets(self.kernel_size, self.dilation)):
            column = jnp.reshape(jnp.asarray(x)[:, :, number], (*lead, *counts))
            down = h + 2 * ph - i - ((counts[0] - 1) * sh + 1)
            right = w + 2 * pw - j - ((counts[1] - 1) * sw + 1)
            config = ((0, 0, 0), (0, 0, 0), (i, down, sh - 1), (j, right, sw - 1))
            total = total + lax.pad(column, zero, config)
        return total[:, :, ph : ph + h, pw : pw + w]

    def grad(self, x: Any, output_size: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = Im2Col.of(self.kernel_size, self.stride, self.dilation, self.padding)
        return (back(dout),)

    def _position_counts(self, size: Shape) -> Shape:
        return _position_counts(size, self.kernel_size, self.dilation, self.padding, self.stride)


class ExtractImagePatches(Op):
    """Extracts sliding windows as channels, ordered by position in the window, then by channel."""

    ksizes: tuple[int, ...]
    strides: tuple[int, ...]
    rates: tuple[int, ...]
    padding: str = "VALID"
    examples = (
        case("f32[1,2,3,3]", ksizes=(1, 1, 2, 2), strides=(1, 1, 1, 1), rates=(1, 1, 1, 1)),
        case(
            "f32[1,1,4,3]",
            ksizes=(1, 1, 2, 2),
            strides=(1, 1, 2, 2),
            rates=(1, 1, 1, 1),
            padding="same",
        ),
    )

    def normalize(self) -> dict[str, Any]:
        fields = {n: as_shape(getattr(self, n), self.name) for n in ("ksizes", "strides", "rates")}
        for name, value in fields.items():
            if len(value) != 4 or value[:2] != (1, 1) or min(value) < 1:
                raise wrong_value(self.name, name, value, "(1, 1, rows, columns)")
        padding = str(self.padding).upper()
        check_string(self.name, "padding", padding, ("SAME", "VALID"))
        return fields | {"padding": padding}

    def infer(self, input_x: TensorType) -> TensorType:
        if input_x.ndim != 4:
            raise problem(ValueError, f"{self.name}: expected an NCHW tensor", got=str(input_x))
        n, c = input_x.shape[:2]
        return input_x.with_shape((n, c * prod(self.ksizes), *self._window(input_x.shape)[1]))

    def lower(self, input_x: Array) -> Array:
        n, c = input_x.shape[:2]
        pads, counts = self._window(input_x.shape)
        grown = jnp.pad(jnp.asarray(input_x), ((0, 0), (0, 0), *pads))
        sh, sw = self.strides[2:]
        rows = np.arange(counts[0]) * sh
        columns = np.arange(counts[1]) * sw
        patches = [
            grown[:, :, (rows + i)[:, None], columns + j]
            for i, j in _offsets(self.ksizes[2:], self.rates[2:])
        ]
        return jnp.stack(patches, axis=1).reshape(n, c * prod(self.ksizes), *counts)

    def _window(self, shape: Shape) -> tuple[list[Pair], Shape]:
        pads, counts = [], []
        for i in (2, 3):
            span = (self.ksizes[i] - 1) * self.rates[i] + 1
            if self.padding == "SAME":
                count = -(-shape[i] // self.strides[i])
                extra = max((count - 1) * self.strides[i] + span - shape[i], 0)
                pads.append((extra // 2, extra - extra // 2))
            else:
                count = max((shape[i] - span) // self.strides[i] + 1, 0)
                pads.append((0, 0))
            counts.append(count)
        return pads, tuple(counts)


def _pairs(op: Op, names: tuple[str, ...]) -> dict[str, Any]:
    return {n: _pair(op.name, n, getattr(op, n)) for n in names}


def _pair(owner: str, argument: str, value: Any) -> Pair:
    given = freeze(value)
    if isinstance(given, tuple) and len(given) == 1:
        given = given * 2
    first, second = as_tuple(owner, argument, given, 2)
    low = 0 if "pad" in argument else 1
    if min(first, second) < low:
        raise wrong_value(owner, argument, value, f"at least {low}")
    return first, second


def _position_counts(
    size: Shape, window: Pair, dilation: Pair, padding: Pair, stride: Pair
) -> Shape:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, window, dilation, padding, stride, strict=True)
    )


def _offsets(window: Any, dilation: Any) -> list[Pair]:
    """The positions inside the window, row by row."""
    return [(i * dilation[0], j * dilation[1]) for i in range(window[0]) for j in range(window[1])]


def unfold(
    input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Unfolds sliding windows into columns: (N, C, H, W) to (N, C * window, positions)."""
    fields = (freeze(v) for v in (kernel_size, stride, dilation, padding))
    columns = Im2Col.of(*fields)(input)
    n, c, window, counts = columns.shape
    return reshape(columns, (n, c * window, counts))


def fold(
    input: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any = 1,
    padding: Any = 0,
    stride: Any = 1,
) -> Any:
    """Folds columns into an image by summing overlaps.

    (N, C * window, positions) becomes (N, C, *output_size).
    """
    window = prod(_pair("fold", "kernel_size", kernel_size))
    if len(input.shape) != 3 or input.shape[1] % window:
        raise problem(
            ValueError,
            "fold: the shape of the columns does not match the window",
            got=f"shape {list(input.shape)}, kernel_size {kernel_size}",
            expected=f"three dimensions, the second a multiple of {window}",
        )
    n, rows, counts = input.shape
    columns = reshape(input, (n, rows // window, window, counts))
    return col2im(columns, output_size, kernel_size, dilation, padding, stride)


def col2im(
    input_x: Any,
    output_size: Any,
    kernel_size: Any,
    dilation: Any,
    padding_value: Any,
    stride: Any,
) -> Any:
    """Folds columns into an image by summing overlaps.

    (N, C, window, positions) becomes (N, C, *output_size).
    """
    fields = (freeze(v) for v in (kernel_size, dilation, padding_value, stride))
    return Col2Im.of(*fields)(input_x, output_size)
