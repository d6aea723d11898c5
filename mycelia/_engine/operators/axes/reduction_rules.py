"""Dimension rules for reductions, matrix products, convolutions, and windows."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from mycelia._engine.jax_setup import jnp
from mycelia._engine.operators.axes.dimension_symbols import block_all, unite_all
from mycelia._engine.operators.axes.primitive_steps import PrimitiveStep
from mycelia._engine.operators.axes.shape_rules import all_but, pass_along


def _reduction(kind: str) -> Callable[[PrimitiveStep], None]:
    """A rule for a reduction whose terms are combined by `kind`; bitwise ones are blocked."""

    def rule(step: PrimitiveStep) -> None:
        (value,) = step.inputs
        logical = step.name in ("reduce_and", "reduce_or")
        if logical and not jnp.issubdtype(value.dtype, jnp.bool_):
            _blocked_reduction(step)
            return
        for dim in step.params["axes"]:
            step.ends.append((value.dims[dim], kind))
        _keep_others(step, step.params["axes"])

    return rule


def _blocked_reduction(step: PrimitiveStep) -> None:
    reduced = step.params["axes"] if "axes" in step.params else step.params["dimensions"]
    for value in step.inputs:
        block_all(value.dims[dim] for dim in reduced if value.ndim)
    _keep_others(step, reduced)


def _keep_others(step: PrimitiveStep, reduced: tuple[int, ...]) -> None:
    for value in step.inputs:
        if value.ndim == 0:
            continue  # the initial value of a general reduction
        remaining = all_but(reduced, value.ndim)
        for made in step.outputs:
            for dim, symbol in zip(remaining, made.dims, strict=True):
                symbol.unite(value.dims[dim])


def _product(step: PrimitiveStep) -> None:
    (left, right, *_), (result,) = step.inputs, step.outputs
    (left_inner, right_inner), (left_batch, right_batch) = step.params["dimension_numbers"]
    for left_dim, right_dim in zip(left_inner, right_inner, strict=True):
        left.dims[left_dim].unite(right.dims[right_dim])
        step.ends.append((left.dims[left_dim], "sum"))
    for dim, (left_dim, right_dim) in enumerate(zip(left_batch, right_batch, strict=True)):
        unite_all((left.dims[left_dim], right.dims[right_dim], result.dims[dim]))
    free_left = [i for i in range(left.ndim) if i not in (*left_inner, *left_batch)]
    free_right = [i for i in range(right.ndim) if i not in (*right_inner, *right_batch)]
    free = [*(left.dims[i] for i in free_left), *(right.dims[i] for i in free_right)]
    for symbol, result_symbol in zip(free, result.dims[len(left_batch) :], strict=True):
        symbol.unite(result_symbol)
    step.flops = 2.0 * result.elements * prod(left.shape[i] for i in left_inner)


def _convolution(step: PrimitiveStep) -> None:
    (image, kernel), (made,) = step.inputs, step.outputs
    names = step.params["dimension_numbers"]
    batch, channels, *spatial = names.lhs_spec
    features, inner, *kernel_places = names.rhs_spec
    made_batch, made_channels, *made_places = names.out_spec
    image_groups = step.params["batch_group_count"]
    groups = step.params["feature_group_count"]
    made.dims[made_channels].unite(kernel.dims[features])
    if image_groups > 1:  # groups are the major part of the batch and of the output channels
        made.dims[made_channels].unite(image.dims[batch])
        made.dims[made_channels].limit(image_groups)
        made.dims[made_batch].block()
    else:
        image.dims[batch].unite(made.dims[made_batch])
    if groups > 1:
        made.dims[made_channels].unite(image.dims[channels])
        made.dims[made_channels].limit(groups)
        kernel.dims[inner].block()
    else:
        image.dims[channels].unite(kernel.dims[inner])
        step.ends.append((kernel.dims[inner], "sum"))
    for number, where in enumerate(zip(spatial, kernel_places, made_places, strict=True)):
        _convolved_dimension(step, number, *where)
    step.flops = 2.0 * made.elements * kernel.elements / max(kernel.shape[features], 1)


def _convolved_dimension(
    step: PrimitiveStep, number: int, place: int, in_kernel: int, in_made: int
) -> None:
    """A dimension along which the kernel slides: only trivial windows can be sharded."""
    (image, kernel), (made,) = step.inputs, step.outputs
    one, weight, result = image.dims[place], kernel.dims[in_kernel], made.dims[in_made]
    unpadded = not any(step.params["padding"][number]) and all(
        step.params[name] is None or step.params[name][number] == 1
        for name in ("lhs_dilation", "rhs_dilation")
    )
    if unpadded and kernel.shape[in_kernel] == 1 and step.params["window_strides"][number] == 1:
        one.unite(result)
    elif unpadded and kernel.shape[in_kernel] == image.shape[place] and made.shape[in_made] == 1:
        one.unite(weight)
        step.ends.append((one, "sum"))
    else:
        block_all((one, weight, result))


def _window(step: PrimitiveStep) -> None:
    """Windows of size 1 with stride 1 do not affect a dimension."""
    (made,) = step.outputs
    params = step.params
    passed = [
        place
        for place in range(made.ndim)
        if params["window_dimensions"][place] == 1
        and params["window_strides"][place] == 1
        and not any(params["padding"][place])
        and all(
            params.get(name) is None or params[name][place] == 1
            for name in ("base_dilation", "window_dilation")
        )
    ]
    for value in step.inputs:
        if value.ndim == made.ndim:
            pass_along(value, made, passed)


REDUCING_RULES: dict[str, Callable[[PrimitiveStep], None]] = {
    "reduce_sum": _reduction("sum"),
    "reduce_max": _reduction("max"),
    "reduce_min": _reduction("min"),
    "reduce_or": _reduction("any"),
    "reduce_and": _reduction("min"),
    "reduce_prod": _blocked_reduction,
    "reduce_xor": _blocked_reduction,
    "reduce": _blocked_reduction,
    "argmax": _blocked_reduction,
    "argmin": _blocked_reduction,
    "dot_general": _product,
    "conv_general_dilated": _convolution,
    "reduce_window": _window,
    "reduce_window_sum": _window,
    "reduce_window_max": _window,
    "reduce_window_min": _window,
    "select_and_scatter_add": _window,
    "select_and_gather_add": _window,
}
