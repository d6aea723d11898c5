"""A GRU learns to write a rhyme letter by letter, and then writes it."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

TEXT = "one two buckle my shoe three four knock at the door five six pick up sticks. " * 3
LETTERS = sorted(set(TEXT))
LENGTH, WIDTH = 24, 48


class Writer(nn.Cell):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(LETTERS), 16)
        self.gru = nn.GRU(16, WIDTH, batch_first=True)
        self.dense = nn.Dense(WIDTH, len(LETTERS))

    def construct(self, letters, state):
        output, state = self.gru(self.embedding(letters), state)
        return self.dense(output), state


class WriterLoss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, letters, following, state):
        logits, _ = self.net(letters, state)
        return self.loss(logits.reshape((-1, logits.shape[-1])), following.reshape((-1,)))


def write(net, start, count):
    state, written = ops.zeros((1, 1, WIDTH), ms.float32), start
    letters = [LETTERS.index(letter) for letter in start]
    for _ in range(count):
        logits, state = net(Tensor([letters[-1:]], ms.int32), state)
        letters.append(int(logits.asnumpy()[0, -1].argmax()))
        written += LETTERS[letters[-1]]
    return written


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(12)
    random = np.random.default_rng(12)
    numbers = np.array([LETTERS.index(letter) for letter in TEXT], np.int32)
    net = Writer()
    step = nn.TrainOneStepCell(WriterLoss(net), nn.Adam(net.trainable_params(), 0.01))
    state = ops.zeros((1, 16, WIDTH), ms.float32)
    losses = []
    for _ in range(150):
        starts = random.integers(0, len(TEXT) - LENGTH - 1, 16)
        rows = np.stack([numbers[s : s + LENGTH + 1] for s in starts])
        losses.append(float(step(Tensor(rows[:, :-1]), Tensor(rows[:, 1:]), state).asnumpy()))
    print(write(net, "o", 40))
    print(f"loss: {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
