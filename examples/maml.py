"""Model-agnostic meta-learning: weights from which one step of descent fits any sine."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

INNER, WIDTH = 0.05, 32


def predict(weights, x):
    first, bias1, second, bias2, third, bias3 = weights
    hidden = ops.tanh(ops.matmul(x, first) + bias1)
    hidden = ops.tanh(ops.matmul(hidden, second) + bias2)
    return ops.matmul(hidden, third) + bias3


def inner_loss(weights, x, y):
    return ((predict(weights, x) - y) ** 2).mean()


class MetaLoss(nn.Cell):
    """The loss on new points of a task after one step on some of its points."""

    def __init__(self, random):
        super().__init__()
        sizes = [(1, WIDTH), (WIDTH,), (WIDTH, WIDTH), (WIDTH,), (WIDTH, 1), (1,)]
        scale = [1.0, 0.0, WIDTH**-0.5, 0.0, WIDTH**-0.5, 0.0]
        self.weights = ParameterTuple(
            Parameter(Tensor(random.normal(size=size) * s, ms.float32), name=f"w{i}")
            for i, (size, s) in enumerate(zip(sizes, scale))
        )
        self.gradient = ms.grad(inner_loss)

    def construct(self, x, y, new_x, new_y):
        gradients = self.gradient(tuple(self.weights), x, y)
        moved = ()
        for weight, gradient in zip(self.weights, gradients):
            moved += (weight - INNER * gradient,)
        return inner_loss(moved, new_x, new_y)


def task(random):
    amplitude, phase = random.uniform(0.5, 2), random.uniform(0, np.pi)
    x = random.uniform(-3, 3, (20, 1))
    y = amplitude * np.sin(x + phase)
    x, y = Tensor(x, ms.float32), Tensor(y, ms.float32)
    return x[:10], y[:10], x[10:], y[10:]


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    random = np.random.default_rng(14)
    meta = MetaLoss(random)
    step = nn.TrainOneStepCell(meta, nn.Adam(meta.trainable_params(), 5e-3))
    losses = [float(step(*task(random)).asnumpy()) for _ in range(500)]
    print(f"loss after one step: {np.mean(losses[:50]):.3f} -> {np.mean(losses[-50:]):.3f}")


if __name__ == "__main__":
    main()
