"""Internal names of `mindspore.nn`: base classes of losses, optimizer and training helpers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from mycelia import ops
from mycelia.nn.cell import Cell
from mycelia.nn.loss import LossBase
from mycelia.ops.control.composite import MultitypeFuncGraph
from mycelia.tensor.sparse_rows import RowTensor


class _Loss(LossBase):
    """Former name of LossBase."""


class _VirtualDatasetCell(Cell):
    """Wrapper of a network whose inputs come from a dataset."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def construct(self, *inputs: Any) -> Any:
        return self._backbone(*inputs)


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """Decorator of `__init__` that stores its arguments in the optimizer.

    They are `init_params`, `init_learning_rate`, and, for the others, `init_args`.
    """
    wanted = signature(fn)

    @wraps(fn)
    def run(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = wanted.bind(self, *args, **kwargs)
        bound.apply_defaults()
        arguments = dict(bound.arguments)
        arguments.pop("self", None)
        fn(self, *args, **kwargs)
        kept = {
            "init_params": {"params": arguments.pop("params", None)},
            "init_learning_rate": arguments.pop("learning_rate", None),
            "init_args": arguments,
        }
        for name, value in kept.items():
            object.__setattr__(self, name, value)

    return run


grad_scale = MultitypeFuncGraph("grad_scale")


@grad_scale.register("Number", "Tensor")
def _scaled_by_number(scale: Any, grad: Any) -> Any:
    return grad if scale == 1.0 else ops.mul(grad, ops.cast(scale, grad.dtype))


@grad_scale.register("Tensor", "Tensor")
def _divided_by_tensor(scale: Any, grad: Any) -> Any:
    return ops.mul(grad, ops.cast(ops.reciprocal(scale), grad.dtype))


_grad_scale = grad_scale
apply_decay = _apply_decay = MultitypeFuncGraph("apply_decay")


@apply_decay.register("Tensor", "Bool", "Tensor", "Tensor")
def _decayed(weight_decay: Any, if_apply: bool, weight: Any, gradient: Any) -> Any:
    if not if_apply:
        return gradient
    return ops.add(gradient, ops.mul(weight, ops.cast(weight_decay, gradient.dtype)))


grad_overflow = _grad_overflow = MultitypeFuncGraph("grad_overflow")


@grad_overflow.register("Tensor")
def _overflows(grad: Any) -> Any:
    return ops.cast(ops.logical_not(ops.isfinite(grad).all()), grad.dtype)


def tensor_grad_scale_with_sparse(scale: Any, grad: RowTensor) -> RowTensor:
    """Remove the loss scale from a row-sparse gradient."""
    return RowTensor(grad.indices, ops.mul(grad.values, scale), grad.dense_shape)
