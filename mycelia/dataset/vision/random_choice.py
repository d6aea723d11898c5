"""Transforms that choose among the user's transforms for each image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_int, check_number, check_steps, wrong_type
from mycelia.dataset.transforms.transform import run_step
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.image import ImageTransform


@dataclass(frozen=True, eq=False)
class _RandomImageTransform(ImageTransform):
    """Base class: random steps on the image of one column."""

    is_random = True

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[Any, ...]:
        if len(values) != 1:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: requires one column",
                got=f"{len(values)} columns",
            )
        made: Any = tuple(np.array(value) if P.is_pillow(value) else value for value in values)
        for step in self.chosen(random):
            made = run_step(step, made, random)
        return made

    def chosen(self, random: Any) -> list[Any]:
        """The steps for this image."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class RandomSelectSubpolicy(_RandomImageTransform):
    """Picks one list of (transform, prob) pairs and applies each with its own probability."""

    policy: list[list[tuple[Any, float]]]

    def __post_init__(self) -> None:
        _check_full_list("policy", self.policy)
        for index, subpolicy in enumerate(self.policy):
            _check_full_list(f"policy[{index}]", subpolicy)
            for at, entry in enumerate(subpolicy):
                _check_entry(f"policy[{index}][{at}]", entry)

    def chosen(self, random: Any) -> list[Any]:
        subpolicy = self.policy[int(random.integers(len(self.policy)))]
        return [step for step, prob in subpolicy if random.random() < prob]

    def parameters(self) -> dict[str, Any]:
        return {
            "policy": [
                [{"prob": float(prob), "tensor_op": step} for step, prob in subpolicy]
                for subpolicy in self.policy
            ]
        }


def _check_full_list(argument: str, value: Any) -> None:
    if not isinstance(value, list):
        raise wrong_type(argument, value, "list")
    if not value:
        raise problem(ValueError, f"{argument}: the list is empty")


def _check_entry(argument: str, entry: Any) -> None:
    if not isinstance(entry, tuple) or len(entry) != 2:
        raise problem(
            ValueError, f"{argument}: must be a pair", got=repr(entry), expected="(transform, prob)"
        )
    step, prob = entry
    if not callable(step):
        raise problem(TypeError, f"{argument}: must be a transform or a function", got=repr(step))
    if not isinstance(prob, bool) and not is_number(prob):
        raise wrong_type(f"{argument}[1]", prob, "float or int")
    check_number(f"{argument}[1]", float(prob), 0, 1)


@dataclass(frozen=True, eq=False)
class UniformAugment(_RandomImageTransform):
    """Picks `num_ops` of the transforms, in order, and applies each with probability 0.5.

    After LingChen et al., "UniformAugment: A search-free probabilistic data augmentation
    approach", 2020.
    """

    transforms: Any
    num_ops: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.transforms, (list, tuple)):
            raise wrong_type("transforms", self.transforms, "list or tuple")
        check_steps("transforms", list(self.transforms))
        check_int("num_ops", self.num_ops, 1)
        if self.num_ops > len(self.transforms):
            raise problem(
                ValueError,
                "UniformAugment: num_ops is larger than the list of transforms",
                got=f"num_ops={self.num_ops}",
                expected=f"at most {len(self.transforms)}",
            )

    def chosen(self, random: Any) -> list[Any]:
        indices = np.sort(random.choice(len(self.transforms), self.num_ops, replace=False))
        return [self.transforms[index] for index in indices if random.random() < 0.5]

    def parameters(self) -> dict[str, Any]:
        return {"num_ops": self.num_ops, "transforms": list(self.transforms)}
