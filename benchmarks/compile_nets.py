"""One process of compile.py: makes a training step and prints the times of its first call as JSON.

`python compile_nets.py WAY NET [CACHE]` with the way "mycelia" or "jax". Both ways train the same
nets, with the same numbers of parameters; CACHE is a folder where Mycelia keeps its programs.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

NETS = ("lenet", "resnet50", "transformer")
RATE, MOMENTUM = 0.01, 0.9
ADAM_RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8
STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))  # of ResNet-50: width, blocks, stride
LAYERS, WIDTH, HEADS, LENGTH, VOCABULARY = 12, 256, 4, 64, 1000


class Step(NamedTuple):
    """A training step, ready for its first call."""

    run: Callable[[], Any]  # one step; gives the loss
    parameters: int  # how many numbers it trains
    program: Any = None  # Mycelia's compiled function


def main() -> None:
    way, net, *cache = sys.argv[1:]
    started = time.perf_counter()
    __import__(way)
    imported = time.perf_counter()
    step = mycelia_step(net, *cache) if way == "mycelia" else jax_step(net)
    built = time.perf_counter()
    times = {"import": imported - started, "build": built - imported}
    print(json.dumps(times | first_call(step) | {"parameters": step.parameters}))


def first_call(step: Step) -> dict[str, float]:
    """Seconds of compilation, which is what a first call takes more than a second one."""
    import jax

    xla: list[float] = []
    read: list[float] = []

    def note(event: str, duration_secs: float, **kwargs: Any) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            xla.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(note)
    if step.program is not None:
        step.program._read = timed(step.program._read, read)
    calls: list[float] = []
    for _ in range(2):
        loss = timed(lambda: float(step.run()), calls)()
        assert math.isfinite(loss), loss
    total = calls[0] - calls[1]
    trace = total - sum(read) - sum(xla)
    return {"total": total, "read": sum(read), "trace": trace, "xla": sum(xla)}


def timed(function: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    """`function`, which adds the time of each call to `seconds`."""

    def run(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        result = function(*args, **kwargs)
        seconds.append(time.perf_counter() - started)
        return result

    return run


def data(net: str) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and labels: small batches, since only shapes matter to a compiler."""
    random = np.random.RandomState(0)
    if net == "transformer":
        text = random.randint(0, VOCABULARY, (2, LENGTH + 1)).astype(np.int32)
        return text[:, :-1].copy(), text[:, 1:].reshape(-1)
    shape, classes = ((32, 1, 28, 28), 10) if net == "lenet" else ((2, 3, 64, 64), 1000)
    inputs = random.standard_normal(shape).astype(np.float32)
    return inputs, random.randint(0, classes, shape[0]).astype(np.int32)


def causal_mask() -> np.ndarray:
    """What is added to scores, so that no place looks at later ones."""
    return np.triu(np.full((LENGTH, LENGTH), -1e9, np.float32), 1)


# ---- Mycelia ----------------------------------------------------------------------------------


def mycelia_step(net: str, cache: str = "") -> Step:
    """A cell that trains, in graph mode."""
    import mycelia as ms
    from mycelia import nn

    ms.set_context(mode=ms.GRAPH_MODE)
    if cache:
        ms.set_context(enable_compile_cache=True, compile_cache_path=cache)
    network = {"lenet": lenet, "resnet50": resnet50, "transformer": transformer}[net]()
    weights = network.trainable_params()
    optimizer = (
        nn.Adam(weights, ADAM_RATE, BETA1, BETA2, EPSILON)
        if net == "transformer"
        else nn.Momentum(weights, RATE, MOMENTUM)
    )
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    train = nn.TrainOneStepCell(nn.WithLossCell(network, loss), optimizer).set_train()
    inputs, labels = (ms.Tensor(v) for v in data(net))
    return Step(
        lambda: train(inputs, labels).asnumpy(), sum(w.size for w in weights), train._compiled()
    )


