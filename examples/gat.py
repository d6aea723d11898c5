"""A graph attention network on edges, with gather and unsorted segment operators."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import initializer

NODES, CLASSES, FEATURES = 90, 3, 16


class AttentionLayer(nn.Cell):
    """Each node takes a weighted mean of its neighbours; the weights are learned."""

    def __init__(self, before, after, heads):
        super().__init__()
        self.heads, self.after = heads, after
        self.dense = nn.Dense(before, heads * after, has_bias=False)
        self.from_source = Parameter(initializer("xavier_uniform", [heads, after]), "from_source")
        self.from_target = Parameter(initializer("xavier_uniform", [heads, after]), "from_target")
        self.leaky = nn.LeakyReLU(0.2)
        self.segment_sum = ops.UnsortedSegmentSum()
        self.gather = ops.Gather()

    def construct(self, x, sources, targets):
        nodes = x.shape[0]
        hidden = self.dense(x).reshape((nodes, self.heads, self.after))
        score = self.gather((hidden * self.from_source).sum(-1), sources, 0)
        score = self.leaky(score + self.gather((hidden * self.from_target).sum(-1), targets, 0))
        weight = ops.exp(score - score.max())
        total = self.gather(self.segment_sum(weight, targets, nodes), targets, 0)
        message = self.gather(hidden, sources, 0) * (weight / total).expand_dims(-1)
        return self.segment_sum(message, targets, nodes).reshape((nodes, -1))


class GAT(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = AttentionLayer(FEATURES, 8, heads=4)
        self.second = AttentionLayer(32, CLASSES, heads=1)
        self.elu = nn.ELU()

    def construct(self, x, sources, targets):
        return self.second(self.elu(self.first(x, sources, targets)), sources, targets)


def communities(random):
    labels = random.integers(0, CLASSES, NODES)
    chance = np.where(labels[:, None] == labels[None, :], 0.12, 0.015)
    links = np.triu(random.random((NODES, NODES)) < chance, 1)
    links = links | links.T | np.eye(NODES, dtype=bool)
    sources, targets = links.nonzero()
    features = random.normal(size=(NODES, FEATURES)) + np.eye(CLASSES, FEATURES)[labels]
    return features, sources, targets, labels


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(7)
    random = np.random.default_rng(7)
    features, sources, targets, labels = communities(random)
    known = np.flatnonzero(random.random(NODES) < 0.4)
    rest = np.setdiff1d(np.arange(NODES), known)
    graph = Tensor(features, ms.float32), Tensor(sources, ms.int32), Tensor(targets, ms.int32)
    net = GAT()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    rows, wanted = Tensor(known, ms.int32), Tensor(labels[known], ms.int32)

    def forward(x, sources, targets):
        return loss(net(x, sources, targets)[rows], wanted)

    value_and_grad = ms.value_and_grad(forward, None, optimizer.parameters)

    def accuracy():
        return (net(*graph).asnumpy().argmax(1) == labels)[rest].mean()

    before = accuracy()
    for _ in range(80):
        _, gradients = value_and_grad(*graph)
        optimizer(gradients)
    print(f"accuracy of unknown nodes: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
