"""Skip-gram word vectors with negative sampling: words of one topic come close to each other."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn
from mindspore.common.initializer import Uniform

TOPICS, PER_TOPIC, WIDTH, NEGATIVE = 4, 6, 12, 5
WORDS = TOPICS * PER_TOPIC


class SkipGram(nn.Cell):
    """The negative log likelihood of a word's neighbour, against some words drawn at random."""

    def __init__(self):
        super().__init__()
        self.centres = nn.Embedding(WORDS, WIDTH, embedding_table=Uniform(0.1))
        self.neighbours = nn.Embedding(WORDS, WIDTH, embedding_table=Uniform(0.1))
        self.log_sigmoid = nn.LogSigmoid()

    def construct(self, centre, neighbour, others):
        middle = self.centres(centre)
        right = (middle * self.neighbours(neighbour)).sum(-1)
        wrong = (middle.expand_dims(1) * self.neighbours(others)).sum(-1)
        return -(self.log_sigmoid(right) + self.log_sigmoid(-wrong).sum(-1)).mean()


def pairs(random, count=256):
    """A neighbour is of the same topic nine times out of ten."""
    centre = random.integers(0, WORDS, count)
    same = random.random(count) < 0.9
    near = centre // PER_TOPIC * PER_TOPIC + random.integers(0, PER_TOPIC, count)
    neighbour = np.where(same, near, random.integers(0, WORDS, count))
    others = random.integers(0, WORDS, (count, NEGATIVE))
    return tuple(Tensor(part, ms.int32) for part in (centre, neighbour, others))


def purity(net):
    """How often a word's nearest neighbour is of its topic."""
    vectors = net.centres.embedding_table.asnumpy()
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    likeness = vectors @ vectors.T - 2 * np.eye(WORDS)
    topic = np.arange(WORDS) // PER_TOPIC
    return (topic[likeness.argmax(1)] == topic).mean()


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(11)
    random = np.random.default_rng(11)
    net = SkipGram()
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.02))
    before = purity(net)
    for _ in range(150):
        step(*pairs(random))
    print(f"accuracy of nearest words: {before:.3f} -> {purity(net):.3f}")


if __name__ == "__main__":
    main()
