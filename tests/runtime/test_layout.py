"""Images with their channels last inside of programs: the same numbers as in the plain layout."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.core import settings
from mycelia._engine.runtime.xla.channels_last import ChannelsLastImage, LayoutLowering
from mycelia.ops.convolution.convolution import Conv2D
from mycelia.ops.normalization.batch_and_layer import BatchNorm

pytestmark = pytest.mark.usefixtures("graph_mode")


def images(*shape: int) -> np.ndarray:
    return np.random.RandomState(0).standard_normal(shape).astype(np.float32)


class Residual(nn.Cell):
    """Two convolutions with statistics, a shortcut, and a pooling."""

    def __init__(self, inputs: int, outputs: int, stride: int, group: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 1)
        self.second = nn.Conv2d(
            outputs, outputs, 3, stride, pad_mode="pad", padding=1, group=group, has_bias=True
        )
        self.short = nn.Conv2d(inputs, outputs, 1, stride)
        self.norms = nn.CellList([nn.BatchNorm2d(outputs) for _ in range(2)])
        self.pool = nn.MaxPool2d(3, 2, pad_mode="same")
        self.average = nn.AvgPool2d(2, 1)
        self.scale = ms.Parameter(Tensor(images(outputs, 1, 1)), name="scale")

    def construct(self, x: Any) -> Any:
        y = ops.relu(self.norms[0](self.first(x)))
        y = self.norms[1](self.second(y)) * self.scale
        y = ops.relu(y + self.short(x))
        return self.average(self.pool(y))


class Joined(nn.Cell):
    """Channels of two convolutions side by side, then the mean of each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Conv2d(24, 17, 3), nn.Conv2d(24, 7, 5)
        self.dense = nn.Dense(24, 3)

    def construct(self, x: Any) -> Any:
        y = ops.concat((self.left(x), self.right(x)), 1)
        kept = y.mean(1, keep_dims=True)
        return self.dense((y - kept).mean((2, 3)))


NETS = {
    "residual": lambda: (Residual(16, 32, 1), (4, 16, 8, 9)),
    "strided": lambda: (Residual(16, 32, 2), (4, 16, 9, 10)),
    "groups": lambda: (Residual(16, 32, 1, 4), (3, 16, 8, 8)),
    "depthwise": lambda: (Residual(16, 32, 2, 32), (3, 16, 8, 8)),
    "joined": lambda: (Joined(), (3, 24, 7, 8)),
}


def trained(name: str, selected: bool) -> tuple[list[float], list[np.ndarray]]:
    """Losses and parameters of three steps, with or without selected kernels."""
    ms.set_context(kernel_selection=selected)
    ms.set_seed(3)
    net, shape = NETS[name]()
    x = Tensor(images(*shape))
    loss = nn.WithLossCell(net, nn.MSELoss())
    step = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.02, 0.9)).set_train()
    net.set_train()
    target = Tensor(images(*net(x).shape))
    losses = [float(step(x, target).asnumpy()) for _ in range(3)]
    return losses, [p.asnumpy() for p in net.get_parameters()]


@pytest.mark.parametrize("name", NETS)
def test_selected_kernels_give_the_numbers_of_plain_ones(name: str) -> None:
    losses, parameters = trained(name, selected=True)
    plain_losses, plain_parameters = trained(name, selected=False)
    np.testing.assert_allclose(losses, plain_losses, rtol=2e-5)
    for found, wanted in zip(parameters, plain_parameters, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


def test_images_stay_last_between_operators() -> None:
    layouts = LayoutLowering()
    x, weight = images(2, 16, 6, 6), images(32, 16, 3, 3)
    found = layouts.apply(Conv2D(32, 3), [x, weight])
    assert isinstance(found, ChannelsLastImage) and found.array.shape == (2, 4, 4, 32)
    ones = np.ones(32, np.float32)
    (result, *_), _ = layouts.apply(BatchNorm(), [found, ones, ones, ones, ones])
    joined = layouts.apply(ops.Add(), [result, images(32, 1, 1)])
    assert isinstance(joined, ChannelsLastImage)
    assert layouts.kept == 3
    assert len(layouts.moved) == 2  # the input and the weight
    flat = layouts.apply(ops.Flatten(), [joined])
    np.testing.assert_array_equal(flat, np.moveaxis(joined.array, -1, 1).reshape(2, -1))


def test_the_switch_makes_programs_anew() -> None:
    net = nn.Conv2d(16, 16, 3)
    x = Tensor(images(2, 16, 6, 6))
    first = net(x).asnumpy()
    ms.set_context(kernel_selection=False)
    np.testing.assert_allclose(net(x).asnumpy(), first, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "selected"),
    [
        ({"kernel_selection": False}, False),
        ({"kernel_selection": False, "enable_graph_kernel": True}, True),
        ({"graph_kernel_flags": "--opt_level=0"}, False),
        ({"graph_kernel_flags": "--opt_level=2"}, True),
    ],
)
def test_settings_that_choose(changes: dict[str, Any], selected: bool) -> None:
    ms.set_context(**changes)
    assert settings.selects_kernels() is selected


def test_the_environment_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_DEV_GRAPH_KERNEL_FLAGS", "--opt_level=0")
    assert not settings.selects_kernels()
