"""Types: the dtype and shape of a tensor, written `f32[2,3]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mycelia._engine.core.dtype import DType, by_name
from mycelia._engine.core.shape import Shape

_TEXT = re.compile(r"^(?P<dtype>\w+)\[(?P<shape>[\d,\s]*)\]$")


@dataclass(frozen=True)
class TensorType:
    """The dtype and shape of a tensor."""

    dtype: DType
    shape: Shape

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __str__(self) -> str:
        return f"{self.dtype.short}[{','.join(map(str, self.shape))}]"

    def with_shape(self, shape: Shape) -> TensorType:
        return TensorType(self.dtype, tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)


def parse_type(text: str) -> TensorType:
    """Parse `f32[2,3]` into a type."""
    match = _TEXT.match(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a tensor type; write it like 'f32[2,3]' or 'i64[]'")
    sizes = tuple(int(s) for s in match["shape"].split(",") if s.strip())
    return TensorType(by_name(match["dtype"]), sizes)
