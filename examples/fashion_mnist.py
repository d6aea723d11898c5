"""LeNet-5 on Fashion-MNIST from its files, and how long the training waited for data.

`python examples/fashion_mnist.py --data FOLDER` reads the four files of MNIST's form, plain or
gzipped: Debian's package dataset-fashion-mnist puts them into /usr/share/datasets/fashion-mnist.
"""

import argparse
import time
from pathlib import Path

import mycelia as ms
import mycelia.dataset as ds
from mycelia import nn
from mycelia.dataset import transforms, vision
from mycelia.train import Accuracy, Model


class LeNet5(nn.Cell):
    """Two convolutions and three dense layers."""

    def __init__(self):
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(1, 6, 5, pad_mode="valid"),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid"),
            nn.ReLU(),
            nn.MaxPool2d(2, 2),
            nn.Flatten(),
            nn.Dense(400, 120),
            nn.ReLU(),
            nn.Dense(120, 84),
            nn.ReLU(),
            nn.Dense(84, 10),
        )

    def construct(self, x):
        return self.layers(x)


def images(folder: str, usage: str, batch: int) -> ds.Dataset:
    """Batches of images of 32 x 32 numbers, and labels."""
    rows = ds.FashionMnistDataset(folder, usage, shuffle=True)
    steps = [
        vision.Resize((32, 32)),
        vision.Rescale(1 / 255, 0.0),
        vision.Normalize((0.286,), (0.353,)),
        vision.HWC2CHW(),
    ]
    rows = rows.map(steps, "image").map(transforms.TypeCast(ms.int32), "label")
    return rows.batch(batch, drop_remainder=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", default="/usr/share/datasets/fashion-mnist", help="its folder")
    parser.add_argument("--epochs", type=int, default=3, help="epochs of training (3)")
    parser.add_argument("--batch", type=int, default=32, help="images in a batch (32)")
    parser.add_argument("--sink", action="store_true", help="several steps in one program")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    if not Path(options.data).is_dir():
        raise SystemExit(f"{options.data} is no folder: see --help for where the data comes from")
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(1)
    network = LeNet5()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.01, 0.9)
    model = Model(network, loss, optimizer, metrics={"accuracy": Accuracy()})
    train, test = (images(options.data, usage, options.batch) for usage in ("train", "test"))
    began = time.perf_counter()
    model.train(options.epochs, train, dataset_sink_mode=options.sink)
    seconds = time.perf_counter() - began
    print(train.last_profile())
    print(f"{options.epochs} epochs in {seconds:.1f} s")
    print(f"accuracy: {model.eval(test)['accuracy']:.3f}")


if __name__ == "__main__":
    main()
