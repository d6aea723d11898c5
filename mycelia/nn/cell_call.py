"""Calls of cells with hooks, a custom gradient, or a compute dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.frontend.tracer import active_tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.core.tracebacks import mark_call
from mycelia._engine.ir.control_flow import BLOCK, RECOMPUTE
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia._engine.runtime.eager.thread_mode import recording_on_tape, thread_mode
from mycelia.nn.backward_hooks import run_hooked
from mycelia.ops.collective.stage_boundary import entered, is_marking
from mycelia.ops.shapes.reshape import cast, sum_to
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor

if TYPE_CHECKING:
    from mycelia.nn.cell import Cell


def call_with_hooks(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `construct` with the cell's hooks, casts, and custom gradient."""
    hooks = cell.hooks
    if hooks is not None:
        for hook, with_kwargs in hooks.forward_pre:
            if with_kwargs:
                args, kwargs = _replaced(
                    cell, call_user_function(hook, cell, args, kwargs), args, kwargs
                )
                continue
            changed = call_user_function(hook, cell, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    if cell.compute_dtype is not None:
        args = cast_floats(args, cell.compute_dtype)
        kwargs = {name: cast_floats(v, cell.compute_dtype) for name, v in kwargs.items()}
    output = _run(cell, args, kwargs)
    if hooks is not None:
        for hook, with_kwargs in hooks.forward:
            call_args = (args, kwargs) if with_kwargs else (args,)
            changed = call_user_function(hook, cell, *call_args, output)
            output = output if changed is None else changed
    return output


def _replaced(
    cell: Cell, changed: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments after a forward_pre_hook with kwargs."""
    if changed is None:
        return args, kwargs
    is_pair = isinstance(changed, tuple) and len(changed) == 2
    if not is_pair or not isinstance(changed[1], dict):
        raise problem(
            RuntimeError,
            f"{type(cell).__name__}: a forward_pre_hook with kwargs must return arguments or None",
            got=repr(changed)[:80],
            expected="None, or the pair (args, kwargs)",
        )
    return (tuple(changed[0]) if isinstance(changed[0], (tuple, list)) else (changed[0],)), changed[
        1
    ]


def call_while_traced(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a cell while a program is traced: its construct is traced, too."""
    tracer = active_tracer()
    assert tracer is not None
    tracer.cells[id(cell)] = cell
    if cell.pipeline_stage is not None and is_marking():
        args = entered(args, cell.pipeline_stage, cell.pipeline_segment)
        kwargs = entered(kwargs, cell.pipeline_stage, cell.pipeline_segment)
    return call_with_hooks(cell, args, kwargs)


def _run(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    hooks = cell.hooks
    if hooks is not None and (hooks.backward or hooks.backward_pre):
        return run_hooked(cell, args, lambda inner: _construct(cell, inner, kwargs))
    return _construct(cell, args, kwargs)


def _construct(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if handlers.call is not None:
        return _trace_construct(cell, args, kwargs)
    if thread_mode.recording is None or not hasattr(cell, "bprop"):
        try:
            return cell.construct(*args, **kwargs)
        except TypeError as error:
            mark_call(error)
            raise
    recording = thread_mode.recording
    with recording_on_tape(None):
        output = cell.construct(*args, **kwargs)
    output = _fresh(output)

    def backward(dout: Any) -> tuple[Any, ...]:
        return _checked(cell, cell.bprop(*args, output, dout), args)

    recording.record_custom(args, output, backward)
    return output


def _checked(cell: Cell, grads: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Check the gradients from `bprop`: one per input, in the shape and dtype of the input."""
    grads = grads if isinstance(grads, tuple) else (grads,)
    if len(grads) < len(args):
        raise problem(
            RuntimeError,
            f"{type(cell).__name__}.bprop returned too few gradients",
            got=f"{len(grads)} gradients for {len(args)} inputs",
            expected="one for each input of construct",
        )
    return tuple([_fitted(cell, g, a) for g, a in zip(grads, args, strict=False)])


def _fitted(cell: Cell, grad: Any, arg: Any) -> Any:
    """A gradient reduced to the shape of the input and cast to its dtype."""
    if isinstance(arg, (tuple, list)) and isinstance(grad, (tuple, list)):
        return tuple([_fitted(cell, g, a) for g, a in zip(grad, arg, strict=True)])
    if not isinstance(arg, Tensor) or not isinstance(grad, Tensor):
        return grad
    if grad.shape != arg.shape:
        if not _is_broader(grad.shape, arg.shape):
            raise problem(
                RuntimeError,
                f"{type(cell).__name__}.bprop: a gradient does not have the shape of its input",
                got=f"shape {grad.shape} for an input of shape {arg.shape}",
                expected="the shape of the input, or one that the input broadcasts to",
            )
        grad = sum_to(grad, arg.shape)
    return grad if grad.dtype is arg.dtype else cast(grad, arg.dtype)


def _is_broader(shape: tuple[int, ...], small: tuple[int, ...]) -> bool:
    """Whether an array of shape `small` broadcasts to `shape`."""
    tail = shape[len(shape) - len(small) :] if small else ()
    return len(small) <= len(shape) and all(s in (1, t) for s, t in zip(small, tail, strict=True))


def _trace_construct(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    assert handlers.call is not None
    kind = _region_kind(cell)
    if kind is not None and handlers.enclosed is not None:
        output = handlers.enclosed(
            kind, lambda: call_user_function(cell.construct, *args, **kwargs)
        )
    else:
        output = handlers.call(cell.construct, args, kwargs)
    if not hasattr(cell, "bprop"):
        return output
    tracer = active_tracer()
    assert tracer is not None
    inputs = tensors_of(args)

    def backward(dout: Any, required: Any) -> list[Any]:
        assert handlers.call is not None
        grads = handlers.call(cell.bprop, (*args, output, dout), {})
        return tensors_of(_checked(cell, grads, args))

    return tracer.with_backward(inputs, output, backward, type(cell).__name__)


def _region_kind(cell: Cell) -> Any:
    """How a program groups the nodes of a cell: recomputed, a repeated block, or None."""
    flags = cell.get_flags()
    if flags.get("recompute"):
        return RECOMPUTE
    return BLOCK if flags.get("lazy_inline") and not is_marking() else None


def _fresh(value: Any) -> Any:
    """The same arrays in new tensors, which are not on the tape yet."""
    if isinstance(value, (tuple, list)):
        return tuple(_fresh(v) for v in value)
    return Tensor._wrap(value._data) if isinstance(value, Tensor) else value


def cast_floats(value: Any, dtype: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return type(value)(cast_floats(v, dtype) for v in value)
    if isinstance(value, Tensor) and value.dtype.is_float:
        return cast(value, dtype)
    return value
