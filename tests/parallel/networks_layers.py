"""Layers that the networks share, written as users write them, with operators they can annotate."""

from __future__ import annotations

import mycelia as ms
from mycelia import nn, ops
from mycelia.tensor.initializer import Normal, initializer


class Linear(nn.Cell):
    """x W + b for rows x, with a product and a sum of its own."""

    def __init__(self, size_in, size_out, has_bias=True):
        super().__init__()
        scale = size_in**-0.5
        self.weight = ms.Parameter(initializer(Normal(scale), (size_in, size_out)), name="weight")
        self.has_bias = has_bias
        if has_bias:
            self.bias = ms.Parameter(initializer("zeros", (size_out,)), name="bias")
        self.matmul = ops.MatMul()
        self.add = ops.Add()

    def construct(self, x):
        x = self.matmul(x, self.weight)
        return self.add(x, self.bias) if self.has_bias else x


def split_columns(layer, data, model):
    """Each device gets some columns of the weight, and so of the result."""
    layer.matmul.shard(((data, 1), (1, model)))
    layer.add.shard(((data, model), (model,)))


def split_rows(layer, data, model):
    """Each device gets some rows of the weight; the results are partial sums."""
    layer.matmul.shard(((data, model), (model, 1)))
    layer.add.shard(((data, 1), (1,)))


def degrees(devices):
    """How often data and weights are cut: 2 = 1 x 2, 4 = 2 x 2, 6 = 2 x 3, 7 = 1 x 7, 8 = 2 x 4."""
    data = max(d for d in range(1, devices + 1) if d * d <= devices and devices % d == 0)
    return data, devices // data
