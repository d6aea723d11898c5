"""mint against the results stored from torch: values, dtypes, gradients, eagerly and compiled."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, mint, ops
from tests.goldens.mint_cases import (
    CASES,
    LAYERS,
    OPTIMIZERS,
    arrays_of,
    places_of,
    seed_of,
    training_of,
    weights_of,
)

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "mint.npz")
STORED = {key: GOLDENS[key] for key in GOLDENS.files}
# The shapes of their results depend on values, so they only run eagerly.
SIZED_BY_VALUES = {"unique", "unique_consecutive", "nonzero", "masked_select", "bincount"}
NEEDS_VALUES = {"allclose", "repeat_interleave", "where", "nn.functional.one_hot"}


FIRST_OF_NAME = {case.name: n for n, case in reversed(list(enumerate(CASES)))}


def _parameters(numbers: Iterable[int], fast: Container[int]) -> list[Any]:
    """A parameter for each case; those not in `fast` only run with the slow tests."""
    return [
        pytest.param(n, id=f"{n}-{CASES[n].name}", marks=[] if n in fast else [pytest.mark.slow])
        for n in numbers
    ]


def _modes(names: Iterable[str], fast: dict[str, bool]) -> list[Any]:
    """Each name eagerly and compiled; the modes that `fast` does not list are slow tests."""
    return [
        pytest.param(
            name,
            compiled,
            id=f"{name}-{'compiled' if compiled else 'eager'}",
            marks=[] if fast.get(name) is compiled else [pytest.mark.slow],
        )
        for name in names
        for compiled in (False, True)
    ]


EVERY = range(len(CASES))
COMPILED = [n for n in EVERY if CASES[n].name not in SIZED_BY_VALUES | NEEDS_VALUES]
DIFFERENTIATED = sorted({int(key.split(".")[0]) for key in STORED if re.match(r"\d+\.grad", key)})


@pytest.mark.parametrize("number", _parameters(EVERY, FIRST_OF_NAME.values()))
def test_values_and_dtypes(number: int):
    case = CASES[number]
    _assert_outputs(number, case.call(mint, *_tensors(number)))


@pytest.mark.parametrize("number", _parameters(COMPILED, COMPILED[::40]))
def test_compiled_values_and_dtypes(number: int):
    call = CASES[number].call

    def run(*inputs: Any) -> Any:
        return call(mint, *inputs)

    _assert_outputs(number, ms.jit(run)(*_tensors(number)))


@pytest.mark.parametrize("number", _parameters(DIFFERENTIATED, DIFFERENTIATED[::40]))
def test_gradients(number: int):
    case = CASES[number]
    tensors = _tensors(number)
    places = places_of(case, arrays_of(number, case))

    def forward(*inputs: Any) -> Any:
        full = list(tensors)
        for place, value in zip(places, inputs, strict=True):
            full[place] = value
        result = case.call(mint, *full)
        return result[0] if isinstance(result, (tuple, list)) else result

    seed = Tensor(seed_of(number, STORED[f"{number}.out.0"]))
    grads = ops.GradOperation(get_all=True, sens_param=True)(forward)(
        *(tensors[n] for n in places), seed
    )
    for place, grad in zip(places, grads, strict=True):
        golden = STORED.get(f"{number}.grad.{place}")
        if golden is None:
            assert not np.any(np.asarray(grad))
        else:
            _assert_alike(grad, golden, case.tolerance)


@pytest.mark.parametrize(
    ("name", "compiled"), _modes(LAYERS, {"linear": False, "conv2d": True, "batch_norm2d": True})
)
def test_layers_with_parameters(name: str, compiled: bool):
    number, case = list(LAYERS).index(name), LAYERS[name]
    layer = case.call(mint).set_train()
    trained = {p.name: p for p in layer.trainable_params()}
    drawn = weights_of(number, {key: p.shape for key, p in trained.items()})
    for key, parameter in trained.items():
        parameter.set_data(Tensor(drawn[key]))
    arrays = arrays_of(number, case)
    places = tuple(places_of(case, arrays))
    seed = Tensor(seed_of(number, STORED[f"{name}.out"]))

    def loss(*inputs: Any) -> Any:
        out = layer(*inputs)
        return (out * seed).sum(), out

    weights = list(trained.values())
    gradient = ms.value_and_grad(loss, places or None, weights or None, has_aux=True)
    gradient = ms.jit(gradient) if compiled else gradient
    (_, out), grads = gradient(*(Tensor(a) for a in arrays))
    by_input, by_weight = grads if places and weights else (grads, ()) if places else ((), grads)
    by_input = by_input if isinstance(by_input, tuple) else (by_input,)
    _assert_alike(out, STORED[f"{name}.out"], 1e-4)
    for place, grad in zip(places, by_input, strict=True):
        _assert_alike(grad, STORED[f"{name}.grad.{place}"], 1e-4)
    for key, grad in zip(trained, by_weight, strict=True):
        _assert_alike(grad, STORED[f"{name}.weight.{key}"], 1e-4)
    states = {p.name: p for p in layer.untrainable_params()}
    assert sorted(states) == sorted(
        key.removeprefix(f"{name}.state.") for key in STORED if key.startswith(f"{name}.state.")
    )
    for key, state in states.items():
        _assert_alike(state, STORED[f"{name}.state.{key}"], 1e-4)


@pytest.mark.parametrize(
    ("name", "compiled"), _modes(OPTIMIZERS, {"sgd_momentum": False, "adam": True, "adamw": False})
)
def test_optimizers(name: str, compiled: bool):
    values, steps = training_of(name)
    params = [Parameter(Tensor(v), name=f"p{n}") for n, v in enumerate(values)]
    optimizer = OPTIMIZERS[name](mint, params)
    step = ms.jit(optimizer) if compiled else optimizer
    for gradients in steps:
        step(tuple(Tensor(g) for g in gradients))
    for place, parameter in enumerate(params):
        _assert_alike(parameter, STORED[f"{name}.param.{place}"], 2e-5)


def _tensors(number: int) -> list[Tensor]:
    return [Tensor(array) for array in arrays_of(number, CASES[number])]


def _assert_outputs(number: int, result: Any) -> None:
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    wanted = [key for key in STORED if key.startswith(f"{number}.out.")]
    assert len(outputs) == len(wanted)
    for place, out in enumerate(outputs):
        _assert_alike(out, STORED[f"{number}.out.{place}"], CASES[number].tolerance)


def _assert_alike(ours: Any, golden: np.ndarray, tolerance: float) -> None:
    found = np.asarray(ours)
    assert found.dtype == golden.dtype
    assert found.shape == golden.shape
    np.testing.assert_allclose(found, golden, rtol=tolerance, atol=tolerance)
