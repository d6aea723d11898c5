"""Calling a function and differentiating what it did: the base of every gradient transform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.ops.shaping import Reshape
from mycelia.runtime.eager.mode import mode, recording_into
from mycelia.runtime.eager.sweep import sweep
from mycelia.runtime.eager.tape import Mark, Recording
from mycelia.tensor.tensor import Tensor

_ALIAS = Reshape.of()


@dataclass(frozen=True)
class Pullback:
    """The result of a differentiable call, and the way back from it."""

    value: Any
    recording: Recording
    start: int
    nested: bool
    inputs: tuple[Any, ...]  # the watched copies of the differentiated arguments
    weights: tuple[Tensor, ...]
    weight_marks: tuple[Mark, ...]

    def pull(self, seeds: list[tuple[Tensor, Tensor]]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The gradients of inputs and weights for the given gradients of outputs."""
        marked = [(_mark(out, self.recording), seed) for out, seed in seeds]
        live = [(mark, seed) for mark, seed in marked if mark is not None]
        flat = [t for argument in self.inputs for t in _tensors_in(argument)]
        targets = [t._mark for t in flat] + list(self.weight_marks)
        entries = self.recording.entries[self.start :]
        with recording_into(self.recording if self.nested else None):
            found = sweep(entries, live, targets, self.nested)
        grads = [_or_zeros(g, t) for g, t in zip(found, [*flat, *self.weights], strict=True)]
        rest = iter(grads[: len(flat)])
        return (
            tuple(_rebuild(argument, rest) for argument in self.inputs),
            tuple(grads[len(flat) :]),
        )

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
    """Call `fn` while recording how its result depends on `positions` and `weights`."""
    outer = mode.recording
    recording = outer if outer is not None else Recording()
    start = len(recording.entries)
    watched = {p: _watch(args[p], recording) for p in positions}
    marks_before = [w._mark for w in weights]
    weight_marks = tuple(_mark(w, recording) or recording.mark() for w in weights)
    for weight, mark in zip(weights, weight_marks, strict=True):
        mark.hooks = weight.__dict__.get("hooks")
        weight._mark = mark
    try:
        with recording_into(recording):
            value = fn(*[watched.get(i, a) for i, a in enumerate(args)], **kwargs)
    finally:
        for weight, mark in zip(weights, marks_before, strict=True):
            weight._mark = mark
    inputs = tuple(watched[p] for p in positions)
    return Pullback(
        value, recording, start, outer is not None, inputs, tuple(weights), weight_marks
    )


def tensors_of(value: Any) -> list[Tensor]:
    """All tensors in a result, in order, through tuples, lists and dicts."""
    if isinstance(value, dict):
        return [t for v in value.values() for t in tensors_of(v)]
    return _tensors_in(value)


def ones_like(tensor: Tensor) -> Tensor:
    return Tensor._wrap(np.ones(tensor.shape, tensor.dtype.numpy))


def _watch(value: Any, recording: Recording) -> Any:
    """A copy of a tensor with an identity of its own, so that nested gradients do not mix."""
    if isinstance(value, (tuple, list)):
        return type(value)(_watch(v, recording) for v in value)
    if not isinstance(value, Tensor):
        return value
    alias = Tensor._wrap(value._data)
    if _mark(value, recording) is not None:
        recording.record(_ALIAS, (value.shape,), (value,), (value._data,), alias)
    if alias._mark is None:
        alias._mark = recording.mark()
    return alias


def _mark(value: Tensor, recording: Recording) -> Mark | None:
    mark = recording.mark_of(value)
    return mark if isinstance(mark, Mark) else None


def _tensors_in(value: Any) -> list[Tensor]:
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors_in(v)]
    return [value] if isinstance(value, Tensor) else []


def _rebuild(argument: Any, grads: Any) -> Any:
    if isinstance(argument, (tuple, list)):
        return tuple(_rebuild(a, grads) for a in argument)
    return next(grads) if isinstance(argument, Tensor) else ()


def _or_zeros(grad: Tensor | None, like: Tensor) -> Tensor:
    return grad if grad is not None else Tensor._wrap(np.zeros(like.shape, like.dtype.numpy))
