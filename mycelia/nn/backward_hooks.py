"""Backward hooks of cells: two identity operators around a cell intercept its gradients.

The one at the outputs runs first in the backward pass and receives the gradients of the outputs;
the one at the inputs receives both. In graph mode, the hooks become part of the program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mycelia._engine.compiler.autodiff.reverse_mode import zeros_of
from mycelia._engine.compiler.frontend.tracer import Tracer, active_tracer
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.tensor_protocol import type_of
from mycelia._engine.runtime.eager.tape import Tape
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia.tensor.nested import mapped, tensors_of
from mycelia.tensor.tensor import Tensor

if TYPE_CHECKING:
    from mycelia.nn.cell import Cell

Gradients = tuple[Any, ...]


def run_hooked(cell: Cell, args: tuple[Any, ...], run: Callable[[tuple[Any, ...]], Any]) -> Any:
    """Call `run` on the arguments, with the backward hooks of the cell around it."""
    tracer, recording = active_tracer(), thread_mode.recording
    if tracer is not None:
        return _run_traced(tracer, cell, args, run)
    return run(args) if recording is None else _run_recorded(recording, cell, args, run)


class _BackwardHookCalls:
    """The hooks of a cell, called in one backward pass."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.grad_output: Gradients = ()

    def at_output(self, grads: Gradients, inputs: int, any_required: bool) -> Gradients:
        """Process the gradients of the outputs; if no input needs gradients, all hooks run here."""
        for hook, _ in self.cell.hooks.backward_pre:
            grads = self._changed(
                "backward_pre_hook", call_user_function(hook, self.cell, grads), grads
            )
        self.grad_output = grads
        if not any_required:
            for hook, _ in self.cell.hooks.backward:
                call_user_function(hook, self.cell, (None,) * inputs, grads)
        return grads

    def at_input(self, grads: Gradients) -> Gradients:
        """Process the gradients of the inputs; None means that a gradient is not needed."""
        for hook, _ in self.cell.hooks.backward:
            result = call_user_function(hook, self.cell, grads, self.grad_output)
            grads = self._changed("backward_hook", result, grads)
        return grads

    def _changed(self, kind: str, result: Any, grads: Gradients) -> Gradients:
        if result is None:
            return grads
        changed = result if isinstance(result, tuple) else (result,)
        if len(changed) != len(grads):
            raise problem(
                TypeError,
                f"{type(self.cell).__name__}: a {kind} returned the wrong number of gradients",
                got=str(len(changed)),
                expected=f"{len(grads)}, or None to keep them",
            )
        return changed


def _run_recorded(
    recording: Tape,
    cell: Cell,
    args: tuple[Any, ...],
    run: Callable[[tuple[Any, ...]], Any],
) -> Any:
    calls = _BackwardHookCalls(cell)
    inputs = tensors_of(args)
    required = [recording.mark_of(tensor) is not None for tensor in inputs]

    def at_input(dout: Any) -> Gradients:
        pairs = zip(dout, required, strict=True)
        return calls.at_input(tuple([d if needed else None for d, needed in pairs]))

    def at_output(dout: Any) -> Gradients:
        return calls.at_output(dout, len(inputs), any(required))

    fresh = tuple([_alias(t) if r else t for t, r in zip(inputs, required, strict=True)])
    recording.record_custom(tuple(inputs), fresh, at_input)
    output = run(_with_tensors(args, fresh))
    parts = tuple(tensors_of(output))
    outer = tuple([_alias(part) for part in parts])
    recording.record_custom(parts, outer, at_output)
    return _with_tensors(output, outer)


def _run_traced(
    tracer: Tracer,
    cell: Cell,
    args: tuple[Any, ...],
    run: Callable[[tuple[Any, ...]], Any],
) -> Any:
    calls = _BackwardHookCalls(cell)
    inputs = tensors_of(args)

    def at_input(dout: Any, required: Sequence[bool]) -> Gradients:
        triples = zip(dout or (None,) * len(inputs), inputs, required, strict=False)
        return calls.at_input(tuple([_filled(d, t) if r else None for d, t, r in triples]))

    def at_output(dout: Any, required: Sequence[bool]) -> Gradients:
        pairs = zip(dout, parts, strict=True)
        grads = tuple([_filled(d, part) for d, part in pairs])
        changed = calls.at_output(grads, len(inputs), any(required[: len(inputs)]))
        return (*((None,) * len(inputs)), *changed)

    title = type(cell).__name__
    fresh = tracer.with_backward(inputs, tuple(inputs), at_input, title) if inputs else ()
    output = run(_with_tensors(args, fresh))
    parts = tensors_of(output)
    outer = tracer.with_backward([*fresh, *parts], tuple(parts), at_output, title)
    return _with_tensors(output, outer)


def _filled(grad: Any, like: Tensor) -> Any:
    return zeros_of(type_of(like)) if grad is None else grad


def _alias(tensor: Tensor) -> Tensor:
    """The same array in a new tensor, which is not on the tape yet."""
    return Tensor._wrap(tensor._data)


def _with_tensors(value: Any, tensors: Sequence[Tensor]) -> Any:
    """A structure with its tensors replaced."""
    rest = iter(tensors)
    return mapped(lambda leaf: next(rest) if isinstance(leaf, Tensor) else leaf, value)
