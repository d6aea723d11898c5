"""Convolutions of few channels, with strides of one, as products over small tiles of the output.

The output is cut into tiles; all outputs of a tile depend on one patch of the input. With the
patches as columns and, as rows, the weight put at each place of a tile, the convolution is

    (place, out channel | patch, channel)  times  (patch, channel | tile, batch)

Neighbouring outputs share most of their patch, so this copies far less than one column for each
output, and its products are less narrow. The batch is the innermost axis (see `batch_last`).
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
_PAGE = 4096  # bytes: examples this far apart share a set of the cache, and reading them is slow


@dataclass(frozen=True)
class _TiledAxis:
    """How one spatial axis is cut into tiles."""

    size: int
    output: int
    kernel: int
    before: int  # the padding before the first number

    @property
    def tile(self) -> int:
        """Outputs in a tile, which is also how far the patches of neighbouring tiles lie apart."""
        return TILE if self.kernel > 1 else 1

    @property
    def tiles(self) -> int:
        return -(-self.output // self.tile)

    @property
    def patch(self) -> int:
        """Input numbers a tile depends on."""
        return self.tile - 1 + self.kernel

    @property
    def pieces(self) -> int:
        """Tiles that a patch reaches over."""
        return -(-self.patch // self.tile)

    def piece(self, number: int) -> int:
        """How many numbers of that tile belong to the patch."""
        return min(self.tile, self.patch - number * self.tile)

    @property
    def blocks(self) -> int:
        """Tiles that all patches together reach over."""
        return self.tiles + self.pieces - 1


def convolve(x: Array, weight: Array, window: Window) -> Array:
    """The convolution of `x` (batch, in, *spatial) with `weight` (out, in, *kernel)."""
    axes = _axes(window, x.shape[2:])
    return _from_tiles(_kernels(weight, axes) @ _patches(x, axes), weight.shape[0], axes)


def input_gradient(dout: Array, weight: Array, window: Window, shape: Shape) -> Array:
    """The gradient of an input of `shape`: the patches added up where they overlap."""
    axes = _axes(window, shape[2:])
    patches = lax.optimization_barrier(_kernels(weight, axes).T) @ to_tiles(dout, _tile(axes))
    tiles = [a.tiles for a in axes]
    return _added_up(patches.reshape(*_patch(axes), shape[1], *tiles, shape[0]), axes)


def weight_gradient(dout: Array, x: Array, window: Window, shape: Shape) -> Array:
    """The gradient of a weight of `shape`: the sum over the places of a tile."""
    axes = _axes(window, x.shape[2:])
    both = (((1,), (1,)), ((), ()))
    kernels = lax.dot_general(_patches(x, axes), to_tiles(dout, _tile(axes)), both)
    kernels = kernels.reshape(*_patch(axes), shape[1], prod(a.tile for a in axes), shape[0])
    found = [
        kernels[tuple(slice(s, s + a.kernel) for s, a in zip(starts, axes, strict=True))][..., i, :]
        for i, starts in enumerate(_places(axes))
    ]
    while len(found) > 1:  # in pairs, which rounds less than one after the other
        found = [a + b for a, b in zip(found[::2], found[1::2], strict=True)]
    return jnp.moveaxis(found[0], (-1, -2), (0, 1))


def to_tiles(images: Array, tile: Shape) -> Array:
    """(batch, channel, *spatial) as rows (place in a tile, channel) and columns (tile, batch)."""
    counts = [-(-n // t) for n, t in zip(images.shape[2:], tile, strict=True)]
    wanted = [c * t for c, t in zip(counts, tile, strict=True)]
    edges = [(0, w - n, 0) for w, n in zip(wanted, images.shape[2:], strict=True)]
    whole = with_zeros(batch_last(images), ((0, 0, 0), *edges, (0, 0, 0)))
    rows = _split(whole, list(zip(counts, tile, strict=True)))
    return lax.optimization_barrier(rows.reshape(prod(tile) * images.shape[1], -1))


def patches_size(shape: Shape, window: Window) -> int:
    """The count of numbers in the patches of an input of `shape`."""
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


def _places(axes: Sequence[_TiledAxis]) -> list[Shape]:
    """Where in a patch the window of each output of a tile begins."""
    return list(product(*(range(a.tile) for a in axes)))


def _kernels(weight: Array, axes: Sequence[_TiledAxis]) -> Array:
    """The weight at each place of a tile: a row for each place and output channel."""
    rest = ((0, 0, 0),) * 2
    rows = [
        with_zeros(
            weight, rest + tuple((s, a.patch - a.kernel - s, 0) for s, a in zip(starts, axes))
        )
        for starts in _places(axes)
    ]
    stacked = jnp.moveaxis(jnp.stack(rows), 2, -1)
    return lax.optimization_barrier(stacked.reshape(len(rows) * weight.shape[0], -1))


def _patches(x: Array, axes: Sequence[_TiledAxis]) -> Array:
    """A column for each tile and example, a row for each number of a patch and channel."""
    blocks = [a.blocks for a in axes]
    if prod(x.shape[1:]) * x.dtype.itemsize % _PAGE == 0:
        blocks[-1] += 1
    ends = [n * a.tile - a.size - a.before for n, a in zip(blocks, axes, strict=True)]
    edges = [(a.before, end, 0) for a, end in zip(axes, ends, strict=True)]
    images = batch_last(with_zeros(x, ((0, 0, 0), (0, 0, 0), *edges)))
    found = _split(images, [(n, a.tile) for n, a in zip(blocks, axes, strict=True)])
    for i, axis in reversed(list(enumerate(axes))):
        parts = [_piece(found, axis, k, i, i - len(axes) - 1) for k in range(axis.pieces)]
        found = lax.optimization_barrier(jnp.concatenate(parts, i))
    return found.reshape(prod(_patch(axes)) * x.shape[1], -1)


def _piece(found: Array, axis: _TiledAxis, number: int, inner: int, outer: int) -> Array:
    """What lies `number` tiles after the beginning of each patch, as far as the patch reaches."""
    moved = lax.slice_in_dim(found, number, number + axis.tiles, axis=outer)
    return lax.slice_in_dim(moved, 0, axis.piece(number), axis=inner)


def _added_up(patches: Array, axes: Sequence[_TiledAxis]) -> Array:
    """What `_patches` took apart: each number the sum of its copies."""
    rank, found = len(axes), patches
    for i, axis in enumerate(axes):
        total: Array = 0
        for k in range(axis.pieces):
            start, count = k * axis.tile, axis.piece(k)
            part = lax.slice_in_dim(found, start, start + count, axis=i)
            edges = [(0, 0, 0)] * found.ndim
            edges[i] = (0, axis.tile - count, 0)
            edges[rank + 1 + i] = (k, axis.pieces - 1 - k, 0)
            total = total + with_zeros(part, edges)
        found = lax.optimization_barrier(total)
    edges = [(-a.before, a.before + a.size - a.blocks * a.tile, 0) for a in axes]
    return batch_first(with_zeros(_merged(found, rank), ((0, 0, 0), *edges, (0, 0, 0))))


def _from_tiles(rows: Array, channels: int, axes: Sequence[_TiledAxis]) -> Array:
    """Outputs (place, channel | tile, batch) as (batch, channel, *spatial)."""
    sizes = ([a.tile for a in axes], [a.tiles for a in axes])
    images = _merged(rows.reshape(*sizes[0], channels, *sizes[1], -1), len(axes))
    return batch_first(images[(slice(None), *(slice(a.output) for a in axes))])


def _split(images: Array, parts: Sequence[tuple[int, int]]) -> Array:
    """(channels, *spatial, batch) as (*inner, channels, *outer, batch), outer by inner numbers."""
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
