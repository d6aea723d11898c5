"""Discrete cosine transforms with SciPy's interface: type 2, orthonormal."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.ops.signal.dct import CosineTransform
from mycelia.tensor.tensor import Tensor


def dct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """Discrete cosine transform along an axis, which is first truncated or zero-padded to `n`."""
    return _along("dct", x, type, n, axis, norm, inverse=False)


def idct(
    x: Any, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Any:
    """Inverse discrete cosine transform along an axis."""
    return _along("idct", x, type, n, axis, norm, inverse=True)


def dctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Discrete cosine transform along several axes (default: all)."""
    return _over("dctn", x, type, s, axes, norm, inverse=False)


def idctn(x: Any, type: int = 2, s: Any = None, axes: Any = None, norm: str | None = None) -> Any:
    """Inverse discrete cosine transform along several axes."""
    return _over("idctn", x, type, s, axes, norm, inverse=True)


def _along(owner: str, x: Any, type: Any, n: Any, axis: Any, norm: Any, *, inverse: bool) -> Any:
    if not isinstance(x, Tensor):
        raise wrong_type(owner, "x", x, "Tensor")
    if type != 2:
        raise problem(ValueError, f"{owner}: only type II is supported", got=f"type={type!r}")
    if norm not in (None, "ortho"):
        raise problem(ValueError, f"{owner}: unknown norm", got=repr(norm), expected='"ortho"')
    if n is not None and check_int(owner, "n", n) <= 0:
        raise problem(ValueError, f"{owner}: n must be positive", got=str(n))
    return CosineTransform.of(inverse, n, check_int(owner, "axis", axis))(x)


def _over(owner: str, x: Any, type: Any, s: Any, axes: Any, norm: Any, *, inverse: bool) -> Any:
    if not isinstance(x, Tensor):
        raise wrong_type(owner, "x", x, "Tensor")
    sizes = (s,) if isinstance(s, int) else s
    chosen = (axes,) if isinstance(axes, int) else axes
    if chosen is None:
        count = x.ndim if sizes is None else len(sizes)
        chosen = tuple(range(x.ndim - count, x.ndim))
    if sizes is None:
        sizes = (None,) * len(chosen)
    if len(sizes) != len(chosen):
        raise problem(
            ValueError,
            f"{owner}: the number of sizes does not match the axes",
            got=f"s={s} and axes={axes}",
        )
    for size, axis in zip(sizes, chosen):
        x = _along(owner, x, type, size, axis, norm, inverse=inverse)
    return x
