"""Attention of several heads with masks, and transformer layers."""

from __future__ import annotations

import random
from math import erf, sqrt
from typing import Any

import numpy as np

from mycelia import Tensor, nn
from mycelia.ops.attention.attention import Attention
from tests.fuzz.configuration.draws import around, flag, is_small, some
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_HIDDEN = -1e30


def softmax(scores: np.ndarray) -> np.ndarray:
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _draw(rng: random.Random) -> Settings:
    queries, keys = some(rng, 2, 1, 9)
    if flag(rng, 0.2):
        queries, keys = around(rng, 16, 64), around(rng, 16, 64)
    if flag(rng, 0.05):
        queries = around(rng, 256)
    return {
        "batch": some(rng, rng.randint(0, 2), 1, 3),
        "queries": queries,
        "keys": keys,
        "size": rng.choice((1, 4, 8, around(rng, 16))),
        "values": rng.randint(1, 9),
        "causal": rng.choice(("", "", "left", "right")),
        "masked": flag(rng, 0.3),
        "biased": flag(rng, 0.3),
        "scaled": flag(rng, 0.3),
    }


def _fits(settings: Settings) -> bool:
    numbers = [settings[n] for n in ("queries", "keys", "size", "values")]
    return min(*numbers, *settings["batch"]) > 0 and is_small(numbers, 1 << 20)


def attention_problem(settings: Settings, values: Values) -> Problem:
    batch, causal = settings["batch"], settings["causal"]
    queries, keys, size = settings["queries"], settings["keys"], settings["size"]
    scale = 0.3 if settings["scaled"] else None
    op = Attention(scale, causal)
    seen = _seen(causal, queries, keys)
    hidden = values.random.random((queries, keys)) < 0.3 if settings["masked"] else None

    mask = None if hidden is None else Tensor(hidden)

    def call(query: Any, key: Any, value: Any, *bias: Any) -> Any:
        return op(query, key, value, mask, bias[0] if bias else None, None)

    def reference(query: np.ndarray, key: np.ndarray, value: np.ndarray, *bias: Any) -> np.ndarray:
        scores = query @ np.swapaxes(key, -1, -2)
        scores = (scores + (bias[0] if bias else 0)) * (1 / sqrt(size) if scale is None else scale)
        visible = seen if hidden is None else seen & ~hidden
        chances = softmax(np.where(visible, scores, _HIDDEN)) * visible.any(-1, keepdims=True)
        return chances @ value

    inputs = [values.normal(*batch, queries, size), values.normal(*batch, keys, size)]
    inputs.append(values.normal(*batch, keys, settings["values"]))
    if settings["biased"]:
        inputs.append(values.normal(queries, keys))
    return Problem(call, reference, tuple(inputs))


def _seen(causal: str, queries: int, keys: int) -> np.ndarray:
    offset = keys - queries if causal == "right" else 0
    return np.tri(queries, keys, offset, bool) if causal else np.ones((queries, keys), bool)


def _draw_heads(rng: random.Random) -> Settings:
    heads = rng.choice((1, 2, 3, 4))
    queries, keys = some(rng, 2, 1, 7)
    return {
        "heads": heads,
        "size": rng.choice((1, 2, 5, 8)),
        "batch": rng.choice((1, 2, 3, around(rng, 8))),
        "queries": queries,
        "keys": keys,
        "has_bias": flag(rng),
        "batch_first": flag(rng),
        "masked": flag(rng, 0.3),
        "padded": flag(rng, 0.3),
        "separate": flag(rng, 0.3),
    }


def _fits_heads(settings: Settings) -> bool:
    return min(settings[n] for n in ("heads", "size", "batch", "queries", "keys")) > 0


def _multihead(settings: Settings, values: Values) -> Problem:
    heads, batch, first = (settings[n] for n in ("heads", "batch", "batch_first"))
    width, queries, keys = heads * settings["size"], settings["queries"], settings["keys"]
    widths = {"kdim": width + 1, "vdim": width + 2} if settings["separate"] else {}
    net = nn.MultiheadAttention(
        width, heads, 0.0, settings["has_bias"], batch_first=first, **widths, dtype=values.dtype
    )
    weights = values.weights(net)
    names = [w.name for w in weights]
    mask = values.random.random((queries, keys)) < 0.3 if settings["masked"] else None
    padding = values.random.random((batch, keys)) < 0.3 if settings["padded"] else None
    for hidden in (mask, padding):
        if hidden is not None:
            hidden[..., 0] = False  # every query sees a key

    pad, attend = (None if m is None else Tensor(m) for m in (padding, mask))

    def call(query: Any, key: Any, value: Any) -> Any:
        return net(query, key, value, key_padding_mask=pad, attn_mask=attend)

    def reference(query: np.ndarray, key: np.ndarray, value: np.ndarray, *rest: Any) -> Any:
        named = dict(zip(names, rest, strict=True))
        if not first:
            query, key, value = (np.swapaxes(a, 0, 1) for a in (query, key, value))
        hidden = np.zeros((batch, 1, queries, keys), bool)
        hidden = hidden if mask is None else hidden | mask
        hidden = hidden if padding is None else hidden | padding[:, None, None]
        out, chances = heads_of(query, key, value, named, heads, hidden)
        return out if first else np.swapaxes(out, 0, 1), chances.mean(1)

    def shaped(length: int, features: int) -> np.ndarray:
        return values.normal(*((batch, length) if first else (length, batch)), features)

    kinds = (width + 1, width + 2) if settings["separate"] else (width, width)
    inputs = shaped(queries, width), shaped(keys, kinds[0]), shaped(keys, kinds[1])
    return Problem(call, reference, inputs, weights)


