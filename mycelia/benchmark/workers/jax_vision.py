"""Image nets in jax."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .jax_training import Maker, Tree, classifier, dense
from .protocol import Job


def convolve(weight: Any, x: Any, stride: int = 1, padding: int = 0, groups: int = 1) -> Any:
    """A convolution of images in the order (N, C, H, W)."""
    sides = [(padding, padding)] * 2
    return lax.conv_general_dilated(x, weight, (stride, stride), sides, feature_group_count=groups)


def pool(x: Any, size: int, stride: int, padding: int = 0) -> Any:
    """The maxima under a sliding window."""
    sides = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    window, strides = (1, 1, size, size), (1, 1, stride, stride)
    return lax.reduce_window(x, -np.inf, lax.max, window, strides, sides)


def perceptron(sizes: dict[str, Any]) -> Job:
    """Dense layers with ReLU between them."""
    make = Maker()
    layers = [make.dense(a, b) for a, b in pairwise(sizes["widths"])]
    return classifier(layers, (), lambda p, s, x, train: (feed(p, x), s), sizes)


def feed(layers: Tree, x: Any) -> Any:
    """Dense layers with ReLU between them."""
    for layer in layers[:-1]:
        x = jax.nn.relu(dense(layer, x))
    return dense(layers[-1], x)


def convolution(make: Maker, before: int, after: int, size: int) -> Tree:
    """The parameters of a convolution with bias."""
    return {"weight": make(after, before, size, size), "bias": np.zeros(after, np.float32)}


def lenet(sizes: dict[str, Any]) -> Job:
    """LeNet-5 with ReLU and max pooling."""
    make = Maker()
    parameters = {
        "convolutions": [convolution(make, 1, 6, 5), convolution(make, 6, 16, 5)],
        "layers": [
            make.dense(a, b) for a, b in pairwise((sizes["features"], 120, 84, sizes["classes"]))
        ],
    }

    def apply(parameters: Tree, statistics: Tree, x: Any, train: bool) -> Any:
        for layer in parameters["convolutions"]:
            x = convolve(layer["weight"], x) + layer["bias"][:, None, None]
            x = pool(jax.nn.relu(x), 2, 2)
        return feed(parameters["layers"], x.reshape(x.shape[0], -1)), statistics

    return classifier(parameters, (), apply, sizes)


def alexnet(sizes: dict[str, Any]) -> Job:
    """AlexNet as in torchvision, without dropout."""
    make = Maker()
    plan = sizes["convolutions"]
    channels = [3, *[layer[0] for layer in plan]]
    hidden = sizes["hidden"]
    parameters = {
        "convolutions": [
            convolution(make, a, b, layer[1]) for (a, b), layer in zip(pairwise(channels), plan)
        ],
        "layers": [
            make.dense(a, b)
            for a, b in pairwise((sizes["features"], hidden, hidden, sizes["classes"]))
        ],
    }

    def apply(parameters: Tree, statistics: Tree, x: Any, train: bool) -> Any:
        for layer, (_, _, stride, padding, pooled) in zip(parameters["convolutions"], plan):
            x = convolve(layer["weight"], x, stride, padding) + layer["bias"][:, None, None]
            x = jax.nn.relu(x)
            x = pool(x, 3, 2) if pooled else x
        return feed(parameters["layers"], x.reshape(x.shape[0], -1)), statistics

    return classifier(parameters, (), apply, sizes)


# A unit is a convolution with its normalization; nets below are lists of units, whose running
# means and variances are lists of the same structure.


def unit(make: Maker, before: int, after: int, size: int, groups: int = 1) -> tuple[Tree, Tree]:
    """The parameters and the running statistics of a unit."""
    weight = {"weight": make(after, before // groups, size, size)}
    zeros, ones = np.zeros(after, np.float32), np.ones(after, np.float32)
    return weight | make.norm(after), {"mean": zeros, "variance": ones}


def normalized(
    layer: Tree, running: Tree, x: Any, train: bool, stride: int = 1, groups: int = 1
) -> Any:
    """The output of a unit and its new running statistics."""
    x = convolve(layer["weight"], x, stride, layer["weight"].shape[-1] // 2, groups)
    now = {"mean": x.mean((0, 2, 3)), "variance": x.var((0, 2, 3))} if train else running
    scale = layer["scale"] * lax.rsqrt(now["variance"] + 1e-5)
    shift = layer["shift"] - now["mean"] * scale
    if train:
        running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, now)
    return x * scale[:, None, None] + shift[:, None, None], running


def split(pairs: list[tuple[Tree, Tree]]) -> tuple[list[Tree], list[Tree]]:
    """A list of pairs as a pair of lists."""
    return [first for first, _ in pairs], [second for _, second in pairs]


def resnet(sizes: dict[str, Any]) -> Job:
    """ResNet-18 with the small stem, or ResNet-50."""
    make, large, bottleneck = Maker(), sizes["large_stem"], sizes["bottleneck"]

    def block(before: int, width: int, stride: int) -> tuple[Tree, Tree]:
        after = 4 * width if bottleneck else width
        shapes = (
            [(before, width, 1), (width, width, 3), (width, after, 1)]
            if bottleneck
            else [(before, width, 3), (width, width, 3)]
        )
        body = split([unit(make, *shape) for shape in shapes])
        same = stride == 1 and before == after
        short = split([] if same else [unit(make, before, after, 1)])
        return {"body": body[0], "short": short[0]}, {"body": body[1], "short": short[1]}

    strides = [1 if i else stride for _, count, stride in sizes["stages"] for i in range(count)]
    widths = [width for width, count, _ in sizes["stages"] for _ in range(count)]
    inputs = [64, *[4 * w if bottleneck else w for w in widths[:-1]]]
    stem = unit(make, 3, 64, 7 if large else 3)
    blocks = split([block(*shape) for shape in zip(inputs, widths, strides, strict=True)])
    fc = make.dense(sizes["features"], sizes["classes"])

    def residual(layers: Tree, running: Tree, x: Any, stride: int, train: bool) -> Any:
        y, body, short = x, [], []
        strided = 1 if bottleneck else 0
        for i, (layer, old) in enumerate(zip(layers["body"], running["body"])):
            y = jax.nn.relu(y) if i else y
            y, new = normalized(layer, old, y, train, stride if i == strided else 1)
            body.append(new)
        for layer, old in zip(layers["short"], running["short"]):
            x, new = normalized(layer, old, x, train, stride)
            short.append(new)
        return jax.nn.relu(x + y), {"body": body, "short": short}

    def apply(parameters: Tree, statistics: Tree, x: Any, train: bool) -> Any:
        x, stem = normalized(parameters["stem"], statistics["stem"], x, train, 2 if large else 1)
        x = jax.nn.relu(x)
        x = pool(x, 3, 2, 1) if large else x
        blocks = []
        for layers, running, stride in zip(parameters["blocks"], statistics["blocks"], strides):
            x, new = residual(layers, running, x, stride, train)
            blocks.append(new)
        logits = dense(parameters["fc"], jnp.mean(x, (2, 3)))
        return logits, {"stem": stem, "blocks": blocks}

    parameters = {"stem": stem[0], "blocks": blocks[0], "fc": fc}
    return classifier(parameters, {"stem": stem[1], "blocks": blocks[1]}, apply, sizes)


def mobilenet(sizes: dict[str, Any]) -> Job:
    """MobileNetV2."""
    make, before = Maker(), sizes["stem"]
    units = [unit(make, 3, before, 3)]
    blocks, plan = [], []
    for expansion, channels, count, first in sizes["stages"]:
        for i in range(count):
            stride, wide = 1 if i else first, before * expansion
            block = [unit(make, before, wide, 1)] if expansion != 1 else []
            block += [unit(make, wide, wide, 3, wide), unit(make, wide, channels, 1)]
            blocks.append(split(block))
            plan.append((stride, wide, stride == 1 and before == channels))
            before = channels
    units.append(unit(make, before, sizes["features"], 1))
    outer, inner = split(units), split(blocks)
    parameters = {
        "units": outer[0],
        "blocks": inner[0],
        "fc": make.dense(sizes["features"], sizes["classes"]),
    }

    def inverted(layers: Tree, running: Tree, x: Any, train: bool, stride: int, wide: int) -> Any:
        after = []
        for i, (layer, old) in enumerate(zip(layers, running)):
            depthwise = i == len(layers) - 2
            step, groups = (stride, wide) if depthwise else (1, 1)
            x, new = normalized(layer, old, x, train, step, groups)
            x = x if i == len(layers) - 1 else jax.nn.relu6(x)
            after.append(new)
        return x, after

    def apply(parameters: Tree, statistics: Tree, x: Any, train: bool) -> Any:
        (stem, head), (old_stem, old_head) = parameters["units"], statistics["units"]
        x, new_stem = normalized(stem, old_stem, x, train, 2)
        x, after = jax.nn.relu6(x), []
        for layers, running, (stride, wide, residual) in zip(
            parameters["blocks"], statistics["blocks"], plan
        ):
            y, new = inverted(layers, running, x, train, stride, wide)
            x = x + y if residual else y
            after.append(new)
        x, new_head = normalized(head, old_head, x, train)
        logits = dense(parameters["fc"], jnp.mean(jax.nn.relu6(x), (2, 3)))
        return logits, {"units": [new_stem, new_head], "blocks": after}

    return classifier(parameters, {"units": outer[1], "blocks": inner[1]}, apply, sizes)


BUILDERS = {
    "mlp": perceptron,
    "lenet": lenet,
    "alexnet": alexnet,
    "resnet": resnet,
    "mobilenet": mobilenet,
}
