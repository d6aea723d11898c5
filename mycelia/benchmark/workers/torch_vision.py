"""Image nets in PyTorch."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import nn

from .protocol import Job
from .torch_training import classifier


class Perceptron(nn.Module):
    """Dense layers with ReLU between them."""

    def __init__(self, widths: list[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in pairwise(widths)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class LeNet(nn.Module):
    """LeNet-5 with ReLU and max pooling."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.pool = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(sizes["features"], 120)
        self.fc2, self.fc3 = nn.Linear(120, 84), nn.Linear(84, sizes["classes"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool(torch.relu(self.conv1(x)))
        x = self.pool(torch.relu(self.conv2(x))).flatten(1)
        return self.fc3(torch.relu(self.fc2(torch.relu(self.fc1(x)))))


def alexnet(sizes: dict[str, Any]) -> nn.Module:
    """AlexNet as in torchvision, without dropout."""
    layers: list[nn.Module] = []
    before = 3
    for channels, kernel, stride, padding, pooled in sizes["convolutions"]:
        layers += [nn.Conv2d(before, channels, kernel, stride, padding), nn.ReLU(inplace=True)]
        layers += [nn.MaxPool2d(3, 2)] if pooled else []
        before = channels
    hidden = sizes["hidden"]
    return nn.Sequential(
        *layers,
        nn.Flatten(),
        *[nn.Linear(sizes["features"], hidden), nn.ReLU(inplace=True)],
        *[nn.Linear(hidden, hidden), nn.ReLU(inplace=True)],
        nn.Linear(hidden, sizes["classes"]),
    )


def unit(before: int, after: int, size: int, stride: int = 1, groups: int = 1) -> list[nn.Module]:
    """A convolution that keeps the image's size, and its normalization."""
    convolution = nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False)
    return [convolution, nn.BatchNorm2d(after)]


class Residual(nn.Module):
    """A block of ResNet: two 3x3 units, or a bottleneck of three."""

    def __init__(self, before: int, width: int, stride: int, bottleneck: bool) -> None:
        super().__init__()
        after = 4 * width if bottleneck else width
        if bottleneck:
            layers = [*unit(before, width, 1), nn.ReLU(inplace=True)]
            layers += [*unit(width, width, 3, stride), nn.ReLU(inplace=True)]
            layers += unit(width, after, 1)
        else:
            layers = [*unit(before, width, 3, stride), nn.ReLU(inplace=True)]
            layers += unit(width, width, 3)
        self.body, self.relu = nn.Sequential(*layers), nn.ReLU(inplace=True)
        same = stride == 1 and before == after
        self.short = nn.Identity() if same else nn.Sequential(*unit(before, after, 1, stride))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.relu(self.body(x) + self.short(x))


class ResNet(nn.Module):
    """ResNet-18 with the small stem, or ResNet-50."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        large, bottleneck = sizes["large_stem"], sizes["bottleneck"]
        stem = unit(3, 64, 7, 2) if large else unit(3, 64, 3)
        pool = [nn.MaxPool2d(3, 2, 1)] if large else []
        self.stem = nn.Sequential(*stem, nn.ReLU(inplace=True), *pool)
        blocks, before = [], 64
        for width, count, stride in sizes["stages"]:
            for i in range(count):
                blocks.append(Residual(before, width, 1 if i else stride, bottleneck))
                before = 4 * width if bottleneck else width
        self.blocks, self.fc = nn.Sequential(*blocks), nn.Linear(before, sizes["classes"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.blocks(self.stem(x)).mean((2, 3)))


class Inverted(nn.Module):
    """A block of MobileNetV2: widen, depthwise 3x3, narrow."""

    def __init__(self, before: int, after: int, stride: int, expansion: int) -> None:
        super().__init__()
        wide = before * expansion
        layers = [*unit(before, wide, 1), nn.ReLU6(inplace=True)] if expansion != 1 else []
        layers += [*unit(wide, wide, 3, stride, wide), nn.ReLU6(inplace=True)]
        self.body = nn.Sequential(*layers, *unit(wide, after, 1))
        self.residual = stride == 1 and before == after

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.body(x) if self.residual else self.body(x)


class MobileNet(nn.Module):
    """MobileNetV2."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        before, features = sizes["stem"], sizes["features"]
        layers: list[nn.Module] = [*unit(3, before, 3, 2), nn.ReLU6(inplace=True)]
        for expansion, channels, count, stride in sizes["stages"]:
            for i in range(count):
                layers.append(Inverted(before, channels, 1 if i else stride, expansion))
                before = channels
        self.features = nn.Sequential(*layers, *unit(before, features, 1), nn.ReLU6(inplace=True))
        self.fc = nn.Linear(features, sizes["classes"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc(self.features(x).mean((2, 3)))


def _job(make: Any) -> Any:
    def build(sizes: dict[str, Any], compiled: bool) -> Job:
        return classifier(make(sizes), sizes, compiled)

    return build


BUILDERS = {
    "mlp": _job(lambda sizes: Perceptron(sizes["widths"])),
    "lenet": _job(LeNet),
    "alexnet": _job(alexnet),
    "resnet": _job(ResNet),
    "mobilenet": _job(MobileNet),
}
