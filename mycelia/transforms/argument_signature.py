"""Signatures of the arguments of compiled functions: cache keys and structures."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Sequence
from typing import Any

from mycelia._engine.compiler.frontend.containers import CONTAINERS, maker_of
from mycelia._engine.compiler.frontend.interpreter.user_function import UserFunction, capture
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    FunctionStructure,
    MappingStructure,
    NumberStructure,
    SequenceStructure,
    Structure,
    TensorStructure,
)
from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.tensor import Tensor


class MutableInt(int):
    """An int that stands for every int in `set_inputs`."""


class MutableFloat(float):
    """A float that stands for every float in `set_inputs`."""


_KINDS: dict[type, type] = {int: int, float: float, MutableInt: int, MutableFloat: float}
_SEQUENCES = (tuple, list, deque)


class ReturnedFunction:
    """A function that a compiled function returned."""

    def __init__(self, function: UserFunction) -> None:
        self.function = function


def key_of(value: Any, known: Container[int] = ()) -> Any:
    """The cache key of a value: types, structure, static values, and which objects are identical.

    Tensors and containers whose identities are in `known` are keyed by identity only.
    """
    objects: list[int] = []
    key = _key(value, known, objects)
    if len(objects) < 2 or len(set(objects)) == len(objects):
        return key
    return key, tuple([objects.index(identity) for identity in objects])


def _key(value: Any, known: Container[int], objects: list[int]) -> Any:
    """The key of a value; appends the identities of its tensors and containers to `objects`."""
    kind = type(value)
    if kind is Tensor:
        objects.append(id(value))
        if known and id(value) in known:
            return kind, id(value)
        return value._data.dtype, tuple(value._data.shape)
    if kind in _KINDS:
        return _KINDS[kind]
    if kind is tuple:
        return (kind, *[_key(v, known, objects) for v in value])
    if isinstance(value, CONTAINERS):
        objects.append(id(value))
        if known and id(value) in known:
            return kind, id(value)
        if isinstance(value, dict):
            pairs = [(k, _key(v, known, objects)) for k, v in value.items()]
            return (maker_of(value), *pairs)
        if isinstance(value, set):
            return (kind, frozenset((type(v), v) for v in value))
        return (maker_of(value), *[_key(v, known, objects) for v in value])
    if isinstance(value, ReturnedFunction):
        return _key(value.function, known, objects)
    if kind is UserFunction:
        held = capture(value).items()
        return (id(value.definition), *[(k, _key(v, known, objects)) for k, v in held])
    if isinstance(value, (str, bool, type(None), bytes, complex)):
        return kind, value
    return kind, id(value)


def numbers_in(value: Any) -> list[Any]:
    """All Python numbers among the arguments, with their types."""
    kind = type(value)
    if kind in _KINDS:
        return [(_KINDS[kind], value)]
    if kind in (tuple, list):
        return [n for v in value for n in numbers_in(v)]
    return [n for v in value.values() for n in numbers_in(v)] if kind is dict else []


def call_structure(
    args: Any, kwargs: Any, values: bool, known: Container[int] = ()
) -> SequenceStructure:
    """The structure of the arguments of a call."""
    return SequenceStructure(tuple, _forms((args, kwargs), values, known))


def first_of_each(objects: Sequence[Any]) -> tuple[int, ...]:
    """For each object, the index of its first occurrence; () if all differ.

    Numbers always count as different.
    """
    firsts: dict[int, int] = {}
    found = [
        firsts.setdefault(id(one), i) if isinstance(one, (Tensor, *CONTAINERS)) else i
        for i, one in enumerate(objects)
    ]
    return tuple(found) if any(first != i for i, first in enumerate(found)) else ()


def argument_structure(value: Any, values: bool, known: Container[int] = ()) -> Structure:
    """The structure of arguments: tensors are leaves; numbers are, too, unless `values` is set.

    Tensors and containers whose identities are in `known` are compile-time constants.
    """
    kind = type(value)
    if known and id(value) in known:
        return ConstantStructure(value)
    if kind is Tensor:
        return TensorStructure(TensorType(from_numpy(value._data.dtype), value.shape))
    if kind in _KINDS:
        return ConstantStructure(value) if values else NumberStructure(_KINDS[kind])
    if isinstance(value, (tuple, list, deque)):
        return SequenceStructure(maker_of(value), _forms(value, values, known))
    if isinstance(value, dict):
        return MappingStructure(
            maker_of(value), tuple(value), _forms(value.values(), values, known)
        )
    if kind is set:
        return ConstantStructure(set(value))
    if isinstance(value, ReturnedFunction):
        return argument_structure(value.function, values, known)
    if kind is UserFunction:
        held = capture(value)
        return FunctionStructure(value, tuple(held), _forms(held.values(), values, known))
    return ConstantStructure(value)


def _forms(parts: Iterable[Any], values: bool, known: Container[int]) -> tuple[Structure, ...]:
    return tuple([argument_structure(part, values, known) for part in parts])


def all_forms(form: Structure) -> list[Structure]:
    """A structure and all structures nested in it."""
    inner = getattr(form, "forms", ())
    return [form, *[f for part in inner for f in all_forms(part)]]


def has_numbers(form: Structure) -> bool:
    """Whether a structure has numbers that may differ from call to call."""
    return any(isinstance(part, NumberStructure) for part in all_forms(form))
