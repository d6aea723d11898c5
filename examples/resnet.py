"""A residual network with Model.fit: learning-rate schedule, early stopping, top-k metrics."""

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn, ops
from mindspore.train import EarlyStopping, LossMonitor, Model

SIDE, CLASSES = 16, 5


class ResidualBlock(nn.Cell):
    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, stride=stride, weight_init="HeNormal")
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, weight_init="HeNormal")
        self.bn2 = nn.BatchNorm2d(after)
        self.relu = nn.ReLU()
        self.down = None
        if stride != 1 or before != after:
            self.down = nn.SequentialCell(
                nn.Conv2d(before, after, 1, stride=stride), nn.BatchNorm2d(after)
            )

    def construct(self, x):
        identity = x if self.down is None else self.down(x)
        x = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(x + identity)


class ResNet(nn.Cell):
    def __init__(self, width=8):
        super().__init__()
        self.stem = nn.SequentialCell(nn.Conv2d(1, width, 3), nn.BatchNorm2d(width), nn.ReLU())
        self.layers = nn.SequentialCell(
            ResidualBlock(width, width, 1),
            ResidualBlock(width, 2 * width, 2),
            ResidualBlock(2 * width, 4 * width, 2),
        )
        self.mean = ops.ReduceMean(keep_dims=False)
        self.head = nn.Dense(4 * width, CLASSES)

    def construct(self, x):
        return self.head(self.mean(self.layers(self.stem(x)), (2, 3)))


def textures(count, seed):
    """Noise, smoothed in five ways."""
    random = np.random.default_rng(seed)
    labels = random.integers(0, CLASSES, count).astype(np.int32)
    images = random.normal(size=(count, 1, SIDE, SIDE))
    for image, label in zip(images, labels):
        for _ in range(3):
            if label in (1, 3):
                image[0] += np.roll(image[0], 1, axis=0)
            if label in (2, 3):
                image[0] += np.roll(image[0], 1, axis=1)
            if label == 4:
                image[0] -= np.roll(image[0], 1, axis=1)
        image /= image.std()
    return images.astype(np.float32), labels


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(26)
    ds.config.set_seed(26)
    train = ds.NumpySlicesDataset(textures(320, 1), ["image", "label"]).batch(32)
    test = ds.NumpySlicesDataset(textures(160, 2), ["image", "label"], shuffle=False).batch(32)
    steps = train.get_dataset_size()
    net = ResNet()
    schedule = nn.cosine_decay_lr(0.0, 0.1, 4 * steps, steps, 4)
    optimizer = nn.Momentum(net.trainable_params(), schedule, 0.9, weight_decay=1e-4)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = Model(net, loss, optimizer, metrics={"accuracy", "top_1_accuracy", "loss"})
    before = model.eval(test, dataset_sink_mode=False)
    stopping = EarlyStopping(monitor="accuracy", patience=3, mode="max")
    model.fit(4, train, test, callbacks=[LossMonitor(steps), stopping], dataset_sink_mode=False)
    after = model.eval(test, dataset_sink_mode=False)
    print(f"accuracy: {before['accuracy']:.3f} -> {after['accuracy']:.3f}")
    print(f"loss: {before['loss']:.3f} -> {after['loss']:.3f}")


if __name__ == "__main__":
    main()
