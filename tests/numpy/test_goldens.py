"""mycelia.numpy against the results stored from the real MindSpore 2.10: values, shapes, dtypes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia as ms
import mycelia.numpy as mnp
from mycelia import Tensor
from tests.goldens.numpy_cases import CASES, name_of
from tests.goldens.operator_cases import draw

GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "numpy.npz")
NAMES = set(GOLDENS.files)
# These need numbers (how many elements are chosen), so they do not become one compiled graph.
NEEDS_NUMBERS = {"argwhere", "unique", "array_str"}


ALWAYS = 2  # so many cases of each function run in the quick suite, all in the slow one


def _parametrize(chosen: Any) -> list[Any]:
    seen: Counter[str] = Counter()
    found = []
    for n in chosen:
        name = name_of(CASES[n][0])
        seen[name] += 1
        marks = () if seen[name] <= ALWAYS else pytest.mark.slow
        found.append(pytest.param(n, id=f"{n}-{name}", marks=marks))
    return found


def test_every_case_has_a_golden():
    assert not [n for n in NAMES if n.endswith("refused")]
    assert all(f"{n}.0" in NAMES for n in range(len(CASES)))
    assert len({name_of(call) for call, _ in CASES}) >= 230


@pytest.mark.parametrize("number", _parametrize(range(len(CASES))))
def test_values_shapes_and_dtypes(number: int):
    call, specs = CASES[number]
    _assert_alike(call(mnp, *_tensors(number, specs)), number)


IN_GRAPHS = [
    n for n, (call, specs) in enumerate(CASES) if specs and name_of(call) not in NEEDS_NUMBERS
]


@pytest.mark.parametrize("number", _parametrize(IN_GRAPHS[::14]))
def test_graph_mode_gives_the_same(number: int):
    _assert_graph_gives_the_golden(number)


@pytest.mark.slow
@pytest.mark.parametrize("number", _parametrize(n for n in IN_GRAPHS if n not in IN_GRAPHS[::14]))
def test_graph_mode_gives_the_same_in_all_cases(number: int):
    _assert_graph_gives_the_golden(number)


def _assert_graph_gives_the_golden(number: int) -> None:
    call, specs = CASES[number]
    run = _native(call)

    def network(*tensors: Any) -> Any:
        return run(*tensors)

    _assert_alike(ms.jit(network)(*_tensors(number, specs)), number)


def _native(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call as framework code, so that the graph is read through mycelia.numpy alone."""

    def run(*tensors: Any) -> Any:
        return call(mnp, *tensors)

    run.__mycelia_native__ = True  # type: ignore[attr-defined]
    return run


def _tensors(number: int, specs: tuple[str, ...]) -> list[Tensor]:
    random = np.random.RandomState(number)
    return [Tensor(draw(s, random).array) for s in specs]


def _assert_alike(result: Any, number: int) -> None:
    found = [leaf if isinstance(leaf, str) else np.asarray(leaf) for leaf in _leaves(result)]
    wanted = [GOLDENS[f"{number}.{n}"] for n in range(len(found))]
    assert f"{number}.{len(found)}" not in NAMES
    for ours, golden in zip(found, wanted, strict=True):
        if isinstance(ours, str):
            assert ours == golden.item()
            continue
        assert (ours.dtype, ours.shape) == (golden.dtype, golden.shape)
        half = any(spec.startswith("f16") for spec in CASES[number][1])
        np.testing.assert_allclose(
            ours, golden, rtol=2e-3 if half else 3e-5, atol=1e-3 if half else 3e-5
        )


def _leaves(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in _leaves(part)]
    return [result]
