"""A dense network written with MatMul and Parameter: the one that is split over devices later."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal, initializer


class DenseNet(nn.Cell):
    """Two products of matrices with a ReLU in between."""

    def __init__(self, features, hidden, classes):
        super().__init__()
        self.weight1 = Parameter(initializer(Normal(0.1), [features, hidden]), "weight1")
        self.weight2 = Parameter(initializer(Normal(0.1), [hidden, classes]), "weight2")
        self.matmul1 = ops.MatMul()
        self.relu = ops.ReLU()
        self.matmul2 = ops.MatMul()

    def construct(self, x):
        return self.matmul2(self.relu(self.matmul1(x, self.weight1)), self.weight2)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(1)
    random = np.random.default_rng(1)
    images = random.normal(size=(64, 16)).astype(np.float32)
    labels = (images @ random.normal(size=(16, 4))).argmax(axis=1).astype(np.int32)

    net = DenseNet(16, 32, 4)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), learning_rate=0.3, momentum=0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()
    losses = [float(step(Tensor(images), Tensor(labels)).asnumpy()) for _ in range(40)]
    print(f"loss: {losses[0]:.4f} -> {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
