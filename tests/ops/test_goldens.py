"""Operators against the results stored from the real MindSpore 2.10: values, dtypes, gradients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops
from tests.goldens.operator_cases import CASES, DTYPE_NAMES, Drawn, draw

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "operators.npz")
NAMES = set(GOLDENS.files)
# Gradients where the real MindSpore 2.10 on CPU does not give the derivative of its own result. Ours are
# the derivative, which the conformance test checks against finite differences.
GRADIENT_DIFFERS = {
    "SeLU": "wrong for negative inputs",
    "Mod": "the derivative by the divisor is that of the floored, the result that of the truncated one",
    "OneHot": "zero for on_value and off_value",
    "LinSpace": "zero for start and stop",
    "AssignAdd": "flows through a write to a parameter, which we do not differentiate",
    "ScatterUpdate": "flows through a write to a parameter, which we do not differentiate",
    "ScatterNdUpdate": "flows through a write to a parameter, which we do not differentiate",
}


def _parametrize() -> list[Any]:
    return [pytest.param(n, id=f"{n}-{CASES[n][0]}") for n in range(len(CASES))]


def test_at_least_120_operators_have_goldens():
    assert len({CASES[n][0] for n in range(len(CASES)) if f"{n}.out.0" in NAMES}) >= 120


@pytest.mark.parametrize("number", _parametrize())
def test_values_and_dtypes(number: int):
    operator, arguments, tensors = _call(number)
    result = operator(*tensors)
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    wanted = _stored(number, "out")
    assert len(outputs) >= len(wanted)
    for out, golden in zip(outputs, wanted, strict=False):
        _assert_alike(np.asarray(out), golden)
    for place, drawn in enumerate(arguments):
        if isinstance(drawn, Drawn) and drawn.parameter:
            _assert_alike(np.asarray(tensors[place]), GOLDENS[f"{number}.param.{place}"])


@pytest.mark.parametrize(
    "number",
    [
        p
        for p in _parametrize()
        if CASES[p.values[0]][0] not in GRADIENT_DIFFERS
        and any(n.startswith(f"{p.values[0]}.grad.") for n in NAMES)
    ],
)
def test_gradients(number: int):
    operator, arguments, tensors = _call(number)
    chosen = [
        n
        for n, a in enumerate(arguments)
        if isinstance(a, Drawn) and a.array.dtype.kind == "f" and not a.parameter
    ]

    def forward(*inputs: Any) -> Any:
        full = list(tensors)
        for place, value in zip(chosen, inputs, strict=True):
            full[place] = value
        result = operator(*full)
        return result[0] if isinstance(result, (tuple, list)) else result

    golden = GOLDENS[f"{number}.out.0"]
    seed = np.random.RandomState(number + 1000).standard_normal(golden.shape).astype(golden.dtype)
    gradient = ops.GradOperation(get_all=True, sens_param=True)(forward)
    grads = gradient(*(tensors[n] for n in chosen), Tensor(seed))
    for place, grad in zip(chosen, grads, strict=True):
        _assert_alike(np.asarray(grad), GOLDENS[f"{number}.grad.{place}"])


def _call(number: int) -> tuple[Any, list[Any], list[Any]]:
    name, fields, specs = CASES[number]
    random = np.random.RandomState(number)
    arguments = [draw(s, random) for s in specs]
    operator = getattr(ops, name)(**fields)
    return operator, arguments, [_given(a) for a in arguments]


def _given(argument: Any) -> Any:
    if isinstance(argument, Drawn):
        tensor = Tensor(argument.array)
        return Parameter(tensor, name="p") if argument.parameter else tensor
    if isinstance(argument, tuple) and any(isinstance(a, Drawn) for a in argument):
        return tuple(_given(a) for a in argument)
    if isinstance(argument, str) and argument in DTYPE_NAMES:
        return getattr(ms, argument)
    return argument


def _stored(number: int, kind: str) -> list[np.ndarray]:
    found = []
    while f"{number}.{kind}.{len(found)}" in NAMES:
        found.append(GOLDENS[f"{number}.{kind}.{len(found)}"])
    return found


def _assert_alike(ours: np.ndarray, golden: np.ndarray) -> None:
    assert ours.dtype == golden.dtype
    assert ours.shape == golden.shape
    half = golden.dtype == np.float16
    np.testing.assert_allclose(
        ours, golden, rtol=2e-3 if half else 2e-5, atol=1e-3 if half else 2e-5
    )
