"""LeNet-5 on images of digits, with Model, metrics, callbacks and checkpoints."""

import os
import tempfile

import mindspore as ms
import mindspore.dataset as ds
import mindspore.dataset.transforms as transforms
import mindspore.dataset.vision as vision
import numpy as np
from mindspore import nn
from mindspore.common.initializer import Normal
from mindspore.train import (
    Accuracy,
    CheckpointConfig,
    LossMonitor,
    Model,
    ModelCheckpoint,
    TimeMonitor,
)


class LeNet5(nn.Cell):
    def __init__(self, num_class=10, num_channel=1):
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid")
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid")
        self.fc1 = nn.Dense(16 * 5 * 5, 120, weight_init=Normal(0.05))
        self.fc2 = nn.Dense(120, 84, weight_init=Normal(0.05))
        self.fc3 = nn.Dense(84, num_class, weight_init=Normal(0.05))
        self.relu = nn.ReLU()
        self.max_pool2d = nn.MaxPool2d(kernel_size=2, stride=2)
        self.flatten = nn.Flatten()

    def construct(self, x):
        x = self.max_pool2d(self.relu(self.conv1(x)))
        x = self.max_pool2d(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        return self.fc3(x)


SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")
STROKES = {  # rows and columns of a seven-segment display
    "a": (slice(4, 6), slice(8, 20)),
    "b": (slice(4, 14), slice(18, 20)),
    "c": (slice(14, 24), slice(18, 20)),
    "d": (slice(22, 24), slice(8, 20)),
    "e": (slice(14, 24), slice(8, 10)),
    "f": (slice(4, 14), slice(8, 10)),
    "g": (slice(13, 15), slice(8, 20)),
}


class Digits:
    """Drawn digits, moved about and with noise: images of 28 x 28 bytes and their labels."""

    def __init__(self, count, seed):
        random = np.random.default_rng(seed)
        self.labels = random.integers(0, 10, count).astype(np.int32)
        self.images = random.integers(0, 60, (count, 28, 28, 1)).astype(np.uint8)
        for image, label in zip(self.images, self.labels):
            drawn = np.zeros((28, 28), np.uint8)
            for stroke in SEGMENTS[label]:
                drawn[STROKES[stroke]] = 190
            image[..., 0] += np.roll(drawn, random.integers(-3, 4, 2), (0, 1))

    def __getitem__(self, index):
        return self.images[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def create_dataset(count, seed, batch_size=32):
    data = ds.GeneratorDataset(Digits(count, seed), ["image", "label"], shuffle=True)
    data = data.map(transforms.TypeCast(ms.int32), input_columns="label")
    steps = [
        vision.Resize((32, 32), interpolation=vision.Inter.LINEAR),
        vision.Rescale(1.0 / 255.0, 0.0),
        vision.Normalize((0.25,), (0.3,), is_hwc=True),
        vision.HWC2CHW(),
    ]
    data = data.map(steps, input_columns="image")
    return data.batch(batch_size, drop_remainder=True)


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(1)
    ds.config.set_seed(1)
    network = LeNet5()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), learning_rate=0.05, momentum=0.9)
    model = Model(network, loss, optimizer, metrics={"accuracy": Accuracy()})
    train, test = create_dataset(640, 1), create_dataset(256, 2)
    before = model.eval(test, dataset_sink_mode=False)["accuracy"]
    with tempfile.TemporaryDirectory() as folder:
        config = CheckpointConfig(
            save_checkpoint_steps=train.get_dataset_size(), keep_checkpoint_max=2
        )
        checkpoint = ModelCheckpoint(prefix="lenet", directory=folder, config=config)
        model.train(
            4,
            train,
            callbacks=[LossMonitor(10), TimeMonitor(), checkpoint],
            dataset_sink_mode=False,
        )
        saved = sorted(name for name in os.listdir(folder) if name.endswith(".ckpt"))
        print("checkpoints", *saved)
        fresh = LeNet5()
        ms.load_param_into_net(fresh, ms.load_checkpoint(os.path.join(folder, saved[-1])))
        again = Model(fresh, loss, metrics={"accuracy"})
        after = again.eval(test, dataset_sink_mode=False)["accuracy"]
    print(f"accuracy: {before:.3f} -> {after:.3f}")


if __name__ == "__main__":
    main()
