"""Search in sorted arrays, interpolation, bin counts, and histograms."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import float32, float64, int32
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.numpy.array_conversion import integer, single, to_tensor, together
from mycelia.numpy.ranges import linspace
from mycelia.tensor.tensor import Tensor


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """The insertion indices of the elements of `v` that keep the vector `a` sorted."""
    if side not in ("left", "right"):
        raise problem(ValueError, "searchsorted: side must be left or right", got=repr(side))
    order, values = together(a, v)
    if order.ndim != 1:
        raise problem(ValueError, "searchsorted: `a` must be a vector", got=f"{order.ndim} axes")
    if sorter is not None:
        order = ops.gather(order, to_tensor(sorter), 0)
    return ops.searchsorted(order, values, side=side, out_int32=True)


def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """The bin index of each element; bins are monotonic, and 0 means before the first bin."""
    values, edges = to_tensor(x), to_tensor(bins)
    if edges.ndim != 1:
        raise problem(ValueError, "digitize: bins must be a vector", got=f"{edges.ndim} axes")
    if not edges.size:
        return ops.zeros(values.shape, int32)
    side = "left" if right else "right"
    rising = searchsorted(edges, values, side)
    falling = ops.sub(edges.size, searchsorted(ops.flip(edges, (0,)), values, side))
    rises = ops.less_equal(ops.gather(edges, to_tensor(0), 0), ops.gather(edges, to_tensor(-1), 0))
    return ops.where(rises, rising, falling)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Piecewise linear interpolation at `x` through the points (`xp`, `fp`)."""
    dtype = float64 if any(t.dtype is float64 for t in map(to_tensor, (x, xp, fp))) else float32
    at, knots, values = (ops.cast(to_tensor(t), dtype) for t in (x, xp, fp))
    if knots.ndim != 1 or values.shape != knots.shape:
        raise problem(
            ValueError,
            "interp: xp and fp must be vectors of equal length",
            got=f"{list(knots.shape)} and {list(values.shape)}",
        )
    last = knots.size - 1
    after = ops.clamp(searchsorted(knots, at, "right"), builtins.min(1, last), last)
    before = ops.clamp(ops.sub(after, 1), 0, last)
    x0, x1 = ops.gather(knots, before, 0), ops.gather(knots, after, 0)
    y0, y1 = ops.gather(values, before, 0), ops.gather(values, after, 0)
    width = ops.sub(x1, x0)
    share = ops.div(ops.sub(at, x0), ops.where(ops.equal(width, 0.0), 1.0, width))
    inside = ops.add(y0, ops.mul(share, ops.sub(y1, y0)))
    first, end = (ops.gather(values, to_tensor(n), 0) for n in (0, last))
    low = first if left is None else ops.cast(to_tensor(left), dtype)
    high = end if right is None else ops.cast(to_tensor(right), dtype)
    lowest, highest = (ops.gather(knots, to_tensor(n), 0) for n in (0, last))
    result = ops.where(ops.less(at, lowest), low, inside)
    return ops.where(ops.greater(at, highest), high, result)


# ---- counting -------------------------------------------------------------------------------


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: Any = None) -> Any:
    """Count the occurrences of each integer, or sum their weights, in float32.

    Negative values count as 0; with a `length`, larger values are ignored.
    """
    values = to_tensor(x)
    if not values.dtype.is_integer:
        raise problem(TypeError, "bincount: x must be integers", got=str(values.dtype))
    if values.ndim != 1:
        raise problem(ValueError, "bincount: x must be a vector", got=f"{values.ndim} axes")
    amounts = ops.ones(values.shape, float32) if weights is None else single(weights)
    if amounts.shape != values.shape:
        raise problem(
            ValueError,
            "bincount: the number of weights does not match the elements",
            got=f"{list(values.shape)} and weights {list(amounts.shape)}",
        )
    places = ops.clamp(ops.cast(values, int32), 0)
    count = _bin_count(places, minlength, length)
    held = ops.expand_dims(ops.clamp(places, 0, count), 1)
    return ops.narrow(ops.scatter_nd(held, amounts, (count + 1,)), 0, 0, count)


