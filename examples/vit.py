"""A small vision transformer tells apart shapes in images."""

import mindspore as ms
import numpy as np
from mindspore import Parameter, Tensor, nn, ops
from mindspore.common.initializer import Normal, initializer

SIDE, PATCH, WIDTH, CLASSES = 16, 4, 32, 3
PATCHES = (SIDE // PATCH) ** 2


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,)), nn.LayerNorm((WIDTH,))
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.mlp = nn.SequentialCell(
            nn.Dense(WIDTH, 2 * WIDTH), nn.GELU(), nn.Dense(2 * WIDTH, WIDTH)
        )

    def construct(self, x):
        seen = self.norm1(x)
        x = x + self.attention(seen, seen, seen, need_weights=False)[0]
        return x + self.mlp(self.norm2(x))


class ViT(nn.Cell):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, WIDTH, PATCH, PATCH, pad_mode="valid", has_bias=True)
        self.token = Parameter(initializer(Normal(0.02), [1, 1, WIDTH]), name="token")
        self.places = Parameter(initializer(Normal(0.02), [1, PATCHES + 1, WIDTH]), name="places")
        self.blocks = nn.SequentialCell(Block(), Block())
        self.norm, self.head = nn.LayerNorm((WIDTH,)), nn.Dense(WIDTH, CLASSES)

    def construct(self, images):
        x = self.patches(images).reshape((images.shape[0], WIDTH, PATCHES)).swapaxes(1, 2)
        token = ops.tile(self.token, (images.shape[0], 1, 1))
        x = ops.concat((token, x), axis=1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])


def shapes(random, count=64):
    """Discs, squares and crosses at random places."""
    rows, columns = np.mgrid[:SIDE, :SIDE]
    labels = random.integers(0, CLASSES, count)
    images = random.normal(0, 0.2, (count, 1, SIDE, SIDE))
    for image, label in zip(images, labels):
        row, column = random.integers(4, SIDE - 4, 2)
        down, right = np.abs(rows - row), np.abs(columns - column)
        masks = (
            down**2 + right**2 <= 9,
            (down <= 3) & (right <= 3),
            (np.minimum(down, right) == 0) & (down + right <= 4),
        )
        image[0] += masks[label]
    return Tensor(images, ms.float32), Tensor(labels, ms.int32)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(24)
    random = np.random.default_rng(24)
    net = ViT()
    loss = nn.CrossEntropyLoss(label_smoothing=0.05)
    step = nn.TrainOneStepCell(
        nn.WithLossCell(net, loss), nn.AdamWeightDecay(net.trainable_params(), 3e-3)
    )
    test = shapes(random, 200)

    def accuracy():
        return (net(test[0]).asnumpy().argmax(1) == test[1].asnumpy()).mean()

    before = accuracy()
    for _ in range(120):
        step(*shapes(random))
    print(f"accuracy: {before:.3f} -> {accuracy():.3f}")


if __name__ == "__main__":
    main()
