"""Embedding lookup and one-hot encoding."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import check_int
from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.tensor.tensor import Tensor


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> Any:
    """Look up the rows of `weight` at the indices in `input`.

    Used rows with a norm above `max_norm` are renormalized in place in `weight`. The row
    `padding_idx` receives no gradient. `scale_grad_by_freq` divides gradients by how often a row
    is used.
    """
    if len(weight.shape) != 2:
        raise problem(ValueError, "embedding: the weight must be a matrix", got=f"{weight.shape}")
    if max_norm is not None:
        weight.copy_(_shortened(input, weight, max_norm, norm_type))
    rows = ops.gather(weight, input, 0)
    if padding_idx is None and not scale_grad_by_freq:
        return rows
    shares = ops.ones(input.shape, weight.dtype)
    if scale_grad_by_freq:
        used = _counts(input, weight)
        shares = ops.reciprocal(ops.gather(used, input, 0))
    if padding_idx is not None:
        place = _row_number(padding_idx, weight.shape[0])
        shares = ops.mul(shares, ops.cast(ops.not_equal(input, place), weight.dtype))
    scaled = ops.mul(rows, ops.expand_dims(shares, -1))
    return ops.add(ops.stop_gradient(rows), ops.sub(scaled, ops.stop_gradient(scaled)))


def _row_number(padding_idx: Any, count: int) -> int:
    place = check_int("embedding", "padding_idx", padding_idx)
    if not -count <= place < count:
        raise wrong_value("embedding", "padding_idx", padding_idx, f"in [{-count}, {count})")
    return place % count


def _counts(input: Any, weight: Any) -> Any:
    """How often each row is used."""
    places = ops.reshape(input, (-1,))
    blank = ops.zeros((weight.shape[0],), weight.dtype)
    ones = ops.ones(places.shape, weight.dtype)
    return ops.tensor_scatter_elements(blank, places, ones, 0, "add")


def _shortened(input: Any, weight: Any, max_norm: float, norm_type: float) -> Any:
    """The weight, with used rows scaled down to a norm of at most `max_norm`."""
    fixed = ops.stop_gradient(weight)
    lengths = ops.vector_norm(fixed, norm_type, 1, True)
    used = ops.expand_dims(ops.greater(_counts(input, weight), 0), 1)
    wanted = ops.logical_and(used, ops.greater(lengths, max_norm))
    scaled = ops.mul(weight, ops.div(max_norm, ops.add(lengths, 1e-7)))
    return ops.where(wanted, scaled, weight)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """One-hot encode class indices; `num_classes` defaults to the largest index plus 1."""
    check_tensors("one_hot", tensor=tensor)
    if not tensor.dtype.is_integer:
        raise wrong_type("one_hot", "tensor", tensor, "a tensor of integers")
    if check_int("one_hot", "num_classes", num_classes) < -1:
        raise wrong_value("one_hot", "num_classes", num_classes, "at least -1")
    count = int(ops.amax(tensor)) + 1 if num_classes == -1 else num_classes
    return ops.one_hot(tensor, count, Tensor(1, int64), Tensor(0, int64))
