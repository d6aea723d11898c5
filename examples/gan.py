"""A generative adversarial network that learns a ring of points in the plane."""

import itertools

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

NOISE, BATCH = 4, 128


def mlp(*sizes):
    layers = []
    for before, after in itertools.pairwise(sizes[:-1]):
        layers += [nn.Dense(before, after), nn.LeakyReLU(0.2)]
    return nn.SequentialCell(*layers, nn.Dense(sizes[-2], sizes[-1]))


class DiscriminatorLoss(nn.Cell):
    """Real points should score 1, made ones 0."""

    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator
        self.loss = nn.BCEWithLogitsLoss()

    def construct(self, real, noise):
        made = ops.stop_gradient(self.generator(noise))
        score_real, score_made = self.discriminator(real), self.discriminator(made)
        return self.loss(score_real, ops.ones_like(score_real)) + self.loss(
            score_made, ops.zeros_like(score_made)
        )


class GeneratorLoss(nn.Cell):
    """What the generator makes should score 1."""

    def __init__(self, generator, discriminator):
        super().__init__()
        self.generator, self.discriminator = generator, discriminator
        self.loss = nn.BCEWithLogitsLoss()

    def construct(self, noise):
        score = self.discriminator(self.generator(noise))
        return self.loss(score, ops.ones_like(score))


def ring(random):
    angles = random.uniform(0, 2 * np.pi, BATCH)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 2
    return Tensor(points + random.normal(0, 0.05, points.shape), ms.float32)


def distance_from_ring(generator, noise):
    points = generator(noise).asnumpy()
    return float(np.abs(np.linalg.norm(points, axis=1) - 2).mean())


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(3)
    random = np.random.default_rng(3)
    generator, discriminator = mlp(NOISE, 32, 32, 2), mlp(2, 32, 32, 1)
    train_d = nn.TrainOneStepCell(
        DiscriminatorLoss(generator, discriminator),
        nn.Adam(discriminator.trainable_params(), 2e-3, beta1=0.5),
    )
    train_g = nn.TrainOneStepCell(
        GeneratorLoss(generator, discriminator),
        nn.Adam(generator.trainable_params(), 2e-3, beta1=0.5),
    )
    fixed = Tensor(random.normal(size=(BATCH, NOISE)), ms.float32)
    before = distance_from_ring(generator, fixed)
    for _ in range(400):
        noise = Tensor(random.normal(size=(BATCH, NOISE)), ms.float32)
        train_d(ring(random), noise)
        train_g(noise)
    print(f"distance from the ring: {before:.3f} -> {distance_from_ring(generator, fixed):.3f}")


if __name__ == "__main__":
    main()
