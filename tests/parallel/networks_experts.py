"""A decoder in which one layer is a mixture of experts, as in GShard (arXiv:2006.16668)."""

from __future__ import annotations

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from mycelia.tensor.initializer import Normal, initializer
from tests.parallel.networks_language import (
    GPT_WORDS,
    LENGTH,
    NEVER,
    WIDTH,
    Attention,
    Layer,
    annotate_layer,
    table,
)
from tests.parallel.networks_layers import Linear, degrees

HEADS, EXPERTS = 6, 8
BALANCE = 0.01  # the weight of the loss that keeps experts equally busy


class Experts(nn.Cell):
    """Each word goes to its two best experts, as long as they have room; a text is a group."""

    def __init__(self, width, inner, experts, capacity):
        super().__init__()
        self.experts, self.capacity = experts, capacity
        self.gate = Linear(width, experts, False)
        up, down = (experts, width, inner), (experts, inner, width)
        self.up = ms.Parameter(initializer(Normal(width**-0.5), up), name="up")
        self.down = ms.Parameter(initializer(Normal(inner**-0.5), down), name="down")
        self.first, self.second, self.gelu = ops.BatchMatMul(), ops.BatchMatMul(), ops.GeLU()
        self.softmax = ops.Softmax(-1)

    def construct(self, x):
        """The rows that the experts give, and the loss of balance. x is (text, word, width)."""
        texts, _, width = x.shape
        gates = self.softmax(self.gate(x.reshape((-1, width))))
        combine, balance = self.route(gates.reshape((texts, -1, self.experts)))
        dispatch = (combine > 0).astype(x.dtype)
        given = ops.einsum("gsec,gsm->egcm", dispatch, x)
        given = given.reshape((self.experts, texts * self.capacity, width))
        result = self.second(self.gelu(self.first(given, self.up)), self.down)
        result = result.reshape((self.experts, texts, self.capacity, width))
        return ops.einsum("gsec,egcm->gsm", combine, result), balance

    def route(self, gates):
        """The weight of each (text, word, expert, seat), and the loss of balance."""
        best = self.chosen(gates)
        next_best = self.chosen(gates * (1 - best))
        balance = (best.mean(1) * gates.mean(1)).sum(-1).mean() * self.experts
        seat = ops.cumsum(best, 1) - 1
        next_seat = ops.cumsum(next_best, 1) - 1 + best.sum(1, keepdims=True)
        total = (gates * (best + next_best)).sum(-1, keepdims=True)
        weights = gates / total
        combine = self.seated(weights * best, seat, best)
        return combine + self.seated(weights * next_best, next_seat, next_best), balance

    def chosen(self, gates):
        return ops.one_hot(gates.argmax(-1).astype(ms.int32), self.experts).astype(gates.dtype)

    def seated(self, weights, seats, chosen):
        """The weight stands at the seat that the word has; a seat past the last is nowhere."""
        place = (seats * chosen).sum(-1).astype(ms.int32)
        places = ops.one_hot(place, self.capacity).astype(weights.dtype)
        return ops.einsum("gse,gsc->gsec", weights, places)


class MixtureOfExperts(nn.Cell):
    """A plain layer, a layer with experts, and the loss of the next word."""

    def __init__(self):
        super().__init__()
        self.words, self.places = table(GPT_WORDS, WIDTH, "words"), table(LENGTH, WIDTH, "places")
        self.gather = ops.Gather()
        self.layer = Layer(WIDTH, HEADS, LENGTH, True)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm((WIDTH,)) for _ in range(3))
        self.attention = Attention(WIDTH, HEADS, LENGTH)
        capacity = 2 * LENGTH * 5 // (4 * EXPERTS)
        self.feed = Experts(WIDTH, 2 * WIDTH, EXPERTS, capacity)
        self.head = Linear(WIDTH, GPT_WORDS)
        self.mask = ms.Tensor(np.triu(np.full((LENGTH, LENGTH), NEVER, np.float32), 1))

    def construct(self, words, following):
        x = (self.gather(self.words, words, 0) + self.places).reshape((-1, WIDTH))
        x = self.layer(x, self.mask)
        x = x + self.attention(self.norm1(x), self.mask)
        y, balance = self.feed(self.norm2(x).reshape((-1, LENGTH, WIDTH)))
        logits = self.head(self.norm3(x + y.reshape((-1, WIDTH))))
        return ops.cross_entropy(logits, following.reshape((-1,))) + BALANCE * balance


def annotate_experts(net, devices):
    """Experts are cut over all devices; the rest is as in a plain decoder."""
    data, model = degrees(devices)
    annotate_layer(net.layer, data, model)
    net.feed.first.shard(((devices, 1, 1), (devices, 1, 1)))
    net.feed.second.shard(((devices, 1, 1), (devices, 1, 1)))
