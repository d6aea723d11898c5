"""An LSTM reads sentences of different lengths and says whether they are friendly."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

GOOD = "lovely warm kind bright happy gentle clever sweet".split()
BAD = "awful cold rude dull sad harsh silly bitter".split()
PLAIN = "the a film was and its actors story with this very some quite people".split()
WORDS = ["<pad>", "not", *GOOD, *BAD, *PLAIN]
LENGTH = 12


class Sentiment(nn.Cell):
    def __init__(self, width=16, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(len(WORDS), width, padding_idx=0)
        self.lstm = nn.LSTM(width, hidden, num_layers=1, batch_first=True, bidirectional=True)
        self.dense = nn.Dense(2 * hidden, 1)
        self.dropout = nn.Dropout(p=0.1)

    def construct(self, words, lengths):
        _, (state, _) = self.lstm(self.embedding(words), seq_length=lengths)
        return self.dense(self.dropout(ops.concat((state[0], state[1]), axis=1))).squeeze(1)


def sentence(random):
    """Words, and whether they are friendly: `not` turns the word after it around."""
    words, score = [], 0
    for _ in range(random.integers(5, LENGTH - 1)):
        kind = random.choice(["good", "bad", "plain"], p=[0.2, 0.2, 0.6])
        if kind == "plain":
            words.append(random.choice(PLAIN))
            continue
        turned = len(words) < LENGTH - 2 and random.random() < 0.3
        words += ["not"] * turned + [random.choice(GOOD if kind == "good" else BAD)]
        score += (1 if kind == "good" else -1) * (-1 if turned else 1)
    return words[:LENGTH], score


def batch(random, count):
    sentences = []
    while len(sentences) < count:
        words, score = sentence(random)
        if score:
            sentences.append((words, float(score > 0)))
    numbers = np.zeros((count, LENGTH), np.int32)
    for row, (words, _) in zip(numbers, sentences):
        row[: len(words)] = [WORDS.index(word) for word in words]
    lengths = [len(words) for words, _ in sentences]
    labels = [label for _, label in sentences]
    return Tensor(numbers), Tensor(lengths, ms.int32), Tensor(labels, ms.float32)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(8)
    random = np.random.default_rng(8)
    net = Sentiment()
    loss = nn.BCEWithLogitsLoss()
    optimizer = nn.Adam(net.trainable_params(), 0.01)

    def forward(words, lengths, labels):
        return loss(net(words, lengths), labels)

    value_and_grad = ms.value_and_grad(forward, None, optimizer.parameters)

    @ms.jit
    def step(words, lengths, labels):
        value, gradients = value_and_grad(words, lengths, labels)
        optimizer(gradients)
        return value

    held_out = batch(random, 200)

    def accuracy():
        net.set_train(False)
        found = net(*held_out[:2]).asnumpy() > 0
        net.set_train(True)
        return (found == held_out[2].asnumpy()).mean()

    before = accuracy()
    for _ in range(120):
        step(*batch(random, 32))
    print(f"accuracy: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
