"""Half precision with loss scaling: amp levels, a scaler that adapts, overflowing steps skipped."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops
from mindspore.amp import DynamicLossScaler, all_finite, auto_mixed_precision


def spirals(random, count=300):
    labels = random.integers(0, 2, count)
    radius = random.uniform(0.2, 1, count)
    angle = 5 * radius + np.pi * labels
    points = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1) * 2
    return Tensor(points, ms.float32), Tensor(labels, ms.int32)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(27)
    data = spirals(np.random.default_rng(27))
    net = nn.SequentialCell(
        nn.Dense(2, 32),
        nn.LayerNorm((32,)),
        nn.Tanh(),
        nn.Dense(32, 32),
        nn.Tanh(),
        nn.Dense(32, 2),
    )
    net = auto_mixed_precision(net, "O2")
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    scaler = DynamicLossScaler(scale_value=2**24, scale_factor=2, scale_window=50)

    def forward(points, labels):
        value = loss(ops.cast(net(points), ms.float32), labels)
        return scaler.scale(value), value

    gradient = ops.value_and_grad(forward, None, optimizer.parameters, has_aux=True)

    @ms.jit
    def step(points, labels):
        (_, value), gradients = gradient(points, labels)
        gradients = scaler.unscale(gradients)
        finite = all_finite(gradients)
        if finite:
            optimizer(gradients)
        scaler.adjust(finite)
        return value, finite

    results = [step(*data) for _ in range(150)]
    losses = [float(value.asnumpy()) for value, _ in results]
    skipped = sum(not bool(finite.asnumpy()) for _, finite in results)
    print(f"{skipped} steps left out, scale {float(scaler.scale_value.asnumpy()):.0f}")
    print(f"loss: {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
