"""Operators with arguments unlike their examples': types are inferred as kernels give them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.core.shape import Shape
from mycelia._engine.core.tracebacks import is_explained
from mycelia._engine.ir.rule_errors import RULE_ERRORS, shown_type
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia.tensor.promotion import promote
from mycelia.tensor.tensor import Tensor
from tests.ops.abstract import abstract, is_array_tuple, type_of, type_of_result, with_key

SECONDS = 60
_CHANGES = ("size", "size", "size", "zero", "one", "drop", "add", "dtype", "dtype")
_DTYPES = (
    "float32", "float64", "float16", "int32", "int64", "uint8", "bool", "complex64", "int8",
)  # fmt: skip

Place = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """An example of an operator, with other types of some arguments: (place, dtype, shape)."""

    operator: str
    example: int
    changes: tuple[tuple[Place, str, Shape], ...]


def generate(rng: random.Random) -> Case:
    """A random example with changed arguments."""
    return of_operator(rng.choice(operators()), rng)


def of_operator(name: str, rng: random.Random) -> Case:
    """The same for one operator: an argument is changed, or all arguments like it, or two."""
    number = rng.randrange(len(REGISTRY[name].examples))
    kinds = {
        p: (a.dtype.name, a.shape) for p, a in _places(REGISTRY[name].examples[number].arrays())
    }
    changes: dict[Place, tuple[str, Shape]] = {}
    for _ in range(rng.choice((1, 1, 1, 2)) if kinds else 0):
        place = rng.choice([*kinds])
        alike = [p for p in kinds if kinds[p] == kinds[place]] if rng.random() < 0.25 else [place]
        changes |= dict.fromkeys(alike, _changed(rng, *kinds[place]))
    return Case(name, number, tuple((p, *changes[p]) for p in sorted(changes)))


def check(case: Case) -> str:
    """Whether the types of results are those of the kernel, and refusals explain themselves."""
    example = REGISTRY[case.operator].examples[case.example]
    op, arrays = REGISTRY[case.operator](**example.fields), example.arrays()
    for place, dtype, shape in case.changes:
        arrays = _put(arrays, place, np.zeros(shape, dtype))
    try:
        arrays = with_key(op, _promoted(op, arrays))
    except Exception as error:  # of any kind: that is what is judged, here and below
        return "" if is_explained(error) else _fault(op, "unclear promotion", error, arrays)
    types = tuple(type_of(a) for a in arrays)
    try:
        inferred = op.infer(*types)
    except Exception as error:
        is_clear = is_explained(error) or (_has_no_rule(op) and isinstance(error, RULE_ERRORS))
        return "" if is_clear else _fault(op, "an unclear error", error, types)
    try:
        lowered = type_of_result(abstract(op, arrays))
    except Exception as error:
        return _fault(op, "the kernel refuses what infer accepts", error, types)
    if lowered != inferred:
        text = f"inferred {shown_type(inferred)}, but the kernel gives {shown_type(lowered)}"
        return _fault(op, "a wrong type", text, types)
    return ""


def smaller(case: Case) -> Iterator[Case]:
    """Fewer changes."""
    for i in range(len(case.changes)):
        if len(case.changes) > 1:
            yield replace(case, changes=case.changes[:i] + case.changes[i + 1 :])


def label(case: Case) -> str:
    return "operators"


def operators() -> list[str]:
    """The operators whose results have types that do not depend on values."""
    return [name for name, op in sorted(REGISTRY.items()) if op.examples and not op.host_only]


def _has_no_rule(op: Op) -> bool:
    """Whether types are inferred from the kernel; what calls it then explains its errors."""
    return type(op).infer is Op.infer


def _fault(op: Op, what: str, found: Any, types: Any) -> str:
    said = f"{type(found).__name__}: {found}" if isinstance(found, Exception) else found
    return f"{op.name}: {what}\n{op!r} of {shown_type(types)}\n{said}"


def _promoted(op: Op, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments in one dtype, as a call brings them there."""
    if not op.promotes:
        return arrays
    data, static = op.arguments.bind(op.name, _wrapped(arrays), {})
    return op.arguments.merge(_unwrapped(promote(op, data)), static)


def _wrapped(value: Any) -> Any:
    if isinstance(value, tuple) and (is_array_tuple(value) or any(map(is_array_tuple, value))):
        return tuple([_wrapped(v) for v in value])
    return Tensor._wrap(value) if isinstance(value, np.ndarray) else value


def _unwrapped(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_unwrapped(v) for v in value])
    return value._data if isinstance(value, Tensor) else value


def _places(value: Any, place: Place = ()) -> Iterator[tuple[Place, np.ndarray]]:
    """All arrays among arguments, each with the way to it."""
    if isinstance(value, np.ndarray):
        yield place, value
    elif isinstance(value, tuple):
        for i, part in enumerate(value):
            yield from _places(part, (*place, i))


def _put(value: Any, place: Place, array: np.ndarray) -> Any:
    if not place:
        return array
    first, *rest = place
    return tuple([_put(v, tuple(rest), array) if i == first else v for i, v in enumerate(value)])


def _changed(rng: random.Random, dtype: str, shape: Shape) -> tuple[str, Shape]:
    """Another dtype, another size, or an axis more or less."""
    change, sizes = rng.choice(_CHANGES), list(shape)
    if change == "dtype":
        return rng.choice(_DTYPES), shape
    if change == "add":
        sizes.insert(rng.randint(0, len(sizes)), rng.choice((1, 2)))
    elif sizes:
        axis = rng.randrange(len(sizes))
        near = max(0, sizes[axis] + rng.choice((-1, 1, 2)))
        sizes[axis : axis + 1] = {"drop": [], "zero": [0], "one": [1]}.get(change, [near])
    return dtype, tuple(sizes)
