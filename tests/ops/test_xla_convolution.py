"""Convolutions of any padding: the right numbers, and never negative padding for XLA."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest
from jax import lax

import mycelia as ms
from mycelia import nn
from mycelia._engine.core.shape import Shape
from mycelia._engine.kernels.xla_convolution import xla_convolution
from mycelia._engine.operators.device import reference_implementations
from mycelia.ops.convolution.convolution import Conv2D, Conv2DBackpropFilter, Conv2DBackpropInput

NUMBERS = lax.ConvDimensionNumbers((0, 1, 2), (0, 1, 2), (0, 1, 2))


class Line(NamedTuple):
    """A convolution along one axis."""

    size: int
    kernel: int
    stride: int
    dilation: int
    low: int
    high: int

    def __call__(self, x: Any, weight: Any) -> Any:
        sizes = (self.stride,), ((self.low, self.high),), (self.dilation,)
        return xla_convolution(x, weight, *sizes, NUMBERS)

    @property
    def outputs(self) -> int:
        reach = (self.kernel - 1) * self.dilation + 1
        return (self.size + self.low + self.high - reach) // self.stride + 1

    def matrix(self, weight: np.ndarray) -> np.ndarray:
        """The same as a product with a matrix (outputs, size), for one channel."""
        found = np.zeros((self.outputs, self.size))
        for out, point in product(range(self.outputs), range(self.kernel)):
            place = out * self.stride + point * self.dilation - self.low
            if 0 <= place < self.size:
                found[out, place] += weight[point]
        return found


def _lines(count: int) -> list[Line]:
    rng = random.Random(1)
    drawn = (
        Line(*(rng.randint(*ends) for ends in ((1, 9), (1, 5), (1, 4), (1, 3), (-4, 7), (-4, 7))))
        for _ in range(100 * count)
    )
    return [line for line in drawn if line.outputs > 0][:count]


def _total(line: Line, x: Any, weight: Any) -> Any:
    return (line(x, weight) ** 3).sum()


@pytest.fixture
def paddings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The padding of every convolution that is made, whoever makes it."""
    found: list[Any] = []
    bind = lax.conv_general_dilated_p.bind

    def recording(*args: Any, **fields: Any) -> Any:
        found.extend(fields["padding"])
        return bind(*args, **fields)

    monkeypatch.setattr(lax.conv_general_dilated_p, "bind", recording)
    jax.clear_caches()
    yield found
    assert found
    assert min(map(min, found)) >= 0, f"negative padding: {min(found)}"


@pytest.mark.parametrize("line", _lines(30), ids=str)
def test_any_padding_gives_the_numbers_of_a_matrix(line: Line):
    random = np.random.default_rng(2)
    x, weight = random.normal(size=(1, 1, line.size)), random.normal(size=(1, 1, line.kernel))
    matrix = line.matrix(weight[0, 0])
    with jax.disable_jit():
        found, pull = jax.vjp(line, x, weight)
        dout = random.normal(size=found.shape)
        dx, dweight = pull(dout)
    np.testing.assert_allclose(found[0, 0], matrix @ x[0, 0], atol=1e-12)
    np.testing.assert_allclose(dx[0, 0], matrix.T @ dout[0, 0], atol=1e-12)
    by_point = [line.matrix(point) @ x[0, 0] @ dout[0, 0] for point in np.eye(line.kernel)]
    np.testing.assert_allclose(dweight[0, 0], by_point, atol=1e-12)


def test_no_derivative_of_any_order_has_negative_padding(paddings: list[Any]):
    for line in _lines(150):
        x, weight = np.ones((2, 3, line.size)), np.ones((4, 3, line.kernel))
        first = jax.grad(_total, (1, 2))

        def second(x: Any, weight: Any, line: Line = line, first: Any = first) -> Any:
            dx, dweight = first(line, x, weight)
            return (dx**2).sum() + (dweight**2).sum()

        def forward(x: Any, weight: Any, line: Line = line) -> Any:
            return jax.jvp(line, (x, weight), (x, weight))[1].sum()

        for fn in (second, forward):
            jax.make_jaxpr(jax.grad(fn, (0, 1)))(x, weight)
        jax.make_jaxpr(jax.vmap(jax.grad(second, (0, 1))))(x[None], weight[None])


