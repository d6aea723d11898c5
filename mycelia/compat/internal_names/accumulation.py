"""Internal names of `mindspore.boost.grad_accumulation`: functions for HyperMap."""

from __future__ import annotations

from typing import Any

from mycelia.ops.control.composite import MultitypeFuncGraph
from mycelia.ops.elementwise.arithmetic import div
from mycelia.ops.indexing.assign import assign, assign_add
from mycelia.ops.shapes.creation import zeros_like
from mycelia.ops.shapes.reshape import cast

gradient_accumulation_op = MultitypeFuncGraph("gradient_accumulation_op")
gradient_clear_op = MultitypeFuncGraph("gradient_clear_op")


@gradient_accumulation_op.register("Number", "Tensor", "Tensor")
def cumulative_grad_process(accumulation_step: Any, cumulative_grad: Any, grad: Any) -> Any:
    """Add the gradient of one step, divided by the number of steps, to the accumulated gradient."""
    return assign_add(cumulative_grad, div(cast(grad, cumulative_grad.dtype), accumulation_step))


@gradient_clear_op.register("Tensor")
def clear_grad(cumulative_grad: Any) -> Any:
    """Reset the accumulated gradient to zero."""
    return assign(cumulative_grad, zeros_like(cumulative_grad))
