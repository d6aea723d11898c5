"""Search spaces: ranges of numbers, uniform or logarithmic, and choices."""

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
    """Floats from `low` to `high`, log-uniform with `log`."""

    low: float
    high: float
    log: bool = False

    def sample(self, random: np.random.Generator) -> float:
        """A random value."""
        if self.log:
            drawn = math.exp(random.uniform(math.log(self.low), math.log(self.high)))
        else:
            drawn = random.uniform(self.low, self.high)
        return min(max(float(drawn), self.low), self.high)

    def plain(self, value: Any) -> Any:
        """The value as stored in files."""
        return float(value)

    def restored(self, plain: Any) -> Any:
        """The value from a file."""
        return float(plain)

    def describe(self) -> dict[str, Any]:
        """The range, for files."""
        return {"floats": [self.low, self.high], "log": self.log}


@dataclass(frozen=True)
class Integers:
    """Integers from `low` to `high`, inclusive, log-uniform with `log`."""

    low: int
    high: int
    log: bool = False

    def sample(self, random: np.random.Generator) -> int:
        """A random value."""
        if not self.log:
            return int(random.integers(self.low, self.high, endpoint=True))
        drawn = math.exp(random.uniform(math.log(self.low - 0.5), math.log(self.high + 0.5)))
        return min(max(round(drawn), self.low), self.high)

    def plain(self, value: Any) -> Any:
        """The value as stored in files."""
        return int(value)

    def restored(self, plain: Any) -> Any:
        """The value from a file."""
        return int(plain)

    def describe(self) -> dict[str, Any]:
        """The range, for files."""
        return {"integers": [self.low, self.high], "log": self.log}


@dataclass(frozen=True)
class CategoricalValues:
    """One of several options of any type."""

    options: tuple[Any, ...]

    @property
    def names(self) -> list[Any]:
        """The options as stored in files: plain values, or names of other objects."""
        return [_plain(option) for option in self.options]

    def sample(self, random: np.random.Generator) -> Any:
        """A random option."""
        return self.options[int(random.integers(len(self.options)))]

    def plain(self, value: Any) -> Any:
        """The option as stored in files."""
        indices = [i for i, option in enumerate(self.options) if option is value]
        return self.names[indices[0] if indices else self.options.index(value)]

    def restored(self, plain: Any) -> Any:
        """The option from a file."""
        return self.options[self.names.index(plain)]

    def describe(self) -> dict[str, Any]:
        """The options, for files."""
        return {"options": self.names}


Kind = Floats | Integers | CategoricalValues
Space = Mapping[str, Kind]


def uniform(low: float, high: float) -> Floats:
    """A float from `low` to `high`, uniformly distributed."""
    return Floats(*_range("uniform", low, high))


def log_uniform(low: float, high: float) -> Floats:
    """A float from `low` to `high` with a uniformly distributed logarithm."""
    _check_positive("log_uniform", low)
    return Floats(*_range("log_uniform", low, high), log=True)


def integer(low: int, high: int, log: bool = False) -> Integers:
    """An integer from `low` to `high`, inclusive; log-uniform with `log`."""
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
    values = CategoricalValues(tuple(options))
    names = [json.dumps(name) for name in values.names]
    if not names or len(set(names)) != len(names):
        raise problem(
            ValueError,
            "choice: the options must have distinct names",
            got=", ".join(names) or "none",
        )
    return values


def check_space(space: Any) -> Space:
    """Check that `space` defines a range or options for each setting."""
    if not isinstance(space, Mapping):
        raise wrong_type("search", "space", space, "a dict of settings")
    for name, kind in space.items():
        if not isinstance(name, str) or not isinstance(kind, Kind):
            raise problem(
                TypeError,
                f"search: the space of {name!r} is invalid",
                got=f"{name!r}: {kind!r}",
                expected="a name, with uniform, log_uniform, integer, or choice",
                fix=f'write {{"{name}": tune.choice([...])}}; constants need no entry',
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
        raise problem(ValueError, f"{owner}: a log range must start above 0", got=f"low={low}")


def _empty(owner: str, low: Any, high: Any) -> ValueError:
    return problem(ValueError, f"{owner}: the range is empty", got=f"low={low} and high={high}")
