"""Jacobians and directional derivatives: vjp, jvp, jacrev, jacfwd."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.handlers import call_user_function
from mycelia.ops.elementwise.arithmetic import add, mul
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.ops.shapes.concat import stack
from mycelia.ops.shapes.reshape import reshape
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.grad import grad
from mycelia.transforms.pullback import AnyPullback, record_call


def vjp(
    fn: Callable[..., Any], *inputs: Any, weights: Any = None, has_aux: bool = False
) -> tuple[Any, ...]:
    """Vector-Jacobian product: `fn(*inputs)` and a function from output to input gradients."""
    chosen = (weights,) if isinstance(weights, Tensor) else tuple(weights or ())
    pullback = record_call(fn, inputs, {}, range(len(inputs)), chosen)
    value = pullback.value[0] if has_aux else pullback.value
    outputs = tensors_of(value)

    def pull(*sens: Any) -> Any:
        seeds = tensors_of(sens)
        _check_alike("vjp", "the output gradients", seeds, outputs)
        by_input, by_weight = pullback.pull(list(zip(outputs, seeds, strict=True)))
        if weights is None:
            return by_input
        return by_input, by_weight[0] if isinstance(weights, Tensor) else by_weight

    return (value, pull, _further(pullback.value)) if has_aux else (value, pull)


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Jacobian-vector product: `fn(*inputs)` and its directional derivative along `v`.

    Forward mode is derived from reverse mode: the pullback is linear in the output gradient u, and
    the derivative of <pullback(u), v> with respect to u is the directional derivative.
    """
    points = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    directions = v if isinstance(v, (tuple, list)) else (v,)
    _check_alike("jvp", "the directions v", directions, points)
    full = call_user_function(fn, *points)
    value = full[0] if has_aux else full
    single = isinstance(value, Tensor)
    probes = [Tensor._wrap(np.zeros(o.shape, o.dtype.numpy)) for o in tensors_of(value)]

    def along(*sens: Any) -> Any:
        pullback = record_call(fn, points, {}, range(len(points)))
        outputs = tensors_of(pullback.value[0] if has_aux else pullback.value)
        by_input, _ = pullback.pull(list(zip(outputs, sens, strict=True)))
        return _inner(tensors_of(by_input), tensors_of(directions))

    found = grad(along, tuple(range(len(probes))))(*probes)
    tangent = (found,) if len(probes) == 1 and not single else found
    return (value, tangent, _further(full)) if has_aux else (value, tangent)


