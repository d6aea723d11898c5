"""Rprop, ASGD and AdaFactor against the real MindSpore; layers of fractional pooling."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, ops
from mycelia.nn import Cell, TrainOneStepCell
from mycelia.nn.layer import fractional_pooling
from mycelia.nn.optim import adafactor, asgd, rprop
from tests.goldens.more_optim_cases import CASES, run

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "more_optim.npz")


class nn:  # the names as users write them
    Rprop, ASGD, AdaFactor = rprop.Rprop, asgd.ASGD, adafactor.AdaFactor
    FractionalMaxPool2d = fractional_pooling.FractionalMaxPool2d
    FractionalMaxPool3d = fractional_pooling.FractionalMaxPool3d


MS = SimpleNamespace(nn=nn, Parameter=Parameter, Tensor=Tensor)


@pytest.mark.parametrize("case", CASES)
def test_seven_steps_end_where_mindspore_ends(case: str):
    ours = run(MS, case)
    prefix = f"{case}:"
    expected = {k.removeprefix(prefix): GOLDENS[k] for k in GOLDENS.files if k.startswith(prefix)}
    assert sorted(ours) == sorted(expected)
    for name, value in ours.items():
        assert (value.dtype, value.shape) == (expected[name].dtype, expected[name].shape), name
        largest = float(np.max(np.abs(expected[name]), initial=0.0))
        np.testing.assert_allclose(
            value, expected[name], rtol=2e-5, atol=2e-5 * largest, err_msg=name
        )


class Squares(Cell):
    """The sum of squares around (1, 2, 3) and of a matrix."""

    def __init__(self):
        super().__init__()
        self.x = Parameter(Tensor(np.zeros(3, np.float32)), name="x")
        self.y = Parameter(Tensor(np.ones((2, 3), np.float32)), name="y")

    def construct(self, aim):
        return ((self.x - aim) ** 2).sum() + (self.y**2).sum()


OPTIMIZERS = {
    "Rprop": lambda params: nn.Rprop(params, 0.1),
    "ASGD": lambda params: nn.ASGD(params, 0.1, t0=5.0),
    "AdaFactor": lambda params: nn.AdaFactor(
        params, 0.3, relative_step=False, scale_parameter=False
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_network_learns_alike_in_both_modes(name: str):
    found = []
    before = ms.get_context("mode")
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        net = Squares()
        step = TrainOneStepCell(net, OPTIMIZERS[name](net.trainable_params()))
        found.append([float(step(Tensor([1.0, 2.0, 3.0])).asnumpy()) for _ in range(15)])
    ms.set_context(mode=before)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4, atol=1e-5)
    assert found[0][0] == 20.0 and found[0][-1] < 4.0


def test_half_precision_keeps_its_dtype():
    for optimizer in (nn.Rprop, nn.ASGD, nn.AdaFactor):
        half = Parameter(Tensor(np.ones((2, 3), np.float16)), name="h")
        optimizer([half])((Tensor(np.ones((2, 3), np.float16)),))
        assert half.dtype == ms.float16 and (half.asnumpy() < 1).all()


def params() -> list[Parameter]:
    return [Parameter(Tensor(np.ones((2, 3), np.float32)), name="w")]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: nn.Rprop(params(), etas=(1.2, 0.5)), ValueError, "etaminus"),
        (lambda: nn.Rprop(params(), etas=(0.5,)), ValueError, "must be a pair"),
        (lambda: nn.Rprop(params(), etas=[0.5, 1.2]), TypeError, "must be a tuple"),
        (lambda: nn.Rprop(params(), etas=(0.5, 0.9)), ValueError, "above 1.0"),
        (lambda: nn.Rprop(params(), step_sizes=(1, 50)), TypeError, "min_step_sizes"),
        (lambda: nn.Rprop(params(), step_sizes=(50.0, 1.0)), ValueError, "50.0 > 1.0"),
        (lambda: nn.Rprop(params(), -1.0), ValueError, "learning rate"),
        (lambda: nn.ASGD(params(), lambd=1), TypeError, "lambd"),
        (lambda: nn.ASGD(params(), alpha=1), TypeError, "alpha"),
        (lambda: nn.ASGD(params(), t0=1), TypeError, "t0"),
        (lambda: nn.AdaFactor(params(), 0.1), ValueError, "relative_step"),
        (lambda: nn.AdaFactor(params(), relative_step=False), ValueError, "learning_rate"),
        (
            lambda: nn.AdaFactor(params(), 0.1, relative_step=False, warmup_init=True),
            ValueError,
            "warmup_init",
        ),
        (lambda: nn.AdaFactor(params(), eps=(1, 2)), TypeError, "eps0"),
        (lambda: nn.AdaFactor(params(), eps=(1e-30,)), ValueError, "eps must be a pair"),
        (lambda: nn.AdaFactor(params(), clip_threshold=1), TypeError, "clip_threshold"),
        (lambda: nn.AdaFactor(params(), decay_rate=1.5), ValueError, "decay_rate"),
        (lambda: nn.AdaFactor(params(), beta1=-1.0), ValueError, "beta1"),
        (lambda: nn.AdaFactor(params(), weight_decay=1), TypeError, "weight_decay"),
        (lambda: nn.AdaFactor(params(), compression=1), TypeError, "compression"),
        (lambda: nn.AdaFactor(params(), loss_scale=0.0), ValueError, "loss_scale"),
    ],
)
def test_wrong_arguments_are_told(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


def test_adafactor_compresses_what_it_does_not_factor():
    bias = Parameter(Tensor(np.ones(3, np.float32)), name="b")
    optimizer = nn.AdaFactor([*params(), bias], compression=True, beta1=None)
    optimizer((Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones(3, np.float32))))
    states = {p.name: p for p in optimizer.get_parameters()}
    assert states["exp_avg_sq_b"].dtype == ms.float16
    assert states["exp_avg_sq_row_w"].dtype == ms.float32
    assert "exp_avg.w" not in states
    np.testing.assert_allclose(bias.asnumpy(), 0.99, rtol=1e-4)
    assert optimizer.supports_memory_efficient_fp16 and not optimizer.supports_flat_params
    optimizer.target = "CPU"
    assert optimizer.target == "CPU"


def test_fractional_pooling_of_images():
    image = np.random.RandomState(0).rand(1, 2, 6, 7).astype(np.float32)
    samples = Tensor(np.full((1, 2, 2), 0.3, np.float32))
    pool = nn.FractionalMaxPool2d(
        2, output_size=(3, 4), return_indices=True, _random_samples=samples
    )
    values, places = pool(Tensor(image))
    expected = [[8, 10, 10, 13], [21, 17, 17, 20], [35, 38, 38, 33]]  # of MindSpore
    np.testing.assert_array_equal(places.asnumpy()[0, 0], expected)
    flat = image.reshape(1, 2, -1)
    read = np.take_along_axis(flat, places.asnumpy().reshape(1, 2, -1), -1)
    np.testing.assert_array_equal(values.asnumpy().reshape(1, 2, -1), read)
    again = pool.compile_and_run(Tensor(image))[0].asnumpy()
    np.testing.assert_array_equal(again, values.asnumpy())
    assert nn.FractionalMaxPool2d(2, output_ratio=0.5)(Tensor(image)).shape == (1, 2, 3, 3)
    with pytest.raises(ValueError, match="output_size or output_ratio"):
        nn.FractionalMaxPool2d(2)(Tensor(image))
    with pytest.raises(ValueError, match="output_ratio"):
        nn.FractionalMaxPool2d(2, output_ratio=(0.5, 2.0))(Tensor(image))


def test_fractional_pooling_of_volumes():
    volume = np.random.RandomState(0).rand(1, 1, 4, 5, 4).astype(np.float32)
    samples = Tensor(np.full((1, 1, 3), 0.6, np.float32))
    pool = nn.FractionalMaxPool3d(
        2, output_size=(2, 3, 2), return_indices=True, _random_samples=samples
    )
    values, places = pool(Tensor(volume))
    read = volume.ravel()[places.asnumpy().ravel()]
    np.testing.assert_array_equal(values.asnumpy().ravel(), read)
    expected = ops.fractional_max_pool3d(
        Tensor(volume), 2, output_size=(2, 3, 2), _random_samples=samples
    )
    np.testing.assert_array_equal(values.asnumpy(), expected.asnumpy())
    assert values.asnumpy()[0, 0, 1, 2, 1] == volume[0, 0, 2:, 3:, 2:].max()
