"""Layers of the gamma and beta functions."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor


class LGamma(Cell):
    """Logarithm of the absolute value of the gamma function."""

    def construct(self, x: Any) -> Any:
        return ops.lgamma(_floats("LGamma", "x", x))


class DiGamma(Cell):
    """Digamma function, the derivative of the logarithm of the gamma function."""

    def construct(self, x: Any) -> Any:
        return ops.digamma(_floats("DiGamma", "x", x))


class IGamma(Cell):
    """Regularized lower incomplete gamma function P(a, x)."""

    def construct(self, a: Any, x: Any) -> Any:
        return ops.igamma(_floats("IGamma", "a", a), _floats("IGamma", "x", x))


class LBeta(Cell):
    """Logarithm of the beta function."""

    def construct(self, x: Any, y: Any) -> Any:
        x, y = _floats("LBeta", "x", x), _floats("LBeta", "y", y)
        return ops.lgamma(x) + ops.lgamma(y) - ops.lgamma(x + y)


def _floats(owner: str, argument: str, x: Any) -> Tensor:
    if not isinstance(x, Tensor):
        raise wrong_type(owner, argument, x, "Tensor")
    if x.dtype not in (dtypes.float16, dtypes.float32):
        raise problem(
            TypeError,
            f"For '{owner}', the '{argument}' should be float16 or float32",
            got=str(x.dtype),
        )
    return x