def _bin_count(places: Any, minlength: Any, length: Any) -> int:
    if length is not None:
        return integer("bincount", "length", length)
    largest = int(ops.amax(places)) if places.size else -1
    return builtins.max(largest + 1, integer("bincount", "minlength", minlength))


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The bin edges: `bins` itself, or those of `bins` equal bins over `range` or the data."""
    if isinstance(bins, str):
        raise problem(NotImplementedError, "histogram: bins by name are not supported", got=bins)
    if isinstance(bins, (Tensor, list, tuple)):
        return _edges(bins)
    if not is_int(bins):
        raise wrong_type("histogram", "bins", bins, "int, list, tuple or Tensor")
    if bins < 1:
        raise problem(ValueError, "histogram: bins must be at least 1", got=str(bins))
    data = single(a).ravel()
    if range is None and not data.size:
        range = (0, 0)
    if range is None:
        low, high = ops.amin(data), ops.amax(data)
    else:
        low, high = single(range[0]), single(range[1])
        if range[1] < range[0]:
            raise problem(ValueError, "histogram: the range ends before it starts", got=str(range))
    is_point = ops.equal(low, high)
    low, high = (ops.where(is_point, ops.add(e, d), e) for e, d in ((low, -0.5), (high, 0.5)))
    return linspace(low, high, int(bins) + 1)


def _edges(bins: Any) -> Any:
    edges = to_tensor(bins)
    if edges.ndim != 1:
        raise problem(ValueError, "histogram: the bin edges must be a vector")
    return edges


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, Any]:
    """Histogram: the counts of elements in each bin, and the bin edges."""
    data = to_tensor(a).ravel()
    factors = None if weights is None else to_tensor(weights).ravel()
    edges = [histogram_bin_edges(data, bins, range)]
    if edges[0].size < 2:
        return ops.zeros((0,), float32), edges[0]
    return _count_in_bins([data], edges, factors, density), edges[0]


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, Any, Any]:
    """2-D histogram: the counts of points in each cell, and the bin edges of both axes."""
    counts, edges = histogramdd((x, y), bins, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, list[Any]]:
    """N-dimensional histogram: the counts of points in each cell, and the bin edges of all axes.

    The points are the rows of a matrix, or one vector of coordinates per axis.
    """
    columns = _coordinates(sample)
    rank = len(columns)
    is_matrix = isinstance(bins, Tensor) and bins.ndim == 2
    listed = is_matrix or isinstance(bins, (list, tuple))
    each = list(bins) if listed and len(bins) == rank else [bins] * rank
    ranges = [None] * rank if range is None else list(range)
    if len(ranges) != rank:
        raise problem(
            ValueError, "histogramdd: the number of ranges does not match the axes", got=str(range)
        )
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, each, ranges, strict=True)]
    factors = None if weights is None else to_tensor(weights).ravel()
    return _count_in_bins(columns, edges, factors, density), edges


def _coordinates(sample: Any) -> list[Any]:
    if isinstance(sample, (list, tuple)):
        return [to_tensor(s).ravel() for s in sample]
    matrix = to_tensor(sample)
    if matrix.ndim != 2:
        raise problem(ValueError, "histogramdd: sample must be a matrix", got=f"{matrix.ndim} axes")
    return list(ops.unbind(matrix, 1))


def _count_in_bins(
    columns: Sequence[Any], edges: Sequence[Any], weights: Any, density: bool
) -> Any:
    """The sum of the weights of the points in each cell; points outside are ignored."""
    shape = tuple(e.size - 1 for e in edges)
    flat, outside = to_tensor(0), to_tensor(False)
    for column, edge, size in zip(columns, edges, shape, strict=True):
        place = ops.sub(searchsorted(edge, column, "right"), 1)
        point, last = together(column, ops.gather(edge, to_tensor(-1), 0))
        place = ops.where(ops.equal(point, last), size - 1, place)
        missed = ops.logical_or(ops.less(place, 0), ops.greater_equal(place, size))
        outside = ops.logical_or(outside, missed)
        flat = ops.add(ops.mul(flat, size), place)
    cells = math.prod(shape)
    counts = ops.reshape(bincount(ops.where(outside, cells, flat), weights, length=cells), shape)
    return _densities(counts, edges) if density else counts


def _densities(counts: Any, edges: Sequence[Any]) -> Any:
    """The density: counts divided by their sum and by the volumes of the cells."""
    result = ops.div(counts, ops.sum(counts))
    for axis, edge in enumerate(map(single, edges)):
        size = edge.size - 1
        widths = ops.sub(ops.narrow(edge, 0, 1, size), ops.narrow(edge, 0, 0, size))
        sides = tuple(size if n == axis else 1 for n in builtins.range(len(edges)))
        result = ops.div(result, ops.reshape(widths, sides))
    return result
