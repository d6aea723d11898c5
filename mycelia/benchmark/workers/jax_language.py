"""Recurrent and attention nets in jax."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import numbers
from .jax_training import Maker, Tree, dense, size_of, training
from .protocol import Job

EPSILON = 1e-5
NEVER = -1e9


def recurrent(sizes: dict[str, Any]) -> Job:
    """An LSTM and a Dense layer on its last step."""
    make, width = Maker(), sizes["width"]
    parameters = {
        "inputs": make.dense(width, 4 * width),
        "state": make.dense(width, 4 * width),
        "head": make.dense(width, sizes["classes"]),
    }

    def apply(parameters: Tree, statistics: Tree, x: Any, train: bool) -> Any:
        def step(state: Any, gates: Any) -> Any:
            hidden, memory = state
            gates = gates + dense(parameters["state"], hidden)
            enter, forget, cell, leave = jnp.split(gates, 4, -1)
            memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(enter) * jnp.tanh(cell)
            hidden = jax.nn.sigmoid(leave) * jnp.tanh(memory)
            return (hidden, memory), None

        start = jnp.zeros((x.shape[0], width), x.dtype)
        gates = dense(parameters["inputs"], x).swapaxes(0, 1)
        (hidden, _), _ = lax.scan(step, (start, start), gates)
        return dense(parameters["head"], hidden), statistics

    return training(parameters, (), apply, sizes)


def make_layers(make: Maker, sizes: dict[str, Any]) -> list[Tree]:
    """The parameters of transformer layers."""
    width = sizes["width"]
    return [
        {
            "norm1": make.norm(width),
            "norm2": make.norm(width),
            "qkv": make.dense(width, 3 * width),
            "out": make.dense(width, width),
            "up": make.dense(width, 4 * width),
            "down": make.dense(4 * width, width),
        }
        for _ in range(sizes["layers"])
    ]


def normalize(layer: Tree, x: Any) -> Any:
    """Layer normalization."""
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(variance + EPSILON) * layer["scale"] + layer["shift"]


def feed(layer: Tree, x: Any) -> Any:
    """The part of a layer that sees one word at a time."""
    return dense(layer["down"], jax.nn.gelu(dense(layer["up"], x), approximate=False))


def attend(layer: Tree, x: Any, heads: int, causal: bool) -> Any:
    """Self attention of several heads."""
    batch, length, width = x.shape
    shape = (batch, length, heads, width // heads)
    q, k, v = (
        part.reshape(shape).swapaxes(1, 2) for part in jnp.split(dense(layer["qkv"], x), 3, -1)
    )
    scores = q @ k.swapaxes(-1, -2) * (width // heads) ** -0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, NEVER)
    mixed = jax.nn.softmax(scores) @ v
    return dense(layer["out"], mixed.swapaxes(1, 2).reshape(batch, length, width))


def make_gpt(sizes: dict[str, Any]) -> Tree:
    """The parameters of a decoder with words, places, layers and a head of its own."""
    make, width = Maker(), sizes["width"]
    return {
        "words": make(sizes["vocabulary"], width),
        "places": make(sizes["length"], width),
        "layers": make_layers(make, sizes),
        "norm": make.norm(width),
        "head": make.dense(width, sizes["vocabulary"]),
    }


def gpt(sizes: dict[str, Any]) -> Job:
    """A decoder that learns the next word."""
    heads = sizes["heads"]

    def apply(parameters: Tree, statistics: Tree, text: Any, train: bool) -> Any:
        x = parameters["words"][text] + parameters["places"]
        for layer in parameters["layers"]:
            x = x + attend(layer, normalize(layer["norm1"], x), heads, causal=True)
            x = x + feed(layer, normalize(layer["norm2"], x))
        logits = dense(parameters["head"], normalize(parameters["norm"], x))
        return logits.reshape(-1, logits.shape[-1]), statistics

    return training(make_gpt(sizes), (), apply, sizes)


def bert(sizes: dict[str, Any]) -> Job:
    """An encoder with a classification head on its first word."""
    make, width, heads = Maker(), sizes["width"], sizes["heads"]
    parameters = {
        "words": make(sizes["vocabulary"], width),
        "places": make(sizes["length"], width),
        "kinds": make(2, width),
        "norm": make.norm(width),
        "layers": make_layers(make, sizes),
        "pooler": make.dense(width, width),
        "head": make.dense(width, sizes["classes"]),
    }

    def apply(parameters: Tree, statistics: Tree, text: Any, train: bool) -> Any:
        kinds = parameters["kinds"][jnp.zeros_like(text)]
        x = parameters["words"][text] + parameters["places"] + kinds
        x = normalize(parameters["norm"], x)
        for layer in parameters["layers"]:
            x = normalize(layer["norm1"], x + attend(layer, x, heads, causal=False))
            x = normalize(layer["norm2"], x + feed(layer, x))
        pooled = jnp.tanh(dense(parameters["pooler"], x[:, 0]))
        return dense(parameters["head"], pooled), statistics

    return training(parameters, (), apply, sizes)


def decoding(sizes: dict[str, Any]) -> Job:
    """One run writes words, one after the other, and reads each."""
    heads, width, length = sizes["heads"], sizes["width"], sizes["length"]
    parameters = jax.tree.map(jnp.array, make_gpt(sizes))
    cache = jnp.zeros((sizes["layers"], 2, length, heads, width // heads))

    def attend_cached(layer: Tree, x: Any, kept: Any, position: Any) -> Any:
        q, *new = dense(layer["qkv"], x).reshape(3, heads, width // heads)
        kept = kept.at[:, position].set(jnp.stack(new))
        scores = jnp.einsum("hd,lhd->hl", q, kept[0]) * (width // heads) ** -0.5
        scores = jnp.where(jnp.arange(length) <= position, scores, NEVER)
        mixed = jnp.einsum("hl,lhd->hd", jax.nn.softmax(scores), kept[1])
        return dense(layer["out"], mixed.reshape(width)), kept

    @partial(jax.jit, donate_argnums=1)
    def decode(parameters: Tree, cache: Any, word: Any, position: Any) -> Any:
        x, after = parameters["words"][word] + parameters["places"][position], []
        for layer, kept in zip(parameters["layers"], cache):
            y, kept = attend_cached(layer, normalize(layer["norm1"], x), kept, position)
            x = x + y
            x = x + feed(layer, normalize(layer["norm2"], x))
            after.append(kept)
        logits = dense(parameters["head"], normalize(parameters["norm"], x))
        return jnp.argmax(logits), jnp.stack(after)

    def run() -> list[int]:
        nonlocal cache
        words, word = [], jnp.int32(0)
        for position in range(sizes["words"]):
            word, cache = decode(parameters, cache, word, position)
            words.append(int(word))
        return words

    return Job(run, numbers.total, size_of(parameters))


BUILDERS = {"lstm": recurrent, "gpt": gpt, "bert": bert, "gpt_decode": decoding}
