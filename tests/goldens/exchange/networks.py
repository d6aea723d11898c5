"""Networks whose checkpoints go from one framework to the other, built with the one passed in.

The same source runs on the real MindSpore and on Mycelia.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

CLASSES = 10
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # of ResNet-50: width, blocks, stride


def lenet(ms: Any, size: int = 32, features: tuple[int, int, int, int] = (6, 16, 120, 84)) -> Any:
    """LeNet-5, or one with other numbers of features, for images of `size` pixels."""
    nn = ms.nn
    first, second, wide, narrow = features
    left = ((size - 4) // 2 - 4) // 2

    class LeNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, first, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(first, second, 5, pad_mode="valid", has_bias=True)
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
            self.fc1, self.fc2 = nn.Dense(second * left * left, wide), nn.Dense(wide, narrow)
            self.fc3 = nn.Dense(narrow, CLASSES)

        def construct(self, x):
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x)))
            x = self.relu(self.fc1(self.flatten(x)))
            return self.fc3(self.relu(self.fc2(x)))

    return LeNet()


def resnet50(ms: Any) -> Any:
    nn = ms.nn

    class Block(nn.Cell):
        def __init__(self, before, width, stride):
            super().__init__()
            after = 4 * width
            self.conv1, self.bn1 = nn.Conv2d(before, width, 1), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, after, 1), nn.BatchNorm2d(after)
            self.relu = nn.ReLU()
            self.down_sample = stride != 1 or before != after
            if self.down_sample:
                convolution = nn.Conv2d(before, after, 1, stride)
                self.down_sample_layer = nn.SequentialCell([convolution, nn.BatchNorm2d(after)])

        def construct(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            y = self.bn3(self.conv3(y))
            if self.down_sample:
                x = self.down_sample_layer(x)
            return self.relu(x + y)

    class ResNet50(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2), nn.BatchNorm2d(64)
            self.relu, self.maxpool = nn.ReLU(), nn.MaxPool2d(3, 2, "same")
            before = 64
            for number, (width, count, stride) in enumerate(STAGES, 1):
                blocks = []
                for place in range(count):
                    blocks.append(Block(before, width, 1 if place else stride))
                    before = 4 * width
                setattr(self, f"layer{number}", nn.SequentialCell(blocks))
            self.mean, self.end_point = ms.ops.ReduceMean(), nn.Dense(before, CLASSES)

        def construct(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            return self.end_point(self.mean(x, (2, 3)))

    return ResNet50()


def encoder(ms: Any, words: int = 40, length: int = 12, width: int = 32, layers: int = 2) -> Any:
    """A classifier of texts around `nn.TransformerEncoder`."""
    nn = ms.nn

    class Encoder(nn.Cell):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(words, width)
            self.position = ms.Parameter(ms.Tensor(np.zeros((1, length, width), np.float32)))
            layer = nn.TransformerEncoderLayer(
                width, 2, dim_feedforward=2 * width, dropout=0.0, batch_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm((width,)))
            self.head = nn.Dense(width, CLASSES)

        def construct(self, x):
            x = self.encoder(self.embedding(x) + self.position)
            return self.head(ms.ops.mean(x, 1))

    return Encoder()


def gpt(ms: Any, words: int = 40, length: int = 12, width: int = 32, layers: int = 2) -> Any:
    """A classifier of texts that reads them in order, made of plain cells."""
    nn, ops, heads = ms.nn, ms.ops, 2
    later = np.triu(np.full((length, length), -1e4, np.float32), 1)

    class Layer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
            # A bias of the keys would have no gradient but rounding, which Adam makes large.
            self.qkv = nn.Dense(width, 3 * width, has_bias=False)
            self.out = nn.Dense(width, width)
            self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
            self.gelu, self.mask = nn.GELU(), ms.Tensor(later)

        def construct(self, x):
            x = x + self.attend(self.norm1(x))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

        def attend(self, x):
            parts = self.qkv(x).reshape((-1, length, 3, heads, width // heads))
            parts = parts.transpose((2, 0, 3, 1, 4))
            query, key, value = parts[0], parts[1], parts[2]
            scores = ops.matmul(query, key.swapaxes(-1, -2)) * (width // heads) ** -0.5
            mixed = ops.matmul(ops.softmax(scores + self.mask, -1), value)
            return self.out(mixed.transpose((0, 2, 1, 3)).reshape((-1, length, width)))

    class Gpt(nn.Cell):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(words, width)
            self.places = ms.Parameter(ms.Tensor(np.zeros((length, width), np.float32)), "places")
            self.blocks = nn.CellList([Layer() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm((width,)), nn.Dense(width, CLASSES)

        def construct(self, x):
            x = self.words(x) + self.places
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x)[:, -1])

    return Gpt()


def momentum(ms: Any, network: Any, rate: float = 0.05) -> Any:
    """Weights that decay and biases that do not, in the order of the network; rates in a list."""
    nn = ms.nn
    weights = network.trainable_params()
    plain = [weight for weight in weights if "bias" not in weight.name]
    groups = [
        {"params": plain, "weight_decay": 1e-2},
        {"params": [weight for weight in weights if "bias" in weight.name]},
        {"order_params": weights},
    ]
    rates = nn.piecewise_constant_lr([2, 4, 20], [rate, rate / 2, rate / 5])
    return nn.Momentum(groups, rates, 0.9)


def adam(ms: Any, network: Any) -> Any:
    """A rate that follows a schedule, so that the number of steps counts."""
    nn = ms.nn
    rate = nn.CosineDecayLR(1e-4, 5e-3, 8)
    return nn.Adam(network.trainable_params(), rate, weight_decay=1e-2)


def adam_weight_decay(ms: Any, network: Any) -> Any:
    """Groups with rates of their own."""
    nn = ms.nn
    weights = network.trainable_params()
    groups = [
        {"params": [w for w in weights if len(w.shape) > 1], "lr": 3e-3, "weight_decay": 5e-2},
        {"params": [w for w in weights if len(w.shape) < 2], "lr": 1e-3},
    ]
    return nn.AdamWeightDecay(groups, 2e-3, weight_decay=0.0)


OPTIMIZERS = {
    "momentum": momentum,
    "slow_momentum": partial(momentum, rate=1e-3),
    "adam": adam,
    "adam_weight_decay": adam_weight_decay,
}
