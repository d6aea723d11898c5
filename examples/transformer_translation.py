"""An encoder-decoder Transformer translates numbers into words written backwards."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

START, END, FIRST, SYMBOLS, LENGTH, WIDTH = 0, 1, 2, 12, 6, 32


class Translator(nn.Cell):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(SYMBOLS, WIDTH), nn.Embedding(SYMBOLS, WIDTH)
        self.places = nn.Embedding(LENGTH + 2, WIDTH)
        self.transformer = nn.Transformer(
            d_model=WIDTH,
            nhead=4,
            num_encoder_layers=1,
            num_decoder_layers=1,
            dim_feedforward=64,
            dropout=0.0,
            batch_first=True,
        )
        self.output = nn.Dense(WIDTH, SYMBOLS)
        later = np.triu(np.ones((LENGTH + 1, LENGTH + 1)), 1).astype(bool)
        self.later = Tensor(later)
        self.order = Tensor(np.arange(LENGTH + 1), ms.int32)

    def construct(self, source, target):
        source = self.source(source) + self.places(self.order[:LENGTH])
        target = self.target(target) + self.places(self.order)
        return self.output(self.transformer(source, target, tgt_mask=self.later))


class TranslationLoss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.loss = nn.CrossEntropyLoss()

    def construct(self, source, target_in, target_out):
        logits = self.net(source, target_in)
        return self.loss(logits.reshape((-1, SYMBOLS)), target_out.reshape((-1,)))


def batch(random, count=64):
    source = random.integers(FIRST, SYMBOLS, (count, LENGTH))
    target = FIRST + (source[:, ::-1] - FIRST + 3) % (SYMBOLS - FIRST)
    start, end = np.full((count, 1), START), np.full((count, 1), END)
    given, wanted = np.concatenate([start, target], 1), np.concatenate([target, end], 1)
    return tuple(Tensor(part, ms.int32) for part in (source, given, wanted))


def translate(net, source):
    """One symbol after the other, the most likely each time."""
    written = np.full((source.shape[0], LENGTH + 1), START, np.int32)
    for place in range(LENGTH):
        logits = net(source, Tensor(written)).asnumpy()
        written[:, place + 1] = logits[:, place].argmax(1)
    return written[:, 1:]


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(10)
    random = np.random.default_rng(10)
    net = Translator()
    step = nn.TrainOneStepCell(TranslationLoss(net), nn.Adam(net.trainable_params(), 3e-3))
    test = batch(random)

    def accuracy():
        net.set_train(False)
        right = translate(net, test[0]) == test[2].asnumpy()[:, :LENGTH]
        net.set_train(True)
        return right.mean()

    before = accuracy()
    for _ in range(180):
        step(*batch(random))
    print(f"accuracy of symbols: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
