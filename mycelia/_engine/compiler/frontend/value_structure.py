"""Structures of values: what the values of different paths or iterations have in common.

A structure has leaves, the tensors and numbers that may differ. It flattens a value to its leaves
and rebuilds a value from new leaves, like a pytree.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.containers import maker_of, makes_objects
from mycelia._engine.compiler.frontend.graph_builder import StaleNode, type_of_array
from mycelia._engine.compiler.frontend.interpreter.user_function import (
    UserFunction,
    capture,
    defaults_of,
    lives_on,
    recapture,
)
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import (
    DTYPE_OF,
    SymbolicNumber,
    convert,
    is_number,
    kind_of,
    wider,
)
from mycelia._engine.core.dtype import promote_number
from mycelia._engine.ir.node import GraphConstant, GraphNode
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.promotion import to_dtype
from mycelia.tensor.tensor import Tensor

_SEQUENCES = (tuple, list, deque)
Target = TensorType | type  # the type of a tensor leaf, or the kind of a number leaf


@dataclass(frozen=True, eq=False)
class MaybeUnbound:
    """A variable that only some paths assigned: its value, and whether it is bound."""

    name: str
    value: Any
    bound: Any  # a constant or symbolic bool


@dataclass(frozen=True)
class SymbolicChoice:
    """One of several functions or objects, chosen by an index at run time."""

    index: SymbolicNumber
    options: tuple[Any, ...]


class Structure:
    """The base class: a structure without leaves."""

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        """The leaves of `value`, each with its target type."""
        return []

    def build(self, nodes: Iterator[Any]) -> Any:
        """Rebuild a value of this structure from `nodes` (or arrays or tensors), one per leaf."""
        raise NotImplementedError


@dataclass(frozen=True)
class ConstantStructure(Structure):
    """A constant."""

    value: Any

    def build(self, nodes: Iterator[Any]) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantStructure) and is_same_value(
            self.value, other.value, of_tensors=_same_data
        )


@dataclass(frozen=True)
class TensorStructure(Structure):
    """A tensor of one type."""

    type: TensorType

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        return [(value, self.type)]

    def build(self, nodes: Iterator[Any]) -> Any:
        node = next(nodes)
        return node if isinstance(node, Tensor) else Tensor._wrap(node)


@dataclass(frozen=True)
class NumberStructure(Structure):
    """A Python number of one kind."""

    kind: type

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        return [(value, self.kind)]

    def build(self, nodes: Iterator[Any]) -> Any:
        node = next(nodes)
        return SymbolicNumber.of(node._data if isinstance(node, Tensor) else node, self.kind)


@dataclass(frozen=True)
class SequenceStructure(Structure):
    """A tuple, list, or deque of a fixed length."""

    kind: Any
    forms: tuple[Structure, ...]

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        parts = value if value is not MISSING else [MISSING] * len(self.forms)
        pairs = zip(self.forms, parts, strict=True)
        return [leaf for form, part in pairs for leaf in form.leaves(part)]

    def build(self, nodes: Iterator[Any]) -> Any:
        parts = [form.build(nodes) for form in self.forms]
        if hasattr(self.kind, "_fields"):
            return self.kind(*parts)
        return self.kind(parts)


@dataclass(frozen=True)
class MappingStructure(Structure):
    """A dict with fixed keys, or an object with fixed attributes."""

    kind: Any
    keys: tuple[Any, ...]
    forms: tuple[Structure, ...]

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        found = entries_of(value) if value is not MISSING else dict.fromkeys(self.keys, MISSING)
        pairs = zip(self.keys, self.forms, strict=True)
        return [leaf for key, form in pairs for leaf in form.leaves(found[key])]

    def build(self, nodes: Iterator[Any]) -> Any:
        parts = {k: f.build(nodes) for k, f in zip(self.keys, self.forms, strict=True)}
        if not makes_objects(self.kind):
            return self.kind(parts)
        made = object.__new__(self.kind)
        made.__dict__.update(parts)
        return made


@dataclass(frozen=True)
class FunctionStructure(Structure):
    """A function with a fixed definition, and the structures of its captured variables."""

    template: UserFunction
    names: tuple[str, ...]
    forms: tuple[Structure, ...]

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        held = dict.fromkeys(self.names, MISSING) if value is MISSING else capture(value)
        pairs = zip(self.names, self.forms, strict=True)
        return [leaf for name, form in pairs for leaf in form.leaves(held.get(name, MISSING))]

    def build(self, nodes: Iterator[Any]) -> Any:
        pairs = zip(self.names, self.forms, strict=True)
        return recapture(self.template, {name: form.build(nodes) for name, form in pairs})

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, FunctionStructure)
            and self.template.definition is other.template.definition
            and (self.names, self.forms) == (other.names, other.forms)
        )

    def __hash__(self) -> int:
        return hash((id(self.template.definition), self.names))


@dataclass(frozen=True)
class ChoiceStructure(Structure):
    """One of several options with different structures."""

    forms: tuple[Structure, ...]

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        placed = ChoiceMember(0, {}) if value is MISSING else value
        found: list[tuple[Any, Target]] = [(placed, int)]
        for number, form in enumerate(self.forms):
            found += form.leaves(placed.held.get(number, MISSING))
        return found

    def build(self, nodes: Iterator[Any]) -> Any:
        index = SymbolicNumber.of(next(nodes), int)
        return SymbolicChoice(index, tuple(form.build(nodes) for form in self.forms))


@dataclass(frozen=True)
class MaybeUnboundStructure(Structure):
    """A variable that may have no value."""

    name: str
    form: Structure

    def leaves(self, value: Any) -> list[tuple[Any, Target]]:
        if isinstance(value, MaybeUnbound):
            return [(value.bound, bool), *self.form.leaves(value.value)]
        return [(value is not MISSING, bool), *self.form.leaves(value)]

    def build(self, nodes: Iterator[Any]) -> Any:
        bound = NumberStructure(bool).build(nodes)
        return MaybeUnbound(self.name, self.form.build(nodes), bound)


@dataclass(frozen=True)
class ChoiceMember:
    """A value as a member of a choice: the index of its option, and values for the options."""

    place: Any  # a constant or symbolic index
    held: dict[int, Any]
    start: int = 0  # to be added to `place`


def leaf_data(value: Any, target: Target) -> Any:
    """The array or node of a leaf; conversions are added to the current graph."""
    if isinstance(value, ChoiceMember):
        value = value.place + value.start
    if isinstance(target, type):
        return convert(0 if value is MISSING else value, target)._data
    if value is MISSING:
        return np.zeros(target.shape, target.dtype.numpy)
    if is_number(value):
        tensor = value.strong if isinstance(value, SymbolicNumber) else value
        return to_dtype(tensor, target.dtype)._data
    return value._data


def placeholder_of(form: Structure) -> Any:
    """Some value of this structure, for joining it with others."""
    targets = [target for _, target in form.leaves(MISSING)]
    return form.build(iter([GraphConstant(None, type=leaf_type(t)) for t in targets]))


def leaf_type(target: Target) -> TensorType:
    """The type of the node of a leaf."""
    return TensorType(DTYPE_OF[target], ()) if isinstance(target, type) else target


def extend_structure(form: Structure, value: Any) -> Structure:
    """Widen `form` to hold `value`, too."""
    return join_structures(
        form.value if isinstance(form, ConstantStructure) else placeholder_of(form), value
    )


def output_structure_of(
    value: Any, is_outer: Callable[[Any], bool], is_leaf: Callable[[Tensor], bool]
) -> Structure:
    """The structure of a value that leaves a program; `is_leaf` selects the program's outputs."""
    return _general(value, is_leaf, widen_numbers=False, is_outer=is_outer)


