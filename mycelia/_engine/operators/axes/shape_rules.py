"""Dimension rules for reshaping, slicing, concatenating, and reordering arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mycelia._engine.operators.axes.dimension_symbols import block_all
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep, StepValue


def pass_along(first: StepValue, second: StepValue, dims: Iterable[int]) -> None:
    """Unite the same dimensions of two values; block the others of both."""
    passed = set(dims)
    for dim in range(max(first.ndim, second.ndim)):
        if dim in passed:
            first.dims[dim].unite(second.dims[dim])
        else:
            block_all((*first.dims[dim : dim + 1], *second.dims[dim : dim + 1]))


def all_but(excluded: Iterable[int], ndim: int) -> list[int]:
    """The dimensions that are not excluded; negative numbers count from the end."""
    blocked = {dim % ndim for dim in excluded} if ndim else set()
    return [dim for dim in range(ndim) if dim not in blocked]


def _transpose(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    for new, old in enumerate(step.params["permutation"]):
        made.dims[new].unite(value.dims[old])


def _broadcast(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    for old, new in enumerate(step.params["broadcast_dimensions"]):
        if value.shape[old] == made.shape[new]:
            value.dims[old].unite(made.dims[new])


def _squeeze(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    kept = all_but(step.params["dimensions"], value.ndim)
    for old, symbol in zip(kept, made.dims, strict=True):
        symbol.unite(value.dims[old])


def _reshape(step: PrimitiveStep) -> None:
    """Unchanged dimensions pass; of dimensions that merge or split, the major ones do.

    Splitting the major dimension splits the elements in row-major order, on both sides.
    """
    (value, *_), (made,) = step.inputs, step.outputs
    if value.elements == 0:
        block_all((*value.dims, *made.dims))
        return
    for before, after in factor_groups(value.shape, made.shape):
        value.dims[before[0]].unite(made.dims[after[0]])
        block_all(value.dims[place] for place in before[1:])
        block_all(made.dims[place] for place in after[1:])


def factor_groups(
    before: tuple[int, ...], after: tuple[int, ...]
) -> list[tuple[list[int], list[int]]]:
    """The smallest runs of dimensions of both shapes with equal products; skips sizes of 1.

    >>> factor_groups((2, 3, 4), (6, 4))
    [([0, 1], [0]), ([2], [1])]
    """
    old = [place for place, size in enumerate(before) if size != 1]
    new = [place for place, size in enumerate(after) if size != 1]
    groups = []
    while old and new:
        left, right = [old.pop(0)], [new.pop(0)]
        product_left, product_right = before[left[0]], after[right[0]]
        while product_left != product_right:
            if product_left < product_right:
                left.append(old.pop(0))
                product_left *= before[left[-1]]
            else:
                right.append(new.pop(0))
                product_right *= after[right[-1]]
        groups.append((left, right))
    return groups


def _slice(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    pass_along(value, made, _whole(value, made))


def _whole(value: StepValue, part: StepValue) -> list[int]:
    """The dimensions along which a slice takes everything."""
    return [place for place in range(part.ndim) if value.shape[place] == part.shape[place]]


def _update_slice(step: PrimitiveStep) -> None:
    value, update, *_ = step.inputs
    (made,) = step.outputs
    whole = _whole(value, update)
    pass_along(value, made, whole)
    pass_along(value, update, whole)


def _pad(step: PrimitiveStep) -> None:
    (value, *_), (made,) = step.inputs, step.outputs
    config = step.params["padding_config"]
    pass_along(value, made, [i for i, padding in enumerate(config) if not any(padding)])


def _along(name: str) -> Callable[[PrimitiveStep], None]:
    """A rule for a primitive that works along the dimensions in its parameter `name`."""

    def rule(step: PrimitiveStep) -> None:
        dims = step.params[name]
        excluded = dims if isinstance(dims, (tuple, list)) else (dims,)
        for value in step.inputs:
            for made in step.outputs:
                pass_along(value, made, all_but(excluded, value.ndim))

    return rule


def _stack(step: PrimitiveStep) -> None:
    (made,) = step.outputs
    for value in step.inputs:
        _without(made, step.params["axis"], value)


def _unstack(step: PrimitiveStep) -> None:
    (value,) = step.inputs
    for made in step.outputs:
        _without(value, step.params["axis"], made)


def _without_first(step: PrimitiveStep) -> None:
    """A loop iterates over the first dimension of the larger side."""
    (value,), (made,) = step.inputs, step.outputs
    whole, part = (value, made) if value.ndim > made.ndim else (made, value)
    _without(whole, 0, part)


def _without(whole: StepValue, axis: int, part: StepValue) -> None:
    """`part` has the dimensions of `whole` except `axis`, which cannot be split."""
    whole.dims[axis % whole.ndim].block()
    remaining = all_but((axis,), whole.ndim)
    for dim, symbol in zip(remaining, part.dims, strict=True):
        symbol.unite(whole.dims[dim])


def _tile(step: PrimitiveStep) -> None:
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, [i for i, count in enumerate(step.params["reps"]) if count == 1])


def _bitcast(step: PrimitiveStep) -> None:
    """A dtype of another width adds or removes a last dimension."""
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, range(min(value.ndim, made.ndim)))


def _nothing(step: PrimitiveStep) -> None:
    """The dimensions of the outputs are unconstrained: each shard computes its slice."""


SHAPING_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    "transpose": _transpose,
    "broadcast_in_dim": _broadcast,
    "squeeze": _squeeze,
    "reshape": _reshape,
    "slice": _slice,
    "dynamic_slice": _slice,
    "dynamic_update_slice": _update_slice,
    "pad": _pad,
    "concatenate": _along("dimension"),
    "rev": _along("dimensions"),
    "split": _along("axis"),
    "sort": _along("dimension"),
    "cumsum": _along("axis"),
    "cumprod": _along("axis"),
    "cummax": _along("axis"),
    "cummin": _along("axis"),
    "cumlogsumexp": _along("axis"),
    "top_k": _along("axis"),
    "stack": _stack,
    "unstack": _unstack,
    "take": _without_first,
    "pile": _without_first,
    "tile": _tile,
    "bitcast_convert_type": _bitcast,
    "iota": _nothing,
    "empty": _nothing,
    "empty2": _nothing,
    "decide": _nothing,
    "platform_index": _nothing,
}
