"""Image nets as cells."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from .cell_training import classifier
from .framework import nn
from .protocol import Job


class Perceptron(nn.Cell):
    """Dense layers with ReLU between them."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        layers = []
        for before, after in pairwise(widths):
            layers += [nn.Dense(before, after), nn.ReLU()]
        self.layers = nn.SequentialCell(layers[:-1])

    def construct(self, x: Any) -> Any:
        return self.layers(x)


class LeNet(nn.Cell):
    """LeNet-5 with ReLU and max pooling."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.fc1 = nn.Dense(sizes["features"], 120)
        self.fc2, self.fc3 = nn.Dense(120, 84), nn.Dense(84, sizes["classes"])

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.fc1(self.flatten(x)))
        return self.fc3(self.relu(self.fc2(x)))


def alexnet(sizes: dict[str, Any]) -> Any:
    """AlexNet as in torchvision, without dropout."""
    layers: list[Any] = []
    before = 3
    for channels, kernel, stride, padding, pooled in sizes["convolutions"]:
        layers += [
            nn.Conv2d(before, channels, kernel, stride, "pad", padding, has_bias=True),
            nn.ReLU(),
        ]
        layers += [nn.MaxPool2d(3, 2)] if pooled else []
        before = channels
    hidden = sizes["hidden"]
    return nn.SequentialCell(
        *layers,
        nn.Flatten(),
        *[nn.Dense(sizes["features"], hidden), nn.ReLU()],
        *[nn.Dense(hidden, hidden), nn.ReLU()],
        nn.Dense(hidden, sizes["classes"]),
    )


def unit(before: int, after: int, size: int, stride: int = 1, group: int = 1) -> list[Any]:
    """A convolution that keeps the image's size, and its normalization."""
    convolution = nn.Conv2d(before, after, size, stride, "pad", size // 2, group=group)
    return [convolution, nn.BatchNorm2d(after)]


class Residual(nn.Cell):
    """A block of ResNet: two 3x3 units, or a bottleneck of three."""

    def __init__(self, before: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        after = 4 * width if bottleneck else width
        if bottleneck:
            layers = [*unit(before, width, 1), nn.ReLU()]
            layers += [*unit(width, width, 3, stride), nn.ReLU()]
            layers += unit(width, after, 1)
        else:
            layers = [*unit(before, width, 3, stride), nn.ReLU()]
            layers += unit(width, width, 3)
        self.body, self.relu = nn.SequentialCell(*layers), nn.ReLU()
        same = stride == 1 and before == after
        self.short = nn.Identity() if same else nn.SequentialCell(*unit(before, after, 1, stride))

    def construct(self, x: Any) -> Any:
        return self.relu(self.body(x) + self.short(x))


class ResNet(nn.Cell):
    """ResNet-18 with the small stem, or ResNet-50."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        large, bottleneck = sizes["large_stem"], sizes["bottleneck"]
        stem = unit(3, 64, 7, 2) if large else unit(3, 64, 3)
        pool = [nn.MaxPool2d(3, 2, "pad", 1)] if large else []
        self.stem = nn.SequentialCell(*stem, nn.ReLU(), *pool)
        blocks, before = [], 64
        for width, count, stride in sizes["stages"]:
            for i in range(count):
                blocks.append(Residual(before, width, 1 if i else stride, bottleneck))
                before = 4 * width if bottleneck else width
        self.blocks, self.fc = nn.SequentialCell(*blocks), nn.Dense(before, sizes["classes"])

    def construct(self, x: Any) -> Any:
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Inverted(nn.Cell):
    """A block of MobileNetV2: widen, depthwise 3x3, narrow."""

    def __init__(self, before: int, after: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = before * expansion
        layers = [*unit(before, wide, 1), nn.ReLU6()] if expansion != 1 else []
        layers += [*unit(wide, wide, 3, stride, wide), nn.ReLU6()]
        self.body = nn.SequentialCell(*layers, *unit(wide, after, 1))
        self.residual = stride == 1 and before == after

    def construct(self, x: Any) -> Any:
        y = self.body(x)
        if self.residual:
            y = x + y
        return y


class MobileNet(nn.Cell):
    """MobileNetV2."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        before, features = sizes["stem"], sizes["features"]
        layers: list[Any] = [*unit(3, before, 3, 2), nn.ReLU6()]
        for expansion, channels, count, stride in sizes["stages"]:
            for i in range(count):
                layers.append(Inverted(before, channels, 1 if i else stride, expansion))
                before = channels
        self.features = nn.SequentialCell(*layers, *unit(before, features, 1), nn.ReLU6())
        self.fc = nn.Dense(features, sizes["classes"])

    def construct(self, x: Any) -> Any:
        return self.fc(self.features(x).mean((2, 3)))


def _job(make: Any) -> Any:
    def build(sizes: dict[str, Any]) -> Job:
        return classifier(make(sizes), sizes)

    return build


BUILDERS = {
    "mlp": _job(lambda sizes: Perceptron(sizes["widths"])),
    "lenet": _job(LeNet),
    "alexnet": _job(alexnet),
    "resnet": _job(ResNet),
    "mobilenet": _job(MobileNet),
}
