"""The dtypes of tensors, and the rules of type promotion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from mycelia._engine.core.errors import did_you_mean, problem
from mycelia._engine.core.tracebacks import shorten


@dataclass(frozen=True, eq=False, repr=False)
class DType:
    """One dtype. There is exactly one object for each dtype, so compare with `is`."""

    name: str  # as users write it: mycelia.float32
    short: str  # as graph text writes it: f32
    title: str  # as MindSpore prints it: Float32
    kind: str  # bool, int, uint, float, complex
    bits: int
    numpy: np.dtype[Any]

    def __repr__(self) -> str:
        return f"mycelia.{self.name}"

    def __str__(self) -> str:
        return self.title

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self

    def __call__(self, *value: Any) -> Any:
        """Convert a number, as `mycelia.float32(3)` does; `tensor.dtype()` is the dtype itself."""
        return self.numpy.type(*value).item() if value else self

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    @property
    def is_complex(self) -> bool:
        return self.kind == "complex"

    @property
    def is_inexact(self) -> bool:
        return self.kind in ("float", "complex")

    @property
    def is_integer(self) -> bool:
        return self.kind in ("int", "uint")

    @property
    def is_bool(self) -> bool:
        return self.kind == "bool"


def _dtype(name: str, short: str, title: str, kind: str, numpy: Any) -> DType:
    width = np.dtype(numpy)
    return DType(name, short, title, kind, width.itemsize * 8, width)


bool_ = _dtype("bool_", "bool", "Bool", "bool", np.bool_)
int8 = _dtype("int8", "i8", "Int8", "int", np.int8)
int16 = _dtype("int16", "i16", "Int16", "int", np.int16)
int32 = _dtype("int32", "i32", "Int32", "int", np.int32)
int64 = _dtype("int64", "i64", "Int64", "int", np.int64)
uint8 = _dtype("uint8", "u8", "UInt8", "uint", np.uint8)
uint16 = _dtype("uint16", "u16", "UInt16", "uint", np.uint16)
uint32 = _dtype("uint32", "u32", "UInt32", "uint", np.uint32)
uint64 = _dtype("uint64", "u64", "UInt64", "uint", np.uint64)
float16 = _dtype("float16", "f16", "Float16", "float", np.float16)
bfloat16 = _dtype("bfloat16", "bf16", "BFloat16", "float", ml_dtypes.bfloat16)
float32 = _dtype("float32", "f32", "Float32", "float", np.float32)
float64 = _dtype("float64", "f64", "Float64", "float", np.float64)
complex64 = _dtype("complex64", "c64", "Complex64", "complex", np.complex64)
complex128 = _dtype("complex128", "c128", "Complex128", "complex", np.complex128)

# 8-bit storage formats: tensors can hold them and be cast to and from them.
float8_e4m3fn = _dtype("float8_e4m3fn", "f8e4", "Float8E4M3FN", "float", ml_dtypes.float8_e4m3fn)
float8_e5m2 = _dtype("float8_e5m2", "f8e5", "Float8E5M2", "float", ml_dtypes.float8_e5m2)
STORED_ONLY = (float8_e4m3fn, float8_e5m2)

# The dtype of string tensors, which can be stored, printed, and compared, but not computed with.
string = DType("string", "str", "String", "string", 0, np.dtype(np.str_))

half, float_, double = float16, float64, float64
byte, short, intc, int_, long = int8, int16, int32, int64, int64

ALL: tuple[DType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
    float16, bfloat16, float32, float64, complex64, complex128,
)  # fmt: skip

_BY_NAME = {d.name: d for d in (*ALL, *STORED_ONLY)}
_BY_SHORT = {d.short: d for d in (*ALL, *STORED_ONLY)}
_BY_NUMPY = {d.numpy: d for d in (*ALL, *STORED_ONLY)}
_ALIASES = {"bool": bool_, "half": float16, "float": float32, "double": float64, "int": int64}
_BY_PYTHON: dict[Any, DType] = {bool: bool_, int: int64, float: float32, complex: complex128}


def by_name(name: str) -> DType:
    """The dtype called `name` (its user name, short name or MindSpore title)."""
    match = _BY_NAME.get(name) or _BY_SHORT.get(name) or _ALIASES.get(name)
    if match is None:
        match = next((d for d in ALL if d.title == name), None)
    if match is None:
        raise problem(
            TypeError,
            f"there is no dtype called {name!r}",
            expected=f"one of {', '.join(_BY_NAME)}",
            fix=did_you_mean(name, (*_BY_NAME, *_ALIASES)),
        )
    return match


def from_numpy(dtype: Any) -> DType:
    """The dtype of numpy's (or jax's) `dtype`."""
    try:
        return _BY_NUMPY[dtype]
    except (KeyError, TypeError):
        pass
    try:
        match = np.dtype(dtype)
        return string if match.kind == "U" else _BY_NUMPY[match]
    except (KeyError, TypeError):
        raise TypeError(f"{dtype!r} is not a tensor dtype; known: {', '.join(_BY_NAME)}") from None


def as_dtype(value: Any) -> DType:
    """Convert anything users write for a dtype: DType, NumPy dtype, name, or Python type."""
    if isinstance(value, DType):
        return value
    if isinstance(value, type) and value in _BY_PYTHON:
        return _BY_PYTHON[value]
    try:
        return by_name(value) if isinstance(value, str) else from_numpy(value)
    except TypeError as error:
        shorten(error)
        raise


def of_number(value: complex | bool) -> DType:
    """The dtype of the tensor that a Python number becomes."""
    return _BY_PYTHON[type(value)] if type(value) in _BY_PYTHON else from_numpy(type(value))


def dtype_to_nptype(type_: DType) -> Any:
    """The numpy scalar class of a dtype."""
    return as_dtype(type_).numpy.type


def dtype_to_pytype(type_: DType) -> type:
    """The Python type of the elements of a dtype."""
    kinds = {"bool": bool, "int": int, "uint": int, "float": float, "complex": complex}
    return kinds[as_dtype(type_).kind]


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype of a Python or numpy type; `float` has 64 bits in Python."""
    return float64 if obj is float else as_dtype(obj)


