"""How tensors print: MindSpore's form."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.core.dtype import DType, bfloat16, float16


def tensor_repr(array: np.ndarray, dtype: DType) -> str:
    """`Tensor(shape=[2], dtype=Float32, value= [ 1.0e+00, 2.0e+00])`."""
    gap = "\n" if array.ndim > 1 else " "
    shape = f"[{', '.join(map(str, array.shape))}]"
    return f"Tensor(shape={shape}, dtype={dtype}, value={gap}{_value_text(array, dtype)})"


def _value_text(array: np.ndarray, dtype: DType) -> str:
    if array.ndim == 0:
        return str(array.item()) if not dtype.is_float else f"{array.item():.6g}"
    if array.size == 0:
        return ""
    if dtype is bfloat16:
        return np.array2string(array.astype(np.float32), separator=", ", threshold=1000)
    digits = 4 if dtype is float16 else 8
    formatter: Any = {"float_kind": lambda v: f"{v: .{digits}e}"} if dtype.is_float else None
    return np.array2string(
        array, separator=", ", threshold=1000, formatter=formatter, max_line_width=120
    )
