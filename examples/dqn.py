"""Deep Q-learning on a corridor: reach the right end, avoid the pit at the left."""

import copy

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

LENGTH, ACTIONS, GAMMA = 9, 2, 0.9


class Corridor:
    """States 0..LENGTH-1; action 1 goes right, 0 left; the ends end the episode."""

    def reset(self):
        self.place, self.steps = LENGTH // 2 - 2, 0
        return self.place

    def step(self, action):
        self.place += 1 if action == 1 else -1
        self.steps += 1
        reward = 1.0 if self.place == LENGTH - 1 else (-1.0 if self.place == 0 else -0.01)
        return self.place, reward, self.place in (0, LENGTH - 1) or self.steps >= 30


class QLoss(nn.Cell):
    def __init__(self, net, target):
        super().__init__()
        self.net, self.target = net, target
        self.one_hot = nn.OneHot(depth=ACTIONS)
        self.loss = nn.SmoothL1Loss(reduction="mean")

    def construct(self, states, actions, rewards, following, going_on):
        values = (self.net(states) * self.one_hot(actions)).sum(axis=1)
        best = self.target(following).max(axis=1)
        return self.loss(values, ops.stop_gradient(rewards + GAMMA * going_on * best))


def encode(places):
    return Tensor(np.eye(LENGTH, dtype=np.float32)[np.asarray(places)])


def play(net, random, explore, memory=None):
    world, total, done = Corridor(), 0.0, False
    state = world.reset()
    while not done:
        if random.random() < explore:
            action = int(random.integers(ACTIONS))
        else:
            action = int(net(encode([state])).asnumpy().argmax())
        after, reward, done = world.step(action)
        if memory is not None:
            memory.append((state, action, reward, after, 0.0 if done else 1.0))
        state, total = after, total + reward
    return total


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    ms.set_seed(6)
    random = np.random.default_rng(6)
    net = nn.SequentialCell(nn.Dense(LENGTH, 32), nn.ReLU(), nn.Dense(32, ACTIONS))
    target = copy.deepcopy(net)
    step = nn.TrainOneStepCell(QLoss(net, target), nn.Adam(net.trainable_params(), 0.01))
    memory = []
    before = np.mean([play(net, random, 1.0) for _ in range(20)])
    for episode in range(120):
        play(net, random, 0.4, memory)
        for _ in range(4):
            chosen = [memory[i] for i in random.integers(0, len(memory), 64)]
            states, actions, rewards, following, going_on = map(np.array, zip(*chosen))
            step(
                encode(states),
                Tensor(actions, ms.int32),
                Tensor(rewards, ms.float32),
                encode(following),
                Tensor(going_on, ms.float32),
            )
        if episode % 3 == 0:
            ms.load_param_into_net(
                target,
                {t.name: p for t, p in zip(target.get_parameters(), net.get_parameters())},
            )
    print(f"reward: {before:.3f} -> {play(net, random, 0.0):.3f}")


if __name__ == "__main__":
    main()
