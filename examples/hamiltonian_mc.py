"""Hamiltonian Monte Carlo draws the weights of a logistic regression from their posterior."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

LEAPS, STEP = 12, 0.08


class Potential(nn.Cell):
    """The negative log posterior of weights with a normal prior."""

    def __init__(self, features, labels):
        super().__init__()
        self.features, self.signs = Tensor(features, ms.float32), Tensor(2 * labels - 1, ms.float32)
        self.softplus = ops.Softplus()

    def construct(self, weights):
        margin = self.signs * ops.matmul(self.features, weights)
        return self.softplus(-margin).sum() + 0.5 * (weights**2).sum()


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    random = np.random.default_rng(21)
    truth = np.array([1.5, -2.0, 0.5])
    features = random.normal(size=(150, 3))
    labels = (random.random(150) < 1 / (1 + np.exp(-features @ truth))).astype(np.float32)
    potential = Potential(features, labels)
    gradient = ms.grad(potential)

    @ms.jit
    def leapfrog(place, speed):
        speed = speed - STEP / 2 * gradient(place)
        for _ in range(LEAPS - 1):
            place = place + STEP * speed
            speed = speed - STEP * gradient(place)
        place = place + STEP * speed
        return place, speed - STEP / 2 * gradient(place)

    def energy(place, speed):
        return float(potential(place).asnumpy()) + 0.5 * float((speed.asnumpy() ** 2).sum())

    place, drawn, accepted = Tensor(np.zeros(3), ms.float32), [], 0
    for _ in range(300):
        speed = Tensor(random.normal(size=3), ms.float32)
        after, speed_after = leapfrog(place, speed)
        if np.log(random.random()) < energy(place, speed) - energy(after, speed_after):
            place, accepted = after, accepted + 1
        drawn.append(place.asnumpy())
    mean = np.mean(drawn[100:], axis=0)
    print(f"accepted {accepted} of 300, mean {np.round(mean, 2)}")
    far, near = np.linalg.norm(truth), np.linalg.norm(mean - truth)
    print(f"distance from the truth: {far:.3f} -> {near:.3f}")


if __name__ == "__main__":
    main()
