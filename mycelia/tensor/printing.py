"""`repr` and `str` of tensors, in MindSpore's format."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, bfloat16, float16


def tensor_repr(array: np.ndarray, dtype: DType) -> str:
    """`Tensor(shape=[2], dtype=Float32, value= [ 1.0e+00, 2.0e+00])`."""
    gap = "\n" if array.ndim > 1 else " "
    shape = f"[{', '.join(map(str, array.shape))}]"
    return f"Tensor(shape={shape}, dtype={dtype}, value={gap}{_value_text(array, dtype)})"


def tensor_str(array: np.ndarray, dtype: DType) -> str:
    """The text that NumPy prints, but bfloat16 with six decimals."""
    if dtype is not bfloat16:
        return str(array)
    if array.ndim == 0:
        return f"{array.item():f}"
    return np.array2string(array.astype(np.float32), formatter={"float_kind": "{:f}".format})


def _value_text(array: np.ndarray, dtype: DType) -> str:
    if array.ndim == 0:
        number = array.item()
        if dtype.is_complex:
            return _complex_text(number)
        return f"{number:.6g}" if dtype.is_float else str(number)
    if array.size == 0:
        return ""
    source = array.astype(np.float32) if dtype is bfloat16 else array
    text = np.array2string(
        source,
        separator=", ",
        threshold=1000,
        formatter=_formatter(source, dtype),
        max_line_width=120,
    )
    return text.replace(", ...,", " ...").replace("...,", "...") if array.size > 1000 else text


def _formatter(array: np.ndarray, dtype: DType) -> Any:
    """The NumPy formatter of elements; None for integers and bools, which use NumPy's default."""
    if dtype.is_complex:
        return {"complex_kind": _complex_text}
    if dtype is bfloat16:
        width = max(len(f"{number:.6g}") for number in array.ravel().tolist())
        return {"float_kind": lambda number: f"{number:{width}.6g}"}
    digits = 4 if dtype is float16 else 8
    return (
        {"float_kind": lambda number: f"{number:{digits + 7}.{digits}e}"}
        if dtype.is_float
        else None
    )


def _complex_text(number: complex) -> str:
    return f"{number.real:.6g}{number.imag:+.6g}j"
