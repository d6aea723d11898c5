"""A neural differential equation learns a spiral: Runge-Kutta steps in a loop, with gradients."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

STEPS, TIME = 8, 0.25


class Flow(nn.Cell):
    """The solution at all times, of the equation whose right side is a network."""

    def __init__(self):
        super().__init__()
        self.speed = nn.SequentialCell(nn.Dense(2, 32), nn.Tanh(), nn.Dense(32, 2))

    def construct(self, state):
        states = ()
        for _ in range(STEPS):
            k1 = self.speed(state)
            k2 = self.speed(state + TIME / 2 * k1)
            k3 = self.speed(state + TIME / 2 * k2)
            k4 = self.speed(state + TIME * k3)
            state = state + TIME / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            states += (state,)
        return ops.stack(states)


def spiral(starts):
    """Points that turn and come closer to the middle."""
    times = TIME * np.arange(1, STEPS + 1)
    turned = [
        np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]]) * np.exp(-t / 4) for t in times
    ]
    return np.stack([starts @ turn.T for turn in turned])


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(15)
    random = np.random.default_rng(15)
    starts = random.normal(size=(16, 2))
    data = Tensor(starts, ms.float32), Tensor(spiral(starts), ms.float32)
    net = Flow()
    loss = nn.WithLossCell(net, nn.MSELoss())
    step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.02))
    losses = [float(step(*data).asnumpy()) for _ in range(150)]
    print(f"loss: {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
