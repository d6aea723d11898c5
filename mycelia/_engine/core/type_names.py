"""Aliases of dtypes, and the types of values that are not tensors."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem

ubyte, ushort, uintc, uint, uintp = (
    dtypes.uint8,
    dtypes.uint16,
    dtypes.uint32,
    dtypes.uint64,
    dtypes.uint64,
)
intp, single, cfloat, cdouble = (
    dtypes.int64,
    dtypes.float32,
    dtypes.complex64,
    dtypes.complex128,
)


@dataclass(frozen=True)
class ObjectType:
    """The type of a non-numeric value: None, a string, a tuple, a list, or any tensor."""

    name: str

    def __repr__(self) -> str:
        return f"mycelia.{self.name}"


type_none, tuple_, list_ = ObjectType("type_none"), ObjectType("tuple_"), ObjectType("list_")
string = dtypes.string
number, tensor_type, type_type = ObjectType("number"), ObjectType("tensor"), ObjectType("type_type")

_NUMBERS: dict[type, DType] = {
    bool: dtypes.bool_,
    int: dtypes.int64,
    float: dtypes.float64,
    complex: dtypes.complex128,
}
_OTHERS: dict[type, DType | ObjectType] = {
    type(None): type_none,
    str: string,
    tuple: tuple_,
    list: list_,
}


def get_py_obj_dtype(obj: Any) -> DType | ObjectType:
    """The type of a Python value, or of the instances of a Python type."""
    if isinstance(obj, (DType, ObjectType)):
        return type_type
    kind = obj if isinstance(obj, type) else type(obj)
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    if kind in _OTHERS:
        return _OTHERS[kind]
    if hasattr(obj, "dtype") and hasattr(obj, "shape"):
        return tensor_type
    raise problem(
        NotImplementedError,
        f"get_py_obj_dtype: {kind.__name__} has no type",
        expected="None, a number, a string, a tuple, a list, a tensor or a type",
    )


class QuantDtype(enum.Enum):
    """Integer types of quantized values, by width; the enum values are MindSpore's type codes."""

    INT1, INT2, INT3, INT4, INT5, INT6, INT7, INT8 = range(8)
    INT9, INT10, INT11, INT12, INT13, INT14, INT15, INT16 = range(8, 16)
    UINT1, UINT2, UINT3, UINT4, UINT5, UINT6, UINT7, UINT8 = range(100, 108)
    UINT9, UINT10, UINT11, UINT12, UINT13, UINT14, UINT15, UINT16 = range(108, 116)

    def __str__(self) -> str:
        return self.name

    def value(self) -> int:  # type: ignore[override]  # a method, as in MindSpore
        """The code of the type."""
        return self._value_
