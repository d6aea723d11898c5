"""Transformers: an encoder like BERT and a decoder like GPT."""

from __future__ import annotations

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from mycelia.tensor.initializer import Normal, initializer
from tests.parallel.networks_layers import Linear, degrees, split_columns, split_rows

LENGTH, WIDTH, HEADS = 16, 96, 12
BERT_WORDS, GPT_WORDS = 384, 251
MASKED = 3  # words of each text that the encoder must guess
NEVER = -1e9  # added to the scores of places that may not be looked at


class Attention(nn.Cell):
    """Self attention of several heads over (batch * length, width) rows."""

    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.length, self.scale = heads, length, (width // heads) ** -0.5
        # Keys and queries have no bias: that of keys changes nothing, so its gradient is noise.
        self.query, self.key = Linear(width, width, False), Linear(width, width, False)
        self.value, self.out = Linear(width, width), Linear(width, width)
        self.scores, self.mixed = ops.BatchMatMul(transpose_b=True), ops.BatchMatMul()
        self.softmax, self.transpose = ops.Softmax(-1), ops.Transpose()

    def construct(self, x, mask):
        scores = self.scores(self.split(self.query(x)), self.split(self.key(x))) * self.scale
        mixed = self.mixed(self.softmax(scores + mask), self.split(self.value(x)))
        return self.out(self.transpose(mixed, (0, 2, 1, 3)).reshape(x.shape))

    def split(self, x):
        x = x.reshape((-1, self.length, self.heads, x.shape[-1] // self.heads))
        return self.transpose(x, (0, 2, 1, 3))


class Feed(nn.Cell):
    """The two layers after attention."""

    def __init__(self, width):
        super().__init__()
        self.up, self.down = Linear(width, 2 * width), Linear(2 * width, width)
        self.gelu = nn.GELU(approximate=False)

    def construct(self, x):
        return self.down(self.gelu(self.up(x)))


class Layer(nn.Cell):
    """A transformer layer that normalizes before (GPT) or after (BERT) its two parts."""

    def __init__(self, width, heads, length, first):
        super().__init__()
        self.first = first
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.attention = Attention(width, heads, length)
        self.feed = Feed(width)

    def construct(self, x, mask):
        if self.first:
            x = x + self.attention(self.norm1(x), mask)
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attention(x, mask))
        return self.norm2(x + self.feed(x))


def annotate_layer(layer, data, model):
    """As Megatron-LM: heads and the inner width are cut, one sum after each part."""
    attention = layer.attention
    for projection in (attention.query, attention.key, attention.value, layer.feed.up):
        split_columns(projection, data, model)
    attention.scores.shard(((data, model, 1, 1), (data, model, 1, 1)))
    attention.softmax.shard(((data, model, 1, 1),))
    attention.mixed.shard(((data, model, 1, 1), (data, model, 1, 1)))
    split_rows(attention.out, data, model)
    split_rows(layer.feed.down, data, model)


def table(rows, width, name):
    return ms.Parameter(initializer(Normal(0.02), (rows, width)), name=name)


class Bert(nn.Cell):
    """An encoder with two losses: masked words, and the kind of the text."""

    def __init__(self, layers=2, dropout=0.0):
        super().__init__()
        self.words, self.places = table(BERT_WORDS, WIDTH, "words"), table(LENGTH, WIDTH, "places")
        self.kinds = table(2, WIDTH, "kinds")
        self.gather, self.gather_kinds, self.pick = ops.Gather(), ops.Gather(), ops.Gather()
        self.norm, self.dropout = nn.LayerNorm((WIDTH,)), nn.Dropout(p=dropout)
        self.layers = nn.CellList([Layer(WIDTH, HEADS, LENGTH, False) for _ in range(layers)])
        self.transform, self.transform_norm = Linear(WIDTH, WIDTH), nn.LayerNorm((WIDTH,))
        self.gelu = nn.GELU(approximate=False)
        self.logits = ops.MatMul(transpose_b=True)
        self.word_bias = ms.Parameter(initializer("zeros", (BERT_WORDS,)), name="word_bias")
        self.pooler, self.head, self.tanh = Linear(WIDTH, WIDTH), Linear(WIDTH, 2), nn.Tanh()

    def construct(self, words, kinds, padding, positions, masked, label):
        batch = words.shape[0]
        x = self.gather(self.words, words, 0) + self.gather_kinds(self.kinds, kinds, 0)
        x = self.dropout(self.norm((x + self.places).reshape((-1, WIDTH))))
        mask = (padding * NEVER).reshape((batch, 1, 1, LENGTH))
        for layer in self.layers:
            x = layer(x, mask)
        first = x.reshape((batch, LENGTH, WIDTH))[:, 0]
        kind = self.head(self.tanh(self.pooler(first)))
        return self.guessing(x, positions, masked) + ops.cross_entropy(kind, label)

    def guessing(self, x, positions, masked):
        """The loss of the masked words; every text has as many."""
        starts = ops.arange(0, x.shape[0], LENGTH).astype(ms.int32).reshape((-1, 1))
        x = self.pick(x, (positions + starts).reshape((-1,)), 0)
        x = self.transform_norm(self.gelu(self.transform(x)))
        logits = self.logits(x, self.words) + self.word_bias
        return ops.cross_entropy(logits, masked.reshape((-1,)))


def annotate_bert(net, devices):
    data, model = degrees(devices)
    net.gather.shard(((model, 1), (data, 1)))
    net.logits.shard(((data, 1), (model, 1)))
    for layer in net.layers:
        annotate_layer(layer, data, model)


def bert_batch(rng, size):
    words = rng.integers(1, BERT_WORDS // 2, (size, LENGTH)).astype(np.int32)
    label = rng.integers(0, 2, size).astype(np.int32)
    words[:, 1] = label + 1
    kinds = np.tile((np.arange(LENGTH) >= LENGTH // 2).astype(np.int32), (size, 1))
    lengths = rng.integers(LENGTH // 2, LENGTH + 1, (size, 1))
    padding = (np.arange(LENGTH) >= lengths).astype(np.float32)
    places = [2 + rng.permutation(LENGTH // 2 - 2)[:MASKED] for _ in range(size)]
    positions = np.sort(np.stack(places), 1).astype(np.int32)
    masked = np.take_along_axis(words, positions, 1)
    np.put_along_axis(words, positions, 0, 1)
    return tuple(map(ms.Tensor, (words, kinds, padding, positions, masked, label)))


class Gpt(nn.Cell):
    """A decoder whose words are also the weights of its head."""

    def __init__(self, layers=2):
        super().__init__()
        self.words, self.places = table(GPT_WORDS, WIDTH, "words"), table(LENGTH, WIDTH, "places")
        self.gather = ops.Gather()
        self.layers = nn.CellList([Layer(WIDTH, HEADS, LENGTH, True) for _ in range(layers)])
        self.norm = nn.LayerNorm((WIDTH,))
        self.logits = ops.MatMul(transpose_b=True)
        self.mask = ms.Tensor(np.triu(np.full((LENGTH, LENGTH), NEVER, np.float32), 1))

    def construct(self, words, following):
        x = (self.gather(self.words, words, 0) + self.places).reshape((-1, WIDTH))
        for layer in self.layers:
            x = layer(x, self.mask)
        logits = self.logits(self.norm(x), self.words)
        return ops.cross_entropy(logits, following.reshape((-1,)))


def annotate_gpt(net, devices):
    data, model = degrees(devices)
    net.gather.shard(((model, 1), (data, 1)))
    net.logits.shard(((data, 1), (model, 1)))
    for layer in net.layers:
        annotate_layer(layer, data, model)


def gpt_batch(rng, size):
    """Texts in which each word follows from the one before, or is drawn anew."""
    words = rng.integers(0, GPT_WORDS, (size, LENGTH + 1)).astype(np.int32)
    for place in range(1, LENGTH + 1):
        follows = rng.random(size) < 0.8
        words[follows, place] = (words[follows, place - 1] * 3 + 1) % GPT_WORDS
    return ms.Tensor(words[:, :-1]), ms.Tensor(words[:, 1:])
