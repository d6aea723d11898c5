"""vmap: axes of arguments and results, model ensembles, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Scale(nn.Cell):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.w = Parameter(Tensor([factor]), name="w")

    def construct(self, x):
        return x * self.w


def add(x, y):
    return x + y


def test_axes_of_arguments_and_results(modes):
    x = Tensor(X)
    assert ops.vmap(add, in_axes=(-1, -1), out_axes=-1)(x, x).asnumpy().tolist() == (2 * X).tolist()
    assert ops.vmap(add, in_axes=[0, None])(x, 2.0).asnumpy().tolist() == (X + 2).tolist()
    assert ops.vmap(add, out_axes=1)(x, x).asnumpy().tolist() == (2 * X.T).tolist()


def test_numbers_are_repeated_along_the_mapped_axis(modes):
    total, one, half = ops.vmap(lambda x: (x + 1, 1, 2.5))(Tensor(X))
    assert total.asnumpy().tolist() == (X + 1).tolist()
    assert (one.asnumpy().tolist(), one.dtype) == ([1, 1], ms.int64)
    assert (half.asnumpy().tolist(), half.dtype) == ([2.5, 2.5], ms.float32)


def test_a_result_that_is_not_mapped_may_have_the_axis_none(modes):
    constant = Tensor([7.0, 8.0])
    total, one, same = ops.vmap(lambda x, c: (x + 1, 1, c * 2), (0, None), (0, None, None))(
        Tensor(X), constant
    )
    assert one == 1 and same.asnumpy().tolist() == [14, 16]
    assert total.shape == (2, 3)


@pytest.mark.parametrize(
    "options",
    [
        {"in_axes": None},
        {"in_axes": (None, None)},
        {"in_axes": 1.0},
        {"in_axes": "a"},
        {"in_axes": (0, 1.0)},
        {"in_axes": (0, 5)},
        {"in_axes": (0, -5)},
        {"in_axes": (0,)},
        {"in_axes": (0, 0, 0)},
        {"in_axes": (0, 1)},
        {"out_axes": 1.0},
        {"out_axes": None},
        {"out_axes": (0, 0)},
        {"out_axes": 5},
    ],
)
def test_axes_that_do_not_fit_are_refused(modes, options):
    with pytest.raises(RuntimeError, match="vmap: "):
        ops.vmap(add, **options)(Tensor(X), Tensor(X))


def test_a_mapped_result_cannot_have_the_axis_none(modes):
    with pytest.raises(RuntimeError, match="out_axes cannot be None"):
        ops.vmap(lambda x: (x, x), out_axes=(0, None))(Tensor(X))


@pytest.mark.parametrize("fn", [3, ops.ReLU()])
def test_only_functions_and_cells_are_mapped(modes, fn):
    with pytest.raises(RuntimeError, match="a function, a Cell, or a CellList"):
        ops.vmap(fn)(Tensor(X))


def test_a_number_cannot_be_mapped(modes):
    with pytest.raises(RuntimeError, match="only a Tensor can be mapped"):
        ops.vmap(add)(Tensor(X), 2)


def test_a_function_without_a_tensor_as_result_is_refused(modes):
    with pytest.raises(RuntimeError, match="tensors and numbers only"):
        ops.vmap(lambda x: None)(Tensor(X))


def test_a_cell_list_is_a_model_ensemble(modes):
    cells = nn.CellList([Scale(1.0), Scale(10.0)])
    each = ops.vmap(cells, in_axes=0)(Tensor(X))
    assert each.asnumpy().tolist() == [[0, 1, 2], [30, 40, 50]]
    whole = ops.vmap(cells, in_axes=None)(Tensor(X))
    assert whole.asnumpy().tolist() == [X.tolist(), (10 * X).tolist()]


def test_the_gradients_of_a_model_ensemble(modes):
    cells = nn.CellList([Scale(1.0), Scale(10.0)])
    run = ops.vmap(cells, in_axes=0)
    by_x, by_weights = ms.grad(run, 0, cells.trainable_params())(Tensor(X))
    assert by_x.asnumpy().tolist() == [[1, 1, 1], [10, 10, 10]]
    assert [g.asnumpy().tolist() for g in by_weights] == [[3], [12]]


def test_ensembles_that_do_not_fit_are_refused(modes):
    with pytest.raises(RuntimeError, match="at least two cells"):
        ops.vmap(nn.CellList([Scale(1.0)]))(Tensor(X))
    with pytest.raises(ValueError, match="one element for each cell"):
        ops.vmap(nn.CellList([Scale(1.0), Scale(2.0), Scale(3.0)]))(Tensor(X))
    with pytest.raises(ValueError, match="different parameters"):
        ops.vmap(nn.CellList([Scale(1.0), nn.ReLU()]), in_axes=None)(Tensor(X))