def structure_of(value: Any, is_outer: Callable[[Any], bool] | None = None) -> Structure:
    """The structure of a value: symbolic values are leaves, everything else is constant.

    Containers and objects for which `is_outer` holds are constants, regardless of their contents.
    """
    return _general(value, _is_unknown, widen_numbers=False, is_outer=is_outer)


def widest_structure_of(value: Any) -> Structure:
    """The structure of a value with all its tensors and numbers as leaves."""
    return _general(value, lambda leaf: True, widen_numbers=True)


def persistent_structure_of(function: UserFunction) -> Structure:
    """The structure of a function whose frames are shared: only its defaults are captured."""
    return _function_form(
        function, defaults_of(function), lambda leaf: isinstance(leaf._data, GraphNode)
    )


def join_structures(first: Any, second: Any) -> Structure:
    """The structure that holds both values."""
    first, second = _usable(first), _usable(second)
    if is_same_value(first, second):
        return ConstantStructure(first)
    if isinstance(first, MaybeUnbound) or isinstance(second, MaybeUnbound):
        return _join_maybe(first, second)
    if first is MISSING or second is MISSING:
        value = second if first is MISSING else first
        is_lasting = isinstance(value, UserFunction) and lives_on(value)
        return persistent_structure_of(value) if is_lasting else widest_structure_of(value)
    for value in (first, second):
        if isinstance(value, PathConflict):
            return ConstantStructure(value)
    if is_number(first) and is_number(second):
        return NumberStructure(wider(kind_of(first), kind_of(second)))
    if isinstance(first, Tensor) or isinstance(second, Tensor):
        return _join_tensors(first, second)
    if isinstance(first, _SEQUENCES) and type(first) is type(second):
        return _join_sequences(first, second)
    if _has_entries(first) and type(first) is type(second):
        return _join_mappings(first, second)
    if isinstance(first, UserFunction) and isinstance(second, UserFunction):
        joined = _join_functions(first, second)
        if joined is not None:
            return joined
    return _conflict(f"paths have two different values: {_show(first)} and {_show(second)}")


