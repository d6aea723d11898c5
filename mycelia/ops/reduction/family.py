"""Base of all reductions: accepted dtypes, axes, and broadcasting of gradients."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import normalize_axes
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.families import Reduction
from mycelia._engine.operators.operator import unsupported_dtype
from mycelia.ops.elementwise.arithmetic import MulNoNan, add
from mycelia.ops.elementwise.comparison import logical_not
from mycelia.ops.shapes.reshape import BroadcastTo, cast, reshape


class OverAxes(Reduction, register=False):
    """Base of reductions over axes; no axes means all of them."""

    kinds: ClassVar[tuple[str, ...]] = ("bool", "int", "uint", "float", "complex")

    def infer(self, x: TensorType, axis: Any = ()) -> TensorType:
        if x.dtype.kind not in self.kinds:
            raise unsupported_dtype(self.name, x, f"a tensor of kind {', '.join(self.kinds)}")
        return super().infer(x, axis)

    def axes(self, x: Any, axis: Any) -> tuple[int, ...]:
        rank = len(x.shape)
        return normalize_axes(axis, rank, self.name) if rank else ()

    def spread(self, x: Any, axis: Any, dout: Any) -> Any:
        """`dout` broadcast along the reduced axes."""
        return BroadcastTo.of(x.shape)(reshape(dout, self.kept(x, axis)))

    def count(self, x: Any, axis: Any) -> int:
        """Number of elements that are reduced to one result."""
        return math.prod(x.shape[i] for i in self.axes(x, axis))


def with_initial(owner: str, x: Any, initial: Any, where: Any, meet: Any) -> Any:
    """x with `initial` where `where` is false, combined with `initial` by `meet` elsewhere."""
    where = None if where is True else where
    if where is not None and initial is None:
        raise problem(
            ValueError, f"{owner}: `where` requires an initial value", fix="pass initial= as well"
        )
    if initial is None:
        return x
    if not isinstance(initial, (int, float, TensorProtocol)):
        raise wrong_type(owner, "initial", initial, "a number or Tensor")
    if where is not None:
        inside, outside = cast(where, x.dtype), cast(logical_not(where), x.dtype)
        x = add(MulNoNan.of()(x, inside), MulNoNan.of()(initial, outside))
    return meet(x, initial)
