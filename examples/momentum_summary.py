"""An optimizer of one's own: momentum that publishes learning rate and weights as summaries."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

momentum_update = C.MultitypeFuncGraph("momentum_update")


@momentum_update.register("Function", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor")
def _update_one(update, rate, momentum, gradient, weight, moment):
    return F.depend(True, update(weight, moment, rate, gradient, momentum))


class Momentum(nn.Optimizer):
    def __init__(self, params, learning_rate, momentum=0.9, weight_decay=0.0, loss_scale=1.0):
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum = Parameter(Tensor(momentum, ms.float32), name="momentum")
        self.moments = self.parameters.clone(prefix="moments", init="zeros")
        self.hyper_map = C.HyperMap()
        self.update = P.ApplyMomentum()
        self.scalar, self.histogram = P.ScalarSummary(), P.HistogramSummary()

    def construct(self, gradients):
        rate = self.get_lr()
        self.scalar("learning_rate", rate)
        self.histogram("weight", self.parameters[0])
        return self.hyper_map(
            F.partial(momentum_update, self.update, rate, self.momentum),
            gradients,
            self.parameters,
            self.moments,
        )


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(20)
    random = np.random.default_rng(20)
    x = random.normal(size=(64, 8)).astype(np.float32)
    y = np.tanh(x @ random.normal(size=(8, 2))).astype(np.float32)
    net = nn.SequentialCell(nn.Dense(8, 32), nn.Tanh(), nn.Dense(32, 2))
    optimizer = Momentum(net.trainable_params(), nn.CosineDecayLR(0.01, 0.1, 100))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    losses = [float(step(Tensor(x), Tensor(y)).asnumpy()) for _ in range(80)]
    print(f"loss: {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