def _join_maybe(first: Any, second: Any) -> Structure:
    name = next(v.name for v in (first, second) if isinstance(v, MaybeUnbound))
    inner = [v.value if isinstance(v, MaybeUnbound) else v for v in (first, second)]
    form = join_structures(*inner)
    if isinstance(form, ConstantStructure) and isinstance(form.value, PathConflict):
        return form
    return MaybeUnboundStructure(name, form)


def may_be_chosen(value: Any) -> bool:
    """Whether a value can be an option of a runtime choice."""
    return isinstance(value, SymbolicChoice) or (callable(value) and not isinstance(value, Tensor))


def is_same_value(
    first: Any, second: Any, *, of_tensors: Callable[[Any, Any], bool] = operator.is_
) -> bool:
    """Whether two values are the same object, or equal constants."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, SymbolicNumber):
        return first._data is second._data
    if isinstance(first, Tensor):
        return of_tensors(first, second)
    if isinstance(first, (int, str, bytes, complex)):
        return first == second
    if isinstance(first, float):
        return first.hex() == second.hex()
    if isinstance(first, _SEQUENCES):
        pairs = zip(first, second, strict=False)
        return len(first) == len(second) and all(
            is_same_value(a, b, of_tensors=of_tensors) for a, b in pairs
        )
    if isinstance(first, dict):
        return list(first) == list(second) and all(
            is_same_value(first[k], second[k], of_tensors=of_tensors) for k in first
        )
    if isinstance(first, UserFunction):
        is_alike = first.definition is second.definition and first.frame is second.frame
        return is_alike and is_same_value(
            (first.defaults, first.keyword_defaults),
            (second.defaults, second.keyword_defaults),
            of_tensors=of_tensors,
        )
    if isinstance(first, (range, slice, set, frozenset, PathConflict)):
        return bool(first == second)
    return False


def _same_data(first: Tensor, second: Tensor) -> bool:
    return first._data is second._data


def _usable(value: Any) -> Any:
    """`value`, or the conflict that makes it unusable."""
    if isinstance(value, Tensor) and type(value._data) is StaleNode:
        return value._data.conflict
    return value


def version_structure(form: Structure, values: Sequence[Any]) -> Structure:
    """The structure of versions of one tensor: a constant if all are the same."""
    datas = [getattr(value, "_data", None) for value in values]
    is_one = isinstance(values[0], Tensor) and all(data is datas[0] for data in datas)
    return ConstantStructure(values[0]) if is_one else form


def containers_in(form: Structure, value: Any) -> list[Any]:
    """The containers in a value of this structure, in a fixed order."""
    if isinstance(form, MaybeUnboundStructure):
        return containers_in(form.form, value.value if isinstance(value, MaybeUnbound) else value)
    if isinstance(form, SequenceStructure):
        inner = value if value is not MISSING else [MISSING] * len(form.forms)
        is_tuple = isinstance(form.kind, type) and issubclass(form.kind, tuple)
        own = [] if is_tuple else [value]
    elif isinstance(form, MappingStructure):
        found = entries_of(value) if value is not MISSING else dict.fromkeys(form.keys, MISSING)
        inner, own = [found[key] for key in form.keys], [found if value is not MISSING else value]
    else:
        return []
    parts = zip(form.forms, inner, strict=True)
    return [*own, *[c for part, held in parts for c in containers_in(part, held)]]


def _join_tensors(first: Any, second: Any) -> Structure:
    if is_number(first) or is_number(second):
        number, tensor = (first, second) if is_number(first) else (second, first)
        if not isinstance(tensor, Tensor):
            return _conflict(f"paths have a number and {_show(tensor)}")
        type_ = type_of_array(tensor._data)
        if type_.shape or promote_number(type_.dtype, kind_of(number)) is not type_.dtype:
            return _conflict(f"paths have the number {_show(number)} and a tensor {type_}")
        return TensorStructure(type_)
    if not (isinstance(first, Tensor) and isinstance(second, Tensor)):
        return _conflict(f"{_show(first)} meets {_show(second)}")
    one, other = type_of_array(first._data), type_of_array(second._data)
    if one != other:
        what = "dtypes" if one.shape == other.shape else "shapes"
        return _conflict(f"the {what} differ: {one} and {other}")
    return TensorStructure(one)


def _join_sequences(first: Any, second: Any) -> Structure:
    if len(first) != len(second):
        return _conflict(f"the lengths differ: {len(first)} and {len(second)}")
    return SequenceStructure(
        maker_of(first), tuple(join_structures(a, b) for a, b in zip(first, second, strict=True))
    )


def _join_mappings(first: Any, second: Any) -> Structure:
    one, other = entries_of(first), entries_of(second)
    if list(one) != list(other) and (one.keys() != other.keys() or isinstance(first, dict)):
        is_order = one.keys() == other.keys()
        return _conflict("the order of the keys differs" if is_order else "the keys differ")
    return MappingStructure(
        maker_of(first), tuple(one), tuple(join_structures(one[k], other[k]) for k in one)
    )


def _join_functions(first: UserFunction, second: UserFunction) -> Structure | None:
    if first.definition is not second.definition:
        return None
    held = defaults_of if first.frame is second.frame else capture
    one, other = held(first), held(second)
    names = tuple(dict.fromkeys([*one, *other]))
    forms = tuple(join_structures(one.get(n, MISSING), other.get(n, MISSING)) for n in names)
    return FunctionStructure(first, names, forms)


def _general(
    value: Any,
    is_leaf: Any,
    widen_numbers: bool,
    within: tuple[UserFunction, ...] = (),
    is_outer: Callable[[Any], bool] | None = None,
) -> Structure:
    """The structure of a value; the functions `within`, which contain it, are constants."""
    if isinstance(value, SymbolicNumber):
        return NumberStructure(value.kind)
    if isinstance(value, Tensor):
        return (
            TensorStructure(type_of_array(value._data))
            if is_leaf(value)
            else ConstantStructure(value)
        )
    if widen_numbers and is_number(value):
        return NumberStructure(kind_of(value))
    if isinstance(value, UserFunction) and all(value is not one for one in within):
        return _function_form(value, capture(value), is_leaf, within)
    has_entries = _has_entries(value)
    if not has_entries and not isinstance(value, _SEQUENCES):
        return ConstantStructure(value)
    if is_outer is not None and not isinstance(value, tuple) and is_outer(value):
        return ConstantStructure(value)
    found = entries_of(value) if has_entries else dict(enumerate(value))
    parts = [_general(v, is_leaf, widen_numbers, within, is_outer) for v in found.values()]
    if has_entries:
        return MappingStructure(maker_of(value), tuple(found), tuple(parts))
    return SequenceStructure(maker_of(value), tuple(parts))


def _is_unknown(leaf: Any) -> bool:
    return isinstance(leaf._data, GraphNode)


def _function_form(
    function: UserFunction,
    held: dict[str, Any],
    is_leaf: Any,
    within: tuple[UserFunction, ...] = (),
) -> Structure:
    if any(v is function for v in held.values()):
        return ConstantStructure(function)
    forms = tuple(_general(v, is_leaf, False, (*within, function)) for v in held.values())
    if all(isinstance(f, ConstantStructure) for f in forms):
        return ConstantStructure(function)
    return FunctionStructure(function, tuple(held), forms)


def _conflict(why: str) -> ConstantStructure:
    """The structure of values that no program can represent; using them causes a graph break."""
    return ConstantStructure(PathConflict(why))


def _has_entries(value: Any) -> bool:
    return isinstance(value, dict) or getattr(type(value), "_mycelia_tracked", False)


def entries_of(value: Any) -> dict[Any, Any]:
    """The entries of a dict, or the attributes of an object."""
    return value if isinstance(value, dict) else value.__dict__


def _show(value: Any) -> str:
    if isinstance(value, Tensor):
        return f"a tensor {type_of_array(value._data)}"
    if isinstance(value, (int, float, str)) or value is None:
        return repr(value)
    return f"a {type(value).__name__}"
