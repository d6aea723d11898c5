"""Values, gradients, and second gradients of a problem, in each mode, amid garbage in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import mycelia as ms
from tests.fuzz.configuration.subject import Problem

PARTS = ("value", "gradient", "second gradient")
_BLOCKS = tuple(1 << power for power in range(10, 22))  # numbers of the blocks of garbage

Results = tuple[list[np.ndarray], ...]


@dataclass(frozen=True)
class Directions:
    """What the derivatives are taken along; one array for each output or argument."""

    outputs: tuple[np.ndarray, ...]  # the weights of the outputs in a sum
    arguments: tuple[np.ndarray, ...]  # the weights of the gradients in a sum


def results(problem: Problem, along: Directions, *, compiled: bool) -> Results:
    """Values, gradients of the weighted sum of values, gradients of the weighted sum of those.

    The last are those of the arguments, then of the weights of the outputs, then of the weights
    of the problem.
    """
    run = _everything(problem)
    if compiled:
        run = ms.jit(run)
    arguments = _tensors(problem.inputs), _tensors(along.outputs), _tensors(along.arguments)
    return tuple([np.array(t.asnumpy()) for t in part] for part in run(*arguments))


def litter(value: float) -> None:
    """Leave freed memory full of `value`: what reads it by mistake shows."""
    blocks = [np.full(count, value, np.float32) for count in _BLOCKS]
    del blocks


def differentiated(problem: Problem) -> list[int]:
    """Which inputs have gradients."""
    return [i for i, a in enumerate(problem.inputs) if i not in problem.constants and is_real(a)]


def is_real(array: np.ndarray) -> bool:
    """Whether it holds fractions, of any precision."""
    return array.dtype.kind not in "biuc"


def leaves(found: Any) -> tuple[Any, ...]:
    """All tensors of nested tuples, in their order."""
    if not isinstance(found, (tuple, list)):
        return (found,)
    gathered = ()
    for part in found:
        gathered = gathered + leaves(part)
    return gathered


def _everything(problem: Problem) -> Callable[..., Any]:
    call, weights = problem.call, list(problem.weights)
    order = problem.order
    places = differentiated(problem)

    def put(inputs: Any, chosen: Any) -> Any:
        """The inputs, the differentiated ones replaced."""
        full = list(inputs)
        for i in range(len(places)):
            full[places[i]] = chosen[i]
        return full

    def values_only(inputs: Any, outputs: Any, arguments: Any) -> Any:
        return leaves(call(*inputs)), (), ()

    def with_gradients(inputs: Any, outputs: Any, arguments: Any) -> Any:
        def value(*chosen: Any) -> Any:
            return leaves(call(*put(inputs, chosen)))

        found, pull = ms.vjp(value, *[inputs[i] for i in places], weights=weights)
        return leaves(found), leaves(pull(outputs)), ()

    def everything(inputs: Any, outputs: Any, arguments: Any) -> Any:
        def value(*chosen: Any) -> Any:
            return leaves(call(*put(inputs, chosen)))

        def gradient(*chosen: Any) -> Any:
            _, pull = ms.vjp(value, *chosen[: len(places)], weights=weights)
            return leaves(pull(chosen[len(places) :]))

        chosen = [inputs[i] for i in places]
        found, second = ms.vjp(gradient, *chosen, *outputs, weights=weights)
        return value(*chosen), leaves(found), leaves(second(arguments))

    return (values_only, with_gradients, everything)[order]


def _tensors(arrays: tuple[np.ndarray, ...]) -> tuple[ms.Tensor, ...]:
    return tuple(ms.Tensor(a) for a in arrays)
