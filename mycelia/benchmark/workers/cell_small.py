"""Chains of operators, gradients and loops with the interface of cells.

A program's results are there all at once, so the smallest is read to wait for them: `asnumpy` may
copy, and large results stay where they are, as in other frameworks.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from . import numbers
from .cell_training import initialize, optimizer_of
from .framework import ms, nn, ops
from .protocol import Job


def total(*tensors: Any) -> float:
    """One number that tells tensors apart."""
    return numbers.total(*[tensor.asnumpy() for tensor in tensors])


def elementwise(sizes: dict[str, Any]) -> Job:
    """One run is one pass over two arrays."""
    x = ms.Tensor(numbers.normal(0, *sizes["inputs"]))
    y = ms.Tensor(numbers.normal(1, *sizes["inputs"]))

    @ms.jit
    def chain(x: Any, y: Any) -> Any:
        a = ops.maximum(x * y + x, -y)
        b = ops.exp(-ops.abs(a)) - ops.tanh(x)
        return ops.sqrt(b * b + 1) / (2 + ops.sigmoid(y))

    def run() -> Any:
        result = chain(x, y)
        result[0, 0].asnumpy()
        return result

    return Job(run, total, 0)


class NormalizedGelu(nn.Cell):
    """LayerNorm and GELU, down to one number."""

    def __init__(self, width: int, weights: Any) -> None:
        super().__init__()
        self.norm, self.weights = nn.LayerNorm((width,), epsilon=1e-5), weights
        self.gelu = nn.GELU(approximate=False)

    def construct(self, x: Any) -> Any:
        return (self.gelu(self.norm(x)) * self.weights).mean()


def layernorm_gelu(sizes: dict[str, Any]) -> Job:
    """One run is one pass forward and back, for the input and both parameters."""
    rows, width = sizes["inputs"]
    x = ms.Tensor(numbers.normal(0, rows, width))
    net = NormalizedGelu(width, ms.Tensor(numbers.normal(1, rows, width)))
    parameters = initialize(net)
    gradient = ms.jit(ms.grad(net, 0, net.trainable_params()))

    def run() -> Any:
        of_input, of_parameters = gradient(x)
        of_parameters[0].asnumpy()
        return of_input, *of_parameters

    return Job(run, lambda gradients: total(*gradients), parameters)


def softmax_ce(sizes: dict[str, Any]) -> Job:
    """One run is one pass forward and back, for the logits."""
    logits, labels = ms.Tensor(numbers.inputs(sizes)), ms.Tensor(numbers.labels(sizes))
    gradient = ms.jit(ms.value_and_grad(ops.cross_entropy))

    def run() -> Any:
        loss, of_logits = gradient(logits, labels)
        loss.asnumpy()
        return loss, of_logits

    return Job(run, lambda results: total(*results), 0)


class Chosen(nn.Cell):
    """The mean squared length of the chosen rows of a table."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.table = nn.Embedding(sizes["vocabulary"], sizes["width"])

    def construct(self, chosen: Any) -> Any:
        return ops.square(self.table(chosen)).sum(-1).mean()


def embedding(sizes: dict[str, Any]) -> Job:
    """One run is one step of a table whose chosen rows shall become small."""
    net = Chosen(sizes)
    parameters = initialize(net)
    train = nn.TrainOneStepCell(net, optimizer_of(net, sizes)).set_train()
    chosen = ms.Tensor(numbers.inputs(sizes))
    return Job(lambda: float(train(chosen).asnumpy()), float, parameters)


def hessian(sizes: dict[str, Any]) -> Job:
    """One run is the Hessian of a loss times a vector, in all weights at once."""
    make = numbers.Weights()
    weights = [ms.Tensor(make(b, a)) for a, b in pairwise(sizes["widths"])]
    vectors = [ms.Tensor(make(b, a)) for a, b in pairwise(sizes["widths"])]
    inputs = ms.Tensor(numbers.inputs(sizes))

    def loss(first: Any, second: Any, third: Any) -> Any:
        x = ops.tanh(ops.matmul(inputs, first.T))
        x = ops.tanh(ops.matmul(x, second.T))
        return ops.square(ops.matmul(x, third.T)).mean()

    def along(first: Any, second: Any, third: Any) -> Any:
        slopes = ms.grad(loss, (0, 1, 2))(first, second, third)
        return sum([(slope * vector).sum() for slope, vector in zip(slopes, vectors)])

    product = ms.jit(ms.grad(along, (0, 1, 2)))

    def run() -> Any:
        parts = product(*weights)
        parts[-1].asnumpy()
        return parts

    return Job(run, lambda parts: total(*parts), sum(w.size for w in weights))


def solver(sizes: dict[str, Any]) -> Job:
    """One run inverts a matrix by Newton's iteration, until the residual is small enough."""
    matrix, start = (ms.Tensor(v) for v in numbers.system(sizes["size"]))
    identity = ms.Tensor(np.eye(sizes["size"], dtype=np.float32))
    tolerance = sizes["tolerance"]

    @ms.jit
    def inverse(matrix: Any, x: Any) -> Any:
        residual = identity - ops.matmul(matrix, x)
        while ops.square(residual).sum() > tolerance:
            x = x + ops.matmul(x, residual)
            residual = identity - ops.matmul(matrix, x)
        return x

    return Job(lambda: inverse(matrix, start).asnumpy(), numbers.total, 0)


BUILDERS = {
    "elementwise": elementwise,
    "layernorm_gelu": layernorm_gelu,
    "softmax_ce": softmax_ce,
    "embedding": embedding,
    "hvp": hessian,
    "solver": solver,
}
