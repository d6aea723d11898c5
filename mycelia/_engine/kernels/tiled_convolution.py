"""Convolutions with few channels and stride 1, as products over small tiles of the output.

The output is divided into tiles; all outputs of a tile depend on one patch of the input. With the
patches as columns and, as rows, the weight at each position of a tile, the convolution is

    (position, out channel | patch, channel)  times  (patch, channel | tile, batch)

Neighboring outputs share most of their patch, so this copies far less than one column per output
(im2col), and its products are less narrow. The batch is the innermost axis (see `batch_last`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from mycelia._engine.core.shape import Shape
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.batch_last import batch_first, batch_last
from mycelia._engine.kernels.shifted_windows import with_zeros
from mycelia._engine.operators.window import Window

TILE = 2
_PAGE = 4096  # bytes: examples at this distance share a cache set, and are slow to read


@dataclass(frozen=True)
class _TiledAxis:
    """The division of one spatial axis into tiles."""

    size: int
    output: int
    kernel: int
    before: int  # the padding before the first element

    @property
    def tile(self) -> int:
        """Outputs per tile, which is also the distance between the patches of neighboring tiles."""
        return TILE if self.kernel > 1 else 1

    @property
    def tiles(self) -> int:
        return -(-self.output // self.tile)

    @property
    def patch(self) -> int:
        """The number of input elements that a tile depends on."""
        return self.tile - 1 + self.kernel

    @property
    def pieces(self) -> int:
        """The number of tiles that a patch covers."""
        return -(-self.patch // self.tile)

    def piece(self, number: int) -> int:
        """The number of elements of that tile that belong to the patch."""
        return min(self.tile, self.patch - number * self.tile)

    @property
    def blocks(self) -> int:
        """The number of tiles that all patches together cover."""
        return self.tiles + self.pieces - 1


def convolve(x: Array, weight: Array, window: Window) -> Array:
    """The convolution of `x` (batch, in, *spatial) with `weight` (out, in, *kernel)."""
    axes = _axes(window, x.shape[2:])
    return _from_tiles(_kernels(weight, axes) @ _patches(x, axes), weight.shape[0], axes)


def input_gradient(dout: Array, weight: Array, window: Window, shape: Shape) -> Array:
    """The gradient of an input of `shape`: the patches added where they overlap."""
    axes = _axes(window, shape[2:])
    patches = lax.optimization_barrier(_kernels(weight, axes).T) @ to_tiles(dout, _tile(axes))
    tiles = [a.tiles for a in axes]
    return _added_up(patches.reshape(*_patch(axes), shape[1], *tiles, shape[0]), axes)


def weight_gradient(dout: Array, x: Array, window: Window, shape: Shape) -> Array:
    """The gradient of a weight of `shape`: the sum over the positions of a tile."""
    axes = _axes(window, x.shape[2:])
    both = (((1,), (1,)), ((), ()))
    kernels = lax.dot_general(_patches(x, axes), to_tiles(dout, _tile(axes)), both)
    kernels = kernels.reshape(*_patch(axes), shape[1], prod(a.tile for a in axes), shape[0])
    terms = [
        kernels[tuple(slice(s, s + a.kernel) for s, a in zip(starts, axes, strict=True))][..., i, :]
        for i, starts in enumerate(_positions(axes))
    ]
    while len(terms) > 1:  # pairwise summation has smaller rounding errors
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=True)]
    return jnp.moveaxis(terms[0], (-1, -2), (0, 1))


def to_tiles(images: Array, tile: Shape) -> Array:
    """(batch, channel, *spatial) as rows (position in tile, channel), columns (tile, batch)."""
    counts = [-(-n // t) for n, t in zip(images.shape[2:], tile, strict=True)]
    padded = [c * t for c, t in zip(counts, tile, strict=True)]
    edges = [(0, w - n, 0) for w, n in zip(padded, images.shape[2:], strict=True)]
    whole = with_zeros(batch_last(images), ((0, 0, 0), *edges, (0, 0, 0)))
    rows = _split(whole, list(zip(counts, tile, strict=True)))
    return lax.optimization_barrier(rows.reshape(prod(tile) * images.shape[1], -1))


def patches_size(shape: Shape, window: Window) -> int:
    """The number of elements in the patches of an input of `shape`."""
    axes = _axes(window, shape[2:])
    return shape[0] * shape[1] * prod(a.patch * a.tiles for a in axes)


def _axes(window: Window, sizes: Shape) -> tuple[_TiledAxis, ...]:
    pads, output = window.padding(sizes), window.output(sizes)
    return tuple(
        _TiledAxis(size, output[i], window.kernel[i], pads[i][0]) for i, size in enumerate(sizes)
    )


def _patch(axes: Sequence[_TiledAxis]) -> Shape:
    return tuple(a.patch for a in axes)


def _tile(axes: Sequence[_TiledAxis]) -> Shape:
    return tuple(a.tile for a in axes)


def _positions(axes: Sequence[_TiledAxis]) -> list[Shape]:
    """The start, in a patch, of the window of each output of a tile."""
    return list(product(*(range(a.tile) for a in axes)))


def _kernels(weight: Array, axes: Sequence[_TiledAxis]) -> Array:
    """The weight at each position of a tile: a row for each position and output channel."""
    rest = ((0, 0, 0),) * 2
    rows = [
        with_zeros(
            weight, rest + tuple((s, a.patch - a.kernel - s, 0) for s, a in zip(starts, axes))
        )
        for starts in _positions(axes)
    ]
    stacked = jnp.moveaxis(jnp.stack(rows), 2, -1)
    return lax.optimization_barrier(stacked.reshape(len(rows) * weight.shape[0], -1))


def _patches(x: Array, axes: Sequence[_TiledAxis]) -> Array:
    """A column for each tile and example, a row for each element of a patch and channel."""
    blocks = [a.blocks for a in axes]
    if prod(x.shape[1:]) * x.dtype.itemsize % _PAGE == 0:
        blocks[-1] += 1
    ends = [n * a.tile - a.size - a.before for n, a in zip(blocks, axes, strict=True)]
    edges = [(a.before, end, 0) for a, end in zip(axes, ends, strict=True)]
    images = batch_last(with_zeros(x, ((0, 0, 0), (0, 0, 0), *edges)))
    patches = _split(images, [(n, a.tile) for n, a in zip(blocks, axes, strict=True)])
    for i, axis in reversed(list(enumerate(axes))):
        parts = [_piece(patches, axis, k, i, i - len(axes) - 1) for k in range(axis.pieces)]
        patches = lax.optimization_barrier(jnp.concatenate(parts, i))
    return patches.reshape(prod(_patch(axes)) * x.shape[1], -1)


def _piece(blocks: Array, axis: _TiledAxis, number: int, inner: int, outer: int) -> Array:
    """The tile `number` tiles after the start of each patch, as far as the patch covers it."""
    moved = lax.slice_in_dim(blocks, number, number + axis.tiles, axis=outer)
    return lax.slice_in_dim(moved, 0, axis.piece(number), axis=inner)


def _added_up(patches: Array, axes: Sequence[_TiledAxis]) -> Array:
    """The transpose of `_patches`: each element is the sum of its copies."""
    rank, partial = len(axes), patches
    for i, axis in enumerate(axes):
        total: Array = 0
        for k in range(axis.pieces):
            start, count = k * axis.tile, axis.piece(k)
            part = lax.slice_in_dim(partial, start, start + count, axis=i)
            edges = [(0, 0, 0)] * partial.ndim
            edges[i] = (0, axis.tile - count, 0)
            edges[rank + 1 + i] = (k, axis.pieces - 1 - k, 0)
            total = total + with_zeros(part, edges)
        partial = lax.optimization_barrier(total)
    edges = [(-a.before, a.before + a.size - a.blocks * a.tile, 0) for a in axes]
    return batch_first(with_zeros(_merged(partial, rank), ((0, 0, 0), *edges, (0, 0, 0))))


def _from_tiles(rows: Array, channels: int, axes: Sequence[_TiledAxis]) -> Array:
    """Outputs (position, channel | tile, batch) as (batch, channel, *spatial)."""
    sizes = ([a.tile for a in axes], [a.tiles for a in axes])
    images = _merged(rows.reshape(*sizes[0], channels, *sizes[1], -1), len(axes))
    return batch_first(images[(slice(None), *(slice(a.output) for a in axes))])


def _split(images: Array, parts: Sequence[tuple[int, int]]) -> Array:
    """(channels, *spatial, batch) as (*inner, channels, *outer, batch), outer x inner elements."""
    rank = len(parts)
    channels, batch = images.shape[0], images.shape[-1]
    apart = images.reshape(channels, *(n for pair in parts for n in pair), batch)
    inner, outer = range(2, 2 * rank + 1, 2), range(1, 2 * rank, 2)
    return apart.transpose(*inner, 0, *outer, 2 * rank + 1)


def _merged(apart: Array, rank: int) -> Array:
    """(*inner, channels, *outer, batch) as (channels, *spatial, batch)."""
    pairs = [(rank + 1 + i, i) for i in range(rank)]
    sizes = [apart.shape[outer] * apart.shape[inner] for outer, inner in pairs]
    ordered = apart.transpose(rank, *(n for pair in pairs for n in pair), 2 * rank + 1)
    return ordered.reshape(apart.shape[rank], *sizes, apart.shape[-1])