_KIND_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}


@cache
def promote(a: DType, b: DType) -> DType:
    """The result dtype of an operation on tensors of dtypes `a` and `b`.

    A higher kind (bool < integer < float < complex) wins with its own width, so int64 with
    float16 is float16; within a kind the wider wins; float16 with bfloat16 is float32; signed with
    unsigned is the next wider signed type.
    """
    if a is b:
        return a
    rank_a, rank_b = _KIND_RANK[a.kind], _KIND_RANK[b.kind]
    if rank_a != rank_b:
        high, low = (a, b) if rank_a > rank_b else (b, a)
        return complex128 if high is complex64 and low is float64 else high
    if {a, b} == {float16, bfloat16}:
        return float32
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    signed, unsigned = (a, b) if a.kind == "int" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return {8: int16, 16: int32, 32: int64, 64: float64}[unsigned.bits]


@cache
def promote_scalar(tensor: DType, scalar: DType) -> DType:
    """The result dtype for a tensor and a 0-d tensor, which counts only by its kind."""
    is_same_kind = _KIND_RANK[tensor.kind] == _KIND_RANK[scalar.kind]
    return tensor if is_same_kind else promote(tensor, scalar)


@cache
def promote_number(tensor: DType, number: type) -> DType:
    """The result dtype for a tensor and a Python number, which counts only by its kind."""
    if tensor is string:
        raise TypeError("cannot compute with a string tensor and a number")
    if number is bool:
        return tensor
    if issubclass(number, int):
        return int64 if tensor is bool_ else tensor
    if issubclass(number, float):  # numpy's float64 too
        return tensor if tensor.is_inexact else float32
    if tensor.is_complex:
        return tensor
    return complex128 if tensor is float64 else complex64


def at_least_float(dtype: DType) -> DType:
    """`dtype` if it is floating point or complex, else float32: the result of true division."""
    return dtype if dtype.is_inexact else float32
