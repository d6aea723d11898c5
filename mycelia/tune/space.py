"""What a setting may be: numbers of a range, evenly or by size, or one of some options."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, is_number
from mycelia._engine.core.errors import problem, wrong_type


@dataclass(frozen=True)
class Floats:
    """Floats from `low` to `high`; with `log`, each factor between two is as likely."""

    low: float
    high: float
    log: bool = False

    def sample(self, random: np.random.Generator) -> float:
        """A setting by chance."""
        if self.log:
            drawn = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        else:
            drawn = random.uniform(self.low, self.high)
        return min(max(float(drawn), self.low), self.high)

    def plain(self, value: Any) -> Any:
        """The setting as it is written into files."""
        return float(value)

    def restored(self, plain: Any) -> Any:
        """The setting that was written so."""
        return float(plain)

    def describe(self) -> dict[str, Any]:
        """What the setting may be, as it is written into files."""
        return {"floats": [self.low, self.high], "log": self.log}


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` to `high`, both included."""

    low: int
    high: int
    log: bool = False

    def sample(self, random: np.random.Generator) -> int:
        """A setting by chance."""
        if not self.log:
            return int(random.integers(self.low, self.high, endpoint=True))
        drawn = math.exp(random.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
        return min(max(round(drawn), self.low), self.high)

    def plain(self, value: Any) -> Any:
        """The setting as it is written into files."""
        return int(value)

    def restored(self, plain: Any) -> Any:
        """The setting that was written so."""
        return int(plain)

    def describe(self) -> dict[str, Any]:
        """What the setting may be, as it is written into files."""
        return {"integers": [self.low, self.high], "log": self.log}


@dataclass(frozen=True)
class CategoricalValues:
    """One of some values, which may be of any kind."""

    options: tuple[Any, ...]

    @property
    def names(self) -> list[Any]:
        """How the options are written into files: plain values as they are, others by name."""
        return [_plain(option) for option in self.options]

    def sample(self, random: np.random.Generator) -> Any:
        """A setting by chance."""
        return self.options[int(random.integers(len(self.options)))]

    def plain(self, value: Any) -> Any:
        """The setting as it is written into files."""
        places = [i for i, option in enumerate(self.options) if option is value]
        return self.names[places[0] if places else self.options.index(value)]

    def restored(self, plain: Any) -> Any:
        """The setting that was written so."""
        return self.options[self.names.index(plain)]

    def describe(self) -> dict[str, Any]:
        """What the setting may be, as it is written into files."""
        return {"options": self.names}


Kind = Floats | Integers | CategoricalValues
Space = Mapping[str, Kind]


def uniform(low: float, high: float) -> Floats:
    """A float from `low` to `high`, each as likely."""
    return Floats(*_range("uniform", low, high))


def log_uniform(low: float, high: float) -> Floats:
    """A float from `low` to `high`, as likely to be near 0.001 as near 0.01."""
    _check_positive("log_uniform", low)
    return Floats(*_range("log_uniform", low, high), log=True)


def integer(low: int, high: int, log: bool = False) -> Integers:
    """A whole number from `low` to `high`, both included; with `log` small ones are likelier."""
    check_int("integer", "low", low)
    check_int("integer", "high", high)
    check_bool("integer", "log", log)
    if log:
        _check_positive("integer", low)
    if low > high:
        raise _empty("integer", low, high)
    return Integers(low, high, log)


def choice(options: Sequence[Any]) -> CategoricalValues:
    """One of the options."""
    if isinstance(options, (str, bytes)) or not isinstance(options, Sequence):
        raise wrong_type("choice", "options", options, "a list")
    made = CategoricalValues(tuple(options))
    names = [json.dumps(name) for name in made.names]
    if not names or len(set(names)) != len(names):
        raise problem(
            ValueError,
            "choice: there must be options, each with a name of its own",
            got=", ".join(names) or "none",
        )
    return made


def check_space(space: Any) -> Space:
    """Raise unless `space` says of each setting what it may be."""
    if not isinstance(space, Mapping):
        raise wrong_type("search", "space", space, "a dict of settings")
    for name, kind in space.items():
        if not isinstance(name, str) or not isinstance(kind, Kind):
            raise problem(
                TypeError,
                f"search: the space does not say what {name!r} may be",
                got=f"{name!r}: {kind!r}",
                expected="a name, and uniform, log_uniform, integer or choice of something",
                fix=f'write {{"{name}": tune.choice([...])}}; what is fixed needs no setting',
            )
    if not space:
        raise problem(ValueError, "search: the space has no settings")
    return dict(space)


def _plain(option: Any) -> Any:
    if isinstance(option, (str, int, float, bool, type(None))):
        return option
    if isinstance(option, (list, tuple)):
        return [_plain(part) for part in option]
    return getattr(option, "__qualname__", None) or repr(option)


def _range(owner: str, low: Any, high: Any) -> tuple[float, float]:
    for name, value in (("low", low), ("high", high)):
        if not is_number(value):
            raise wrong_type(owner, name, value, "a number")
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise _empty(owner, low, high)
    return float(low), float(high)


def _check_positive(owner: str, low: Any) -> None:
    if is_number(low) and low <= 0:
        raise problem(ValueError, f"{owner}: sizes begin above 0", got=f"low={low}")


def _empty(owner: str, low: Any, high: Any) -> ValueError:
    return problem(
        ValueError, f"{owner}: there is nothing between", got=f"low={low} and high={high}"
    )
