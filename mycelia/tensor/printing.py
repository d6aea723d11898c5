"""How tensors print: MindSpore's form."""

from __future__ import annotations

import numpy as np

from mycelia.core.dtype import DType


def tensor_repr(array: np.ndarray, dtype: DType) -> str:
    """`Tensor(shape=[2], dtype=Float32, value= [ 1.0e+00, 2.0e+00])`."""
    gap = "\n" if array.ndim > 1 else " "
    shape = f"[{', '.join(map(str, array.shape))}]"
    return f"Tensor(shape={shape}, dtype={dtype}, value={gap}{_value_text(array, dtype)})"


def _value_text(array: np.ndarray, dtype: DType) -> str:
    if array.ndim == 0:
        return str(array.item()) if not dtype.is_float else f"{array.item():.6g}"
    shown = array.astype(np.float32) if dtype.bits == 16 and dtype.is_float else array
    formatter = {"float_kind": lambda v: f"{v: .8e}"} if dtype.is_float else None
    return np.array2string(
        shown, separator=", ", threshold=1000, formatter=formatter, max_line_width=120
    )
