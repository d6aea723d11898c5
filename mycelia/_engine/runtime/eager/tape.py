"""The tape: operator calls recorded for the backward pass.

One tape serves all nested gradients: each covers a range of its entries. Inner backward passes run
operator by operator, so that the outer gradient records them, too. The outermost backward pass is
compiled as a whole, once per structure of the tape (see `backward.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.ir.primitive import Primitive
from mycelia.tensor.tensor import Tensor

Nested = Any  # a leaf, None, or a tuple of those: the shape of an operator's argument


class ValueId:
    """The identity of one value on a tape. Tensors carry it, and tape entries refer to it."""

    __slots__ = ("hooks", "recording")

    def __init__(self, recording: Tape) -> None:
        self.recording = recording
        self.hooks: list[Callable[[Any], Any]] | None = None


@dataclass(slots=True)
class TapeEntry:
    """One recorded call: the operator (or a custom backward), its values, and their ids."""

    op: Primitive | None
    static: tuple[Any, ...]
    inputs: tuple[Nested, ...]  # arrays
    input_marks: tuple[Nested, ...]
    outputs: Nested
    output_marks: Nested
    backward: Callable[..., tuple[Any, ...]] | None = None


@dataclass(slots=True, eq=False)
class Tape:
    """The calls that depend on what is being differentiated, in the order they ran."""

    entries: list[TapeEntry] = field(default_factory=list)

    def mark(self) -> ValueId:
        return ValueId(self)

    def record(
        self,
        op: Primitive,
        static: tuple[Any, ...],
        args: tuple[Any, ...],
        arrays: tuple[Any, ...],
        result: Nested,
    ) -> None:
        """Record a call if one of its arguments is being differentiated."""
        marks = tuple([self.mark_of(a) for a in args])
        if not any(map(has_value_id, marks)):
            return
        output_marks = self._mark_outputs(result)
        self.entries.append(TapeEntry(op, static, arrays, marks, _data_of(result), output_marks))

    def record_custom(
        self, args: tuple[Any, ...], result: Nested, backward: Callable[..., tuple[Any, ...]]
    ) -> None:
        """Record a call whose backward is a Python function of the output gradients."""
        marks = tuple([self.mark_of(a) for a in args])
        if not any(map(has_value_id, marks)):
            return
        output_marks = self._mark_outputs(result)
        entry = TapeEntry(None, (), _data_of(args), marks, _data_of(result), output_marks, backward)
        self.entries.append(entry)

    def mark_of(self, value: Any) -> Nested:
        """The value id of a tensor (or tuple of tensors) if it belongs to this tape."""
        if isinstance(value, Tensor):
            mark = value._mark
            return mark if mark is not None and mark.recording is self else None
        if isinstance(value, (tuple, list)):
            return tuple([self.mark_of(v) for v in value])
        return None

    def _mark_outputs(self, result: Nested) -> Nested:
        if isinstance(result, tuple):
            return tuple([self._mark_outputs(r) for r in result])
        if not isinstance(result, Tensor):
            return None
        result._mark = self.mark()
        return result._mark

    def close(self) -> None:
        """Release all entries, so that tensors that outlive the tape keep nothing alive."""
        self.entries.clear()


def leaves(nested: Nested) -> list[Any]:
    """The leaves of a nested value in order, including None."""
    if isinstance(nested, tuple):
        return [leaf for part in nested for leaf in leaves(part)]
    return [nested]


def has_value_id(nested: Nested) -> bool:
    if isinstance(nested, tuple):
        return any(map(has_value_id, nested))
    return nested is not None


def _data_of(value: Any) -> Nested:
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, (tuple, list)):
        return tuple([_data_of(v) for v in value])
    return value
