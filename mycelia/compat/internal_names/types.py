"""`mindspore._c_expression.typing`: type classes whose instances are dtypes."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.type_names import ObjectType


class _Group(type):
    """Metaclass of type classes: their instances are the dtypes of some kinds."""

    kinds: tuple[str, ...]

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, DType) and value.kind in cls.kinds


class Type(metaclass=_Group):
    """Any type of a value."""

    kinds: tuple[str, ...] = ("bool", "int", "uint", "float", "complex")


class Number(Type):
    """Any dtype."""


class Bool(Number):
    """The bool dtype."""

    kinds = ("bool",)


class Int(Number):
    """Signed integers."""

    kinds = ("int",)


class UInt(Number):
    """Unsigned integers."""

    kinds = ("uint",)


class Float(Number):
    """Floating point numbers."""

    kinds = ("float",)


class Complex(Number):
    """Complex numbers."""

    kinds = ("complex",)


TensorType = TypeNone = String = List = Tuple = TypeType = ObjectType
