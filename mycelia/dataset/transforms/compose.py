"""Composed transforms: Compose, RandomApply, RandomChoice, RandomOrder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.dataset.transforms.checks import check_number, check_steps
from mycelia.dataset.transforms.transform import Transform, needs_random, run_step


@dataclass(frozen=True, eq=False)
class _CompositeTransform(Transform):
    """Base class of transforms that contain transforms or user functions."""

    transforms: list[Any]

    def __post_init__(self) -> None:
        check_steps("transforms", self.transforms)

    def checked(self, value: Any) -> Any:
        return value  # each step checks its input

    def parameters(self) -> dict[str, Any]:
        return {"transforms": list(self.transforms)}


@dataclass(frozen=True, eq=False)
class Compose(_CompositeTransform):
    """Applies all transforms in order."""

    @property
    def is_random(self) -> bool:
        return needs_random(self.transforms)

    def run(self, values: tuple[Any, ...], random: np.random.Generator | None) -> Any:
        for step in self.transforms:
            values = run_step(step, values, random)
        return values


@dataclass(frozen=True, eq=False)
class RandomApply(_CompositeTransform):
    """Applies all transforms in order with a probability, or none."""

    is_random = True
    prob: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("prob", self.prob, 0.0, 1.0)

    def run(self, values: tuple[Any, ...], random: Any) -> Any:
        if random.random() >= self.prob:
            return values
        for step in self.transforms:
            values = run_step(step, values, random)
        return values

    def parameters(self) -> dict[str, Any]:
        return {"prob": self.prob, **super().parameters()}


@dataclass(frozen=True, eq=False)
class RandomChoice(_CompositeTransform):
    """Applies one randomly chosen transform."""

    is_random = True

    def run(self, values: tuple[Any, ...], random: Any) -> Any:
        step = self.transforms[int(random.integers(len(self.transforms)))]
        return run_step(step, values, random)


@dataclass(frozen=True, eq=False)
class RandomOrder(_CompositeTransform):
    """Applies all transforms in a random order."""

    is_random = True

    def run(self, values: tuple[Any, ...], random: Any) -> Any:
        for index in random.permutation(len(self.transforms)):
            values = run_step(self.transforms[index], values, random)
        return values
