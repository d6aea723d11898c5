"""A transformer whose products may say how they are cut, as Megatron-LM cuts them."""

from __future__ import annotations

from typing import Any

import numpy as np

import mycelia as ms
from mycelia import nn, ops

WORDS, LENGTH, HEADS = 64, 16, 4


def weight(seed: int, name: str, *shape: int) -> ms.Parameter:
    numbers = np.random.default_rng(seed).normal(0, 0.1, shape).astype(np.float32)
    return ms.Parameter(ms.Tensor(numbers), name=name)


class Block(nn.Cell):
    """Attention and two layers; with `parts`, first products are cut by columns, last by rows."""

    def __init__(self, width: int, parts: tuple[int, int] | None) -> None:
        super().__init__()
        self.width = width
        self.norm1, self.norm2 = nn.LayerNorm((width,)), nn.LayerNorm((width,))
        self.query, self.key = weight(1, "query", width, width), weight(2, "key", width, width)
        self.value, self.out = weight(3, "value", width, width), weight(4, "out", width, width)
        self.up, self.down = weight(5, "up", width, 4 * width), weight(6, "down", 4 * width, width)
        self.columns, self.rows = ops.MatMul(), ops.MatMul()
        if parts is not None:
            data, model = parts
            self.columns.shard(((data, 1), (1, model)))
            self.rows.shard(((data, model), (model, 1)))

    def heads(self, y, weight):
        found = self.columns(y, weight).reshape((-1, LENGTH, HEADS, self.width // HEADS))
        return found.transpose(0, 2, 1, 3)

    def construct(self, x):
        y = self.norm1(x).reshape((-1, self.width))
        scores = ops.matmul(self.heads(y, self.query), self.heads(y, self.key).swapaxes(2, 3))
        mixed = ops.matmul(ops.softmax(scores * 0.25, -1), self.heads(y, self.value))
        mixed = mixed.transpose(0, 2, 1, 3).reshape((-1, self.width))
        x = x + self.rows(mixed, self.out).reshape(x.shape)
        y = self.norm2(x).reshape((-1, self.width))
        return x + self.rows(ops.gelu(self.columns(y, self.up)), self.down).reshape(x.shape)


class Decoder(nn.Cell):
    """Two blocks between a table of words and a head."""

    def __init__(self, parts: tuple[int, int] | None = None, width: int = 32) -> None:
        super().__init__()
        self.width = width
        self.table, self.head = weight(7, "table", WORDS, width), weight(8, "head", width, WORDS)
        self.layers = nn.CellList([Block(width, parts) for _ in range(2)])

    def construct(self, words, following):
        x = ops.gather(self.table, words, 0)
        for layer in self.layers:
            x = layer(x)
        logits = ops.matmul(x.reshape((-1, self.width)), self.head)
        return ops.cross_entropy(logits, following.reshape((-1,)))

    @property
    def blocks(self) -> Any:
        return [*self.layers]


def sentences(rng: np.random.Generator, size: int) -> tuple[ms.Tensor, ...]:
    words = rng.integers(0, WORDS, (size, LENGTH + 1)).astype(np.int32)
    return ms.Tensor(words[:, :-1]), ms.Tensor(words[:, 1:])
