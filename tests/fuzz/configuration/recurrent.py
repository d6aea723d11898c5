"""Recurrent cells and layers: several layers, both directions, sequences of different lengths."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia import nn
from tests.fuzz.configuration.draws import around, flag, is_small
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_LAYERS = {"RNN": nn.RNN, "LSTM": nn.LSTM, "GRU": nn.GRU}
_CELLS = {"RNN": nn.RNNCell, "LSTM": nn.LSTMCell, "GRU": nn.GRUCell}
_States = tuple[np.ndarray, ...]


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _rnn(x: np.ndarray, state: _States, w: _States) -> _States:
    return (np.tanh(_product(x, w, 0) + _product(state[0], w, 1)),)


def _lstm(x: np.ndarray, state: _States, w: _States) -> _States:
    hidden, cell = state
    i, f, g, o = np.split(_product(x, w, 0) + _product(hidden, w, 1), 4, axis=-1)
    cell = _sigmoid(f) * cell + _sigmoid(i) * np.tanh(g)
    return _sigmoid(o) * np.tanh(cell), cell


def _gru(x: np.ndarray, state: _States, w: _States) -> _States:
    (hidden,) = state
    r, z, n = np.split(_product(x, w, 0), 3, axis=-1)
    hr, hz, hn = np.split(_product(hidden, w, 1), 3, axis=-1)
    reset, update = _sigmoid(r + hr), _sigmoid(z + hz)
    return ((1 - update) * np.tanh(n + reset * hn) + update * hidden,)


def _product(x: np.ndarray, w: _States, side: int) -> np.ndarray:
    """What the input (side 0) or the state (side 1) gives to the gates; w: ih, hh, and biases."""
    found = x @ w[side].T
    return found + w[2 + side] if len(w) > 2 else found


_STEPS: dict[str, Callable[[np.ndarray, _States, _States], _States]] = {
    "RNN": _rnn,
    "LSTM": _lstm,
    "GRU": _gru,
}


def _draw(rng: random.Random, kind: str) -> Settings:
    large = flag(rng, 0.3)
    return {
        "kind": kind,
        "moments": rng.choice((1, 2, 3, 5)),
        "batch": around(rng, 8) if large else rng.randint(1, 5),
        "inputs": rng.choice((1, 3, 8, 16)),
        "hidden": around(rng, 8, 16, 32) if large else rng.randint(1, 6),
        "layers": rng.choice((1, 1, 1, 2)),
        "has_bias": flag(rng, 0.8),
        "batch_first": flag(rng),
        "bidirectional": flag(rng, 0.3),
        "with_state": flag(rng, 0.7),
        "with_lengths": flag(rng, 0.3),
    }


def _fits(settings: Settings) -> bool:
    names = ("moments", "batch", "inputs", "hidden", "layers")
    sizes = [settings[n] for n in names if n in settings]
    return min(sizes) > 0 and is_small(sizes, 1 << 17)


def _layer(settings: Settings, values: Values) -> Problem:
    names = ("kind", "moments", "batch", "inputs", "hidden", "layers")
    kind, moments, batch, inputs, hidden, layers = (settings[n] for n in names)
    both, first = settings["bidirectional"], settings["batch_first"]
    net = _LAYERS[kind](
        inputs,
        hidden,
        layers,
        settings["has_bias"],
        first,
        0.0,
        both,
        dtype=values.dtype,
    )
    weights = values.weights(net)
    order = [w.name for w in weights]
    rows, states = layers * (2 if both else 1), 2 if kind == "LSTM" else 1
    x = values.normal(*((batch, moments) if first else (moments, batch)), inputs)
    given = [values.normal(rows, batch, hidden) for _ in range(states * settings["with_state"])]
    lengths = values.integers(1, moments + 1, batch) if settings["with_lengths"] else None
    has_state, extra = settings["with_state"], () if lengths is None else (lengths,)

    def call(x: Any, *rest: Any) -> Any:
        state = None
        if has_state:
            state = (rest[0], rest[1]) if states == 2 else rest[0]
        return net(x, state, rest[-1]) if extra else net(x, state)

    def reference(x: np.ndarray, *rest: np.ndarray) -> _States:
        named = dict(zip(order, rest[len(given) + len(extra) :], strict=True))
        start = rest[: len(given)] or (np.zeros((rows, batch, hidden)),) * states
        ends = np.full(batch, moments) if lengths is None else lengths
        y = np.swapaxes(x, 0, 1) if first else x
        last: list[_States] = []
        for layer in range(layers):
            parts = []
            for way in range(2 if both else 1):
                suffix = f"_l{layer}{'_reverse' if way else ''}"
                w = tuple(v for n, v in named.items() if n.endswith(suffix))
                row = layer * (2 if both else 1) + way
                out, state = _over_time(kind, y, tuple(s[row] for s in start), w, ends, bool(way))
                parts.append(out)
                last.append(state)
            y = np.concatenate(parts, -1)
        final = tuple(np.stack(states) for states in zip(*last, strict=True))
        return np.swapaxes(y, 0, 1) if first else y, *final

    return Problem(call, reference, (x, *given, *extra), weights)


def _over_time(
    kind: str, x: np.ndarray, state: _States, w: _States, ends: np.ndarray, backward: bool
) -> tuple[np.ndarray, _States]:
    """Outputs of all moments, zero after the end of each sequence, and the states at the ends."""
    outputs: dict[int, np.ndarray] = {}
    times = range(len(x))
    for t in reversed(times) if backward else times:
        running = (t < ends)[:, None]
        new = _STEPS[kind](x[t], state, w)
        state = tuple(np.where(running, n, s) for n, s in zip(new, state, strict=True))
        outputs[t] = np.where(running, new[0], 0.0)
    return np.stack([outputs[t] for t in times]), state


def _draw_cell(rng: random.Random, kind: str) -> Settings:
    names = ("kind", "batch", "inputs", "hidden", "has_bias")
    return {name: value for name, value in _draw(rng, kind).items() if name in names}


def _cell(settings: Settings, values: Values) -> Problem:
    kind, batch, inputs, hidden = (settings[n] for n in ("kind", "batch", "inputs", "hidden"))
    net = _CELLS[kind](inputs, hidden, settings["has_bias"], dtype=values.dtype)
    states = 2 if kind == "LSTM" else 1

    def call(x: Any, *state: Any) -> Any:
        return net(x, tuple(state) if states == 2 else state[0])

    def reference(x: np.ndarray, *rest: np.ndarray) -> _States:
        return _STEPS[kind](x, rest[:states], rest[states:])

    given = [values.normal(batch, hidden) for _ in range(states)]
    return Problem(call, reference, (values.normal(batch, inputs), *given), values.weights(net))


SUBJECTS = tuple(
    subject
    for kind in _LAYERS
    for subject in (
        Subject(kind, "recurrent", lambda rng, kind=kind: _draw(rng, kind), _layer, _fits),
        Subject(
            f"{kind} cell", "recurrent", lambda rng, kind=kind: _draw_cell(rng, kind), _cell, _fits
        ),
    )
)
