"""Recurrent and attention nets as cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import numbers
from .cell_training import initialize, training
from .framework import ms, nn, ops
from .protocol import Job

EPSILON = 1e-5
NEVER = -1e9  # what is added to the scores of places that may not be looked at


class Recurrent(nn.Cell):
    """An LSTM and a Dense layer on its last step."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Dense(width, classes)

    def construct(self, x: Any) -> Any:
        outputs, _ = self.lstm(x)
        return self.head(outputs[:, -1])


class Attention(nn.Cell):
    """Self attention of several heads."""

    def __init__(self, sizes: dict[str, Any], causal: bool) -> None:
        super().__init__()
        self.width, self.heads, length = sizes["width"], sizes["heads"], sizes["length"]
        self.qkv, self.out = nn.Dense(self.width, 3 * self.width), nn.Dense(self.width, self.width)
        self.scale, self.causal = (self.width // self.heads) ** -0.5, causal
        self.mask = ms.Tensor(np.triu(np.full((length, length), NEVER, np.float32), 1))

    def construct(self, x: Any) -> Any:
        batch, length, width = x.shape
        q, k, v = ops.split(self.qkv(x), width, -1)
        scores = ops.matmul(self.split(q), self.split(k).swapaxes(-1, -2)) * self.scale
        if self.causal:
            scores = scores + self.mask
        mixed = ops.matmul(ops.softmax(scores, -1), self.split(v))
        return self.out(mixed.transpose((0, 2, 1, 3)).reshape((batch, length, width)))

    def split(self, x: Any) -> Any:
        batch, length, width = x.shape
        return x.reshape((batch, length, self.heads, width // self.heads)).transpose((0, 2, 1, 3))


class Layer(nn.Cell):
    """A transformer layer that normalizes before (GPT) or after (BERT) its two parts."""

    def __init__(self, sizes: dict[str, Any], first: bool) -> None:
        super().__init__()
        width, self.first = sizes["width"], first
        self.norm1 = nn.LayerNorm((width,), epsilon=EPSILON)
        self.norm2 = nn.LayerNorm((width,), epsilon=EPSILON)
        self.attention = Attention(sizes, causal=first)
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU(approximate=False)

    def construct(self, x: Any) -> Any:
        if self.first:
            x = x + self.attention(self.norm1(x))
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed(x))

    def feed(self, x: Any) -> Any:
        return self.down(self.gelu(self.up(x)))


class GPT(nn.Cell):
    """A decoder with words, places, layers and a head of its own."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        width = sizes["width"]
        self.words = nn.Embedding(sizes["vocabulary"], width)
        self.places = nn.Embedding(sizes["length"], width)
        self.layers = nn.CellList([Layer(sizes, first=True) for _ in range(sizes["layers"])])
        self.norm = nn.LayerNorm((width,), epsilon=EPSILON)
        self.head = nn.Dense(width, sizes["vocabulary"])
        self.order = ms.Tensor(np.arange(sizes["length"], dtype=np.int32))

    def construct(self, text: Any) -> Any:
        x = self.words(text) + self.places(self.order)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).reshape((-1, x.shape[-1])))


class BERT(nn.Cell):
    """An encoder with a classification head on its first word."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        width = sizes["width"]
        self.words = nn.Embedding(sizes["vocabulary"], width)
        self.places, self.kinds = nn.Embedding(sizes["length"], width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm((width,), epsilon=EPSILON)
        self.layers = nn.CellList([Layer(sizes, first=False) for _ in range(sizes["layers"])])
        self.pooler, self.head = nn.Dense(width, width), nn.Dense(width, sizes["classes"])
        self.order = ms.Tensor(np.arange(sizes["length"], dtype=np.int32))

    def construct(self, text: Any) -> Any:
        x = self.words(text) + self.places(self.order) + self.kinds(ops.zeros_like(text))
        x = self.norm(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(ops.tanh(self.pooler(x[:, 0])))


class Writer(nn.Cell):
    """A GPT that writes one word at a time and keeps keys and values of those before."""

    def __init__(self, net: GPT, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.net, self.heads = net, sizes["heads"]
        shape = (sizes["length"], self.heads, sizes["width"] // self.heads)
        self.keys = self.empty(shape, "keys", sizes["layers"])
        self.values = self.empty(shape, "values", sizes["layers"])

    def empty(self, shape: tuple[int, ...], name: str, count: int) -> Any:
        zeros = np.zeros(shape, np.float32)
        return ms.ParameterTuple(
            [ms.Parameter(ms.Tensor(zeros), f"{name}{i}", False) for i in range(count)]
        )

    def construct(self, word: Any, position: Any) -> Any:
        x = self.net.words(word) + self.net.places(position)
        for i, layer in enumerate(self.net.layers):
            x = x + self.attend(layer.attention, layer.norm1(x), position, i)
            x = x + layer.feed(layer.norm2(x))
        return self.net.head(self.net.norm(x)).argmax(-1).astype(ms.int32)

    def attend(self, attention: Any, x: Any, position: Any, index: int) -> Any:
        width = x.shape[-1]
        q, k, v = ops.split(attention.qkv(x), width, -1)
        shape = (1, self.heads, width // self.heads)
        keys = ops.scatter_update(self.keys[index], position, k.reshape(shape))
        values = ops.scatter_update(self.values[index], position, v.reshape(shape))
        scores = ops.matmul(q.reshape(shape).swapaxes(0, 1), keys.transpose((1, 2, 0)))
        hidden = self.net.order > position
        scores = ops.masked_fill(scores * attention.scale, hidden, NEVER)
        mixed = ops.matmul(ops.softmax(scores, -1), values.swapaxes(0, 1))
        return attention.out(mixed.reshape((1, width)))


def decoding(sizes: dict[str, Any]) -> Job:
    """One run writes words, one after the other, and reads each."""
    net = GPT(sizes)
    parameters = initialize(net)
    writer = Writer(net, sizes).set_train(False)

    def run() -> list[int]:
        words, word = [], ms.Tensor([0], ms.int32)
        for position in range(sizes["words"]):
            word = writer(word, ms.Tensor([position], ms.int32))
            words.append(int(word.asnumpy()[0]))
        return words

    return Job(run, numbers.total, parameters)


BUILDERS = {
    "lstm": lambda sizes: training(Recurrent(sizes["width"], sizes["classes"]), sizes),
    "gpt": lambda sizes: training(GPT(sizes), sizes),
    "bert": lambda sizes: training(BERT(sizes), sizes),
    "gpt_decode": decoding,
}
