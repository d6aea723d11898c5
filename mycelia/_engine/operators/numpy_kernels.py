"""Numpy kernels for small host arrays, where numpy gives XLA's very bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusing(kinds: str, kernel: Callable[..., Any]) -> Any:
    """`kernel` as a host rule that raises TypeError on numpy kinds (b, i, u, c) in `kinds`.

    Numpy takes more dtypes than our operators; the refusal sends the caller to `infer`, whose
    message tells the user what is wrong.
    """

    def run(*arrays: Any) -> Any:
        for array in arrays:
            if array.dtype.kind in kinds:
                raise TypeError(f"no host kernel for {array.dtype}")
        return kernel(*arrays)

    return staticmethod(run)