@pytest.mark.parametrize("line", [Line(8, 3, 2, 1, 4, 4), Line(8, 3, 3, 2, -3, 5)], ids=str)
def test_xla_joins_no_negative_padding_with_a_convolution(line: Line):
    x, weight = np.ones((2, 3, line.size)), np.ones((4, 3, line.kernel))
    first = jax.grad(lambda x, w: (line(x, w) ** 3).sum(), (0, 1))
    second = jax.grad(lambda x, w: sum((d**2).sum() for d in first(x, w)), (0, 1))
    text = jax.jit(second).lower(x, weight).compile().as_text()
    assert "convolution(" in text
    assert "pad=-" not in text
    assert "_-" not in "".join(t for t in text.split() if t.startswith("pad="))


class Configuration(NamedTuple):
    """A convolution layer, and the size of its images."""

    channels: Shape
    kernel: Shape
    stride: Shape
    padding: Shape
    dilation: Shape
    group: int
    size: Shape


def _configurations(count: int) -> list[Configuration]:
    rng = random.Random(5)

    def pair(least: int, most: int) -> Shape:
        return rng.randint(least, most), rng.randint(least, most)

    found = []
    while len(found) < count:
        kernel, dilation, group = pair(1, 5), pair(1, 2), rng.choice((1, 1, 2))
        padding = (*pair(0, 6), *pair(0, 6))
        channels = group * rng.randint(1, 8), group * rng.randint(1, 8)
        drawn = Configuration(channels, kernel, pair(1, 4), padding, dilation, group, pair(6, 14))
        reaches = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        if all(n >= r for n, r in zip(drawn.size, reaches, strict=True)):
            found.append(drawn)
    return found


@pytest.mark.parametrize("plain", [False, True], ids=["chosen forms", "plain forms"])
@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_no_operator_makes_negative_padding(data_format: str, plain: bool, paddings: list[Any]):
    for made in _configurations(60):
        inputs, outputs = made.channels
        x = np.ones((2, inputs, *made.size), np.float32)
        weight = np.ones((outputs, inputs // made.group, *made.kernel), np.float32)
        if data_format == "NHWC":
            x, weight = (np.moveaxis(a, 1, -1) for a in (x, weight))
        sizes = (made.stride, made.dilation, made.group, data_format)
        op = Conv2D.of(outputs, made.kernel, 1, "pad", made.padding, *sizes)
        fields = op.backward_fields()
        with reference_implementations() if plain else nullcontext():
            dout = jax.eval_shape(op.lower, x, weight)
            ones = np.ones(dout.shape, np.float32)
            back = Conv2DBackpropInput.of(*fields), Conv2DBackpropFilter.of(*fields)
            for gradient, other, shape in zip(back, (weight, x), (x, weight), strict=True):
                lowered = partial(gradient.lower, **{gradient.static[0]: shape.shape})
                jax.eval_shape(lowered, ones, other)
                jax.eval_shape(jax.vmap(lowered), ones[None], other[None])


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE], ids=["eager", "graph"])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "dilation"),
    [(3, 3, 1, 1), (5, 4, 2, 1), (3, 2, 4, 1), (2, 3, 0, 2)],
)
def test_layers_give_the_same_gradients_twice(
    kernel: int, stride: int, padding: int, dilation: int, mode: int, paddings: list[Any]
):
    ms.set_context(mode=mode)
    sizes = {"stride": stride, "padding": padding, "dilation": dilation, "pad_mode": "pad"}
    net = nn.Conv2d(8, 32, kernel, **sizes)
    x = ms.Tensor(np.random.default_rng(1).normal(size=(1, 8, 33, 23)).astype(np.float32))

    def squared(x: Any) -> Any:
        return (net(x) ** 2).sum()

    def squared_gradient(x: Any) -> Any:
        return (ms.grad(squared)(x) ** 2).sum()

    for fn in (ms.grad(squared), ms.grad(squared_gradient)):
        first, again = fn(x).asnumpy(), fn(x).asnumpy()
        np.testing.assert_array_equal(first, again)
        assert np.abs(first).max() < 1e4
