"""Winograd's algorithm F(2x2, 3x3) for 3x3 convolutions, channels-last.

Two neighboring outputs of a kernel with three elements need six products. Computing sums and
differences of the four shared inputs first reduces that to four; along both axes it is 16 products
instead of 36 for four outputs. With all channels of all tiles, each of the 16 is a matrix product.
The factors are 1 and 1/2, so rounding errors grow little: measured, they are 0.9 times those of
the direct algorithm with 64 channels, 1.6 times with 256, and 2.3 times with 512.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from math import prod
from typing import Any, NamedTuple

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.dot import contract_each
from mycelia._engine.kernels.shifted_windows import with_zeros
from mycelia._engine.operators.window import Pads, Window

_Rows = Sequence[Sequence[float]]

_OF_INPUT: _Rows = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, 1, 0, -1))
_OF_KERNEL: _Rows = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
_TO_OUTPUT: _Rows = ((1, 1, 1, 0), (0, 1, -1, -1))
_TILE = 2
_CHANNELS, _FEW_CHANNELS = 96, 64  # the minimum for weight gradients, and for everything else
_TILES = 96
_LEAST, _MOST, _LEAST_RUNS = 96 << 10, 144 << 10, 8  # elements of each of the 16 parts per batch
_WORK = 6 << 20  # multiplications in each of the 16 products


class _WinogradTransform(NamedTuple):
    """The transforms of a convolution; `inner` of the kernel's axes (_, in, out) is contracted."""

    of_input: _Rows
    to_output: _Rows
    inner: int

    def flipped(self) -> _WinogradTransform:
        """The transforms for a flipped kernel: the same sums, with the first and last swapped."""
        to_output = tuple([_ends_swapped(row) for row in self.to_output])
        return _WinogradTransform(_ends_swapped(self.of_input), to_output, 3 - self.inner)


def _ends_swapped(four: Sequence[Any]) -> tuple[Any, ...]:
    first, *middle, last = four
    return (last, *middle, first)


_SUMS = _WinogradTransform(_OF_INPUT, _TO_OUTPUT, 1)
_BACKWARD = _SUMS.flipped()


def is_faster(shape: Shape, weight: Shape, window: Window, *, of_weight: bool = False) -> bool:
    """Whether Winograd's algorithm is faster for a convolution, or the gradient of its weight.

    Measured on two cores, batch 8: 256 channels of 14x14 take 5.4 ms instead of 9.5, the gradient
    of the input 5.8 instead of 10.3, of the weight 6.7 instead of 9.9. With fewer channels there is
    less to save, while the transforms cost the same; with few tiles the kernel's transform
    dominates. XLA's gradient of a weight is slow for small batches: 4.5 ms for one image of 28x28,
    here 1.5.
    """
    if window.kernel != (3, 3) or max(window.strides) > 1 or max(window.dilation) > 1:
        return False
    channels = min(shape[-1], weight[0])
    tiles = shape[0] * prod(_tiles(size) for size in window.output(shape[1:-1]))
    least = _CHANNELS if of_weight else _FEW_CHANNELS
    much = of_weight or tiles * shape[-1] * weight[0] >= _WORK
    reach = max(map(max, window.padding(shape[1:-1])))
    return channels >= least and tiles >= _TILES and much and reach <= _TILE


def convolve(x: Array, weight: Array, pads: Pads) -> Array:
    """The convolution of `x` (batch, height, width, in) with `weight` (out, 3, 3, in)."""
    return _convolve(x, weight, pads, _SUMS)


def input_gradient(dout: Array, weight: Array, pads: Pads) -> Array:
    """The gradient of the input: a convolution with the flipped kernel.

    It uses the same transform of the kernel as the forward pass, so XLA computes it once.
    """
    around = tuple((_TILE - low, _TILE - high) for low, high in pads)
    return _convolve(dout, weight, around, _BACKWARD)


def weight_gradient(dout: Array, x: Array, pads: Pads) -> Array:
    """The gradient of the weight (out, 3, 3, in): each step of the convolution, transposed."""
    tiles = [_tiles(count) for count in dout.shape[1:3]]
    ends = [(0, _TILE * t - n) for t, n in zip(tiles, dout.shape[1:3], strict=True)]
    products = _parts(_padded(dout, ends), _transposed(_TO_OUTPUT), _places)
    pairs = zip(_parts(_patched(x, pads, tiles), _OF_INPUT, _patches), products, strict=True)
    sums = _whole([contract_each(a, b, 1, 1) for a, b in pairs], _transposed(_OF_KERNEL))
    return jnp.transpose(jnp.stack([jnp.stack(line) for line in sums]), (3, 0, 1, 2))


def _convolve(x: Array, weight: Array, pads: Pads, sums: _WinogradTransform) -> Array:
    """The convolution, a few images at a time if the transforms of all would be too large.

    Those of a few images stay in the caches until they are multiplied. Measured: 64 images of 32x32
    with 64 channels take 16.4 ms instead of 21.3.
    """
    sizes = _output_sizes(x, pads)
    kernels = _kernel_parts(jnp.transpose(weight, (1, 2, 3, 0)))
    numbers = prod(map(_tiles, sizes)) * max(weight.shape[0], weight.shape[-1])
    few = _images_at_once(x.shape[0], numbers)
    if few == x.shape[0]:
        return _convolve_at_once(x, kernels, pads, sums)
    some = x.reshape(-1, few, *x.shape[1:])
    results = lax.map(lambda few: _convolve_at_once(few, kernels, pads, sums), some)
    return results.reshape(-1, *results.shape[2:])


