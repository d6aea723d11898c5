"""A variational autoencoder of small images of bars."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

SIDE, LATENT = 8, 3


class VAE(nn.Cell):
    def __init__(self):
        super().__init__()
        self.encoder = nn.SequentialCell(nn.Flatten(), nn.Dense(SIDE * SIDE, 64), nn.ReLU())
        self.mean, self.log_variance = nn.Dense(64, LATENT), nn.Dense(64, LATENT)
        self.decoder = nn.SequentialCell(nn.Dense(LATENT, 64), nn.ReLU(), nn.Dense(64, SIDE * SIDE))
        self.normal = ops.StandardNormal()
        self.reshape = ops.Reshape()

    def construct(self, images):
        hidden = self.encoder(images)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        noise = self.normal(ops.shape(mean))
        latent = mean + ops.exp(0.5 * log_variance) * noise
        return self.reshape(self.decoder(latent), ops.shape(images)), mean, log_variance


class Loss(nn.Cell):
    """The negative evidence bound: what images lose, and how far codes are from normal."""

    def __init__(self, net):
        super().__init__()
        self.net = net
        self.cross_entropy = ops.BinaryCrossEntropy(reduction="sum")

    def construct(self, images):
        logits, mean, log_variance = self.net(images)
        lost = self.cross_entropy(ops.sigmoid(logits), images, ops.ones_like(images))
        divergence = -0.5 * (1 + log_variance - mean**2 - ops.exp(log_variance)).sum()
        return (lost + divergence) / images.shape[0]


def bars(random, count):
    images = np.zeros((count, 1, SIDE, SIDE), np.float32)
    for image in images:
        image[0, :, random.integers(SIDE)] = 1
        image[0, random.integers(SIDE), :] = 1
    return images


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(2)
    images = bars(np.random.default_rng(2), 128)
    net = VAE()
    step = nn.TrainOneStepCell(Loss(net), nn.Adam(net.trainable_params(), 5e-3)).set_train()
    losses = [float(step(Tensor(images)).asnumpy()) for _ in range(200)]
    print(f"negative bound: {losses[0]:.3f} -> {losses[-1]:.3f}")


if __name__ == "__main__":
    main()
