"""Functions compiled apart: same results, a call of their own on CPU, nothing special elsewhere."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mycelia._engine.kernels.fusion_barrier import fusion_barrier

X = np.arange(6, dtype=np.float32)


@fusion_barrier("times")
def _scaled(x: Any, times: int) -> Any:
    """Numbers that count, scaled."""
    return jnp.where(x > 1, x, 0) * times


def _program(x: Any) -> Any:
    return _scaled(x + 1, 3) - 1


def test_a_function_apart_gives_what_it_gave():
    np.testing.assert_array_equal(_program(X), [-1, 5, 8, 11, 14, 17])
    np.testing.assert_array_equal(jax.jit(_program)(X), [-1, 5, 8, 11, 14, 17])
    assert _scaled.__doc__ == "Numbers that count, scaled."


def test_it_stays_a_call_of_its_own_in_the_compiled_program():
    compiled = jax.jit(_program).lower(X).compile().as_text()
    assert compiled.count(" call(") == 1


def test_gradients_and_batches_go_through_it():
    np.testing.assert_array_equal(jax.grad(lambda x: _program(x).sum())(X), [0, 3, 3, 3, 3, 3])
    many = jax.vmap(_program)(np.stack([X, X]))
    np.testing.assert_array_equal(many[1], _program(X))


def test_on_other_devices_nothing_is_marked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert "inlineable" not in jax.jit(lambda x: _program(x)).lower(X).as_text()
