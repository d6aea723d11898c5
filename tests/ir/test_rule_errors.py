"""What users read when the kernel of an operator fails for arguments that its types allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor
from mycelia._engine.ir.types import TensorType
from mycelia.ops.control.custom import PrimitiveWithInfer

X, Y = Tensor(np.ones((2, 3), np.float32)), Tensor(np.ones(4, np.float32))


class Careless(PrimitiveWithInfer):
    """A sum whose types say nothing about sizes that do not broadcast."""

    def infer_shape(self, x: Any, y: Any) -> Any:
        return x

    def infer_dtype(self, x: Any, y: Any) -> Any:
        return x

    def lower(self, x: Any, y: Any) -> Any:
        return jnp.add(x, y)


class CarelessBackwards(Careless):
    """A sum whose gradient has sizes that do not broadcast."""

    def lower(self, x: Any, y: Any) -> Any:
        return x

    def bprop(self, x: Any, y: Any, out: Any, dout: Any) -> Any:
        return Careless()(dout, y), y


def run(x: Tensor, y: Tensor) -> Any:
    return Careless()(x, y)


def inside_of_a_branch(x: Tensor, y: Tensor) -> Any:
    return Careless()(x, y) if x.sum() > 0 else x


def backwards(x: Tensor, y: Tensor) -> Any:
    return CarelessBackwards()(x, y)


@pytest.mark.parametrize(
    "fn",
    [
        run,
        ms.jit(run),
        ms.jit(inside_of_a_branch),
        ms.grad(run),
        ms.grad(backwards),
        ms.jit(ms.grad(backwards)),
    ],
)
def test_the_error_of_a_kernel_names_operator_types_and_line(fn: Callable[..., Any]):
    with pytest.raises((TypeError, ValueError), match="Careless: .*broadcast") as caught:
        fn(X, Y)
    text = str(caught.value)
    assert "called with f32[2,3], f32[4]" in text
    assert "test_rule_errors.py" in text
    assert "jax" not in text


def test_an_error_of_ours_stays_as_it_is():
    class Refusing(Careless):
        def lower(self, x: Any, y: Any) -> Any:
            return ms.ops.MatMul().infer(*map(_type, (x, y)))

    with pytest.raises(ValueError, match="^MatMul: the inner sizes"):
        Refusing()(X, X)


def _type(x: Any) -> Any:
    return TensorType(ms.float32, x.shape)
