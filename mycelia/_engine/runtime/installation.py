"""`run_check`: verifies that the installation works."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import numpy as np

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.tensor.tensor import Tensor


def run_check() -> None:
    """Multiply two tensors on the device and report whether the product is correct."""
    left, right = np.arange(4.0, dtype=np.float32), np.full(4, 3.0, np.float32)
    product = np.asarray(mul(Tensor(left), Tensor(right)))
    if not np.array_equal(product, left * right):
        raise problem(
            ValueError,
            "the product of two tensors is wrong",
            got=str(product),
            expected=str(left * right),
        )
    print("Mycelia version: ", _version())
    target = settings.current().device_target
    print(f"The product of two tensors is right: Mycelia works on platform [{target}].")


def _version() -> str:
    try:
        return version("mycelia")
    except PackageNotFoundError:  # running from a source tree
        return "unknown"
