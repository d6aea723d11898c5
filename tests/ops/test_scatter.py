"""Scatters where the conformance test cannot look: their gradients, repeated and wrong indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia
from mycelia import Parameter, Tensor, ops

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
PLACES = Tensor(np.array([[2], [0]]))
UPDATES = np.array([[0.5, 2.0], [4.0, -1.0]])
WEIGHTS = np.array([[1.0, -2.0], [0.3, 0.7], [1.5, -0.5]])


@pytest.mark.parametrize("function", [ops.tensor_scatter_mul, ops.tensor_scatter_div])
def test_gradients_of_scaling_scatters_match_finite_differences(function: Any):
    def loss(x: Any, updates: Any) -> Any:
        return ops.mul(function(x, PLACES, updates), Tensor(WEIGHTS))

    found = mycelia.grad(loss, (0, 1))(Tensor(X), Tensor(UPDATES))
    for position, gradient in enumerate(found):
        base = [X, UPDATES]
        numeric = np.zeros_like(base[position])
        for place in np.ndindex(numeric.shape):
            sums = []
            for step in (1e-6, -1e-6):
                moved = [a.copy() for a in base]
                moved[position][place] += step
                sums.append(np.asarray(loss(*map(Tensor, moved))).sum())
            numeric[place] = (sums[0] - sums[1]) / 2e-6
        np.testing.assert_allclose(np.asarray(gradient), numeric, rtol=1e-5, atol=1e-6)


def test_ties_share_the_gradient_of_a_maximum():
    def f(x: Tensor, updates: Tensor) -> Tensor:
        return ops.tensor_scatter_max(x, Tensor(np.array([[0], [0]])), updates)

    to_x, to_updates = mycelia.grad(f, (0, 1))(
        Tensor(np.array([2.0, 1.0])), Tensor(np.array([2.0, 1.0]))
    )
    np.testing.assert_array_equal(np.asarray(to_x), [0.5, 1])
    np.testing.assert_array_equal(np.asarray(to_updates), [0.5, 0])


def test_repeated_indices_all_count():
    twice = Tensor(np.array([[1], [1]]))
    x, updates = Tensor(np.ones(3, np.float32)), Tensor(np.array([2, 3], np.float32))
    assert np.asarray(ops.tensor_scatter_add(x, twice, updates)).tolist() == [1, 6, 1]
    assert np.asarray(ops.tensor_scatter_mul(x, twice, updates)).tolist() == [1, 6, 1]
    assert np.asarray(ops.scatter_nd(twice, updates, (3,))).tolist() == [0, 5, 0]


def test_a_parameter_is_changed_in_place_and_returned():
    weight = Parameter(Tensor(np.zeros((3, 2), np.float32)), name="weight")
    result = ops.scatter_add(weight, Tensor(np.array([2, 2])), Tensor(np.ones((2, 2), np.float32)))
    assert result is weight
    assert np.asarray(weight).tolist() == [[0, 0], [0, 0], [2, 2]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: ops.gather(Tensor(X), Tensor(np.array([3])), 0),
        lambda: ops.gather_d(Tensor(X), 0, Tensor(np.array([[3, 0]]))),
        lambda: ops.gather_nd(Tensor(X), Tensor(np.array([[-1]]))),
        lambda: ops.scatter_nd(Tensor(np.array([[4]])), Tensor(np.array([1.0])), (3,)),
        lambda: ops.index_fill(Tensor(X), 0, Tensor(np.array([5])), 1.0),
    ],
)
def test_an_index_out_of_range_on_the_host_is_an_error(call: Any):
    with pytest.raises(RuntimeError, match="out of range"):
        call()
