"""Differentiation of an eager call: the base of every gradient transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.pending_checks import poll_checks
from mycelia._engine.core.tracebacks import mark_call
from mycelia._engine.runtime.eager.backward import backward_pass
from mycelia._engine.runtime.eager.tape import Tape, ValueId
from mycelia._engine.runtime.eager.thread_mode import recording_on_tape, thread_mode
from mycelia.ops.shapes.reshape import Reshape
from mycelia.tensor.nested import leaves_of, mapped
from mycelia.tensor.tensor import Tensor

_ALIAS = Reshape.of()


@dataclass(frozen=True)
class _GradientTarget:
    """A tensor whose gradient is requested."""

    mark: Any
    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Pullback:
    """The result of a differentiable call, and its pullback."""

    value: Any
    recording: Tape
    start: int
    nested: bool
    inputs: tuple[Any, ...]  # the differentiated arguments, with targets instead of tensors
    weights: tuple[Tensor, ...]
    weight_marks: tuple[ValueId, ...]
    result_marks: dict[int, ValueId | None]  # of the weights, by identity, at the end of the call

    def pull(self, seeds: list[tuple[Tensor, Tensor]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The gradients of inputs and weights for these output gradients."""
        marked = [(self._mark_of_output(out), seed) for out, seed in seeds]
        live = [(mark, seed) for mark, seed in marked if mark is not None]
        flat = [leaf for leaf in leaves_of(self.inputs) if leaf is not None]
        targets = [target.mark for target in flat] + list(self.weight_marks)
        entries = self.recording.entries[self.start :]
        back = thread_mode.back()
        try:
            with recording_on_tape(self.recording if self.nested else None):
                found = backward_pass(entries, live, targets, self.nested)
        finally:
            back()
        grads = [_or_zeros(g, t) for g, t in zip(found, [*flat, *self.weights], strict=True)]
        rest = iter(grads[: len(flat)])
        by_input = mapped(lambda leaf: () if leaf is None else next(rest), self.inputs)
        return by_input, tuple(grads[len(flat) :])

    def _mark_of_output(self, out: Tensor) -> ValueId | None:
        """The value id of a result; a result that is itself a weight had its id during the call."""
        if id(out) in self.result_marks:
            return self.result_marks[id(out)]
        return _mark(out, self.recording)

    def close(self) -> None:
        if not self.nested:
            self.recording.close()


def record_call(
    fn: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    positions: Sequence[int],
    weights: Sequence[Tensor] = (),
) -> Pullback:
    """Call `fn` and record on a tape how its result depends on `positions` and `weights`."""
    outer = thread_mode.recording
    if outer is None:
        poll_checks()  # a training step starts
    recording = outer if outer is not None else Tape()
    start = len(recording.entries)
    watched = {p: mapped(lambda leaf: _watch(leaf, recording), args[p]) for p in positions}
    inputs = tuple(mapped(_target, watched[p]) for p in positions)
    marks_before = [w._mark for w in weights]
    weight_marks = tuple(_mark(w, recording) or recording.mark() for w in weights)
    for weight, mark in zip(weights, weight_marks, strict=True):
        mark.hooks = weight.__dict__.get("hooks")
        weight._mark = mark
    back = thread_mode.back()
    try:
        with recording_on_tape(recording):
            value = fn(*[watched.get(i, a) for i, a in enumerate(args)], **kwargs)
        result_marks = {id(w): _mark(w, recording) for w in weights}
    except TypeError as error:
        mark_call(error)
        raise
    finally:
        back()
        for weight, mark in zip(weights, marks_before, strict=True):
            weight._mark = mark
    nested = outer is not None
    return Pullback(
        value, recording, start, nested, inputs, tuple(weights), weight_marks, result_marks
    )


def ones_like(tensor: Tensor) -> Tensor:
    return Tensor._wrap(np.ones(tensor.shape, tensor.dtype.numpy))


def _watch(value: Any, recording: Tape) -> Any:
    """A copy of a tensor with a separate value id, so that nested gradients do not mix."""
    if not isinstance(value, Tensor):
        return value
    alias = Tensor._wrap(value._data)
    if _mark(value, recording) is not None:
        recording.record(_ALIAS, (value.shape,), (value,), (value._data,), alias)
    if alias._mark is None:
        alias._mark = recording.mark()
        alias._mark.hooks = value.__dict__.get("hooks")
    return alias


def _mark(value: Tensor, recording: Tape) -> ValueId | None:
    mark = recording.mark_of(value)
    return mark if isinstance(mark, ValueId) else None


def _target(leaf: Any) -> _GradientTarget | None:
    """The gradient target of a watched leaf, regardless of writes to it during the call."""
    if not isinstance(leaf, Tensor):
        return None
    return _GradientTarget(leaf._mark, leaf.shape, leaf.dtype)


def _or_zeros(grad: Tensor | None, like: Any) -> Tensor:
    return grad if grad is not None else Tensor._wrap(np.zeros(like.shape, like.dtype.numpy))
