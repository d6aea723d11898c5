"""A table of settings by key: each key has a default, a type, and optionally a validation rule."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from mycelia._engine.core.errors import problem


@dataclass(frozen=True)
class SettingKey:
    """One setting. `rule` checks a value and returns all settings to change (None: only this)."""

    default: Any
    kind: type | tuple[type, ...]
    rule: Callable[[Any], dict[str, Any]] | None = None
    may_set: bool = True
    may_get: bool = True


class SettingsTable:
    """The current values of some keys; an invalid value changes nothing."""

    def __init__(self, title: str, keys: Mapping[str, SettingKey]) -> None:
        self._title, self._keys = title, keys
        self._versions: dict[Any, int] = {}
        self._values: dict[str, Any] = {}
        self.version = 0
        self._put(self.defaults())

    def change(self, values: Mapping[str, Any]) -> None:
        """Check new values, then replace the old ones."""
        self._put(self.changed(self._values, values))

    def changed(self, old: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """The values after a checked change; the table itself does not change."""
        changed: dict[str, Any] = {}
        for name, value in values.items():
            key = self._keys.get(name)
            if key is None or not key.may_set:
                raise self._unknown(name, "set", [k for k, v in self._keys.items() if v.may_set])
            check_kind(name, value, key.kind)
            changed |= {name: value} if key.rule is None else key.rule(value)
        return {**old, **copy.deepcopy(changed)}

    @contextmanager
    def holding(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Replace the table's values inside the block."""
        before, version = self._values, self.version
        self._put(values)
        try:
            yield
        finally:
            self._values, self.version = before, version

    def _put(self, values: Mapping[str, Any]) -> None:
        """Set the values and their version number; equal values have equal versions."""
        self._values = dict(values)
        self.version = self._versions.setdefault(_frozen(self._values), len(self._versions))

    def read(self, name: Any) -> Any:
        """The value of one key."""
        readable = [k for k, v in self._keys.items() if v.may_get]
        if name not in readable:
            raise self._unknown(name, "read", readable)
        return copy.deepcopy(self._values[name])

    def everything(self) -> dict[str, Any]:
        """All values by key."""
        return copy.deepcopy(self._values)

    def reset(self) -> None:
        """Restore the defaults."""
        self._put(self.defaults())

    def defaults(self) -> dict[str, Any]:
        """The values before any change."""
        return {name: copy.deepcopy(key.default) for name, key in self._keys.items()}

    def _unknown(self, name: Any, done: str, known: list[str]) -> ValueError:
        return problem(
            ValueError,
            f"{self._title}: no setting {name!r} can be {done}",
            expected=f"one of {', '.join(known)}",
        )


def _frozen(value: Any) -> Any:
    """A hashable form of a value."""
    if isinstance(value, dict):
        return tuple([(name, _frozen(v)) for name, v in sorted(value.items())])
    if isinstance(value, (list, tuple)):
        return tuple([_frozen(v) for v in value])
    return value


def check_kind(name: str, value: Any, kind: type | tuple[type, ...]) -> None:
    """Raise if a value does not have the type of its key."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        expected = " or ".join(k.__name__ for k in kinds)
        raise problem(TypeError, f"{name}: wrong type", got=repr(value), expected=expected)


def allowed(name: str, *values: str) -> Callable[[Any], dict[str, Any]]:
    """The rule of a key that accepts only the listed strings."""
    return choice(*values, sets=(name,))


def choice(*values: str, sets: tuple[str, ...]) -> Callable[[Any], dict[str, Any]]:
    """The rule of a key that accepts only the listed strings and sets several keys."""

    def rule(value: Any) -> dict[str, Any]:
        if value not in values:
            raise problem(
                ValueError,
                f"{sets[0]}: unknown value",
                got=repr(value),
                expected=f"one of {', '.join(map(repr, values))}",
            )
        return dict.fromkeys(sets, value)

    return rule


def within(name: str, low: float, high: float) -> Callable[[Any], dict[str, Any]]:
    """The rule of a key that accepts numbers from `low` to `high`."""

    def rule(value: Any) -> dict[str, Any]:
        if not low <= value <= high:
            raise problem(
                ValueError,
                f"{name}: out of range",
                got=str(value),
                expected=f"{low} to {high}",
            )
        return {name: value}

    return rule
