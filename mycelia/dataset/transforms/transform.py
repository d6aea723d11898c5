"""Base class of transforms, which run in a pipeline or when called directly."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset import config
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.runtime.randomness import generator

_BY_HAND = 2**64 - 1


@dataclass(frozen=True, eq=False)
class Transform(CheckedKeywords, Operation):
    """Changes each value of its input; its fields are its parameters."""

    def __init_subclass__(cls) -> None:
        """Reset `takes_many` in subclasses that override what a transform does.

        Also shorten the tracebacks of their argument checks.
        """
        if {"run", "apply", "change"} & vars(cls).keys() and "takes_many" not in vars(cls):
            cls.takes_many = False
        if "__post_init__" in vars(cls):
            cls.__post_init__ = entry_point(cls.__post_init__)  # type: ignore[attr-defined]

    @entry_point
    def __call__(self, *values: Any) -> Any:
        """Apply the transform outside of a pipeline; `config.set_seed` seeds its random values."""
        made = self.run(
            tuple(self.checked(value) for value in values), direct_call_generator(self.is_random)
        )
        return made[0] if isinstance(made, tuple) and len(made) == 1 else made

    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        if len(values) == 1:
            return (self.apply(values[0], random),)
        if random is None:
            return tuple(self.apply(value, None) for value in values)
        return tuple(self.apply(value, deepcopy(random)) for value in values)

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        return tuple(self.apply(column, None) for column in columns)  # with a batch axis

    def apply(self, value: Any, random: Any) -> Any:
        """Apply the transform to one value; all values of a row see the same random values."""
        raise NotImplementedError

    def checked(self, value: Any) -> Any:
        """Convert a directly passed value to the form that a pipeline provides."""
        return value if isinstance(value, np.ndarray) else np.asarray(value)

    def parameters(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}


def direct_call_generator(is_random: bool) -> np.random.Generator | None:
    """The random generator of a transform that is called outside of a pipeline."""
    if not is_random:
        return None
    seed, number = config.next_seed()
    return generator(seed, number, _BY_HAND)


def run_step(step: Any, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
    """Apply a step, which is a transform or a user function; always returns a tuple."""
    made = step.run(values, random) if isinstance(step, Operation) else step(*values)
    return made if isinstance(made, tuple) else (made,)


def needs_random(steps: Any) -> bool:
    """Whether one of the steps draws random numbers."""
    return any(isinstance(step, Operation) and step.is_random for step in steps)
