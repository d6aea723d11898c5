"""The recurrent layers to compare with the real MindSpore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

LENGTHS = np.array([3, 5, 1], np.int32)


def cases(draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    """Layers, inputs and keyword inputs by name; `draw(shape, seed)` gives numbers."""
    return {**_cells(draw), **_layers(draw)}


def _cells(draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    x, h, c = draw((3, 4), 1), draw((3, 5), 2), draw((3, 5), 3)
    found = {}
    for name, state in (("RNNCell", h), ("GRUCell", h), ("LSTMCell", (h, c))):
        found[f"{name}.bias"] = (_layer(name), (x, state), {})
        found[f"{name}.no_bias"] = (_layer(name, has_bias=False), (x, state), {})
    found["RNNCell.relu"] = (_layer("RNNCell", nonlinearity="relu"), (x, h), {})
    return found


def _layers(draw: Callable[..., np.ndarray]) -> dict[str, Any]:
    x, batch_major = draw((5, 3, 4), 1), draw((3, 5, 4), 1)
    both = {"num_layers": 2, "bidirectional": True}
    found = {"RNN.relu": (_layer("RNN", nonlinearity="relu"), (x,), {})}
    for name in ("RNN", "GRU", "LSTM"):
        one, four = _state(draw, name, 1), _state(draw, name, 4)
        found |= {
            f"{name}.plain": (_layer(name), (x,), {}),
            f"{name}.no_bias": (_layer(name, has_bias=False), (x,), {}),
            f"{name}.state": (_layer(name), (x, one), {}),
            f"{name}.batch_first": (_layer(name, batch_first=True), (batch_major,), {}),
            f"{name}.stacked": (_layer(name, **both), (x, four), {}),
            f"{name}.lengths": (_layer(name), (x, one, LENGTHS), {}),
            f"{name}.stacked_lengths": (
                _layer(name, batch_first=True, **both),
                (batch_major,),
                {"seq_length": LENGTHS},
            ),
        }
    return found


def _layer(name: str, **options: Any) -> Callable[[Any], Any]:
    return lambda ms: getattr(ms.nn, name)(4, 5, **options)


def _state(draw: Callable[..., np.ndarray], name: str, layers: int) -> Any:
    h, c = draw((layers, 3, 5), 2), draw((layers, 3, 5), 3)
    return (h, c) if name == "LSTM" else h
