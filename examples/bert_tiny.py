"""A tiny BERT learns to fill in masked words of counting sequences."""

import math

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn
from mindspore.common.initializer import TruncatedNormal, initializer
from mindspore.ops import functional as F
from mindspore.ops import operations as P

VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS, MASK = 20, 12, 32, 4, 2, 0


class SelfAttention(nn.Cell):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Dense(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Dense(WIDTH, WIDTH)
        self.reshape, self.transpose = P.Reshape(), P.Transpose()
        self.scores, self.context = P.BatchMatMul(transpose_b=True), P.BatchMatMul()
        self.softmax = nn.Softmax()

    def split(self, x):
        parts = self.reshape(x, (-1, LENGTH, HEADS, WIDTH // HEADS))
        return self.transpose(parts, (0, 2, 1, 3))

    def construct(self, x):
        query, key, value = (
            self.split(self.query(x)),
            self.split(self.key(x)),
            self.split(self.value(x)),
        )
        weights = self.softmax(self.scores(query, key) / math.sqrt(WIDTH // HEADS))
        mixed = self.transpose(self.context(weights, value), (0, 2, 1, 3))
        return self.output(self.reshape(mixed, (-1, LENGTH, WIDTH)))


class EncoderLayer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.attention = SelfAttention()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.wide, self.narrow = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.gelu = nn.GELU()

    def construct(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.gelu(self.wide(self.norm2(x))))


class Bert(nn.Cell):
    def __init__(self):
        super().__init__()
        normal = TruncatedNormal(0.1)
        self.words = Parameter(initializer(normal, [VOCABULARY, WIDTH]), "words")
        self.places = Parameter(initializer(normal, [LENGTH, WIDTH]), "places")
        self.layers = nn.CellList([EncoderLayer() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm((WIDTH,))
        self.gather = P.Gather()
        self.logits = P.MatMul(transpose_b=True)

    def construct(self, words):
        x = self.norm(self.gather(self.words, words, 0) + self.places)
        for layer in self.layers:
            x = layer(x)
        return self.logits(F.reshape(x, (-1, WIDTH)), self.words)


class MaskedLoss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="none")

    def construct(self, shown, words):
        losses = self.loss(self.net(shown), F.reshape(words, (-1,)))
        masked = F.cast(F.reshape(shown, (-1,)) == MASK, ms.float32)
        return (losses * masked).sum() / masked.sum()


def batch(random, count=32):
    """Sequences that count up, with some words masked."""
    start = random.integers(0, VOCABULARY - 1, (count, 1))
    words = 1 + (start + np.arange(LENGTH)) % (VOCABULARY - 1)
    shown = np.where(random.random(words.shape) < 0.2, MASK, words)
    shown[:, 3] = MASK
    return Tensor(shown, ms.int32), Tensor(words, ms.int32)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(9)
    random = np.random.default_rng(9)
    net = Bert()
    schedule = nn.WarmUpLR(1e-2, 30)
    step = nn.TrainOneStepCell(
        MaskedLoss(net), nn.AdamWeightDecay(net.trainable_params(), schedule, weight_decay=0.01)
    )
    losses = [float(step(*batch(random)).asnumpy()) for _ in range(150)]
    print(f"loss of masked words: {losses[0]:.3f} -> {np.mean(losses[-10:]):.3f}")


if __name__ == "__main__":
    main()
