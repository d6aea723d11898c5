"""A multilayer perceptron, and a recommender with a wide and a deep part."""

from __future__ import annotations

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from mycelia.tensor.initializer import Normal, initializer
from tests.parallel.networks_layers import Linear, degrees, split_columns, split_rows


class Perceptron(nn.Cell):
    """Three layers and their loss."""

    def __init__(self, size_in=96, width=192, classes=10):
        super().__init__()
        self.first, self.second = Linear(size_in, width), Linear(width, size_in)
        self.head = Linear(size_in, classes)
        self.relu = nn.ReLU()
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x, label):
        x = self.relu(self.second(self.relu(self.first(x))))
        return self.loss(self.head(x), label)


def annotate_perceptron(net, devices):
    data, model = degrees(devices)
    split_columns(net.first, data, model)
    split_rows(net.second, data, model)


def perceptron_batch(rng, size):
    label = rng.integers(0, 10, size).astype(np.int32)
    x = rng.normal(size=(size, 96)) + 0.1 * label[:, None]
    return ms.Tensor(x.astype(np.float32)), ms.Tensor(label)


class WideAndDeep(nn.Cell):
    """Clicks from 26 categories and 13 numbers: a linear part, and layers on embeddings."""

    def __init__(self, rows=10_007, width=16, fields=26, numbers=13):
        super().__init__()
        self.inputs = fields * width + numbers
        self.wide = ms.Parameter(initializer(Normal(0.01), (rows, 1)), name="wide")
        self.deep = ms.Parameter(initializer(Normal(0.05), (rows, width)), name="deep")
        self.gather_wide, self.gather_deep = ops.Gather(), ops.Gather()
        self.concat, self.relu = ops.Concat(1), nn.ReLU()
        self.first, self.second = Linear(self.inputs, 96), Linear(96, 48)
        self.head, self.numbers = Linear(48, 1), Linear(numbers, 1)
        self.loss = ops.SigmoidCrossEntropyWithLogits()

    def construct(self, categories, numbers, label):
        size = categories.shape[0]
        wide = self.gather_wide(self.wide, categories, 0).sum(1) + self.numbers(numbers)
        deep = self.gather_deep(self.deep, categories, 0).reshape((size, -1))
        deep = self.concat((deep, numbers))
        deep = self.head(self.relu(self.second(self.relu(self.first(deep)))))
        return self.loss(wide + deep, label).mean()


def annotate_wide_and_deep(net, devices):
    data, model = degrees(devices)
    net.gather_deep.shard(((model, 1), (data, 1)))
    net.gather_wide.shard(((1, 1), (data, 1)))
    split_columns(net.first, data, model)
    split_rows(net.second, data, model)


def wide_and_deep_batch(rng, size):
    categories = rng.integers(0, 10_007, (size, 26)).astype(np.int32)
    categories[:, :4] %= 5  # rows that many examples share
    numbers = rng.normal(size=(size, 13)).astype(np.float32)
    label = (numbers.sum(1, keepdims=True) + categories[:, :1] > 2).astype(np.float32)
    return ms.Tensor(categories), ms.Tensor(numbers), ms.Tensor(label)