def _images_at_once(batch: int, numbers: int) -> int:
    """The best number of images per batch if each has `numbers` elements in a part."""
    fits = [n for n in range(1, batch // _LEAST_RUNS + 1) if batch % n == 0]
    return next((n for n in fits if _LEAST <= n * numbers <= _MOST), batch)


def _convolve_at_once(
    x: Array, kernels: list[Array], pads: Pads, sums: _WinogradTransform
) -> Array:
    sizes = _output_sizes(x, pads)
    tiles = [_tiles(size) for size in sizes]
    pairs = zip(_parts(_patched(x, pads, tiles), sums.of_input, _patches), kernels, strict=True)
    outputs = _whole([contract_each(a, b, 2, sums.inner) for a, b in pairs], sums.to_output)
    shape = (x.shape[0], *tiles, outputs[0][0].shape[-1])
    lines = [jnp.stack([y.reshape(shape) for y in line], 3) for line in outputs]
    whole = jnp.stack(lines, 2).reshape(shape[0], *(_TILE * t for t in tiles), shape[-1])
    return whole[:, : sizes[0], : sizes[1]]


def _output_sizes(x: Array, pads: Pads) -> list[int]:
    return [n + sum(p) - 2 for n, p in zip(x.shape[1:3], pads, strict=True)]


def _patched(x: Array, pads: Pads, tiles: Sequence[int]) -> Array:
    """`x` padded with the zeros that the patches of all tiles need."""
    edges = [
        (low, _TILE * (t + 1) - low - n)
        for t, n, (low, _) in zip(tiles, x.shape[1:3], pads, strict=True)
    ]
    return _padded(x, edges)


def _parts(x: Array, rows: _Rows, cut: Callable[[Array, int], list[Array]]) -> list[Array]:
    """The input transform along the width; each part is (sum along the height, tile, channel).

    Measured: computed from the input directly, 8 images of 56x56 with 64 channels take 1.2 ms
    instead of the 2.4 that they take if the sums along the height are written to memory first.
    """
    lines = _mixed(rows, cut(x, 1))
    grid = [_mixed(rows, cut(line, 2)) for line in lines]
    return [_flat(jnp.stack(column)) for column in zip(*grid, strict=True)]


def _kernel_parts(kernel: Array) -> list[Array]:
    """The transform of a kernel (3, 3, in, out)."""
    columns = _mixed(_OF_KERNEL, [kernel[:, i] for i in range(3)])
    return [jnp.stack(_mixed(_OF_KERNEL, column)) for column in columns]


def _whole(parts: Iterable[Array], rows: _Rows) -> list[list[Array]]:
    """The output transform: combine the parts along the height and the width."""
    lines = [_mixed(rows, part) for part in parts]
    return [_mixed(rows, line) for line in zip(*lines, strict=True)]


def _mixed(rows: _Rows, parts: Iterable[Array]) -> list[Array]:
    """For each row, the sum of the parts, each times its factor."""
    known = list(parts)
    return [_weighted(row, known) for row in rows]


def _weighted(row: Sequence[float], parts: Sequence[Array]) -> Array:
    return reduce(jnp.add, [_times(f, part) for f, part in zip(row, parts, strict=True) if f])


def _times(factor: float, part: Array) -> Array:
    return part if factor == 1 else -part if factor == -1 else part * factor


def _transposed(rows: _Rows) -> _Rows:
    return tuple(zip(*rows, strict=True))


def _patches(x: Array, axis: int) -> list[Array]:
    """The four inputs of each tile along an axis; patches of neighboring tiles share two."""
    pairs = _in_pairs(x, axis)
    count = pairs.shape[axis] - 1
    moved = [lax.slice_in_dim(pairs, i, i + count, axis=axis) for i in range(2)]
    return [p for pair in moved for p in _of_pairs(pair, axis)]


def _places(x: Array, axis: int) -> list[Array]:
    """The two outputs of each tile along an axis."""
    return _of_pairs(_in_pairs(x, axis), axis)


def _in_pairs(x: Array, axis: int) -> Array:
    return x.reshape(*x.shape[:axis], -1, _TILE, *x.shape[axis + 1 :])


def _of_pairs(pairs: Array, axis: int) -> list[Array]:
    return [lax.index_in_dim(pairs, i, axis + 1, keepdims=False) for i in range(_TILE)]


def _flat(parts: Array) -> Array:
    """(part, batch, tile, tile, channel) as (part, tile, channel)."""
    return parts.reshape(parts.shape[0], -1, parts.shape[-1])


def _padded(x: Array, edges: Sequence[tuple[int, int]]) -> Array:
    return with_zeros(x, [(0, 0, 0), *((low, high, 0) for low, high in edges), (0, 0, 0)])


def _tiles(outputs: int) -> int:
    return -(-outputs // _TILE)
