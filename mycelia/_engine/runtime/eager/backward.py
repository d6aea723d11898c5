"""The backward pass over an eager tape: from output gradients to the gradients of targets.

Consecutive plain operators become one compiled program, cached per structure; custom backward
functions and hooks run in Python between them. Inside another gradient, everything runs in Python,
so that the outer tape records each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby, islice
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.primitive import tagged
from mycelia._engine.runtime.distributed.multiprocess_jit import needs_other_processes
from mycelia._engine.runtime.eager.tape import Nested, TapeEntry, ValueId, has_value_id, leaves
from mycelia._engine.runtime.eager.thread_mode import inlined
from mycelia._engine.runtime.observers import observed
from mycelia._engine.runtime.uninterruptible import first_call
from mycelia._engine.runtime.xla.compile import (
    ProgramCache,
    compile,
    kinds_of,
    without_engine_frames,
)
from mycelia.ops.elementwise.arithmetic import add
from mycelia.ops.vjp import gradients
from mycelia.tensor.tensor import Tensor

Cotangents = dict[Any, Tensor]
_programs = ProgramCache()
MOST_ENTRIES = 512  # of one compiled run: XLA's compile time grows superlinearly


def backward_pass(
    entries: list[TapeEntry],
    seeds: list[tuple[ValueId, Tensor]],
    targets: list[ValueId],
    nested: bool,
) -> list[Tensor | None]:
    """Compute the gradients of `targets` from the output gradients `seeds`."""
    cotangents: Cotangents = {}
    for mark, seed in seeds:
        _accumulate(cotangents, mark, seed)
    chosen = _between(entries, targets, [mark for mark, _ in seeds])
    if nested:
        for entry in reversed(chosen):
            _pull(entry, cotangents)
    else:
        for in_python, run in groupby(reversed(chosen), _needs_python):
            if in_python:
                for entry in run:
                    _pull(entry, cotangents)
            else:
                for part in batched(run, MOST_ENTRIES):
                    _pull_compiled(part, cotangents)
    return [_hooked(mark, cotangents.get(mark)) for mark in targets]


def batched(items: Iterable[TapeEntry], size: int) -> Iterable[list[TapeEntry]]:
    """Split `items` into lists of at most `size`."""
    source = iter(items)
    while part := list(islice(source, size)):
        yield part


def _between(
    entries: list[TapeEntry], targets: list[ValueId], outputs: list[ValueId]
) -> list[TapeEntry]:
    """The tape entries on a path from a target to an output."""
    live = set(targets)
    forward = []
    for entry in entries:
        if any(m in live for m in _marks(entry.input_marks)):
            live.update(_marks(entry.output_marks))
            forward.append(entry)
    reached = set(outputs)
    chosen = []
    for entry in reversed(forward):
        if any(m in reached for m in _marks(entry.output_marks)):
            reached.update(m for m in _marks(entry.input_marks) if m in live)
            chosen.append(entry)
    chosen.reverse()
    return chosen


def _marks(nested: Nested) -> Iterable[ValueId]:
    return (m for m in leaves(nested) if m is not None)


def _needs_python(entry: TapeEntry) -> bool:
    if entry.backward is not None or needs_other_processes(entry.op):
        return True
    if entry.op is not None and entry.op.python_gradient:
        return True
    return any(m.hooks for m in _marks(entry.output_marks))


def _pull(entry: TapeEntry, cotangents: Cotangents) -> None:
    """Propagate the cotangents of one call from its outputs to its inputs."""
    if not any(mark in cotangents for mark in _marks(entry.output_marks)):
        return
    missing = entry.op is not None and entry.op.takes_missing_gradients
    dout = _gather(entry.output_marks, entry.outputs, cotangents, missing)
    if entry.backward is not None:
        grads = entry.backward(dout)
    else:
        assert entry.op is not None
        inputs = _tensors(entry.inputs, entry.input_marks)
        out = _tensors(entry.outputs, entry.output_marks)
        wanted = [has_value_id(mark) for mark in entry.input_marks]
        grads = gradients(entry.op, inputs, entry.static, out, dout, wanted)
    _scatter(entry, grads, cotangents)


def _scatter(entry: TapeEntry, grads: tuple[Any, ...], cotangents: Cotangents) -> None:
    if len(grads) < len(entry.input_marks):
        name = entry.op.name if entry.op is not None else "bprop"
        raise problem(
            RuntimeError,
            f"{name}: the backward function returned too few gradients",
            got=f"{len(grads)} for {len(entry.input_marks)} inputs",
            expected="one for each input",
        )
    for mark, grad in zip(entry.input_marks, grads, strict=False):
        _scatter_one(mark, grad, cotangents)


def _scatter_one(mark: Nested, grad: Any, cotangents: Cotangents) -> None:
    if isinstance(mark, tuple):
        for one, part in zip(mark, grad or (None,) * len(mark), strict=True):
            _scatter_one(one, part, cotangents)
    elif mark is not None and grad is not None:
        _accumulate(cotangents, mark, grad)


def _accumulate(cotangents: Cotangents, mark: Any, grad: Tensor) -> None:
    before = cotangents.get(mark)
    cotangents[mark] = grad if before is None else add(before, grad)


def _gather(marks: Nested, outputs: Nested, cotangents: Cotangents, missing: bool) -> Any:
    if isinstance(outputs, tuple):
        parts = marks if marks is not None else (None,) * len(outputs)
        pairs = zip(parts, outputs, strict=True)
        return tuple([_gather(m, o, cotangents, missing) for m, o in pairs])
    if not hasattr(outputs, "dtype"):
        return None
    found = cotangents.pop(marks, None) if marks is not None else None
    if found is None:
        return None if missing else Tensor._wrap(np.zeros(outputs.shape, outputs.dtype))
    return _hooked(marks, found)


def _hooked(mark: Any, grad: Tensor | None) -> Tensor | None:
    hooks = mark.hooks if isinstance(mark, ValueId) else None
    if hooks and grad is not None:
        for hook in hooks:
            changed = hook(grad)
            grad = grad if changed is None else changed
    return grad


def _tensors(arrays: Nested, marks: Nested) -> Any:
    if isinstance(arrays, tuple):
        parts = marks if marks is not None else (None,) * len(arrays)
        return tuple([_tensors(a, m) for a, m in zip(arrays, parts, strict=True)])
    if arrays is None:
        return None
    tensor = Tensor._wrap(arrays)
    if isinstance(marks, ValueId):
        tensor._mark = marks
    return tensor


def _pull_compiled(run: list[TapeEntry], cotangents: Cotangents) -> None:
    """Propagate cotangents through consecutive plain operators (last call first) in one program."""
    numbering = _StructuralKey()
    structure = tuple([numbering.describe(entry) for entry in run])
    given = [(numbering.mark(m), m) for m in list(cotangents) if m in numbering.marks]
    numbers = tuple([number for number, _ in given])
    seeds = [cotangents.pop(m)._data for _, m in given]
    key = (structure, numbers, kinds_of(numbering.arrays), kinds_of(seeds))
    program = _programs.use(key)
    is_new = program is None
    if program is None:
        statics = [entry.static for entry in run]
        program = compile(_program(structure, statics, numbers))
        _programs.keep(key, program)
    try:
        call = partial(first_call, program) if is_new else program
        found = observed("backward", call, (numbering.arrays, seeds))
    except Exception as error:
        raise without_engine_frames(error) from None
    names = {number: mark for mark, number in numbering.marks.items()}
    for number, array in found.items():
        _accumulate(cotangents, names[number], Tensor._wrap(array))


class _StructuralKey:
    """Numbers the arrays and value ids of a run, so that equal structures have equal keys."""

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.marks: dict[ValueId, int] = {}
        self._places: dict[int, int] = {}

    def describe(self, entry: TapeEntry) -> tuple[Any, ...]:
        return (
            entry.op,
            tagged(entry.static),
            self._nested(entry.inputs, self._place),
            self._nested(entry.input_marks, self.mark),
            self._nested(entry.outputs, self._place),
            self._nested(entry.output_marks, self.mark),
        )

    def mark(self, mark: ValueId) -> int:
        return self.marks.setdefault(mark, len(self.marks))

    def _place(self, array: Any) -> int:
        place = self._places.get(id(array))
        if place is None:
            place = self._places[id(array)] = len(self.arrays)
            self.arrays.append(array)
        return place

    def _nested(self, value: Nested, number: Callable[[Any], int]) -> Nested:
        if isinstance(value, tuple):
            return tuple([self._nested(v, number) for v in value])
        return None if value is None else number(value)


def _program(
    structure: tuple[Any, ...], statics: list[tuple[Any, ...]], given: tuple[int, ...]
) -> Callable[..., Any]:
    """The function to compile for one structure: from arrays and cotangents to cotangents."""

    def run(arrays: list[Any], gradients: list[Any]) -> dict[int, Any]:
        cotangents: Cotangents = {
            number: Tensor._wrap(g) for number, g in zip(given, gradients, strict=True)
        }
        with inlined():
            for static, described in zip(statics, structure, strict=True):
                op, _, inputs, input_marks, outputs, output_marks = described
                entry = TapeEntry(
                    op, static, _look_up(inputs, arrays), input_marks,
                    _look_up(outputs, arrays), output_marks,
                )  # fmt: skip
                _pull(entry, cotangents)
        return {number: grad._data for number, grad in cotangents.items()}

    run.__name__ = "backward"
    return run


def _look_up(places: Nested, arrays: list[Any]) -> Nested:
    if isinstance(places, tuple):
        return tuple([_look_up(p, arrays) for p in places])
    return None if places is None else arrays[places]
