"""Three small networks and their data, built with whichever framework is passed in.

The same source runs on the real MindSpore (to make the goldens) and on Mycelia (to compare with them).
"""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS = 20


def lenet(ms: Any) -> Any:
    nn = ms.nn

    class LeNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.relu = nn.ReLU()
            self.pool = nn.MaxPool2d(2, 2)
            self.flatten = nn.Flatten()
            self.fc1 = nn.Dense(400, 120)
            self.fc2 = nn.Dense(120, 84)
            self.fc3 = nn.Dense(84, 10)

        def construct(self, x):
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x)))
            x = self.relu(self.fc1(self.flatten(x)))
            return self.fc3(self.relu(self.fc2(x)))

    return LeNet()


def resnet(ms: Any) -> Any:
    nn, ops = ms.nn, ms.ops

    class Block(nn.Cell):
        def __init__(self, channels_in, channels, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, pad_mode="same")
            self.bn1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, 1, pad_mode="pad", padding=1)
            self.bn2 = nn.BatchNorm2d(channels)
            self.relu = nn.ReLU()
            self.shortcut = nn.SequentialCell(
                nn.Conv2d(channels_in, channels, 1, stride, pad_mode="valid"),
                nn.BatchNorm2d(channels),
            )
            self.add = ops.Add()

        def construct(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            return self.relu(self.add(self.bn2(self.conv2(y)), self.shortcut(x)))

    class ResNet(nn.Cell):
        def __init__(self):
            super().__init__()
            self.stem = nn.SequentialCell(
                nn.Conv2d(3, 8, 3, pad_mode="same"), nn.BatchNorm2d(8), nn.ReLU()
            )
            self.blocks = nn.SequentialCell([Block(8, 8, 1), Block(8, 16, 2), Block(16, 16, 1)])
            self.mean = ops.ReduceMean(keep_dims=False)
            self.head = nn.Dense(16, 10)

        def construct(self, x):
            x = self.blocks(self.stem(x))
            return self.head(self.mean(x, (2, 3)))

    return ResNet()


def transformer(ms: Any) -> Any:
    nn, ops = ms.nn, ms.ops

    class Transformer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(40, 32)
            self.position = ms.Parameter(ms.Tensor(np.zeros((1, 12, 32), np.float32)))
            self.layers = nn.CellList(
                [
                    nn.TransformerEncoderLayer(
                        32, 4, dim_feedforward=64, dropout=0.0, batch_first=True
                    )
                    for _ in range(2)
                ]
            )
            self.norm = nn.LayerNorm((32,))
            self.head = nn.Dense(32, 10)

        def construct(self, x):
            x = self.embedding(x) + self.position
            for layer in self.layers:
                x = layer(x)
            x = self.norm(x)
            return self.head(ops.mean(x, 1))

    return Transformer()


NETWORKS = {"lenet": lenet, "resnet": resnet, "transformer": transformer}


def optimizers(ms: Any) -> dict[str, Any]:
    nn = ms.nn
    return {
        "momentum": lambda params: nn.Momentum(params, 0.02, 0.9, weight_decay=1e-4),
        "adam": lambda params: nn.Adam(params, learning_rate=1e-3),
    }


def batch(network: str, random: np.random.RandomState) -> tuple[np.ndarray, np.ndarray]:
    labels = random.randint(0, 10, 16).astype(np.int32)
    if network == "transformer":
        return random.randint(0, 40, (16, 12)).astype(np.int32), labels
    shape = (16, 1, 32, 32) if network == "lenet" else (16, 3, 16, 16)
    return random.standard_normal(shape).astype(np.float32), labels


def set_weights(ms: Any, network: Any) -> None:
    random = np.random.RandomState(11)
    for parameter in network.get_parameters():
        name, shape = parameter.name, parameter.shape
        if name.endswith(("gamma", "moving_variance")):
            value = np.ones(shape)
        elif len(shape) < 2:
            value = np.zeros(shape)
        else:
            value = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        parameter.set_data(ms.Tensor(value.astype(np.float32)))


def losses(ms: Any, network_name: str, optimizer_name: str) -> np.ndarray:
    """The losses of the first steps of training, from fixed weights on fixed data."""
    nn = ms.nn
    network = NETWORKS[network_name](ms)
    set_weights(ms, network)
    loss_fn = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = optimizers(ms)[optimizer_name](network.trainable_params())
    step = nn.TrainOneStepCell(nn.WithLossCell(network, loss_fn), optimizer)
    step.set_train()
    random = np.random.RandomState(5)
    batches = [batch(network_name, random) for _ in range(4)]
    found = []
    for number in range(STEPS):
        x, y = batches[number % len(batches)]
        found.append(float(step(ms.Tensor(x), ms.Tensor(y)).asnumpy()))
    return np.array(found)
