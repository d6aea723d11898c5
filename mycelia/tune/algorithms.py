"""Ways to choose the settings of the next trial from those before it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.tune import parzen
from mycelia.tune.records import Record
from mycelia.tune.space import Space

Proposer = Callable[[Space, Sequence[Record], float, int, int], dict[str, Any]]


def by_chance(
    space: Space, earlier: Sequence[Record], sign: float, seed: int, number: int
) -> dict[str, Any]:
    """Settings by chance, the same for a seed and a number whatever came before."""
    random = np.random.default_rng([seed, number])
    return {name: kind.sample(random) for name, kind in space.items()}


_ALGORITHMS: dict[str, Proposer] = {"random": by_chance, "tpe": parzen.by_density}


def proposer(algorithm: Any) -> Proposer:
    """The way a name stands for; what it needs must be installed."""
    if algorithm not in _ALGORITHMS:
        raise problem(
            ValueError,
            "search: unknown algorithm",
            got=repr(algorithm),
            expected=", ".join(map(repr, _ALGORITHMS)),
        )
    if algorithm == "tpe":
        parzen.optuna("search(algorithm='tpe')")
    return _ALGORITHMS[algorithm]
