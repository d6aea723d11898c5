"""A diffusion model of points on two moons: learn the noise, walk back from noise to points."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

TIMES = 40
KEPT = np.cumprod(1 - np.linspace(1e-3, 0.2, TIMES))


class NoiseNet(nn.Cell):
    def __init__(self, width=64):
        super().__init__()
        self.time = nn.Embedding(TIMES, 16)
        self.layers = nn.SequentialCell(
            nn.Dense(18, width), nn.SiLU(), nn.Dense(width, width), nn.SiLU(), nn.Dense(width, 2)
        )

    def construct(self, x, time):
        return self.layers(ops.concat((x, self.time(time)), axis=1))


class NoiseLoss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.kept = Tensor(KEPT, ms.float32)

    def construct(self, x, time, noise):
        kept = ops.gather(self.kept, time, 0).expand_dims(1)
        seen = ops.sqrt(kept) * x + ops.sqrt(1 - kept) * noise
        return ((self.net(seen, time) - noise) ** 2).mean()


def moons(random, count):
    angle, upper = random.uniform(0, np.pi, count), random.random(count) < 0.5
    x = np.where(upper, np.cos(angle), 1 - np.cos(angle)) - 0.5
    y = np.where(upper, np.sin(angle), 0.5 - np.sin(angle)) - 0.25
    return np.stack([x, y], axis=1) * 1.5 + random.normal(0, 0.05, (count, 2))


def sample(net, random, count=200):
    x = random.normal(size=(count, 2))
    for time in reversed(range(TIMES)):
        before = KEPT[time - 1] if time else 1.0
        step = KEPT[time] / before
        times = Tensor(np.full(count, time), ms.int32)
        noise = net(Tensor(x, ms.float32), times).asnumpy()
        x = (x - (1 - step) / np.sqrt(1 - KEPT[time]) * noise) / np.sqrt(step)
        if time:
            x += np.sqrt((1 - before) / (1 - KEPT[time]) * (1 - step)) * random.normal(size=x.shape)
    return x


def distance(made, real):
    return np.linalg.norm(made[:, None] - real[None], axis=-1).min(1).mean()


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(23)
    random = np.random.default_rng(23)
    net = NoiseNet()
    step = nn.TrainOneStepCell(NoiseLoss(net), nn.Adam(net.trainable_params(), 3e-3))
    real = moons(random, 500)
    before = distance(sample(net, random), real)
    for _ in range(400):
        points, noise = moons(random, 128), random.normal(size=(128, 2))
        time = Tensor(random.integers(0, TIMES, 128), ms.int32)
        step(Tensor(points, ms.float32), time, Tensor(noise, ms.float32))
    print(f"distance from the moons: {before:.3f} -> {distance(sample(net, random), real):.3f}")


if __name__ == "__main__":
    main()
