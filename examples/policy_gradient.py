"""REINFORCE balances a stick: PyNative mode, with gradients of log probabilities."""

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn


class Stick:
    """A stick that falls over unless pushed; state: angle and its speed."""

    def __init__(self, random):
        self.state, self.steps = random.uniform(-0.05, 0.05, 2), 0

    def step(self, action):
        angle, speed = self.state
        speed = speed + 0.1 * np.sin(angle) + (0.05 if action == 1 else -0.05)
        self.state, self.steps = np.array([angle + 0.1 * speed, speed]), self.steps + 1
        return abs(self.state[0]) > 0.3 or self.steps >= 60


def play(policy, random):
    stick, states, actions, done = Stick(random), [], [], False
    while not done:
        logits = policy(Tensor(stick.state[None] * 5, ms.float32)).asnumpy()[0]
        chances = np.exp(logits - logits.max())
        action = random.choice(2, p=chances / chances.sum())
        states.append(stick.state * 5)
        actions.append(action)
        done = stick.step(action)
    return states, actions


def main():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_seed(16)
    random = np.random.default_rng(16)
    policy = nn.SequentialCell(nn.Dense(2, 16), nn.Tanh(), nn.Dense(16, 2))
    optimizer = nn.Adam(policy.trainable_params(), 0.03)
    log_softmax = nn.LogSoftmax()

    def loss(states, actions, advantages):
        chosen = (log_softmax(policy(states)) * actions).sum(axis=1)
        return -(chosen * advantages).mean()

    gradient = ms.value_and_grad(loss, None, optimizer.parameters)
    lengths = []
    for _ in range(40):
        states, actions, returns = [], [], []
        for _ in range(4):
            s, a = play(policy, random)
            states, actions = states + s, actions + a
            returns += [sum(0.95**j for j in range(len(s) - i)) for i in range(len(s))]
            lengths.append(len(s))
        advantages = (np.array(returns) - np.mean(returns)) / (np.std(returns) + 1e-6)
        rows = random.integers(0, len(states), 128)
        _, gradients = gradient(
            Tensor(np.array(states)[rows], ms.float32),
            Tensor(np.eye(2)[np.array(actions)[rows]], ms.float32),
            Tensor(advantages[rows], ms.float32),
        )
        optimizer(gradients)
    print(f"reward: {np.mean(lengths[:20]):.1f} -> {np.mean(lengths[-20:]):.1f}")


if __name__ == "__main__":
    main()
