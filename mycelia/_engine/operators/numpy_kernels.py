"""NumPy kernels for small host arrays, where NumPy is bit-identical to XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def refusing(kinds: str, kernel: Callable[..., Any]) -> Any:
    """`kernel` as a host rule that raises TypeError for the NumPy kinds (b, i, u, c) in `kinds`.

    NumPy accepts more dtypes than Mycelia's operators; the error sends the caller to `infer`, whose
    message explains the problem to the user.
    """

    def run(*arrays: Any) -> Any:
        for array in arrays:
            if array.dtype.kind in kinds:
                raise TypeError(f"no host kernel for {array.dtype}")
        return kernel(*arrays)

    return staticmethod(run)
