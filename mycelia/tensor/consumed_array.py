"""Placeholder for an array that a failed step consumed: every use explains how to recover."""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, size


class ConsumedArray:
    """The shape and dtype of an array whose values are lost."""

    __slots__ = ("__weakref__", "dtype", "name", "shape")
    present: ClassVar[bool] = False  # whether this process has created one

    def __init__(self, array: Any, name: str) -> None:
        ConsumedArray.present = True
        self.shape: Shape = tuple(array.shape)
        self.dtype = np.dtype(array.dtype)
        self.name = name

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return size(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        self.__jax_array__()

    def __getitem__(self, index: Any) -> NoReturn:
        self.__jax_array__()

    def __jax_array__(self) -> NoReturn:
        raise self.error()

    def error(self) -> Exception:
        """The error that every access to the values raises."""
        return problem(
            RuntimeError,
            f"the values of {self.name} were lost: the device failed in the middle of a step",
            got="a step that had started to overwrite its parameters",
            fix="reload them: load_checkpoint(file, network), or train(..., resume_from=folder)",
        )


def check_not_consumed(arrays: Any) -> None:
    """Raise if there is a lost array in nested tuples and lists."""
    if isinstance(arrays, (tuple, list)):
        for array in arrays:
            check_not_consumed(array)
    elif type(arrays) is ConsumedArray:
        raise arrays.error()