def heads_of(
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    named: dict[str, np.ndarray],
    heads: int,
    hidden: np.ndarray,
    prefix: str = "",
) -> tuple[np.ndarray, np.ndarray]:
    """Attention of all heads over (batch, length, features), and the chances of each head."""
    joined = named.get(f"{prefix}in_proj_weight")
    if joined is None:
        parts = [named[f"{prefix}{n}_proj_weight"] for n in "qkv"]
    else:
        parts = np.split(joined, 3)
    bias = named.get(f"{prefix}in_proj_bias")
    biases = np.split(bias, 3) if bias is not None else [0.0] * 3
    split = []
    for x, weight, b in zip((query, key, value), parts, biases, strict=True):
        found = x @ weight.T + b
        split.append(np.swapaxes(found.reshape(*found.shape[:2], heads, -1), 1, 2))
    q, k, v = split
    scores = q @ np.swapaxes(k, -1, -2) / sqrt(q.shape[-1])
    chances = softmax(np.where(hidden, _HIDDEN, scores))
    out = np.swapaxes(chances @ v, 1, 2).reshape(*query.shape[:2], -1)
    out = out @ named[f"{prefix}out_proj.weight"].T + named.get(f"{prefix}out_proj.bias", 0.0)
    return out, chances


def _draw_layer(rng: random.Random) -> Settings:
    return {
        "heads": rng.choice((1, 2, 3)),
        "size": rng.choice((1, 2, 4)),
        "batch": rng.randint(1, 4),
        "length": rng.randint(1, 7),
        "inner": rng.randint(1, 9),
        "batch_first": flag(rng),
        "norm_first": flag(rng),
        "masked": flag(rng, 0.4),
    }


def _fits_layer(settings: Settings) -> bool:
    numbers = [settings[n] for n in ("heads", "size", "batch", "length", "inner")]
    return min(numbers) > 0 and settings["heads"] * settings["size"] > 1


def _encoder(settings: Settings, values: Values) -> Problem:
    heads, batch, length = (settings[n] for n in ("heads", "batch", "length"))
    width, first = heads * settings["size"], settings["batch_first"]
    net = nn.TransformerEncoderLayer(
        width,
        heads,
        settings["inner"],
        0.0,
        "gelu",
        batch_first=first,
        norm_first=settings["norm_first"],
        dtype=values.dtype,
    )
    weights = values.weights(net)
    names = [w.name for w in weights]
    mask = np.triu(np.ones((length, length), bool), 1) if settings["masked"] else None

    later = None if mask is None else Tensor(mask)

    def call(x: Any) -> Any:
        return net(x, later)

    def reference(x: np.ndarray, *rest: np.ndarray) -> np.ndarray:
        w = dict(zip(names, rest, strict=True))
        hidden = np.zeros((1, 1, length, length), bool) if mask is None else mask[None, None]

        def attended(a: np.ndarray) -> np.ndarray:
            return heads_of(a, a, a, w, heads, hidden, "self_attn.")[0]

        def fed(a: np.ndarray) -> np.ndarray:
            inner = _gelu(a @ w["dense1.weight"].T + w["dense1.bias"])
            return inner @ w["dense2.weight"].T + w["dense2.bias"]

        y = x if first else np.swapaxes(x, 0, 1)
        for number, step in ((1, attended), (2, fed)):
            if settings["norm_first"]:
                y = y + step(_layer_norm(y, w, number))
            else:
                y = _layer_norm(y + step(y), w, number)
        return y if first else np.swapaxes(y, 0, 1)

    shape = (batch, length) if first else (length, batch)
    return Problem(call, reference, (values.normal(*shape, width),), weights)


def _layer_norm(x: np.ndarray, w: dict[str, np.ndarray], number: int) -> np.ndarray:
    apart = x - x.mean(-1, keepdims=True)
    scaled = apart / np.sqrt((apart**2).mean(-1, keepdims=True) + 1e-5)
    return scaled * w[f"norm{number}.gamma"] + w[f"norm{number}.beta"]


def _gelu(x: np.ndarray) -> np.ndarray:
    return x * 0.5 * (1 + np.vectorize(erf)(x / sqrt(2)))


SUBJECTS = (
    Subject("attention", "attention", _draw, attention_problem, _fits),
    Subject("multihead attention", "attention", _draw_heads, _multihead, _fits_heads),
    Subject("transformer encoder layer", "attention", _draw_layer, _encoder, _fits_layer),
)
