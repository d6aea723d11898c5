"""Every registered operator against its own examples: infer, lower, grad, finite differences."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mycelia  # noqa: F401  (registers every operator)
from mycelia._engine.ir.example import Case
from mycelia._engine.operators.operator import REGISTRY, Op
from mycelia._engine.runtime.eager.thread_mode import inlined
from mycelia.tensor.tensor import Tensor
from tests.ops.abstract import abstract, is_array, is_array_tuple, type_of, type_of_result, with_key

READY = "lhs_spec=(0, 3, 1, 2), rhs_spec=(3, 2, 0, 1), out_spec=(0, 3, 1, 2)"  # for XLA's kernel


def _is_inexact(value: Any) -> bool:
    leaves = jax.tree.leaves(value)
    return bool(leaves) and all(is_array(v) and np.issubdtype(v.dtype, np.inexact) for v in leaves)


def _cases() -> list[Any]:
    """The second and later examples of an operator are for slow runs only."""
    return [
        pytest.param(op, example, id=f"{name}-{number}", marks=[pytest.mark.slow] * (number > 0))
        for name, op in sorted(REGISTRY.items())
        for number, example in enumerate(op.examples)
    ]


def _differentiable_cases() -> list[Any]:
    """Every third of them is for slow runs only."""
    found = [
        p
        for p in _cases()
        if p.values[0].differentiable
        and p.values[1].differentiate
        and any(_is_inexact(a) for a in p.values[1].arrays())
    ]
    return [
        pytest.param(*p.values, id=p.id, marks=[*p.marks, *[pytest.mark.slow] * (place % 3 == 2)])
        for place, p in enumerate(found)
    ]


def test_every_operator_has_examples_and_a_docstring():
    bare = [name for name, op in REGISTRY.items() if not op.examples or not op.__doc__]
    assert set(bare) == {"Send", "Receive"}  # two processes run them: tests/communication


@pytest.mark.parametrize(("cls", "example"), [p for p in _cases() if not p.values[0].host_only])
def test_infer_and_eager_agree_with_lower(cls: type[Op], example: Case):
    op = cls(**example.fields)
    arrays = with_key(op, example.arrays())
    lowered = abstract(op, arrays)
    inferred = op.infer(*(type_of(a) for a in arrays))
    if op.writes:
        inferred, lowered = inferred[0], lowered[0]
    assert type_of_result(lowered) == inferred
    result = op(*(_tensor_of(a) for a in example.arrays()))
    if inferred is not None:
        assert type_of_result(_plain(result)) == inferred


@pytest.mark.parametrize(
    ("cls", "example"), [p for p in _cases() if p.values[0].host and not p.values[0].host_only]
)
def test_the_host_kernel_gives_what_lower_gives(cls: type[Op], example: Case):
    op = cls(**example.fields)
    arrays = example.arrays()
    data, static = op.arguments.split(arrays)
    lowered = jax.jit(lambda *d: op.lower(*op.arguments.merge(d, static)))(*data)
    result = op(*(_tensor_of(a) for a in arrays))
    for one, other in zip(jax.tree.leaves(_plain(result)), jax.tree.leaves(lowered), strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("cls", "example"), [p for p in _cases() if not p.values[0].host_only])
def test_operators_say_that_they_convolve(cls: type[Op], example: Case):
    op = cls(**example.fields)
    data, static = op.arguments.split(with_key(op, example.arrays()))
    traced = str(jax.make_jaxpr(lambda *d: op.lower(*op.arguments.merge(d, static)))(*data))
    convolutions = traced.count("conv_general_dilated[")
    assert op.convolves or convolutions == traced.count(READY), "XLA rearranges a convolution"


@pytest.mark.parametrize(("cls", "example"), _differentiable_cases())
def test_grad_is_the_derivative(cls: type[Op], example: Case):
    op = cls(**example.fields)
    arrays = tuple(_to_double(a) for a in with_key(op, example.arrays()))
    data, static = op.arguments.split(arrays)
    chosen = [i for i, a in enumerate(data) if _is_inexact(a) and i not in example.constants]

    def forward(*inexact: Any) -> Any:
        full = list(data)
        for place, value in zip(chosen, inexact, strict=True):
            full[place] = value
        result = op.lower(*op.arguments.merge(tuple(full), static))
        return result[0] if op.writes else result

    inputs = [data[i] for i in chosen]
    shapes = jax.eval_shape(forward, *inputs)
    if not any(np.issubdtype(o.dtype, np.inexact) for o in jax.tree.leaves(shapes)):
        pytest.skip("no output with fractions")
    dout = _random_like(shapes, example.outputs)
    out, pulled = jax.jit(lambda *x: _pulled(forward, x, dout))(*inputs)
    ours = jax.jit(lambda d, o: _our_grad(op, d, static, o, dout))(data, out)
    assert len(ours) == len(data), "grad returns one entry an argument"
    assert all(ours[i] is None or not np.any(ours[i]) for i in example.constants)
    found = [ours[i] for i in chosen]
    _assert_same_gradients(found, pulled, inputs)
    _against_differences(forward, inputs, dout, found, example.tolerance)


def _our_grad(op: Op, data: Any, static: Any, out: Any, dout: Any) -> Any:
    """The gradient rule as the compiled backward pass runs it."""
    with inlined():
        inputs = op.arguments.merge(tuple(_tensor_of(d) for d in data), static)
        grads = op.grad(*inputs, _tensor_of(out), _tensor_of(dout))
    assert isinstance(grads, tuple)
    return _plain(grads)


def _pulled(forward: Any, inputs: Any, dout: Any) -> Any:
    def real(o: Any, d: Any) -> Any:
        inexact = np.issubdtype(o.dtype, np.inexact)
        return d if inexact else np.zeros(o.shape, jax.dtypes.float0)

    out, pull = jax.vjp(forward, *inputs)
    return out, pull(jax.tree.map(real, out, dout))


def _assert_same_gradients(found: Any, pulled: Any, inputs: Any) -> None:
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

    @jax.jit
    def loss(step: float) -> Any:
        moved = [leaf + step * d for leaf, d in zip(leaves, directions, strict=True)]
        out = forward(*jax.tree.unflatten(tree, moved))
        pairs = zip(jax.tree.leaves(out), jax.tree.leaves(dout), strict=True)
        inexact = [(o, d) for o, d in pairs if jnp.issubdtype(o.dtype, jnp.inexact)]
        return sum(jnp.sum(jnp.real(o * d)) for o, d in inexact)

    step = 1e-5
    numeric = float(loss(step) - loss(-step)) / (2 * step)
    grads = jax.tree.leaves(
        [f if f is not None else jax.tree.map(np.zeros_like, x) for f, x in zip(found, inputs)]
    )
    exact = sum(float(np.sum(g * d)) for g, d in zip(grads, directions, strict=True))
    assert exact == pytest.approx(numeric, rel=tolerance, abs=tolerance)


def _tensor_of(value: Any) -> Any:
    if is_array_tuple(value):
        return tuple(_tensor_of(v) for v in value)
    return Tensor._wrap(value) if is_array(value) else value


def _plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return tuple(_plain(v) for v in value)
    return value._data if isinstance(value, Tensor) else value


def _to_double(value: Any) -> Any:
    if is_array_tuple(value):
        return tuple(_to_double(v) for v in value)
    if is_array(value) and value.dtype in (np.float32, np.float16):
        return value.astype(np.float64)
    return value


def _random_like(out: Any, outputs: int | None) -> Any:
    """Random gradients for the outputs that count, zeros for the others."""
    random = np.random.default_rng(5)
    leaves, tree = jax.tree.flatten(out)

    def one(place: int, o: Any) -> Any:
        if outputs is not None and place >= outputs:
            return np.zeros(o.shape, o.dtype)
        factor = 1 + 0.5j if np.issubdtype(o.dtype, np.complexfloating) else 1
        return (random.standard_normal(o.shape) * factor).astype(o.dtype)

    return jax.tree.unflatten(tree, [one(place, o) for place, o in enumerate(leaves)])
