"""Zero-sized dimensions and 0-d tensors: every operator works or says clearly what is wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia  # noqa: F401  (registers every operator)
from mycelia._engine.ir.example import Case
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia.tensor.tensor import Tensor

CLEAR = (ValueError, TypeError, IndexError, RuntimeError)


def _first_cases() -> list[Any]:
    named = [(name, op) for name, op in sorted(REGISTRY.items()) if op.examples]
    return [
        pytest.param(op, op.examples[0], id=name, marks=[pytest.mark.slow] * (place % 3 > 0))
        for place, (name, op) in enumerate(named)
    ]


@pytest.mark.parametrize(("cls", "example"), _first_cases())
def test_zero_sized_dimensions(cls: type[Op], example: Case):
    arrays = example.arrays()
    sizes = {n for a in _tensors(arrays) for n in a.shape if n}
    for size in sorted(sizes):
        _call(
            cls, example, _reshaped(arrays, lambda s, n=size: tuple(0 if d == n else d for d in s))
        )


@pytest.mark.parametrize(("cls", "example"), _first_cases())
def test_tensors_without_dimensions(cls: type[Op], example: Case):
    _call(cls, example, _reshaped(example.arrays(), lambda shape: ()))


def _call(cls: type[Op], example: Case, arguments: tuple[Any, ...]) -> None:
    try:
        result = cls(**example.fields)(*arguments)
    except CLEAR as error:
        text = str(error)
        assert len(text) > 15, f"{type(error).__name__}({text!r}) does not explain itself"
        assert "INTERNAL" not in text and "Check failed" not in text, text
        return
    for tensor in _tensors(result):
        np.asarray(tensor)


def _reshaped(value: Any, change: Any) -> Any:
    if isinstance(value, np.ndarray):
        shape = change(value.shape)
        return Tensor(np.resize(value, shape) if value.size else np.zeros(shape, value.dtype))
    if isinstance(value, tuple):
        return tuple(_reshaped(v, change) for v in value)
    return value


def _tensors(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [t for v in value for t in _tensors(v)]
    return [value] if isinstance(value, (np.ndarray, Tensor)) else []