def lenet() -> Any:
    from mycelia import nn

    class LeNet(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
            self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
            self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
            self.fc1, self.fc2, self.fc3 = nn.Dense(256, 120), nn.Dense(120, 84), nn.Dense(84, 10)

        def construct(self, x: Any) -> Any:
            x = self.pool(self.relu(self.conv1(x)))
            x = self.pool(self.relu(self.conv2(x)))
            x = self.relu(self.fc1(self.flatten(x)))
            return self.fc3(self.relu(self.fc2(x)))

    return LeNet()


def resnet50() -> Any:
    from mycelia import nn

    class Block(nn.Cell):
        def __init__(self, before: int, width: int, stride: int) -> None:
            super().__init__()
            after = 4 * width
            self.conv1, self.norm1 = nn.Conv2d(before, width, 1), nn.BatchNorm2d(width)
            self.conv2, self.norm2 = nn.Conv2d(width, width, 3, stride), nn.BatchNorm2d(width)
            self.conv3, self.norm3 = nn.Conv2d(width, after, 1), nn.BatchNorm2d(after)
            self.relu, self.short = nn.ReLU(), None
            if stride != 1 or before != after:
                self.short = nn.SequentialCell(
                    nn.Conv2d(before, after, 1, stride), nn.BatchNorm2d(after)
                )

        def construct(self, x: Any) -> Any:
            y = self.relu(self.norm1(self.conv1(x)))
            y = self.relu(self.norm2(self.conv2(y)))
            y = self.norm3(self.conv3(y))
            if self.short is not None:
                x = self.short(x)
            return self.relu(x + y)

    class ResNet50(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm, self.relu = nn.Conv2d(3, 64, 7, 2), nn.BatchNorm2d(64), nn.ReLU()
            self.pool = nn.MaxPool2d(3, 2, "same")
            blocks, before = [], 64
            for width, count, stride in STAGES:
                for i in range(count):
                    blocks.append(Block(before, width, 1 if i else stride))
                    before = 4 * width
            self.blocks, self.fc = nn.CellList(blocks), nn.Dense(before, 1000)

        def construct(self, x: Any) -> Any:
            x = self.pool(self.relu(self.norm(self.conv(x))))
            for block in self.blocks:
                x = block(x)
            return self.fc(x.mean((2, 3)))

    return ResNet50()


def transformer() -> Any:
    import mycelia as ms
    from mycelia import nn, ops

    class Layer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
            self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
            self.up, self.down = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
            self.gelu, self.mask = nn.GELU(), ms.Tensor(causal_mask())

        def construct(self, x: Any) -> Any:
            x = x + self.attend(self.norm1(x))
            return x + self.down(self.gelu(self.up(self.norm2(x))))

        def attend(self, x: Any) -> Any:
            batch, length, width = x.shape
            parts = self.qkv(x).reshape((batch, length, 3, HEADS, width // HEADS))
            q, k, v = parts.transpose((2, 0, 3, 1, 4))
            scores = ops.matmul(q, k.swapaxes(-1, -2)) * (width // HEADS) ** -0.5 + self.mask
            mixed = ops.matmul(ops.softmax(scores, -1), v)
            return self.out(mixed.transpose((0, 2, 1, 3)).reshape((batch, length, width)))

    class Transformer(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.layers = nn.CellList([Layer() for _ in range(LAYERS)])
            self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, VOCABULARY)

        def construct(self, text: Any) -> Any:
            x = self.words(text) + self.places(ops.arange(LENGTH))
            for layer in self.layers:
                x = layer(x)
            return self.head(self.norm(x)).reshape((-1, VOCABULARY))

    return Transformer()


# ---- jax --------------------------------------------------------------------------------------


def jax_step(net: str) -> Step:
    """The same in plain jax: pytrees, `value_and_grad`, and the old state given away."""
    import jax
    import jax.numpy as jnp

    makers = {"lenet": jax_lenet, "resnet50": jax_resnet50, "transformer": jax_transformer}
    parameters, statistics, apply = makers[net]()
    update = jax_adam if net == "transformer" else jax_momentum
    zeros = jax.tree.map(np.zeros_like, parameters)
    moments = (zeros, zeros, np.float32(0)) if net == "transformer" else zeros

    def loss(parameters: Any, statistics: Any, x: Any, labels: Any) -> Any:
        logits, statistics = apply(parameters, statistics, x)
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1)
        return -jnp.mean(chosen), statistics

    @partial(jax.jit, donate_argnums=(0, 1, 2))
    def train(parameters: Any, statistics: Any, moments: Any, x: Any, labels: Any) -> Any:
        gradient = jax.value_and_grad(loss, has_aux=True)
        (value, statistics), gradients = gradient(parameters, statistics, x, labels)
        parameters, moments = update(parameters, gradients, moments)
        return parameters, statistics, moments, value

    state = jax.tree.map(jnp.array, (parameters, statistics, moments))
    arguments = [jnp.asarray(v) for v in data(net)]

    def run() -> Any:
        nonlocal state
        *state, value = train(*state, *arguments)
        return value

    return Step(run, sum(leaf.size for leaf in jax.tree.leaves(parameters)))


def jax_momentum(parameters: Any, gradients: Any, moments: Any) -> Any:
    import jax

    moments = jax.tree.map(lambda m, g: m * MOMENTUM + g, moments, gradients)
    return jax.tree.map(lambda p, m: p - RATE * m, parameters, moments), moments


def jax_adam(parameters: Any, gradients: Any, moments: Any) -> Any:
    import jax
    import jax.numpy as jnp

    first, second, count = moments
    count = count + 1
    rate = ADAM_RATE * jnp.sqrt(1 - BETA2**count) / (1 - BETA1**count)
    first = jax.tree.map(lambda m, g: BETA1 * m + (1 - BETA1) * g, first, gradients)
    second = jax.tree.map(lambda v, g: BETA2 * v + (1 - BETA2) * g * g, second, gradients)
    parameters = jax.tree.map(
        lambda p, m, v: p - rate * m / (jnp.sqrt(v) + EPSILON), parameters, first, second
    )
    return parameters, (first, second, count)


class Weights:
    """Makes random weights."""

    def __init__(self) -> None:
        self.random = np.random.RandomState(1)

    def __call__(self, *shape: int) -> np.ndarray:
        """Normal numbers, scaled by the number of inputs of a (outputs, inputs, ...) weight."""
        scale = math.prod(shape[1:]) ** -0.5
        return (self.random.standard_normal(shape) * scale).astype(np.float32)

    def dense(self, before: int, after: int) -> dict[str, np.ndarray]:
        return {"weight": self(after, before), "bias": np.zeros(after, np.float32)}

    def norm(self, width: int) -> dict[str, np.ndarray]:
        return {"gamma": np.ones(width, np.float32), "beta": np.zeros(width, np.float32)}

    def statistics(self, width: int) -> dict[str, np.ndarray]:
        return {"mean": np.zeros(width, np.float32), "variance": np.ones(width, np.float32)}


def jax_dense(layer: Any, x: Any) -> Any:
    return x @ layer["weight"].T + layer["bias"]


def jax_lenet() -> tuple[Any, Any, Callable[..., Any]]:
    import jax
    from jax import lax

    make = Weights()
    parameters = {
        "convs": [
            {"weight": make(after, before, 5, 5), "bias": np.zeros((after, 1, 1), np.float32)}
            for before, after in ((1, 6), (6, 16))
        ],
        "layers": [make.dense(256, 120), make.dense(120, 84), make.dense(84, 10)],
    }
    window = (1, 1, 2, 2)

    def apply(parameters: Any, statistics: Any, x: Any) -> Any:
        for conv in parameters["convs"]:
            x = lax.conv_general_dilated(x, conv["weight"], (1, 1), "VALID") + conv["bias"]
            x = lax.reduce_window(jax.nn.relu(x), -np.inf, lax.max, window, window, "VALID")
        x = x.reshape(x.shape[0], -1)
        *hidden, last = parameters["layers"]
        for layer in hidden:
            x = jax.nn.relu(jax_dense(layer, x))
        return jax_dense(last, x), statistics

    return parameters, (), apply


def jax_resnet50() -> tuple[Any, Any, Callable[..., Any]]:
    """Each convolution has its normalization; blocks are lists of these pairs."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    make = Weights()

    def unit(before: int, after: int, size: int) -> Any:
        parameters = {"weight": make(after, before, size, size)} | make.norm(after)
        return parameters, make.statistics(after)

    def block(before: int, width: int, stride: int) -> list[Any]:
        units = [unit(before, width, 1), unit(width, width, 3), unit(width, 4 * width, 1)]
        short = stride != 1 or before != 4 * width
        return [*units, unit(before, 4 * width, 1)] if short else units

    strides = [1 if i else stride for _, count, stride in STAGES for i in range(count)]
    widths = [width for width, count, _ in STAGES for _ in range(count)]
    inputs = [64, *[4 * width for width in widths[:-1]]]
    stem, fc = unit(3, 64, 7), make.dense(2048, 1000)
    blocks = [block(*sizes) for sizes in zip(inputs, widths, strides, strict=True)]
    parameters = {"stem": stem[0], "blocks": [[p for p, _ in b] for b in blocks], "fc": fc}
    statistics = {"stem": stem[1], "blocks": [[s for _, s in b] for b in blocks]}

    def convolve(layer: Any, running: Any, x: Any, stride: int = 1) -> Any:
        x = lax.conv_general_dilated(x, layer["weight"], (stride, stride), "SAME")
        now = {"mean": x.mean((0, 2, 3)), "variance": x.var((0, 2, 3))}
        scale = layer["gamma"] * lax.rsqrt(now["variance"] + 1e-5)
        shift = layer["beta"] - now["mean"] * scale
        running = jax.tree.map(lambda old, new: 0.9 * old + 0.1 * new, running, now)
        return x * scale[:, None, None] + shift[:, None, None], running

    def residual(layers: Any, running: Any, x: Any, stride: int) -> Any:
        y, after1 = convolve(layers[0], running[0], x)
        y, after2 = convolve(layers[1], running[1], jax.nn.relu(y), stride)
        y, after3 = convolve(layers[2], running[2], jax.nn.relu(y))
        after = [after1, after2, after3]
        if len(layers) == 4:
            x, after4 = convolve(layers[3], running[3], x, stride)
            after.append(after4)
        return jax.nn.relu(x + y), after

    def apply(parameters: Any, statistics: Any, x: Any) -> Any:
        x, stem = convolve(parameters["stem"], statistics["stem"], x, 2)
        window, step = (1, 1, 3, 3), (1, 1, 2, 2)
        x = lax.reduce_window(jax.nn.relu(x), -np.inf, lax.max, window, step, "SAME")
        blocks = []
        for i, stride in enumerate(strides):
            x, after = residual(parameters["blocks"][i], statistics["blocks"][i], x, stride)
            blocks.append(after)
        logits = jax_dense(parameters["fc"], jnp.mean(x, (2, 3)))
        return logits, {"stem": stem, "blocks": blocks}

    return parameters, statistics, apply


def jax_transformer() -> tuple[Any, Any, Callable[..., Any]]:
    import jax
    import jax.numpy as jnp
    from jax import lax

    make = Weights()

    def layer() -> dict[str, Any]:
        return {
            "norm1": make.norm(WIDTH),
            "norm2": make.norm(WIDTH),
            "qkv": make.dense(WIDTH, 3 * WIDTH),
            "out": make.dense(WIDTH, WIDTH),
            "up": make.dense(WIDTH, 4 * WIDTH),
            "down": make.dense(4 * WIDTH, WIDTH),
        }

    parameters = {
        "words": make(VOCABULARY, WIDTH),
        "places": make(LENGTH, WIDTH),
        "layers": [layer() for _ in range(LAYERS)],
        "norm": make.norm(WIDTH),
        "head": make.dense(WIDTH, VOCABULARY),
    }
    mask = causal_mask()

    def normalize(layer: Any, x: Any) -> Any:
        # Not x.var, which takes the mean again: with that XLA makes a program twice as large.
        x = x - x.mean(-1, keepdims=True)
        variance = jnp.square(x).mean(-1, keepdims=True)
        return x * lax.rsqrt(variance + 1e-7) * layer["gamma"] + layer["beta"]

    def attend(layer: Any, x: Any) -> Any:
        batch, length, width = x.shape
        parts = jax_dense(layer["qkv"], x).reshape(batch, length, 3, HEADS, width // HEADS)
        q, k, v = parts.transpose(2, 0, 3, 1, 4)
        scores = q @ k.swapaxes(-1, -2) * (width // HEADS) ** -0.5 + mask
        mixed = jax.nn.softmax(scores) @ v
        return jax_dense(layer["out"], mixed.transpose(0, 2, 1, 3).reshape(batch, length, width))

    def apply(parameters: Any, statistics: Any, text: Any) -> Any:
        x = parameters["words"][text] + parameters["places"][jnp.arange(LENGTH)]
        for layer in parameters["layers"]:
            x = x + attend(layer, normalize(layer["norm1"], x))
            hidden = jax_dense(layer["up"], normalize(layer["norm2"], x))
            x = x + jax_dense(layer["down"], jax.nn.gelu(hidden))
        x = normalize(parameters["norm"], x)
        return jax_dense(parameters["head"], x).reshape(-1, VOCABULARY), statistics

    return parameters, (), apply


if __name__ == "__main__":
    main()