def jacrev(
    fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Transform `fn` into a function that returns its Jacobian, row by row (reverse mode)."""
    positions = _positions(grad_position)

    def run(*args: Any, **kwargs: Any) -> Any:
        _check_within("jacrev", positions, len(args))
        pullback = record_call(fn, args, kwargs, positions)
        try:
            value = pullback.value[0] if has_aux else pullback.value
            jacobians = _per_output(value, lambda out: _rows(pullback, out, args, positions))
        finally:
            pullback.close()
        result = _unpack(jacobians, grad_position)
        return (result, _further(pullback.value)) if has_aux else result

    return run


def jacfwd(
    fn: Callable[..., Any], grad_position: Any = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """Transform `fn` into a function that returns its Jacobian, column by column (forward mode)."""
    positions = _positions(grad_position)

    def run(*args: Any, **kwargs: Any) -> Any:
        _check_within("jacfwd", positions, len(args))
        full = fn(*args, **kwargs)
        value = full[0] if has_aux else full
        columns = tuple(_columns(fn, args, kwargs, position, has_aux) for position in positions)
        result = _unpack(_by_output(value, columns), grad_position)
        return (result, _further(full)) if has_aux else result

    return run


def _rows(
    pullback: AnyPullback,
    output: Tensor,
    args: tuple[Any, ...],
    positions: tuple[int, ...],
) -> tuple[Tensor, ...]:
    rows: list[list[Tensor]] = [[] for _ in positions]
    for number in range(output.size):
        by_input, _ = pullback.pull([(output, _unit(output, number))])
        for row, gradient in zip(rows, by_input, strict=True):
            row.append(gradient)
    return tuple(
        reshape(stack(tuple(row), 0), (*output.shape, *args[p].shape))
        for row, p in zip(rows, positions, strict=True)
    )


def _columns(
    fn: Callable[..., Any], args: Any, kwargs: Any, position: int, has_aux: bool
) -> list[list[Tensor]]:
    """For each element of one input, the tangents of all outputs."""

    def of_one(x: Any) -> Any:
        full = fn(*args[:position], x, *args[position + 1 :], **kwargs)
        return full[0] if has_aux else full

    point = args[position]
    found = []
    for number in range(point.size):
        _, tangent = jvp(of_one, point, _unit(point, number))
        found.append([reshape(t, (*t.shape, 1)) for t in tensors_of(tangent)])
    return [[*outputs, point.shape] for outputs in found]


def _by_output(value: Any, columns: tuple[Any, ...]) -> Any:
    outputs = tensors_of(value)
    per_output = []
    for place, output in enumerate(outputs):
        parts = []
        for column in columns:
            shape = column[0][-1]
            stacked = stack(tuple(c[place] for c in column), -1)
            parts.append(reshape(stacked, (*output.shape, *shape)))
        per_output.append(tuple(parts))
    return per_output[0] if isinstance(value, Tensor) else tuple(per_output)


def _per_output(value: Any, rows: Callable[[Tensor], tuple[Tensor, ...]]) -> Any:
    if isinstance(value, Tensor):
        return rows(value)
    return tuple(rows(out) for out in tensors_of(value))


def _further(outputs: Any) -> Any:
    """The outputs that are not differentiated: a single one, or a tuple of several."""
    return outputs[1] if len(outputs) == 2 else outputs[1:]


def _unpack(jacobians: Any, grad_position: Any) -> Any:
    if isinstance(grad_position, tuple) and len(grad_position) != 1:
        return jacobians
    if jacobians and isinstance(jacobians[0], Tensor):
        return jacobians[0]
    return tuple(j[0] for j in jacobians)


def _unit(like: Tensor, number: int) -> Tensor:
    array = np.zeros(like.size, like.dtype.numpy)
    array[number] = 1
    return Tensor._wrap(array.reshape(like.shape))


def _inner(a: list[Tensor], b: list[Tensor]) -> Tensor:
    total = reduce_sum(mul(a[0], b[0]))
    for x, y in zip(a[1:], b[1:], strict=True):
        total = add(total, reduce_sum(mul(x, y)))
    return total


def _positions(grad_position: Any) -> tuple[int, ...]:
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool):
            raise wrong_type("jacobian", "grad_position", position, "int or tuple of ints")
    return positions


def _check_within(owner: str, positions: tuple[int, ...], count: int) -> None:
    if any(not 0 <= position < count for position in positions):
        raise problem(
            ValueError,
            f"{owner}: grad_position is out of range",
            got=f"{positions} for {count} arguments",
        )


def _check_alike(owner: str, what: str, given: Any, wanted: Any) -> None:
    """Check that tensors have the expected shapes and dtypes."""
    if any(isinstance(one, (int, float)) for one in (*given, *wanted)):
        raise problem(TypeError, f"{owner}: {what} must be tensors", got=repr(given))
    given, wanted = tensors_of(given), tensors_of(wanted)
    shapes = [g.shape for g in given]
    expected = [w.shape for w in wanted]
    if shapes != expected:
        raise problem(
            ValueError if len(shapes) == len(expected) else RuntimeError,
            f"{owner}: {what} have the wrong shapes",
            got=f"shapes {shapes}",
            expected=f"shapes {expected}",
        )
    for one, other in zip(given, wanted, strict=True):
        if one.dtype is not other.dtype:
            raise problem(
                TypeError,
                f"{owner}: {what} have the wrong dtype",
                got=f"dtype {one.dtype}",
                expected=f"dtype {other.dtype}",
            )
