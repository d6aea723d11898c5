"""Validated options of SummaryCollector."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields
from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance
from mycelia._engine.core.errors import problem, wrong_value

OWNER = "SummaryCollector"
_ARGUMENT = "collect_specified_data"


@dataclass(frozen=True)
class CollectionOptions:
    """Which data are collected, under the names of `collect_specified_data`.

    `histogram_regular` selects the parameters with histograms; None means the first five.
    """

    collect_metric: bool = True
    collect_graph: bool = True
    collect_train_lineage: bool = True
    collect_eval_lineage: bool = True
    collect_input_data: bool = True
    collect_dataset_graph: bool = True
    histogram_regular: str | None = None
    histograms: bool = field(default=True, metadata={"own": True})


_NAMES = tuple(f.name for f in fields(CollectionOptions) if not f.metadata)
_HISTOGRAMS = "histogram_regular"
_LANDSCAPE = "collect_landscape"


def checked_collected(given: Any, keeps_default: bool) -> CollectionOptions:
    """What to collect: the user's choices, and the defaults for the rest."""
    check_instance(OWNER, _ARGUMENT, given, (dict, type(None)))
    chosen = dict(given or {})
    for name, value in chosen.items():
        check_instance(OWNER, _ARGUMENT, name, str)
        _check_choice(name, value)
    chosen.pop(_LANDSCAPE, None)
    rest: dict[str, Any] = {
        name: keeps_default for name in (*_NAMES, "histograms") if name != _HISTOGRAMS
    }
    if chosen.get(_HISTOGRAMS) is not None:
        rest["histograms"] = True
    return CollectionOptions(**(rest | chosen))


def check_lineage(given: Any) -> dict[str, Any]:
    """Validate values that users add to the hyper-parameters: numbers and strings by name."""
    check_instance(OWNER, "custom_lineage_data", given, (dict, type(None)))
    for name, value in (given or {}).items():
        check_instance(OWNER, "custom_lineage_data", name, str)
        if type(value) not in (int, float, str):
            check_instance(OWNER, f"custom_lineage_data[{name!r}]", None, (int, float, str))
    return dict(given or {})


def _check_choice(name: str, value: Any) -> None:
    if name == _LANDSCAPE:
        _check_landscape(value)
    elif name not in _NAMES:
        raise wrong_value(OWNER, _ARGUMENT, name, f"a dict with keys in {[*_NAMES, _LANDSCAPE]}")
    elif name != _HISTOGRAMS:
        check_bool(OWNER, name, value)
    elif check_instance(OWNER, name, value, (str, type(None))) is not None:
        _check_pattern(value)


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise problem(
            ValueError,
            f"{OWNER}: histogram_regular is not a valid regular expression: {error}",
            got=repr(pattern),
        ) from error


def _check_landscape(value: Any) -> None:
    check_instance(OWNER, _LANDSCAPE, value, (dict, type(None)))
    if value:
        raise problem(
            ValueError,
            f"{OWNER}: loss landscapes are not supported",
            got=f"{_LANDSCAPE}={value!r}",
            fix=f"leave {_LANDSCAPE} out",
        )
