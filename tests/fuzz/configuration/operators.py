"""Every operator, by its own examples made larger, against its float64 lowering in plain forms."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from functools import cache
from math import prod
from typing import Any

import jax
import numpy as np

from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.ir.example import Case, is_tensor_spec
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.device import reference_implementations
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia._engine.runtime.eager.thread_mode import inlined
from mycelia.tensor.tensor import Tensor
from tests.fuzz.configuration.draws import around, flag
from tests.fuzz.configuration.results import is_real, leaves
from tests.fuzz.configuration.subject import Problem, Settings, Subject, Values

_SHAPE = re.compile(r"\[([\d,\s]*)\]")
_LARGEST, _MOST_OUTPUTS = 1 << 15, 20  # numbers of an argument, and results
# lengths and counts from which reductions, searches, and writes take other forms
_THRESHOLDS = (16, 64, 256, 1024, 8192, 16384)
_Path = tuple[int, ...]
_OTHER = {
    "NoRepeatNGram",
    "BitsAs",
}  # results that depend on the dtype: its largest number, its width
_UP_TO_SIGN = {"Eig", "Eigh", "Svd", "Qr", "GeneralizedEig"}  # each vector may be turned round


@cache
def _names() -> tuple[str, ...]:
    """The operators that give the same for the same arguments, and change none of them."""
    return tuple(
        sorted(
            name
            for name, op in REGISTRY.items()
            if op.examples and not (op.draws or op.writes or op.host_only or name in _OTHER)
        )
    )


def _draw(rng: random.Random) -> Settings:
    name = rng.choice(_names())
    number = rng.randrange(len(REGISTRY[name].examples))
    example = REGISTRY[name].examples[number]
    fixed = set(_numbers(example.args)) | {0, 1}  # these cannot tell which sizes belong together
    sizes = sorted({n for spec in _specs(example.args) for n in _shape(spec)} - fixed)
    return {"op": name, "example": number, "sizes": {str(n): _larger(rng, n) for n in sizes}}


def _larger(rng: random.Random, size: int) -> int:
    """The size, or a larger one: examples may depend on the least that they have."""
    if flag(rng, 0.4):
        return size
    if flag(rng, 0.2):
        return max(size, around(rng, *_THRESHOLDS))
    return size + rng.randint(1, 9)


def _specs(args: Any) -> Iterator[str]:
    """All tensors among the arguments of an example."""
    for arg in args:
        if is_tensor_spec(arg):
            yield arg
        elif isinstance(arg, tuple):
            yield from _specs(arg)


def _numbers(args: Any) -> Iterator[int]:
    """All plain whole numbers among the arguments of an example."""
    for arg in args:
        if isinstance(arg, int):
            yield arg
        elif isinstance(arg, tuple):
            yield from _numbers(arg)


def _shape(spec: str) -> tuple[int, ...]:
    found = _SHAPE.search(spec)
    return tuple(int(n) for n in found[1].split(",") if n.strip()) if found else ()


def _resized(spec: Any, sizes: dict[str, int], dtype: str) -> Any:
    """A specification with the sizes replaced, and float32 by the wanted dtype."""
    if isinstance(spec, tuple):
        return tuple(_resized(s, sizes, dtype) for s in spec)
    if not is_tensor_spec(spec):
        return spec
    shape = ",".join(str(sizes.get(str(n), n)) for n in _shape(spec))
    found = _SHAPE.sub(f"[{shape}]", spec, count=1)
    return "f64" + found[3:] if dtype == "float64" and found.startswith("f32") else found


def _example(settings: Settings, dtype: str) -> Case:
    found = REGISTRY[settings["op"]].examples[settings["example"]]
    return Case(
        tuple(_resized(spec, settings["sizes"], dtype) for spec in found.args),
        found.fields,
        found.differentiate,
        found.tolerance,
        found.constants,
        found.outputs,
    )


def _fits(settings: Settings) -> bool:
    """Whether the operator takes arguments of these sizes."""
    example = _example(settings, "float32")
    shapes = [_shape(spec) for spec in _specs(example.args)]
    if any(prod(shape) > _LARGEST for shape in shapes):
        return False
    original = REGISTRY[settings["op"]].examples[settings["example"]]
    if any(settings["sizes"].get(str(n), n) < n for s in _specs(original.args) for n in _shape(s)):
        return False
    op = REGISTRY[settings["op"]](**example.fields)
    try:
        op.infer(*[_type(arg) for arg in example.arrays()])
        found = _types(op, example)
        if len(jax.tree.leaves(found)) > _MOST_OUTPUTS:
            return False
        if op.differentiable and example.differentiate:
            jax.eval_shape(lambda out: _gradient(op, example, out), found)
    except (TypeError, ValueError, IndexError, ZeroDivisionError, RuntimeError):
        return False
    return True


def _gradient(op: Op, example: Case, out: Any) -> Any:
    """The gradients of a sum of the results, while JAX traces."""
    wrapped = jax.tree.map(Tensor._wrap, out)
    arguments = jax.tree.map(lambda a: Tensor._wrap(a) if _is_array(a) else a, example.arrays())
    with inlined():
        found = op.grad(*arguments, wrapped, wrapped)
    return [g._data for g in jax.tree.leaves(found) if isinstance(g, Tensor)]


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _type(value: Any) -> Any:
    if isinstance(value, tuple) and any(map(_is_array, value)):
        return tuple(_type(v) for v in value)
    if not _is_array(value):
        return value
    return TensorType(from_numpy(value.dtype), value.shape)


def _types(op: Op, example: Case) -> Any:
    """The shapes and dtypes of the results, as JAX sees them."""
    data, static = op.arguments.split(example.arrays())
    return jax.eval_shape(lambda *d: op.lower(*op.arguments.merge(d, static)), *data)


def _problem(settings: Settings, values: Values) -> Problem:
    example = _example(settings, values.name)
    op = REGISTRY[settings["op"]](**example.fields)
    arguments = example.arrays(int(values.random.integers(2**31)))
    paths = [*_paths(arguments)]
    inputs = tuple(_at(arguments, path) for path in paths)
    unsigned = settings["op"] in _UP_TO_SIGN
    order = 2 if not unsigned and op.differentiable and example.differentiate else 0
    kept = _kept_outputs(_types(op, example), example.outputs)
    order = order if any(is_real(a) for a in inputs) and (kept or not order) else 0
    counted = kept if order else None

    def call(*tensors: Any) -> Any:
        found = _chosen(op(*_put(arguments, paths, tensors)), counted)
        return [part.abs() for part in leaves(found)] if unsigned else found

    def lowered(*arrays: Any) -> Any:
        data, static = op.arguments.split(_put(arguments, paths, arrays))
        found = _chosen(op.lower(*op.arguments.merge(data, static)), counted)
        return [abs(part) for part in leaves(found)] if unsigned else found

    compiled = jax.jit(lowered)

    def reference(*arrays: Any) -> Any:
        with reference_implementations():
            return jax.tree.map(np.asarray, compiled(*arrays))

    constants = tuple(i for i, path in enumerate(paths) if path[0] in example.constants)
    return Problem(call, reference, inputs, order=order, constants=constants, is_kinked=True)


def _kept_outputs(types: Any, outputs: int | None) -> tuple[int, ...]:
    """The places of the outputs whose gradients count."""
    leaves = jax.tree.leaves(types)
    count = len(leaves) if outputs is None else outputs
    return tuple(i for i, leaf in enumerate(leaves[:count]) if is_real(leaf))


def _chosen(result: Any, kept: tuple[int, ...] | None) -> Any:
    if kept is None or not isinstance(result, (tuple, list)):
        return result
    parts = leaves(result)
    return tuple([parts[i] for i in kept])


def _paths(arguments: Any, prefix: _Path = ()) -> Iterator[_Path]:
    """Where the arrays are in nested tuples."""
    for i, arg in enumerate(arguments):
        if _is_array(arg):
            yield (*prefix, i)
        elif isinstance(arg, tuple):
            yield from _paths(arg, (*prefix, i))


def _at(arguments: Any, path: _Path) -> Any:
    for i in path:
        arguments = arguments[i]
    return arguments


def _put(arguments: Any, paths: list[_Path], found: Any) -> tuple[Any, ...]:
    """The arguments with the arrays replaced."""
    full = list(arguments)
    for number in range(len(paths)):
        first, *rest = paths[number]
        if rest:
            inner = list(full[first])
            inner[rest[0]] = found[number]
            full[first] = tuple(inner)
        else:
            full[first] = found[number]
    return tuple(full)


SUBJECTS = (Subject("operator", "operators", _draw, _problem, _fits),)
