"""A cross entropy loss written as a Cell, which publishes its value with ScalarSummary."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.ops import functional as F
from mindspore.ops import operations as P


class CrossEntropyLoss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cross_entropy = P.SoftmaxCrossEntropyWithLogits()
        self.mean = P.ReduceMean()
        self.one_hot = P.OneHot()
        self.one, self.zero = Tensor(1.0, ms.float32), Tensor(0.0, ms.float32)
        self.summary = P.ScalarSummary()

    def construct(self, logits, label):
        label = self.one_hot(label, F.shape(logits)[1], self.one, self.zero)
        loss = self.cross_entropy(logits, label)[0]
        loss = self.mean(loss, (-1,))
        self.summary("loss", loss)
        return loss


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(19)
    random = np.random.default_rng(19)
    labels = random.integers(0, 3, 96)
    points = random.normal(size=(96, 5)) + np.eye(3, 5)[labels] * 3
    net = nn.SequentialCell(nn.Dense(5, 16), nn.ReLU(), nn.Dense(16, 3))
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, CrossEntropyLoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9)
    )
    data = Tensor(points, ms.float32), Tensor(labels, ms.int32)
    losses = [float(step(*data).asnumpy()) for _ in range(60)]
    print(f"loss: {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
