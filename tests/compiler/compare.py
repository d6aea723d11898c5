"""Comparing a compiled function with the plain call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor


def same(fn: Callable[..., Any], *args: Any, label: str = "xla", **kwargs: Any) -> Any:
    """Check that `jit(fn)` gives what `fn` gives, in the kind of program named; its result."""
    compiled = ms.jit(fn)
    wanted = fn(*args, **kwargs)
    for _ in range(2):  # the second call finds the program
        equal(compiled(*args, **kwargs), wanted)
    explained = ms.jit.explain(compiled)
    assert {found.split(":")[0] for found in explained.labels} == {label}, explained
    assert len(explained.compilations) == 1, explained
    return wanted


def equal(found: Any, wanted: Any) -> None:
    """Check that two results have the same structure, types and values."""
    if isinstance(wanted, Tensor):
        assert isinstance(found, Tensor), f"{found!r} is no tensor"
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=2e-6, atol=1e-6)
        return
    assert type(found) is type(wanted), f"{found!r} is not of the type of {wanted!r}"
    if isinstance(wanted, (tuple, list)):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            equal(one, other)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            equal(found[key], value)
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-6)
    elif isinstance(wanted, np.ndarray):
        np.testing.assert_array_equal(found, wanted)
    else:
        assert found == wanted


def compilations(fn: Any) -> int:
    """How often a compiled function was compiled."""
    return len(ms.jit.explain(fn).compilations)
