"""AlexNet, made narrow, trained with Model in data sink mode."""

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.train import Model, TimeMonitor
from mindspore.train.callback import Callback

SIDE, CLASSES = 64, 4


class AlexNet(nn.Cell):
    def __init__(self, width=8, dropout=0.2):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, pad_mode="pad", padding=2, has_bias=True)
        self.conv2 = nn.Conv2d(width, 2 * width, 5, has_bias=True)
        self.conv3 = nn.Conv2d(2 * width, 3 * width, 3, has_bias=True)
        self.conv4 = nn.Conv2d(3 * width, 3 * width, 3, has_bias=True)
        self.conv5 = nn.Conv2d(3 * width, 2 * width, 3, has_bias=True)
        self.relu, self.pool = nn.ReLU(), nn.MaxPool2d(kernel_size=3, stride=2)
        self.flatten, self.dropout = nn.Flatten(), nn.Dropout(p=dropout)
        self.fc1 = nn.Dense(2 * width * 9, 64)
        self.fc2, self.fc3 = nn.Dense(64, 64), nn.Dense(64, CLASSES)

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.relu(self.conv3(x))
        x = self.relu(self.conv4(x))
        x = self.pool(self.relu(self.conv5(x)))
        x = self.flatten(x)
        x = self.dropout(self.relu(self.fc1(x)))
        x = self.dropout(self.relu(self.fc2(x)))
        return self.fc3(x)


class Losses(Callback):
    """Keeps the loss of each step that it hears of."""

    def __init__(self):
        super().__init__()
        self.values = []

    def step_end(self, run_context):
        self.values.append(float(run_context.original_args().net_outputs.asnumpy()))


def stripes(count, seed):
    """Pictures of stripes in one of four directions."""
    random = np.random.default_rng(seed)
    rows, columns = np.mgrid[:SIDE, :SIDE] / SIDE
    labels = random.integers(0, CLASSES, count).astype(np.int32)
    angle = labels * np.pi / CLASSES
    waves = np.cos(angle)[:, None, None] * rows + np.sin(angle)[:, None, None] * columns
    phase, pitch = random.uniform(0, 6, (2, count, 1, 1))
    pictures = np.sin((20 + 3 * pitch) * waves + phase)[:, None] * random.uniform(
        0.5, 1, (count, 3, 1, 1)
    )
    return (pictures + random.normal(0, 0.3, pictures.shape)).astype(np.float32), labels


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(25)
    ds.config.set_seed(25)
    data = ds.NumpySlicesDataset(stripes(320, 25), ["image", "label"], shuffle=True).batch(16, True)
    net = AlexNet()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Adam(net.trainable_params(), 2e-3)
    model = Model(net, loss_fn=loss, optimizer=optimizer, metrics={"accuracy"})
    losses = Losses()
    test = ds.NumpySlicesDataset(stripes(160, 26), ["image", "label"], shuffle=False).batch(16)
    before = model.eval(test)["accuracy"]
    model.train(5, data, callbacks=[losses, TimeMonitor()], dataset_sink_mode=True)
    print(f"loss: {losses.values[0]:.3f} -> {losses.values[-1]:.3f}")
    print(f"accuracy: {before:.3f} -> {model.eval(test)['accuracy']:.3f}")


if __name__ == "__main__":
    main()
