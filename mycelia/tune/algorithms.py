"""Search algorithms, which propose the settings of the next trial."""

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
    """Random settings, which depend on the seed and the trial number only."""
    random = np.random.default_rng([seed, number])
    return {name: kind.sample(random) for name, kind in space.items()}


_ALGORITHMS: dict[str, Proposer] = {"random": by_chance, "tpe": parzen.by_density}


def proposer(algorithm: Any) -> Proposer:
    """The algorithm with a name; checks that its dependencies are installed."""
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
