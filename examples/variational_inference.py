"""Variational inference with distributions: a normal guide comes close to a posterior."""

import mindspore as ms
import mindspore.nn.probability.distribution as msd
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

NOISE = 0.5


class NegativeEvidence(nn.Cell):
    """Minus the evidence lower bound of the mean of normal data, with a normal prior and guide."""

    def __init__(self, data):
        super().__init__()
        self.data = Tensor(data, ms.float32)
        self.centre = Parameter(Tensor([0.0], ms.float32), name="centre")
        self.log_spread = Parameter(Tensor([0.0], ms.float32), name="log_spread")
        self.prior = msd.Normal(0.0, 3.0, dtype=ms.float32)
        self.normal = msd.Normal(dtype=ms.float32)
        self.standard = ops.StandardNormal()
        self.zero, self.three = Tensor(0.0, ms.float32), Tensor(3.0, ms.float32)

    def construct(self):
        spread = ops.exp(self.log_spread)
        drawn = self.centre + spread * self.standard((16, 1))
        fit = (
            self.normal.log_prob(self.data, drawn, NOISE * ops.ones_like(drawn)).sum(axis=1).mean()
        )
        far = self.normal.kl_loss("Normal", self.zero, self.three, self.centre, spread).sum()
        return far - fit


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(22)
    data = np.random.default_rng(22).normal(2.0, NOISE, 30)
    net = NegativeEvidence(data)
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.05))
    losses = [float(step().asnumpy()) for _ in range(250)]
    precision = 1 / 9 + len(data) / NOISE**2
    exact = data.sum() / NOISE**2 / precision, precision**-0.5
    found = float(net.centre.asnumpy()[0]), float(np.exp(net.log_spread.asnumpy()[0]))
    print(
        f"exact posterior {exact[0]:.3f} +- {exact[1]:.3f}, found {found[0]:.3f} +- {found[1]:.3f}"
    )
    print(f"negative bound: {losses[0]:.2f} -> {np.mean(losses[-20:]):.2f}")


if __name__ == "__main__":
    main()
