"""A small U-Net finds discs in noisy images; judged by the Dice coefficient."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

SIDE = 16


def block(before, after):
    return nn.SequentialCell(
        nn.Conv2d(before, after, 3),
        nn.BatchNorm2d(after),
        nn.ReLU(),
        nn.Conv2d(after, after, 3),
        nn.ReLU(),
    )


class UNet(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.down1, self.down2 = block(1, width), block(width, 2 * width)
        self.bottom = block(2 * width, 4 * width)
        self.pool = nn.MaxPool2d(2, 2)
        self.up2 = nn.Conv2dTranspose(4 * width, 2 * width, 2, 2)
        self.up1 = nn.Conv2dTranspose(2 * width, width, 2, 2)
        self.right2, self.right1 = block(4 * width, 2 * width), block(2 * width, width)
        self.output = nn.Conv2d(width, 1, 1)

    def construct(self, x):
        first = self.down1(x)
        second = self.down2(self.pool(first))
        x = self.up2(self.bottom(self.pool(second)))
        x = self.up1(self.right2(ops.concat((x, second), axis=1)))
        return self.output(self.right1(ops.concat((x, first), axis=1)))


def discs(random, count=16):
    rows, columns = np.mgrid[:SIDE, :SIDE]
    masks = np.zeros((count, 1, SIDE, SIDE), np.float32)
    for mask in masks:
        row, column = random.uniform(4, SIDE - 4, 2)
        mask[0] = (rows - row) ** 2 + (columns - column) ** 2 < random.uniform(2, 5) ** 2
    images = masks + random.normal(0, 0.7, masks.shape)
    return Tensor(images, ms.float32), Tensor(masks)


def dice(net, images, masks):
    net.set_train(False)
    found = net(images).asnumpy() > 0
    net.set_train(True)
    wanted = masks.asnumpy() > 0
    return 2 * (found & wanted).sum() / (found.sum() + wanted.sum())


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(13)
    random = np.random.default_rng(13)
    net = UNet()
    loss = nn.WithLossCell(net, nn.BCEWithLogitsLoss())
    step = nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 5e-3)).set_train()
    test = discs(random)
    before = dice(net, *test)
    for _ in range(60):
        step(*discs(random))
    print(f"accuracy by Dice: {before:.3f} -> {dice(net, *test):.3f}")


if __name__ == "__main__":
    main()
