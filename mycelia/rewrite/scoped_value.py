"""Values in the code of a node: constants, names, and objects."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Self

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords


class ValueType(Enum):
    """Kinds of values."""

    ConstantValue = 0
    TupleValue = 20
    ListValue = 21
    DictValue = 22
    NamingValue = 40
    CustomObjValue = 41
    UnsupportedValue = 50


_CONSTANTS = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_SEQUENCES: dict[Any, ValueType] = {tuple: ValueType.TupleValue, list: ValueType.ListValue}


class ScopedValue(CheckedKeywords):
    """One value: `scope.value` for names, the value itself for constants and objects.

    The value of any other expression (UnsupportedValue) is its source text.
    """

    def __init__(self, arg_type: ValueType, scope: str = "", value: Any = None) -> None:
        check_instance("ScopedValue", "arg_type", arg_type, ValueType)
        self.type = arg_type
        self.scope = scope
        self.value = value

    @classmethod
    def create_variable_value(cls, value: Any) -> Self:
        """Create a value from a Python constant, a tuple, list, or dict, or any other object."""
        if isinstance(value, _CONSTANTS):
            return cls(ValueType.ConstantValue, "", value)
        if type(value) in _SEQUENCES:
            items = type(value)(cls.create_variable_value(item) for item in value)
            return cls(_SEQUENCES[type(value)], "", items)
        if type(value) is dict:
            pairs = {
                cls.create_variable_value(key): cls.create_variable_value(item)
                for key, item in value.items()
            }
            return cls(ValueType.DictValue, "", pairs)
        return cls(ValueType.CustomObjValue, "", value)

    @classmethod
    def create_naming_value(cls, name: str, scope: str = "") -> Self:
        """Create a variable, or an attribute `scope.name`."""
        check_instance("ScopedValue", "name", name, str)
        check_instance("ScopedValue", "scope", scope, str)
        return cls(ValueType.NamingValue, scope, name)

    @staticmethod
    def create_name_values(
        names: Sequence[str], scopes: Sequence[str] | None = None
    ) -> list[ScopedValue]:
        """Create several variables, each with its scope."""
        check_instance("ScopedValue", "names", names, (list, tuple))
        if scopes is None:
            scopes = [""] * len(names)
        check_instance("ScopedValue", "scopes", scopes, (list, tuple))
        if len(names) != len(scopes):
            raise problem(
                ValueError,
                "ScopedValue: Length of names should be equal to length of scopes",
                got=f"{len(names)} names and {len(scopes)} scopes",
            )
        return [ScopedValue.create_naming_value(n, s) for n, s in zip(names, scopes, strict=True)]

    def __str__(self) -> str:
        if self.type is ValueType.CustomObjValue:
            return f"CustomObj: {self.value}"
        return f"{self.scope}.{self.value}" if self.scope else str(self.value)

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ScopedValue) or self.type is not other.type:
            return False
        if self.type is ValueType.CustomObjValue:
            return self.value is other.value
        same = type(self.value) is type(other.value) and self.value == other.value
        return same and self.scope == other.scope

    def __hash__(self) -> int:
        return hash((self.type, str(self)))
