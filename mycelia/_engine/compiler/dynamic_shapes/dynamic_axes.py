"""Dynamic extents: which axes depend on a dynamic size, found by comparing three traces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.types import TensorType


class UnprovablePadding(Exception):
    """Padding might change a result; `why` says where and how."""

    def __init__(self, why: str, span: Span | None = None) -> None:
        location = "" if span is None else f" ({span.file.rsplit('/', 1)[-1]}:{span.line})"
        super().__init__(why + location)

    @property
    def why(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class DynamicExtent:
    """A size that is `factor` times the dynamic size with index `symbol`."""

    symbol: int
    factor: int


@dataclass(frozen=True)
class DynamicSizes:
    """The dynamic sizes in the three traces of a function.

    `real` are those of a call. `padded` are those of the program, at least as large. `probe` are
    primes that differ from both and from one another: they identify the axis that a size came from.
    """

    real: tuple[int, ...]
    padded: tuple[int, ...]
    probe: tuple[int, ...]

    def extent(self, real: int, padded: int, probe: int) -> DynamicExtent | None:
        """The extent of a size that has these values in the traces; None if it is fixed."""
        if real == padded == probe:
            return None
        candidates = [
            DynamicExtent(symbol, probe // size)
            for symbol, size in enumerate(self.probe)
            if probe % size == 0
            and probe // size * self.padded[symbol] == padded
            and probe // size * self.real[symbol] == real
        ]
        if len(candidates) != 1 or not candidates[0].factor:
            raise UnprovablePadding(
                f"an axis has the size {real}, which is not a multiple of a dynamic size"
            )
        return candidates[0]

    def length(self, extent: DynamicExtent) -> int:
        """The real length of an axis."""
        return extent.factor * self.real[extent.symbol]


# The extents of a value: one for each axis (None if the size is fixed), a tuple of such for a tuple
# of values, None for no value.
Axes = Any


def axes_of(sizes: DynamicSizes, real: Any, padded: Any, probe: Any) -> Axes:
    """The extents of a value from its types in the three traces."""
    if isinstance(padded, TensorType):
        if not (isinstance(real, TensorType) and isinstance(probe, TensorType)):
            raise UnprovablePadding("a value is not a tensor for all sizes")
        if not (real.dtype is padded.dtype is probe.dtype) or not (
            real.ndim == padded.ndim == probe.ndim
        ):
            raise UnprovablePadding(
                f"a value of type {real} has another dtype or rank for other sizes"
            )
        shapes = zip(real.shape, padded.shape, probe.shape, strict=True)
        return tuple([sizes.extent(*shape) for shape in shapes])
    if isinstance(padded, tuple):
        are_tuples = isinstance(real, tuple) and isinstance(probe, tuple)
        if not are_tuples or not len(real) == len(padded) == len(probe):
            raise UnprovablePadding("the number of results of an operator depends on a size")
        return tuple([axes_of(sizes, *types) for types in zip(real, padded, probe, strict=True)])
    if real is not None or padded is not None or probe is not None:
        raise UnprovablePadding("a value is not a tensor for all sizes")
    return None


def extents_in(axes: Axes) -> list[DynamicExtent]:
    """All extents of a value, in order."""
    if isinstance(axes, DynamicExtent):
        return [axes]
    return [e for part in axes for e in extents_in(part)] if isinstance(axes, tuple) else []
