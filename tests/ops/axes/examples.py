"""Operators with example arguments, as functions of the arrays alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from mycelia._engine.ir.example import Case
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.operators.operator import Op

KEY = np.array([7, 11], np.uint32)
_FAST = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


class Example:
    """One operator and one of its examples: run it on any arrays in place of the example's."""

    def __init__(self, cls: type[Op], case: Case) -> None:
        self.op = cls(**case.fields)
        self.types = case.types()
        self._case = case
        self._leaves, self._tree = jax.tree.flatten(self._args(0))
        self._places = [i for i, leaf in enumerate(self._leaves) if isinstance(leaf, np.ndarray)]
        self._compiled = jax.jit(self.lower, compiler_options=_FAST)

    def arrays(self, seed: int) -> list[np.ndarray]:
        """The arrays among the arguments, drawn with a seed."""
        leaves = jax.tree.leaves(self._args(seed))
        return [leaf for leaf in leaves if isinstance(leaf, np.ndarray)]

    def lower(self, *arrays: Any) -> list[Any]:
        """The arrays that the operator gives, in its plain form."""
        full = list(self._leaves)
        for place, array in zip(self._places, arrays, strict=True):
            full[place] = array
        with reference_implementations():
            return jax.tree.leaves(self.op.lower(*jax.tree.unflatten(self._tree, full)))

    def run(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [np.asarray(one) for one in self._compiled(*arrays)]

    def _args(self, seed: int) -> tuple[Any, ...]:
        arguments, arrays = self.op.arguments, self._case.arrays(seed)
        if not self.op.draws:
            return arrays
        missing = range(len(arrays), len(arguments.names))
        return (*arrays, *(arguments.defaults[i] for i in missing), KEY)


def parts_of(divides: int) -> int:
    """The smallest number of parts into which an axis can be cut."""
    return next(count for count in range(2, divides + 1) if divides % count == 0)


def piece(array: np.ndarray, dimension: int, number: int, parts: int) -> tuple[slice, ...]:
    """Where one of the equal parts of an array lies."""
    length = array.shape[dimension] // parts
    found = [slice(None)] * array.ndim
    found[dimension] = slice(number * length, (number + 1) * length)
    return tuple(found)


def rest(array: np.ndarray, dimension: int, parts: int) -> tuple[slice, ...]:
    """Where all but the first of its equal parts lie."""
    found = [slice(None)] * array.ndim
    found[dimension] = slice(array.shape[dimension] // parts, None)
    return tuple(found)


def alike(one: np.ndarray, other: np.ndarray) -> bool:
    """Equal but for rounding in the precision of their dtype."""
    if one.shape != other.shape:
        return False
    if one.dtype.kind in "iub":
        return bool(np.array_equal(one, other))
    tolerance = 1e-4 if one.dtype.itemsize > 2 else 4e-2
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    return bool(
        np.allclose(one.astype(wide), other.astype(wide), tolerance, tolerance, equal_nan=True)
    )


COMBINE = {"sum": np.add, "max": np.maximum, "min": np.minimum, "any": np.logical_or}
