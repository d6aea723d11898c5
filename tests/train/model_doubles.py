"""What the tests of Model share: a small dataset with MindSpore's protocol, and a small model."""

from __future__ import annotations

import numpy as np

from mycelia import Tensor, nn, train

X = np.random.RandomState(0).randn(24, 3).astype(np.float32)
Y = (X.sum(1) > 0).astype(np.int32)
PLAIN_EVENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")


class Rows:
    """Batches of a few columns: the part of a dataset's interface that training needs."""

    def __init__(self, *columns, batch=4):
        self.columns, self.batch = columns, batch

    def get_dataset_size(self):
        return len(self.columns[0]) // self.batch

    def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
        starts = range(0, len(self.columns[0]), self.batch)
        make = np.asarray if output_numpy else Tensor
        return [[make(c[i : i + self.batch]) for c in self.columns] for i in starts]

    def output_types(self):
        return [c.dtype for c in self.columns]

    def output_shapes(self):
        return [[self.batch, *c.shape[1:]] for c in self.columns]


def rows(count=24):
    return Rows(X[:count], Y[:count])


def cross_entropy():
    return nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")


def dense_model(metrics=None, rate=0.1, **options):
    network = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")
    optimizer = nn.SGD(network.trainable_params(), rate)
    return train.Model(network, cross_entropy(), optimizer, metrics, **options)


class Seen(train.Callback):
    """Keeps every event with the epoch, the step and the mode."""

    def __init__(self):
        self.events = []
        self.outputs = []


def _keeper(event):
    def keep(self, run_context):
        facts = run_context.original_args()
        kept = facts.get("cur_epoch_num"), facts.cur_step_num, facts.mode
        self.events.append((event, *kept))
        if event.endswith("step_end"):
            self.outputs.append(facts.net_outputs)

    return keep


for _phase in ("train", "eval"):
    for _event in PLAIN_EVENTS:
        setattr(Seen, f"on_{_phase}_{_event}", _keeper(f"on_{_phase}_{_event}"))


def losses_by_hand(steps, rate=0.1):
    """The losses of the first steps, in numpy."""
    weight, bias = np.ones((2, 3)), np.zeros(2)
    found = []
    for step in range(steps):
        batch = slice(4 * (step % 6), 4 * (step % 6) + 4)
        x, y = X[batch].astype(float), Y[batch]
        scores = x @ weight.T + bias
        shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
        found.append(-np.log(shares[np.arange(4), y]).mean())
        gradient = (shares - np.eye(2)[y]) / 4
        weight, bias = weight - rate * gradient.T @ x, bias - rate * gradient.sum(0)
    return found
