"""Operators and comparisons, including the special methods of user classes."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import text_of
from mycelia._engine.compiler.frontend.interpreter.iterables import elements
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import (
    BINARY,
    GraphBreak,
    convert,
    either,
    is_number,
    is_symbolic,
    opposite,
)
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import root_of

_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_COMPARED_BY = {
    ast.Eq: ("__eq__", "__eq__"),
    ast.NotEq: ("__ne__", "__ne__"),
    ast.Lt: ("__lt__", "__gt__"),
    ast.LtE: ("__le__", "__ge__"),
    ast.Gt: ("__gt__", "__lt__"),
    ast.GtE: ("__ge__", "__le__"),
}
_METHODS = {
    "Add": "add",
    "Sub": "sub",
    "Mult": "mul",
    "Div": "truediv",
    "FloorDiv": "floordiv",
    "Mod": "mod",
    "Pow": "pow",
    "MatMult": "matmul",
    "BitAnd": "and",
    "BitOr": "or",
    "BitXor": "xor",
    "LShift": "lshift",
    "RShift": "rshift",
}
_UNARY: dict[type, tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("__neg__", operator.neg),
    ast.UAdd: ("__pos__", operator.pos),
    ast.Invert: ("__invert__", operator.invert),
}
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.iadd,
    "BitOr": operator.ior,
    "BitAnd": operator.iand,
    "BitXor": operator.ixor,
    "Sub": operator.isub,
    "Mult": operator.imul,
}


class Operators(InterpreterBase):
    """Applies operators."""

    def binary(self, name: str, left: Any, right: Any) -> Any:
        if name == "Mod" and isinstance(left, str):
            return text_of(left, right)
        methods = f"__{_METHODS[name]}__", f"__r{_METHODS[name]}__"
        found = self._by_users_methods(methods, left, right, BINARY[name])
        if found is not NotImplemented:
            return found
        if isinstance(left, np.ndarray | np.generic) and is_symbolic(right):
            left = Tensor._wrap(np.asarray(left))  # NumPy would need the values
        result = BINARY[name](left, right)
        if isinstance(result, (list, dict, set)):
            self.tracer.store.adopt(result)
        return result

    def updated(self, name: str, held: Any, value: Any) -> Any:
        """The result of `held += value`; containers and objects may change in place."""
        in_place = _IN_PLACE.get(name)
        if isinstance(held, CONTAINERS) and in_place is not None:
            self.change(held)
            return in_place(held, elements(value) if name == "Add" else value)
        method = special_method(held, f"__i{_METHODS[name]}__")
        if method is not None:
            found = self.call(method, (held, value), {})
            if found is not NotImplemented:
                return found
        return self.binary(name, held, value)

    def _by_users_methods(
        self, names: tuple[str, str], left: Any, right: Any, plain: Callable[[Any, Any], Any]
    ) -> Any:
        """The result of the special methods of user classes, or NotImplemented."""
        first = special_method(left, names[0])
        second = special_method(right, names[1])
        calls = [] if first is None else [(first, (left, right))]
        if second is not None and (first is None or type(left) is not type(right)):
            goes_first = type(right) is not type(left) and isinstance(right, type(left))
            calls.insert(0 if goes_first else len(calls), (second, (right, left)))
        if second is not None and first is None:
            native = getattr(type(left), names[0], None)
            found = NotImplemented if native is None else native(left, right)
            if found is not NotImplemented:
                return found
        for method, args in calls:
            found = self.call(method, args, {})
            if found is not NotImplemented:
                return found
        if calls and plain not in (operator.eq, operator.ne):
            raise TypeError(
                f"unsupported operand types for {names[0].strip('_')}: "
                f"{type(left).__name__!r} and {type(right).__name__!r}"
            )
        return NotImplemented

    def unary(self, op: ast.unaryop, value: Any) -> Any:
        name, plain = _UNARY[type(op)]
        method = special_method(value, name)
        return plain(value) if method is None else self.call(method, (value,), {})

    def negated(self, value: Any) -> Any:
        truth = self.truth(value)
        if isinstance(truth, bool):
            return not truth
        return opposite(truth)

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = self.is_same(left, right)
            return same if isinstance(op, ast.Is) else not same
        if isinstance(op, (ast.In, ast.NotIn)):
            found = self.contains(right, left)
            return found if isinstance(op, ast.In) else self.negated(found)
        plain = _COMPARE[type(op)]
        found = self._by_users_methods(_COMPARED_BY[type(op)], left, right, plain)
        if found is not NotImplemented:
            return found
        if isinstance(op, ast.NotEq) and special_method(left, "__eq__") is not None:
            return self.negated(self.compared(ast.Eq(), left, right))
        return plain(left, right)

    def is_same(self, left: Any, right: Any) -> bool:
        """`left is right`; raises if that is known only at run time."""
        for value in (left, right):
            if isinstance(value, PathConflict):
                raise self.conflict_error(value)
        if left is right:
            return True
        if is_number(left) and is_number(right):
            return not is_symbolic(left) and left == right
        ones, others = _identities(left), _identities(right)
        found = [alias for one in ones for alias in self.tracer.store.aliases_of(one)]
        if any(alias is other for alias in found for other in others):
            raise GraphBreak(
                None, "whether two names refer to the same object depends on a runtime value"
            )
        return False

    def contains(self, container: Any, value: Any) -> Any:
        """`value in container`, also for symbolic elements."""
        method = special_method(container, "__contains__")
        if method is not None:
            return self.truth(self.call(method, (container, value), {}))
        if isinstance(container, Tensor):
            return convert((container == value).any(), bool)
        if not isinstance(container, (tuple, list)) or not (
            is_symbolic(value) or any(map(is_symbolic, container))
        ):
            return value in container
        found: Any = False
        for element in container:
            equal = self.truth(element == value)
            if equal is True:
                return True
            if equal is not False:
                found = equal if found is False else either(found, equal)
        return found

    # ---- implemented by other mixins --------------------------------------------------------

    def change(self, container: Any) -> None:
        raise NotImplementedError


def _identities(value: Any) -> list[Any]:
    """The objects by which aliases name a value."""
    if isinstance(value, Tensor):
        return [value, root_of(value)]
    held = getattr(value, "__dict__", None)
    return [value] if held is None else [value, held]
