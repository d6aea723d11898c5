"""Which dimensions go together where arrays are reshaped, cut out, joined or reordered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mycelia._engine.operators.axes.dimension_symbols import block_all
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep, StepValue


def pass_along(one: StepValue, other: StepValue, places: Iterable[int]) -> None:
    """Unite the same dimensions of two values; block the others of both."""
    passed = set(places)
    for place in range(max(one.ndim, other.ndim)):
        if place in passed:
            one.dims[place].unite(other.dims[place])
        else:
            block_all((*one.dims[place : place + 1], *other.dims[place : place + 1]))


def all_but(worked_on: Iterable[int], ndim: int) -> list[int]:
    """The dimensions that are not worked on; negative numbers count from the end."""
    blocked = {place % ndim for place in worked_on} if ndim else set()
    return [place for place in range(ndim) if place not in blocked]


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
    """Dimensions that stay go along; of those that merge or split, the major ones do.

    A cut of the major dimension is a cut of the elements in row-major order, on both sides.
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
    """The smallest runs of dimensions of both shapes with equal products; sizes of 1 are left out.

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
    """The dimensions of which all is taken."""
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
    """A rule for a primitive that works along the dimensions its parameter `name` says."""

    def rule(step: PrimitiveStep) -> None:
        given = step.params[name]
        worked_on = given if isinstance(given, (tuple, list)) else (given,)
        for value in step.inputs:
            for made in step.outputs:
                pass_along(value, made, all_but(worked_on, value.ndim))

    return rule


def _stack(step: PrimitiveStep) -> None:
    (made,) = step.outputs
    for value in step.inputs:
        _without(made, step.params["axis"], value)


def _unstack(step: PrimitiveStep) -> None:
    (value,) = step.inputs
    for made in step.outputs:
        _without(value, step.params["axis"], made)


def _first_apart(step: PrimitiveStep) -> None:
    """A loop goes along the first dimension of the larger side."""
    (value,), (made,) = step.inputs, step.outputs
    whole, part = (value, made) if value.ndim > made.ndim else (made, value)
    _without(whole, 0, part)


def _without(whole: StepValue, axis: int, part: StepValue) -> None:
    """`part` has the dimensions of `whole` but for `axis`, which cannot be cut."""
    whole.dims[axis % whole.ndim].block()
    kept = all_but((axis,), whole.ndim)
    for place, symbol in zip(kept, part.dims, strict=True):
        symbol.unite(whole.dims[place])


def _tile(step: PrimitiveStep) -> None:
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, [i for i, count in enumerate(step.params["reps"]) if count == 1])


def _bitcast(step: PrimitiveStep) -> None:
    """Numbers of another width come with a last dimension more, or less."""
    (value,), (made,) = step.inputs, step.outputs
    pass_along(value, made, range(min(value.ndim, made.ndim)))


def _nothing(step: PrimitiveStep) -> None:
    """Dimensions of the outputs are free: any part of them can be made apart."""


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
    "take": _first_apart,
    "pile": _first_apart,
    "tile": _tile,
    "bitcast_convert_type": _bitcast,
    "iota": _nothing,
    "empty": _nothing,
    "empty2": _nothing,
    "decide": _nothing,
    "platform_index": _nothing,
}
