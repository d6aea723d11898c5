"""Wide and deep: a linear model of features beside a network of embeddings, in two groups."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

FIELDS, VALUES = 6, 10


class WideDeep(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.wide = Parameter(initializer("zeros", [FIELDS * VALUES, 1]), name="wide")
        self.deep_embedding = nn.Embedding(FIELDS * VALUES, width)
        self.deep = nn.SequentialCell(
            nn.Dense(FIELDS * width, 32), nn.ReLU(), nn.Dropout(p=0.1), nn.Dense(32, 1)
        )
        self.gather, self.flatten = ops.Gather(), nn.Flatten()

    def construct(self, features):
        linear = self.gather(self.wide, features, 0).sum(axis=1)
        return linear + self.deep(self.flatten(self.deep_embedding(features)))


def clicks(random, count):
    values = random.integers(0, VALUES, (count, FIELDS))
    score = 0.6 * (values[:, 0] - 4.5) + np.where(values[:, 1] == values[:, 2], 3, -0.5)
    labels = (score + random.normal(0, 0.5, count) > 0).astype(np.float32)
    return Tensor(values + VALUES * np.arange(FIELDS), ms.int32), Tensor(labels[:, None])


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(17)
    random = np.random.default_rng(17)
    net = WideDeep()
    groups = [
        {"params": [p for p in net.trainable_params() if "wide" in p.name], "lr": 0.1},
        {
            "params": [p for p in net.trainable_params() if "wide" not in p.name],
            "weight_decay": 1e-4,
        },
        {"order_params": net.trainable_params()},
    ]
    optimizer = nn.Adam(groups, learning_rate=0.01)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.BCEWithLogitsLoss()), optimizer).set_train()
    train, test = clicks(random, 2000), clicks(random, 500)

    def accuracy():
        net.set_train(False)
        found = net(test[0]).asnumpy() > 0
        net.set_train(True)
        return (found == test[1].asnumpy()).mean()

    before = accuracy()
    for _ in range(150):
        step(*train)
    print(f"accuracy: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
