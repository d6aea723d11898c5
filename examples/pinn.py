"""A physics-informed network solves u'' = -pi^2 sin(pi x) with u(-1) = u(1) = 0."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops


class Network(nn.Cell):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Dense(1, width), nn.Tanh(), nn.Dense(width, width), nn.Tanh(), nn.Dense(width, 1)
        )

    def construct(self, x):
        return self.layers(x)


class Residual(nn.Cell):
    """The equation's residual inside, and the values at both ends."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.gradient = ops.GradOperation()
        self.first = self._first
        self.ends = Tensor([[-1.0], [1.0]], ms.float32)

    def _first(self, x):
        return self.gradient(self.net)(x)

    def construct(self, x):
        second = self.gradient(self.first)(x)
        wanted = -(np.pi**2) * ops.sin(np.pi * x)
        return ((second - wanted) ** 2).mean() / 100 + (self.net(self.ends) ** 2).mean()


def error(net):
    x = np.linspace(-1, 1, 101, dtype=np.float32).reshape(-1, 1)
    return float(np.abs(net(Tensor(x)).asnumpy() - np.sin(np.pi * x)).max())


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(4)
    net = Network()
    points = Tensor(np.linspace(-1, 1, 64).reshape(-1, 1), ms.float32)
    step = nn.TrainOneStepCell(Residual(net), nn.Adam(net.trainable_params(), 1e-2))
    before = error(net)
    for _ in range(500):
        step(points)
    print(f"largest error: {before:.4f} -> {error(net):.4f}")


if __name__ == "__main__":
    main()
