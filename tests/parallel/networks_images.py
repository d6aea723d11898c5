"""ResNet-18 for small images."""

from __future__ import annotations

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from tests.parallel.networks_layers import Linear


class Block(nn.Cell):
    """Two convolutions and a way around them."""

    def __init__(self, size_in, size, stride, activation):
        super().__init__()
        self.conv1 = nn.Conv2d(size_in, size, 3, stride, pad_mode="pad", padding=1)
        self.conv2 = nn.Conv2d(size, size, 3, 1, pad_mode="pad", padding=1)
        self.norm1, self.norm2 = nn.BatchNorm2d(size), nn.BatchNorm2d(size)
        self.add = ops.Add()
        self.inner, self.outer = activation(), activation()
        self.is_plain = stride == 1 and size_in == size
        if not self.is_plain:
            self.around = nn.SequentialCell(
                nn.Conv2d(size_in, size, 1, stride, pad_mode="valid"), nn.BatchNorm2d(size)
            )

    def construct(self, x):
        y = self.norm2(self.conv2(self.inner(self.norm1(self.conv1(x)))))
        return self.outer(self.add(y, x if self.is_plain else self.around(x)))


class ResNet18(nn.Cell):
    """Four stages of two blocks, and the loss."""

    def __init__(self, widths=(8, 16, 32, 64), classes=10, activation=ops.ReLU):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, pad_mode="pad", padding=1)
        self.norm, self.activation = nn.BatchNorm2d(widths[0]), activation()
        blocks, before = [], widths[0]
        for stage, width in enumerate(widths):
            blocks.append(Block(before, width, 1 if stage == 0 else 2, activation))
            blocks.append(Block(width, width, 1, activation))
            before = width
        self.blocks = nn.CellList(blocks)
        self.mean = ops.ReduceMean()
        self.head = Linear(widths[-1], classes)
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, images, label):
        x = self.activation(self.norm(self.stem(images)))
        for block in self.blocks:
            x = block(x)
        return self.loss(self.head(self.mean(x, (2, 3))), label)


def annotate_resnet(net, devices):
    """Images are cut over all devices."""
    for block in net.blocks:
        block.add.shard(((devices, 1, 1, 1), (devices, 1, 1, 1)))
        block.outer.shard(((devices, 1, 1, 1),))
    net.head.matmul.shard(((devices, 1), (1, 1)))


def image_batch(rng, size):
    label = rng.integers(0, 10, size).astype(np.int32)
    images = rng.normal(size=(size, 3, 32, 32)) + 0.2 * label[:, None, None, None]
    return ms.Tensor(images.astype(np.float32)), ms.Tensor(label)
