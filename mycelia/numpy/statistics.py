"""Averages, variances, and correlations."""

from __future__ import annotations

import math
from typing import Any

from mycelia import ops
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import normalize_axes, normalize_axis
from mycelia.numpy.array_conversion import floating, single, to_tensor, together, typed


def std(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The standard deviation over the axes, with the divisor count - ddof."""
    return ops.std(floating(x), axis, ddof, keepdims)


def var(x: Any, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
    """The variance over the axes, with the divisor count - ddof."""
    return ops.var(floating(x), axis, ddof, keepdims)


def average(x: Any, axis: Any = None, weights: Any = None, returned: bool = False) -> Any:
    """The (weighted) mean over the axes; with `returned`, also the sum of the weights."""
    source = to_tensor(x)
    if weights is None:
        result = ops.mean(source, axis)
        axes = normalize_axes(axis, source.ndim, "average")
        count = math.prod(source.shape[n] for n in axes)
        total = ops.cast(ops.full_like(result, count), result.dtype)
        return (result, total) if returned else result
    source, factors = together(source, weights)
    factors = ops.broadcast_to(_fitted_weights(source, factors, axis), source.shape)
    dtype = source.dtype
    total = ops.sum(factors, axis, dtype=dtype)
    weighted = ops.sum(ops.mul(source, factors), axis, dtype=dtype)
    result = ops.cast(ops.div(weighted, total), dtype)
    return (result, total) if returned else result


def _fitted_weights(source: Any, weights: Any, axis: Any) -> Any:
    """Broadcast the weights to the data; a vector of weights lies along `axis`."""
    if weights.shape == source.shape:
        return weights
    if axis is None:
        raise problem(
            TypeError,
            "average: weights of a different shape need an axis",
            got=f"{list(source.shape)} and weights {list(weights.shape)}",
        )
    place = normalize_axis(axis, source.ndim, "average")
    if weights.shape != (source.shape[place],):
        raise problem(
            ValueError,
            "average: the weights do not match the axis",
            got=f"weights {list(weights.shape)} for axis {place} of {list(source.shape)}",
        )
    sides = [1] * source.ndim
    sides[place] = weights.size
    return ops.reshape(weights, tuple(sides))


def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: Any = None,
    aweights: Any = None,
    dtype: Any = None,
) -> Any:
    """The covariance matrix of variables, which are the rows (or columns) of `m` and `y`.

    `fweights` are the frequencies of the observations, `aweights` their importance weights.
    """
    data = _variables("cov", m, rowvar)
    if y is not None:
        data = ops.concat((data, _variables("cov", y, rowvar)))
    less = (0 if bias else 1) if ddof is None else ddof
    weights, important = _observation_weights(data.shape[1], fweights, aweights)
    total = ops.sum(weights)
    center = ops.div(ops.sum(ops.mul(data, weights), 1, True), total)
    if aweights is None:
        count = ops.sub(total, float(less))
    else:
        count = ops.sub(total, ops.div(ops.sum(ops.mul(weights, important)) * float(less), total))
    apart = ops.sub(data, center)
    products = ops.matmul(ops.mul(apart, weights), ops.transpose(apart, (1, 0)))
    result = ops.div(products, count)
    return typed(ops.squeeze(result) if result.size == 1 else result, dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """The correlation matrix of variables, which are the rows (or columns) of `x` and `y`."""
    matrix = cov(x, y, rowvar)
    if matrix.ndim == 0:
        return typed(ops.div(matrix, matrix), dtype)
    spread = ops.sqrt(ops.diagonal(matrix))
    both = ops.mul(ops.expand_dims(spread, 1), ops.expand_dims(spread, 0))
    return typed(ops.clamp(ops.div(matrix, both), -1.0, 1.0), dtype)


def _variables(owner: str, m: Any, rowvar: bool) -> Any:
    """Convert data to a float32 matrix with one variable per row."""
    data = single(m)
    if data.ndim > 2:
        raise problem(ValueError, f"{owner}: more than two axes", got=f"{data.ndim} axes")
    if data.ndim < 2:
        return ops.reshape(data, (1, data.size))
    is_flipped = not rowvar and data.shape[0] != 1
    return ops.transpose(data, (1, 0)) if is_flipped else data


def _observation_weights(count: int, fweights: Any, aweights: Any) -> tuple[Any, Any]:
    """The total weights of the observations, and the importance weights among them."""
    ones = ops.ones((count,), float32)
    often = ones if fweights is None else _weights(fweights, count, True)
    important = ones if aweights is None else _weights(aweights, count, False)
    return ops.mul(often, important), important


def _weights(values: Any, count: int, whole: bool) -> Any:
    weights = to_tensor(values)
    if whole and not weights.dtype.is_integer:
        raise problem(TypeError, "cov: fweights must be integers", got=str(weights.dtype))
    if weights.shape != (count,):
        raise problem(
            ValueError,
            "cov: the number of weights does not match the observations",
            got=f"weights {list(weights.shape)}",
            expected=f"{count} weights",
        )
    return single(weights)
