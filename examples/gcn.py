"""A graph convolutional network labels the nodes of a small citation-like graph."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import XavierUniform, initializer

NODES, CLASSES, FEATURES = 120, 4, 32


class GraphConvolution(nn.Cell):
    def __init__(self, before, after):
        super().__init__()
        self.weight = Parameter(initializer(XavierUniform(), [before, after]), "weight")
        self.product = ops.MatMul()

    def construct(self, adjacency, x):
        return self.product(adjacency, self.product(x, self.weight))


class GCN(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = GraphConvolution(FEATURES, 16), GraphConvolution(16, CLASSES)
        self.dropout, self.relu = nn.Dropout(p=0.3), nn.ReLU()

    def construct(self, adjacency, features):
        hidden = self.relu(self.first(adjacency, features))
        return self.second(adjacency, self.dropout(hidden))


class MaskedLoss(nn.Cell):
    """Cross entropy of the nodes whose labels are known."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="none")

    def construct(self, adjacency, features, labels, known):
        losses = self.loss(self.net(adjacency, features), labels)
        return (losses * known).sum() / known.sum()


def citations(random):
    """Papers cite papers of their own class five times as often; words hint at the class."""
    labels = random.integers(0, CLASSES, NODES)
    same = labels[:, None] == labels[None, :]
    links = random.random((NODES, NODES)) < np.where(same, 0.10, 0.02)
    adjacency = (links | links.T | np.eye(NODES, dtype=bool)).astype(np.float32)
    degree = adjacency.sum(1) ** -0.5
    features = (
        random.normal(size=(NODES, FEATURES))
        + 0.5 * random.normal(size=(CLASSES, FEATURES))[labels]
    )
    return adjacency * degree[:, None] * degree[None, :], features.astype(np.float32), labels


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(5)
    random = np.random.default_rng(5)
    adjacency, features, labels = citations(random)
    known = (random.random(NODES) < 0.3).astype(np.float32)
    net = GCN()
    optimizer = nn.Adam(net.trainable_params(), 0.02, weight_decay=5e-4)
    step = nn.TrainOneStepCell(MaskedLoss(net), optimizer)
    graph = Tensor(adjacency), Tensor(features)

    def accuracy():
        net.set_train(False)
        right = net(*graph).asnumpy().argmax(1) == labels
        return right[known == 0].mean()

    before = accuracy()
    for _ in range(80):
        step.set_train()
        step(*graph, Tensor(labels, ms.int32), Tensor(known))
    print(f"accuracy of unknown nodes: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
