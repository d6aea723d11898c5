"""Running a layer on fixed weights and inputs, with whichever framework is passed in.

The same cases run on the real MindSpore (to make the goldens) and on Mycelia (to compare).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Layer = Callable[[Any], Any]  # makes a layer of the framework it is given
Case = tuple[Layer, tuple[Any, ...], dict[str, Any]]  # the layer, its inputs, its keyword inputs


def draw(shape: tuple[int, ...], seed: int, low: float = -1.0, high: float = 1.0) -> np.ndarray:
    """Fixed numbers between `low` and `high`."""
    return np.random.RandomState(seed).uniform(low, high, shape).astype(np.float32)


def results(ms: Any, case: Case) -> dict[str, np.ndarray]:
    """Outputs, and the gradients of inputs and weights for fixed gradients of the outputs."""
    build, given, named = case
    layer = build(ms)
    weights = _fix_weights(ms, layer)
    arrays: list[np.ndarray] = []
    structure = _take_floats(given, arrays)
    keywords = {name: _tensor(ms, value) for name, value in named.items()}

    def run(*floats: Any) -> Any:
        return layer(*_put_back(ms, structure, floats), **keywords)

    def weighted_sum(*floats: Any) -> Any:
        parts = [(out * _cotangent(ms, out)).sum() for out in _flat(run(*floats))]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    inputs = [ms.Tensor(a) for a in arrays]
    found = {f"out.{n}": out.asnumpy() for n, out in enumerate(_flat(run(*inputs)))}
    positions = tuple(range(len(inputs)))
    by_input, by_weight = ms.grad(weighted_sum, positions, weights or None)(*inputs), ()
    if weights:
        by_input, by_weight = by_input
    if len(inputs) == 1 and not isinstance(by_input, tuple):
        by_input = (by_input,)
    found |= {f"input.{n}": g.asnumpy() for n, g in enumerate(by_input)}
    found |= {f"weight.{w.name}": g.asnumpy() for w, g in zip(weights, by_weight)}
    return found


def store(ms: Any, cases: dict[str, Case], script: str) -> None:
    """Write what all cases give beside `script`: make_x.py writes x.npz."""
    found = {}
    for name, case in cases.items():
        for key, array in results(ms, case).items():
            found[f"{name}/{key}"] = array
    target = Path(script).with_name(Path(script).stem.removeprefix("make_") + ".npz")
    np.savez_compressed(target, **found)
    print(f"{len(cases)} cases, {target.stat().st_size // 1024} KB")


def compare(ms: Any, cases: dict[str, Case], goldens: Any, name: str) -> None:
    """Fail unless the framework gives what is stored for the case."""
    found = results(ms, cases[name])
    expected = {k.split("/", 1)[1]: goldens[k] for k in goldens.files if k.startswith(name + "/")}
    assert sorted(found) == sorted(expected)
    for key, array in expected.items():
        assert found[key].dtype == array.dtype, key
        np.testing.assert_allclose(found[key], array, rtol=1e-5, atol=1e-5, err_msg=key)


def _fix_weights(ms: Any, layer: Any) -> list[Any]:
    weights = list(layer.trainable_params()) if hasattr(layer, "trainable_params") else []
    for number, weight in enumerate(weights):
        bound = 1 / np.sqrt(max(weight.shape[-1], 1))
        weight.set_data(ms.Tensor(draw(weight.shape, 1000 + number, -bound, bound)))
    return weights


def _take_floats(value: Any, arrays: list[np.ndarray]) -> Any:
    """`value` with each float array replaced by its place in `arrays`, where it is put."""
    if isinstance(value, tuple):
        return tuple(_take_floats(v, arrays) for v in value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        arrays.append(value)
        return _Place(len(arrays) - 1)
    return value


@dataclass(frozen=True)
class _Place:
    number: int


def _put_back(ms: Any, structure: Any, floats: tuple[Any, ...]) -> Any:
    if isinstance(structure, tuple):
        return tuple(_put_back(ms, part, floats) for part in structure)
    return floats[structure.number] if isinstance(structure, _Place) else _tensor(ms, structure)


def _tensor(ms: Any, value: Any) -> Any:
    return ms.Tensor(value) if isinstance(value, np.ndarray) else value


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in _flat(part)]
    return [value]


def _cotangent(ms: Any, out: Any) -> Any:
    size = int(np.prod(out.shape))
    return ms.Tensor(np.cos(np.arange(size)).reshape(out.shape).astype(np.float32))
