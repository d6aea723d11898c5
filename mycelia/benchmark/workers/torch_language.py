"""Recurrent and attention nets in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from . import numbers
from .protocol import Job
from .torch_training import initialize, training

EPSILON = 1e-5


class Recurrent(nn.Module):
    """An LSTM and a Dense layer on its last step."""

    def __init__(self, width: int, classes: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class Attention(nn.Module):
    """Self attention of several heads."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.causal = heads, causal

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, -1))
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.out(mixed.transpose(1, 2).flatten(2))

    def split(self, x: torch.Tensor) -> torch.Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def decode(self, x: torch.Tensor, cache: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        """Attention of one new word to those in the cache."""
        q, k, v = (self.split(part) for part in self.qkv(x).chunk(3, -1))
        cache[0].index_copy_(2, position, k)
        cache[1].index_copy_(2, position, v)
        mask = torch.arange(cache.shape[3])[None] <= position
        mixed = functional.scaled_dot_product_attention(q, cache[0], cache[1], attn_mask=mask)
        return self.out(mixed.transpose(1, 2).flatten(2))


class Layer(nn.Module):
    """A transformer layer that normalizes before (GPT) or after (BERT) its two parts."""

    def __init__(self, sizes: dict[str, Any], first: bool) -> None:
        super().__init__()
        width, self.first = sizes["width"], first
        self.norm1, self.norm2 = nn.LayerNorm(width, EPSILON), nn.LayerNorm(width, EPSILON)
        self.attention = Attention(width, sizes["heads"], causal=first)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.first:
            x = x + self.attention(self.norm1(x))
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attention(x))
        return self.norm2(x + self.feed(x))

    def feed(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(functional.gelu(self.up(x)))

    def decode(self, x: torch.Tensor, cache: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        x = x + self.attention.decode(self.norm1(x), cache, position)
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    """A decoder with words, places, layers and a head of its own."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        width = sizes["width"]
        self.words = nn.Embedding(sizes["vocabulary"], width)
        self.places = nn.Embedding(sizes["length"], width)
        self.layers = nn.ModuleList([Layer(sizes, first=True) for _ in range(sizes["layers"])])
        self.norm, self.head = nn.LayerNorm(width, EPSILON), nn.Linear(width, sizes["vocabulary"])

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        x = self.words(text) + self.places(torch.arange(text.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).flatten(0, 1)

    def decode(
        self, word: torch.Tensor, cache: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        """The word that follows `word`, which stands at `position`."""
        x = (self.words(word) + self.places(position))[None]
        for layer, kept in zip(self.layers, cache, strict=True):
            x = layer.decode(x, kept, position)
        return self.head(self.norm(x))[0].argmax(-1)


class BERT(nn.Module):
    """An encoder with a classification head on its first word."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        width = sizes["width"]
        self.words = nn.Embedding(sizes["vocabulary"], width)
        self.places, self.kinds = nn.Embedding(sizes["length"], width), nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, EPSILON)
        self.layers = nn.ModuleList([Layer(sizes, first=False) for _ in range(sizes["layers"])])
        self.pooler, self.head = nn.Linear(width, width), nn.Linear(width, sizes["classes"])

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        places = self.places(torch.arange(text.shape[1]))
        x = self.norm(self.words(text) + places + self.kinds(torch.zeros_like(text)))
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.tanh(self.pooler(x[:, 0])))


def decoding(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run writes words, one after the other, and reads each."""
    net = GPT(sizes).eval()
    parameters = initialize(net)
    heads, width = sizes["heads"], sizes["width"]
    cache = torch.zeros(sizes["layers"], 2, 1, heads, sizes["length"], width // heads)
    decode = torch.compile(net.decode) if compiled else net.decode

    def run() -> list[int]:
        words, word = [], torch.zeros(1, dtype=torch.long)
        with torch.no_grad():
            for position in range(sizes["words"]):
                word = decode(word, cache, torch.tensor([position]))
                words.append(int(word))
        return words

    return Job(run, numbers.total, parameters)


BUILDERS = {
    "lstm": lambda s, compiled: training(Recurrent(s["width"], s["classes"]), s, compiled),
    "gpt": lambda s, compiled: training(GPT(s), s, compiled),
    "bert": lambda s, compiled: training(BERT(s), s, compiled),
    "gpt_decode": decoding,
}
