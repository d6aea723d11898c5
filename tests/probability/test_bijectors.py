"""Bijectors: inverses, derivatives, properties, errors."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
import mycelia.nn.probability.bijector as msb
from mycelia import Tensor

ALL = {
    "Exp": msb.Exp(),
    "PowerTransform": msb.PowerTransform([0.0, 0.5, 2.0]),
    "ScalarAffine": msb.ScalarAffine([1.0, -2.0, 0.5], [0.5]),
    "Softplus": msb.Softplus([0.5, 1.0, 3.0]),
    "GumbelCDF": msb.GumbelCDF([0.2], [0.5, 1.0, 2.0]),
    "Invert": msb.Invert(msb.Softplus(2.0)),
}
X = Tensor([0.2, 0.5, 0.9])


@pytest.mark.parametrize("name", ALL)
def test_the_inverse_leads_back(name: str):
    made = ALL[name]
    np.testing.assert_allclose(made.inverse(made.forward(X)).asnumpy(), X.asnumpy(), rtol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_log_jacobians_are_those_of_the_derivative(name: str):
    made = ALL[name]
    slope = ms.grad(lambda x: made.forward(x).sum())(X).asnumpy()
    expected = np.log(np.abs(slope))
    found = np.broadcast_to(made.forward_log_jacobian(X).asnumpy(), (3,))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    back = np.broadcast_to(made.inverse_log_jacobian(made.forward(X)).asnumpy(), (3,))
    np.testing.assert_allclose(back, -expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("name", ALL)
def test_the_same_in_graph_mode_and_in_half_precision(name: str):
    made = ALL[name]
    eager = made.forward(X).asnumpy()
    assert made.forward(X.astype(ms.float16)).dtype == ms.float16
    assert made.forward(X.astype(ms.float64)).dtype == ms.float64
    ms.set_context(mode=ms.GRAPH_MODE)
    np.testing.assert_allclose(made("forward", X).asnumpy(), eager, rtol=1e-6)


def test_properties():
    made = msb.ScalarAffine(2.0, 1.0)
    assert (made.name, made.dtype, made.batch_shape) == ("ScalarAffine", None, ())
    assert made.is_constant_jacobian and made.is_injective and made.is_scalar_batch
    assert made.parameters["param_dict"] == {"scale": 2.0, "shift": 1.0}
    assert float(made.scale) == 2.0 and float(made.shift) == 1.0
    assert repr(made) == "ScalarAffine(scale = 2.0, shift = 1.0)"
    assert ALL["PowerTransform"].shape_mapping((4, 1)) == (4, 3)
    assert made.cast_param_by_value(X.astype(ms.float16), made.scale).dtype == ms.float16
    assert msb.Invert(msb.Exp()).name == "InvertExp"
    assert isinstance(msb.Invert(msb.Exp()).bijector, msb.Exp)
    assert not msb.PowerTransform([0.0, 1.0]).is_scalar_batch
    assert float(msb.PowerTransform(2.0).power) == 2.0
    assert float(msb.Softplus(2.0).sharpness) == 2.0
    assert float(msb.GumbelCDF(0.5, 2.0).loc) == 0.5


def test_softplus_far_out():
    wide = msb.Softplus(1.0)
    np.testing.assert_allclose(wide.forward(Tensor([-100.0, 100.0])).asnumpy(), [0.0, 100.0])
    np.testing.assert_allclose(wide.inverse(Tensor([100.0])).asnumpy(), [100.0])


def test_a_bijector_of_the_users_own():
    class Cube(msb.Bijector):
        def __init__(self):
            super().__init__(name="Cube", param={})

        def _forward(self, x):
            return x**3

    assert Cube().forward(Tensor([2.0])).asnumpy().tolist() == [8.0]
    with pytest.raises(NotImplementedError, match="Cube: has no inverse"):
        Cube().inverse(X)


BAD = [
    (lambda: msb.PowerTransform(-1.0), ValueError, "Power: must be 0 or more"),
    (lambda: msb.PowerTransform("a"), TypeError, "cannot be converted to a tensor"),
    (lambda: msb.PowerTransform(2), TypeError, "dtype of power"),
    (lambda: msb.GumbelCDF(0.0, 0.0), ValueError, "scale: must be above 0"),
    (lambda: msb.Invert(3), TypeError, "'bijector' must be Bijector"),
    (lambda: msb.Bijector(), TypeError, "'name' must be str"),
    (
        lambda: msb.ScalarAffine(Tensor([1.0], ms.float16), 2.0),
        TypeError,
        "differs from the other parameters",
    ),
    (lambda: msb.Exp().forward(1.0), TypeError, "must be a Tensor"),
    (lambda: msb.Exp().forward(Tensor([1, 2])), TypeError, "floating-point tensor"),
]


@pytest.mark.parametrize(("wrong", "kind", "message"), BAD)
def test_errors(wrong, kind, message):
    with pytest.raises(kind, match=message):
        wrong()
