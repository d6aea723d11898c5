"""The tree-structured Parzen estimator (TPE), from Optuna."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.tune.records import FAILED, STOPPED, Record
from mycelia.tune.space import Floats, Integers, Kind, Space


def optuna(owner: str) -> Any:
    """Import Optuna, or raise an error that names the extra."""
    if find_spec("optuna") is None:
        raise problem(
            ImportError,
            f"{owner}: needs Optuna, which is not installed",
            fix="pip install 'mycelia[tune]', or algorithm='random'",
        )
    return import_module("optuna")  # not at the top: it is an optional dependency


def by_density(
    space: Space, earlier: Sequence[Record], sign: float, seed: int, number: int
) -> dict[str, Any]:
    """Propose settings where good trials are denser than bad ones (Bergstra et al., 2011).

    They depend only on the seed, the trial number, and the earlier trials, so that an interrupted
    search resumes exactly.
    """
    library = optuna("search(algorithm='tpe')")
    kinds = {name: _distribution(library, kind) for name, kind in space.items()}
    seed_now = int(np.random.default_rng([seed, number]).integers(2**31))
    with _quiet(library):
        study = library.create_study(sampler=library.samplers.TPESampler(seed=seed_now))
        study.add_trials(
            [_known(library, each, space, kinds, sign) for each in earlier if each.state != FAILED]
        )
        drawn = study.ask(kinds).params
    return {name: _setting(kind, drawn[name]) for name, kind in space.items()}


def _distribution(library: Any, kind: Kind) -> Any:
    distributions = library.distributions
    if isinstance(kind, Floats):
        return distributions.FloatDistribution(kind.low, kind.high, log=kind.log)
    if isinstance(kind, Integers):
        return distributions.IntDistribution(kind.low, kind.high, log=kind.log)
    return distributions.CategoricalDistribution(range(len(kind.options)))


def _setting(kind: Kind, drawn: Any) -> Any:
    return drawn if isinstance(kind, (Floats, Integers)) else kind.options[drawn]


def _place(kind: Kind, setting: Any) -> Any:
    if isinstance(kind, (Floats, Integers)):
        return setting
    return kind.names.index(kind.plain(setting))


def _known(library: Any, record: Record, space: Space, kinds: Any, sign: float) -> Any:
    """Convert a trial to Optuna's; a stopped one has its reports instead of a value."""
    stopped = record.state == STOPPED
    states = library.trial.TrialState
    return library.trial.create_trial(
        params={name: _place(kind, record.settings[name]) for name, kind in space.items()},
        distributions=kinds,
        value=None if stopped or record.value is None else sign * record.value,
        intermediate_values={epoch: sign * value for epoch, value in record.reports},
        state=states.PRUNED if stopped else states.COMPLETE,
    )


@contextmanager
def _quiet(library: Any) -> Iterator[None]:
    """Silence Optuna's log messages about temporary studies."""
    level = library.logging.get_verbosity()
    library.logging.set_verbosity(library.logging.WARNING)
    try:
        yield
    finally:
        library.logging.set_verbosity(level)
