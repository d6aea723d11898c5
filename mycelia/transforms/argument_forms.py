"""The kinds and forms of the arguments of compiled functions."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from mycelia.compiler.containers import maker_of
from mycelia.compiler.forms import Entries, Form, FunctionForm, Items, Known, NumberForm, TensorForm
from mycelia.compiler.reader.function import Function, capture
from mycelia.core.dtype import from_numpy
from mycelia.ir.types import TensorType
from mycelia.tensor.tensor import Tensor

_DYNAMIC = (int, float)


class TracedFunction:
    """A function that a compiled function returned."""

    def __init__(self, function: Function) -> None:
        self.function = function


def key_of(value: Any) -> Any:
    """What a program depends on in a value: types, structure, and what is not a number."""
    kind = type(value)
    if kind is Tensor:
        return value._data.dtype, tuple(value._data.shape)
    if kind in _DYNAMIC:
        return kind
    if kind is tuple or kind is list:
        return (kind, *[key_of(v) for v in value])
    if kind is dict or isinstance(value, dict):
        return (maker_of(value), *[(k, key_of(v)) for k, v in value.items()])
    if kind is deque:
        return (maker_of(value), *[key_of(v) for v in value])
    if isinstance(value, (set, frozenset)):
        return (kind, frozenset(map(key_of, value)))
    if isinstance(value, TracedFunction):
        return key_of(value.function)
    if kind is Function:
        return (id(value.definition), *[(k, key_of(v)) for k, v in capture(value).items()])
    if isinstance(value, (str, bool, type(None), bytes, complex)):
        return kind, value
    return kind, id(value)


def numbers_in(value: Any) -> list[Any]:
    """All plain numbers among the arguments, with their kinds."""
    kind = type(value)
    if kind in _DYNAMIC:
        return [(kind, value)]
    if kind in (tuple, list):
        return [n for v in value for n in numbers_in(v)]
    return [n for v in value.values() for n in numbers_in(v)] if kind is dict else []


def arguments_form(args: Any, kwargs: Any, values: bool) -> Items:
    """The form of the arguments of a call."""
    return Items(tuple, (form_of_arguments(args, values), form_of_arguments(kwargs, values)))


def first_of_each(leaves: Sequence[Any]) -> tuple[int, ...]:
    """For each leaf the first one that is the same tensor; () if all differ."""
    firsts: dict[int, int] = {}
    found = [
        firsts.setdefault(id(leaf), i) if isinstance(leaf, Tensor) else i
        for i, leaf in enumerate(leaves)
    ]
    return tuple(found) if any(first != i for i, first in enumerate(found)) else ()


def form_of_arguments(value: Any, values: bool) -> Form:
    """The form of arguments: tensors are leaves, and so are numbers, unless `values` are known."""
    kind = type(value)
    if kind is Tensor:
        return TensorForm(TensorType(from_numpy(value._data.dtype), value.shape))
    if kind in _DYNAMIC:
        return Known(value) if values else NumberForm(kind)
    if isinstance(value, (tuple, list, deque)):
        return Items(maker_of(value), tuple(form_of_arguments(v, values) for v in value))
    if isinstance(value, dict):
        forms = tuple(form_of_arguments(v, values) for v in value.values())
        return Entries(maker_of(value), tuple(value), forms)
    if kind is set:
        return Known(set(value))
    if isinstance(value, TracedFunction):
        return form_of_arguments(value.function, values)
    if kind is Function:
        held = capture(value)
        return FunctionForm(
            value, tuple(held), tuple(form_of_arguments(v, values) for v in held.values())
        )
    return Known(value)


def all_forms(form: Form) -> list[Form]:
    """A form and all forms inside of it."""
    inner = getattr(form, "forms", ())
    return [form, *[f for part in inner for f in all_forms(part)]]


def has_numbers(form: Form) -> bool:
    """Whether a form has numbers that may differ from call to call."""
    return any(isinstance(part, NumberForm) for part in all_forms(form))
