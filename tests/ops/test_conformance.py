"""Every registered operator against its own examples: infer, lower, grad, finite differences."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import mycelia  # noqa: F401  (registers every operator)
from mycelia.core.dtype import from_numpy
from mycelia.ir.example import Case
from mycelia.ir.types import TensorType
from mycelia.ops.op import REGISTRY, Op
from mycelia.tensor.tensor import Tensor

KEY = np.array([7, 11], np.uint32)


def _cases() -> list[Any]:
    return [
        pytest.param(op, example, id=f"{name}-{number}")
        for name, op in sorted(REGISTRY.items())
        for number, example in enumerate(op.examples)
    ]


def _differentiable_cases() -> list[Any]:
    return [p for p in _cases() if p.values[0].differentiable and p.values[1].differentiate]


def test_every_operator_has_examples_and_a_docstring():
    bare = [name for name, op in REGISTRY.items() if not op.examples or not op.__doc__]
    assert bare == []


@pytest.mark.parametrize(("cls", "example"), _cases())
def test_infer_says_what_lower_does(cls: type[Op], example: Case):
    op = cls(**example.fields)
    arrays = _with_key(op, example.arrays())
    types = tuple(_type_of(a) for a in arrays)
    lowered = _lower(op, arrays)
    if op.host_only:
        pytest.skip("the result type depends on values")
    inferred = op.infer(*types)
    if op.writes:
        inferred, lowered = inferred[0], lowered[0]
    assert _type_of_result(lowered) == inferred


@pytest.mark.parametrize(("cls", "example"), _cases())
def test_eager_call_gives_what_lower_gives(cls: type[Op], example: Case):
    op = cls(**example.fields)
    if op.draws:
        pytest.skip("random: two calls differ on purpose")
    arrays = example.arrays()
    lowered = _lower(op, arrays)
    result = op(*(_tensor_of(a) for a in arrays))
    if op.writes:
        lowered = lowered[0] if lowered[0] is not None else lowered[1][0]
    got, wanted = jax.tree.leaves(_plain(result)), jax.tree.leaves(lowered)
    assert len(got) == len(wanted)
    for one, other in zip(got, wanted, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(_wide(one), _wide(other), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("cls", "example"), _differentiable_cases())
def test_grad_is_the_derivative(cls: type[Op], example: Case):
    op = cls(**example.fields)
    arrays = tuple(_to_double(a) for a in _with_key(op, example.arrays()))
    data, static = op.arguments.split(arrays)
    chosen = [i for i, a in enumerate(data) if _is_inexact(a)]
    if not chosen:
        pytest.skip("no input with fractions")

    def forward(*inexact: Any) -> Any:
        full = list(data)
        for place, value in zip(chosen, inexact, strict=True):
            full[place] = value
        result = op.lower(*op.arguments.merge(tuple(full), static))
        return result[0] if op.writes else result

    inputs = [data[i] for i in chosen]
    out = jax.jit(forward)(*inputs)
    if not any(np.issubdtype(np.asarray(o).dtype, np.inexact) for o in jax.tree.leaves(out)):
        pytest.skip("no output with fractions")
    dout = _random_like(out)
    ours = op.grad(*(_tensor_of(a) for a in arrays), _tensor_of(_numpy(out)), _tensor_of(dout))
    assert isinstance(ours, tuple) and len(ours) == len(data), "grad returns one entry an argument"
    found = [_plain(ours[i]) for i in chosen]
    _against_vjp(forward, inputs, out, dout, found)
    _against_differences(forward, inputs, dout, found, example.tolerance)


def _against_vjp(forward: Any, inputs: Any, out: Any, dout: Any, found: Any) -> None:
    def real(o: Any, d: Any) -> Any:
        inexact = np.issubdtype(np.asarray(o).dtype, np.inexact)
        return d if inexact else np.zeros(o.shape, jax.dtypes.float0)

    pulled = jax.vjp(forward, *inputs)[1](jax.tree.map(real, out, dout))
    for one, other, x in zip(found, pulled, inputs, strict=True):
        if one is None:
            assert all(not np.any(leaf) for leaf in jax.tree.leaves(other)), "a gradient is missing"
            continue
        for a, b, leaf in zip(
            jax.tree.leaves(one), jax.tree.leaves(other), jax.tree.leaves(x), strict=True
        ):
            assert a.shape == leaf.shape
            assert a.dtype == leaf.dtype
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


def _against_differences(
    forward: Any, inputs: Any, dout: Any, found: Any, tolerance: float
) -> None:
    leaves, tree = jax.tree.flatten(list(inputs))
    if any(np.iscomplexobj(leaf) for leaf in leaves):
        return
    random = np.random.default_rng(3)
    directions = [random.standard_normal(leaf.shape) for leaf in leaves]

    def loss(step: float) -> float:
        moved = [leaf + step * d for leaf, d in zip(leaves, directions, strict=True)]
        out = jax.jit(forward)(*jax.tree.unflatten(tree, moved))
        return sum(
            float(np.sum(np.asarray(o) * d))
            for o, d in zip(jax.tree.leaves(out), jax.tree.leaves(dout), strict=True)
            if np.issubdtype(np.asarray(o).dtype, np.inexact)
        )

    step = 1e-5
    numeric = (loss(step) - loss(-step)) / (2 * step)
    grads = jax.tree.leaves(
        [f if f is not None else jax.tree.map(np.zeros_like, x) for f, x in zip(found, inputs)]
    )
    exact = sum(float(np.sum(g * d)) for g, d in zip(grads, directions, strict=True))
    assert exact == pytest.approx(numeric, rel=tolerance, abs=tolerance)


def _lower(op: Op, arrays: tuple[Any, ...]) -> Any:
    if op.host_only:
        return op.host(*arrays)
    data, static = op.arguments.split(arrays)
    return jax.jit(lambda *d: op.lower(*op.arguments.merge(d, static)))(*data)


def _with_key(op: Op, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
    if not op.draws:
        return arrays
    missing = [
        op.arguments.defaults[i]
        for i in range(len(arrays), len(op.arguments.names))
        if i in op.arguments.defaults
    ]
    return (*arrays, *missing, KEY)


def _is_array_tuple(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and any(_is_array(v) for v in value)


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape")


def _type_of(value: Any) -> Any:
    if _is_array_tuple(value):
        return tuple(_type_of(v) for v in value)
    if _is_array(value):
        return TensorType(from_numpy(value.dtype), tuple(value.shape))
    return value


def _type_of_result(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_type_of_result(v) for v in value)
    return _type_of(value)


def _tensor_of(value: Any) -> Any:
    if _is_array_tuple(value):
        return tuple(_tensor_of(v) for v in value)
    return Tensor._wrap(value) if _is_array(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_plain(v) for v in value)
    return np.asarray(value) if isinstance(value, Tensor) else value


def _numpy(value: Any) -> Any:
    return jax.tree.map(np.asarray, value)


def _wide(array: Any) -> Any:
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.name in ("bfloat16", "float16") else array


def _to_double(value: Any) -> Any:
    if _is_array_tuple(value):
        return tuple(_to_double(v) for v in value)
    if _is_array(value) and value.dtype in (np.float32, np.float16):
        return value.astype(np.float64)
    return value


def _is_inexact(value: Any) -> bool:
    leaves = jax.tree.leaves(value)
    return bool(leaves) and all(_is_array(v) and np.issubdtype(v.dtype, np.inexact) for v in leaves)


def _random_like(out: Any) -> Any:
    random = np.random.default_rng(5)

    def one(o: Any) -> Any:
        o = np.asarray(o)
        if np.iscomplexobj(o):
            return (random.standard_normal(o.shape) * (1 + 0.5j)).astype(o.dtype)
        return random.standard_normal(o.shape).astype(o.dtype)

    return jax.tree.map(one, out)
