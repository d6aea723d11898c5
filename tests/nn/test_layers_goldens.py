"""Layers give what the goldens hold: printed form, parameters, outputs, gradients, statistics."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

from mycelia import Tensor, float32, nn
from mycelia.nn.cell import Cell
from mycelia.ops.reduction.reduction import reduce_sum
from mycelia.transforms.grad import grad
from tests.goldens.layer_cases import CASES, inputs_of, parameters_of, printed, weights_of

GOLDENS = np.load(pathlib.Path(__file__).parents[1] / "goldens" / "layers.npz")


def golden(name: str) -> dict[str, np.ndarray]:
    """What is stored for one case."""
    start = name + "/"
    return {key[len(start) :]: GOLDENS[key] for key in GOLDENS.files if key.startswith(start)}


def built(name: str) -> tuple[Cell, list[Any]]:
    """The layer of a case and those of its parameters that the case sets."""
    layer = CASES[name].make(nn)
    layer.set_train(CASES[name].train)
    parameters = [p for p in layer.get_parameters() if "SSIM" not in type(layer).__name__]
    values = parameters_of(name, [p.shape for p in parameters])
    for parameter, value in zip(parameters, values, strict=True):
        parameter.set_data(Tensor(value))
    return layer, parameters


def as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def assert_close(got: Any, expected: np.ndarray, what: str) -> None:
    got = np.asarray(got)
    assert got.dtype == expected.dtype, what
    assert got.shape == expected.shape, what
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5, err_msg=what)


@pytest.mark.parametrize("name", CASES)
def test_a_layer_prints_and_names_its_parameters_as_the_golden(name: str) -> None:
    layer, expected = CASES[name].make(nn), golden(name)
    assert [p.name for p in layer.get_parameters()] == expected["names"].tolist()
    if "weight_init=[" not in str(expected["repr"]):
        assert printed(layer) == str(expected["repr"])


@pytest.mark.parametrize("name", CASES)
def test_a_layer_computes_what_the_golden_holds(name: str) -> None:
    layer, parameters = built(name)
    expected = golden(name)
    outputs = as_tuple(layer(*(Tensor(a) for a in inputs_of(name))))
    for place, output in enumerate(outputs):
        assert_close(output, expected[f"output{place}"], f"output {place}")
    for place, parameter in enumerate(parameters):
        if not parameter.requires_grad:
            assert_close(parameter, expected[f"statistic{place}"], parameter.name)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (place % 2))
        for place, name in enumerate(n for n, c in CASES.items() if c.differentiate)
    ],
)
def test_a_layer_has_the_gradients_the_golden_holds(name: str) -> None:
    layer, _ = built(name)
    expected = golden(name)
    inputs = [Tensor(a) for a in inputs_of(name)]
    # the golden's gradients were taken in a second call, after moving statistics changed
    floats = [o for o in as_tuple(layer(*inputs)) if o.dtype is float32]
    weights = [Tensor(w) for w in weights_of(name, [o.shape for o in floats])]

    def loss(*args: Any) -> Any:
        total = 0.0
        for part, weight in zip(as_tuple(layer(*args)), weights, strict=False):
            total = total + reduce_sum(part * weight)
        return total

    places = tuple(i for i, x in enumerate(inputs) if x.dtype is float32)
    trained = layer.trainable_params()
    grads = grad(loss, places or None, weights=trained or None)(*inputs)
    by_input, by_weight = (grads if places else ((), grads)) if trained else (grads, ())
    for place, found in zip(places, as_tuple(by_input), strict=True):
        assert_close(found, expected[f"input_grad{place}"], f"gradient of input {place}")
    for place, found in enumerate(by_weight):
        assert_close(found, expected[f"weight_grad{place}"], f"gradient of {trained[place].name}")
