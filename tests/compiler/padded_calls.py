"""Calls of single operators at several sizes, made from the operators' own examples."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.buckets import make_bucket, make_padded_call, sizes_for
from mycelia._engine.compiler.dynamic_shapes.rules import may_hold_extents, rule_of
from mycelia._engine.compiler.frontend.trace_function import TracedProgram, trace
from mycelia._engine.compiler.frontend.type_inference import result_type
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    SequenceStructure,
    Structure,
    TensorStructure,
)
from mycelia._engine.core.dtype import from_numpy
from mycelia._engine.ir.example import Case, is_tensor_spec
from mycelia._engine.ir.types import TensorType
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia._engine.runtime.xla.lowering import LoweredGraph
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.grad import grad

_SHAPE = re.compile(r"\[([\d,]*)\]")


@dataclass(frozen=True)
class Call:
    """An operator with an example, in which the first axes of one size become dynamic."""

    name: str
    case: Case
    size: int

    def at(self, size: int) -> tuple[Op, Case]:
        """The operator and the example with another number for the size."""
        made = REGISTRY[self.name]
        sized = may_hold_extents(made.__new__(made))
        fields = {
            k: _changed(v, self.size, size) if k in sized else v
            for k, v in self.case.fields.items()
        }
        names = made.arguments.names
        args = tuple(
            _changed(a, self.size, size) if i < len(names) and names[i] in sized else a
            for i, a in enumerate(self.case.args)
        )
        args = tuple(_resized(a, self.size, size) for a in args)
        return made(**fields), replace(self.case, args=args, fields=fields)

    def __str__(self) -> str:
        return f"{self.name}-{self.case.args}-{self.case.fields}-{self.size}"


def calls() -> Iterator[Call]:
    """Every example of an operator that has a rule, by the size of its first axis."""
    for name, op in sorted(REGISTRY.items()):
        for case in op.examples:
            shapes = [t.shape for t in types_in(case.types()) if t.shape]
            if shapes and shapes[0][0] > 0 and rule_of(op(**case.fields)) is not None:
                yield Call(name, case, shapes[0][0])


def seeds_of(op: Op, case: Case) -> tuple[np.ndarray, ...]:
    """An array for each floating-point result of an operator."""
    whole = case.types()
    data, static = (whole, ()) if op.arguments.variadic else op.arguments.split(whole)
    found = result_type(op, tuple(data), tuple(static))
    random = np.random.default_rng(9)
    return tuple(
        random.normal(size=t.shape).astype(t.dtype.numpy)
        for t in types_in(found[0] if op.writes else found)
        if t.dtype.is_float
    )


def types_in(value: Any) -> list[TensorType]:
    """The types in a tuple of types, in order."""
    if isinstance(value, TensorType):
        return [value]
    return [t for part in value for t in types_in(part)] if isinstance(value, tuple) else []


def _resized(spec: Any, old: int, new: int) -> Any:
    if is_tensor_spec(spec):
        text, colon, domain = spec.partition(":")
        shape = _SHAPE.sub(lambda m: "[" + ",".join(_each(m[1], old, new)) + "]", text)
        return shape + colon + domain
    return tuple(_resized(s, old, new) for s in spec) if isinstance(spec, tuple) else spec


def _each(text: str, old: int, new: int) -> list[str]:
    first, *rest = [n for n in text.split(",") if n] or [""]
    return [str(new) if first == str(old) else first, *rest]


def _changed(value: Any, old: int, new: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_changed(v, old, new) if i == 0 else v for i, v in enumerate(value))
    return new if type(value) is int and value == old else value


def form_of(value: Any) -> Structure:
    """The form of an array, a tuple of arrays, or a value that is known."""
    if isinstance(value, np.ndarray):
        return TensorStructure(TensorType(from_numpy(value.dtype), value.shape))
    if isinstance(value, tuple):
        return SequenceStructure(tuple, tuple(form_of(v) for v in value))
    return ConstantStructure(value)


def leaves_of(value: Any) -> list[np.ndarray]:
    """The arrays in a value, in order."""
    if isinstance(value, np.ndarray):
        return [value]
    return [leaf for part in value for leaf in leaves_of(part)] if isinstance(value, tuple) else []


def reading_of(fn: Callable[..., Any], args: tuple[Any, ...]) -> TracedProgram:
    return trace(fn, "call", SequenceStructure(tuple, (form_of(args), ConstantStructure({}))))


def padded_and_real(functions: Any, arguments: Any, real: int) -> tuple[list[Any], list[Any]]:
    """The results of the bucket's program with garbage as padding, and of the exact program.

    `functions` and `arguments` have one entry for each of the three readings.
    """
    sizes = sizes_for((real,))
    readings = [reading_of(f, a) for f, a in zip(functions, arguments, strict=True)]
    bucket = make_bucket(sizes, *readings)
    found = make_padded_call(bucket, sizes, readings[0])
    leaves = leaves_of(arguments[0])
    padded = [_with_garbage(bucket.shapes, i, leaf) for i, leaf in enumerate(leaves)]
    given = [*padded, *found.extra]
    program = bucket.program
    results = LoweredGraph(program.graph)(*[given[i.which] for i in program.inputs])
    plain = readings[0].plain
    expected = LoweredGraph(plain.graph)(*[leaves[i.which] for i in plain.inputs])
    return found.cut(list(results[: plain.results])), list(expected[: plain.results])


def _with_garbage(shapes: dict[int, Any], number: int, leaf: np.ndarray) -> np.ndarray:
    if number not in shapes:
        return leaf
    garbage = np.full(shapes[number], _garbage(leaf.dtype), leaf.dtype)
    garbage[tuple(map(slice, leaf.shape))] = leaf
    return garbage


def _garbage(dtype: np.dtype[Any]) -> Any:
    if dtype.kind in "iu":
        return 100
    return True if dtype.kind == "b" else np.nan


def forward(op: Op) -> Callable[..., Any]:
    """The operator as a function."""
    return lambda *args: op(*args)


def backward(op: Op, places: list[int]) -> Callable[..., Any]:
    """The gradients of an operator for the arguments at `places`; the last argument is a seed."""

    def run(*args: Any) -> Any:
        *inputs, seeds = args

        def total(*chosen: Any) -> Any:
            full = list(inputs)
            for place, value in zip(places, chosen, strict=True):
                full[place] = value
            found = _floats(op(*full))
            return sum([(f * s).sum() for f, s in zip(found, seeds, strict=True)], 0.0)

        return grad(total, tuple(range(len(places))))(*[inputs[p] for p in places])

    return run


def _floats(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [f for part in value for f in _floats(part)]
    return [value] if isinstance(value, Tensor) and value.dtype.is_float else []
