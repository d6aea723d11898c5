"""Tensors that keep few of their numbers, against dense ones."""

from __future__ import annotations

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor
from mycelia.tensor import sparse_functions as ops
from mycelia.tensor.sparse_matrix import COOTensor, CSRTensor
from mycelia.tensor.sparse_rows import RowTensor, SparseTensor

WHOLE = np.array([[0, 0.5, 0, 0], [0, 0, 0.25, -0.75], [0, 0, 0, 0]], np.float32)


def _coo() -> COOTensor:
    indices = Tensor([[1, 3], [0, 1], [1, 2]], ms.int32)
    return COOTensor(indices, Tensor([-0.75, 0.5, 0.25], ms.float32), (3, 4))


def _csr() -> CSRTensor:
    return CSRTensor(
        Tensor([0, 1, 3, 3], ms.int32),
        Tensor([1, 2, 3], ms.int32),
        Tensor([0.5, 0.25, -0.75], ms.float32),
        (3, 4),
    )


@pytest.mark.parametrize("make", [_coo, _csr])
def test_facts_and_the_whole(make):
    x = make()
    assert (x.shape, x.dtype, x.size, x.itemsize, x.ndim) == ((3, 4), ms.float32, 3, 4, 2)
    np.testing.assert_array_equal(x.to_dense().asnumpy(), WHOLE)
    np.testing.assert_array_equal(x.abs().to_dense().asnumpy(), abs(WHOLE))
    assert x.astype(ms.float16).values.dtype is ms.float16
    assert repr(x).startswith(f"{type(x).__name__}(shape=[3, 4], dtype=Float32")
    np.testing.assert_array_equal((-x).to_dense().asnumpy(), -WHOLE)


def test_one_form_becomes_the_other():
    csr = _coo().to_csr()
    indptr, indices, values, shape = csr.to_tuple()
    assert indptr.tolist() == [0, 1, 3, 3]
    assert indices.tolist() == [1, 2, 3]
    np.testing.assert_allclose(values.asnumpy(), [0.5, 0.25, -0.75])
    assert shape == (3, 4)
    coo_indices, coo_values, shape = csr.to_coo().to_tuple()
    assert coo_indices.tolist() == [[0, 1], [1, 2], [1, 3]]
    assert coo_values.shape == (3,)
    np.testing.assert_array_equal(COOTensor(coo_tensor=_coo()).to_dense().asnumpy(), WHOLE)
    np.testing.assert_array_equal(CSRTensor(csr_tensor=csr).to_dense().asnumpy(), WHOLE)


def test_places_that_stand_twice_are_summed():
    twice = COOTensor(Tensor([[1, 0], [0, 1], [1, 0]], ms.int64), Tensor([1.0, 2.0, 3.0]), (2, 2))
    np.testing.assert_array_equal(twice.to_dense().asnumpy(), [[0, 2], [4, 0]])
    once = twice.coalesce()
    assert once.indices.tolist() == [[0, 1], [1, 0]]
    np.testing.assert_array_equal(once.values.asnumpy(), [2, 4])


@pytest.mark.parametrize("make", [_coo, _csr])
def test_arithmetic(make):
    x, dense = make(), Tensor(np.full((3, 4), 2, np.float32))
    np.testing.assert_array_equal((x + x).to_dense().asnumpy(), 2 * WHOLE)
    np.testing.assert_array_equal((x - x).to_dense().asnumpy(), 0 * WHOLE)
    np.testing.assert_array_equal((x + dense).asnumpy(), WHOLE + 2)
    np.testing.assert_array_equal((x * dense).to_dense().asnumpy(), 2 * WHOLE)
    np.testing.assert_array_equal((x / 2).to_dense().asnumpy(), WHOLE / 2)


def test_small_sums_are_left_out():
    x = COOTensor(Tensor([[0, 0], [1, 1]], ms.int64), Tensor([0.5, 3.0]), (2, 2))
    total = ops.coo_add(x, x, Tensor(2.0, ms.float32))
    assert total.indices.tolist() == [[1, 1]]
    np.testing.assert_array_equal(x.add(x, Tensor(0.0)).values.asnumpy(), [1, 6])


def test_products_and_sums():
    x = _csr()
    column = np.arange(4, dtype=np.float32).reshape(4, 1)
    matrix = np.arange(8, dtype=np.float32).reshape(4, 2)
    np.testing.assert_allclose(x.mv(Tensor(column)).asnumpy(), WHOLE @ column)
    np.testing.assert_allclose(x.mm(Tensor(matrix)).asnumpy(), WHOLE @ matrix)
    np.testing.assert_allclose(ops.csr_mv(x, Tensor(column)).asnumpy(), WHOLE @ column)
    np.testing.assert_allclose(
        ops.csr_mm(x, Tensor(WHOLE[:2]), trans_a=False, trans_b=True).asnumpy(), WHOLE @ WHOLE[:2].T
    )
    product = ops.csr_mm(x, x, trans_b=True)
    assert isinstance(product, CSRTensor)
    np.testing.assert_allclose(product.to_dense().asnumpy(), WHOLE @ WHOLE.T)
    np.testing.assert_allclose(x.sum(1).asnumpy(), WHOLE.sum(1, keepdims=True))
    np.testing.assert_allclose(x.sum(0).asnumpy(), WHOLE.sum(0, keepdims=True))
    np.testing.assert_allclose(ops.csr_reduce_sum(x, -1).asnumpy(), WHOLE.sum(1, keepdims=True))
    total = ops.csr_add(x, x, Tensor(1.0), Tensor(2.0))
    np.testing.assert_allclose(total.to_dense().asnumpy(), 3 * WHOLE)
    np.testing.assert_allclose(x.add(x, Tensor(1.0), Tensor(-1.0)).to_dense().asnumpy(), 0 * WHOLE)
    dense = Tensor(np.full((3, 4), 4, np.float32))
    np.testing.assert_allclose(ops.csr_mul(x, dense).to_dense().asnumpy(), 4 * WHOLE)
    np.testing.assert_allclose(ops.csr_div(x, dense).to_dense().asnumpy(), WHOLE / 4)


def test_softmax_is_of_the_numbers_in_a_row():
    out = ops.csr_softmax(_csr(), ms.float32).values.asnumpy()
    pair = np.exp([0.25, -0.75])
    np.testing.assert_allclose(out, [1, *(pair / pair.sum())], rtol=1e-6)


def test_gradients_flow_and_graphs_give_the_same():
    def total(values, column):
        x = CSRTensor(Tensor([0, 1, 3, 3], ms.int32), Tensor([1, 2, 3], ms.int32), values, (3, 4))
        return (x.mv(column) ** 2).sum() + x.to_dense().sum()

    values, column = _csr().values, Tensor(np.arange(4, dtype=np.float32).reshape(4, 1))
    assert float(ms.jit(total)(values, column)) == pytest.approx(float(total(values, column)))
    gradient = ms.grad(total, 0)(values, column).asnumpy()
    rows = WHOLE @ column.asnumpy()
    wanted = [2 * rows[0, 0] * 1 + 1, 2 * rows[1, 0] * 2 + 1, 2 * rows[1, 0] * 3 + 1]
    np.testing.assert_allclose(gradient, wanted, rtol=1e-5)


ELEMENTWISE = [
    (ops.coo_abs, ops.csr_abs, np.abs),
    (ops.coo_acos, ops.csr_acos, np.arccos),
    (ops.coo_asin, ops.csr_asin, np.arcsin),
    (ops.coo_asinh, ops.csr_asinh, np.arcsinh),
    (ops.coo_atan, ops.csr_atan, np.arctan),
    (ops.coo_atanh, ops.csr_atanh, np.arctanh),
    (ops.coo_ceil, ops.csr_ceil, np.ceil),
    (ops.coo_cos, ops.csr_cos, np.cos),
    (ops.coo_cosh, ops.csr_cosh, np.cosh),
    (ops.coo_exp, ops.csr_exp, np.exp),
    (ops.coo_expm1, ops.csr_expm1, np.expm1),
    (ops.coo_floor, ops.csr_floor, np.floor),
    (ops.coo_inv, ops.csr_inv, np.reciprocal),
    (ops.coo_isfinite, ops.csr_isfinite, np.isfinite),
    (ops.coo_isinf, ops.csr_isinf, np.isinf),
    (ops.coo_isnan, ops.csr_isnan, np.isnan),
    (ops.coo_log1p, ops.csr_log1p, np.log1p),
    (ops.coo_neg, ops.csr_neg, np.negative),
    (ops.coo_relu, ops.csr_relu, lambda x: np.maximum(x, 0)),
    (ops.coo_relu6, ops.csr_relu6, lambda x: np.clip(x, 0, 6)),
    (ops.coo_round, ops.csr_round, np.round),
    (ops.coo_sigmoid, ops.csr_sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    (ops.coo_sin, ops.csr_sin, np.sin),
    (ops.coo_sinh, ops.csr_sinh, np.sinh),
    (ops.coo_softsign, ops.csr_softsign, lambda x: x / (1 + abs(x))),
    (ops.coo_square, ops.csr_square, np.square),
    (ops.coo_tan, ops.csr_tan, np.tan),
    (ops.coo_tanh, ops.csr_tanh, np.tanh),
]


@pytest.mark.parametrize(("on_coo", "on_csr", "reference"), ELEMENTWISE, ids=lambda f: f.__name__)
def test_functions_of_each_number(on_coo, on_csr, reference):
    for fn, x in ((on_coo, _coo()), (on_csr, _csr())):
        values = x.values.asnumpy()
        np.testing.assert_allclose(fn(x).values.asnumpy(), reference(values), rtol=2e-5, atol=1e-6)
        assert type(fn(x)) is type(x)


@pytest.mark.parametrize(
    ("on_coo", "on_csr", "reference"),
    [
        (ops.coo_acosh, ops.csr_acosh, np.arccosh),
        (ops.coo_log, ops.csr_log, np.log),
        (ops.coo_sqrt, ops.csr_sqrt, np.sqrt),
    ],
)
def test_functions_of_large_numbers(on_coo, on_csr, reference):
    for fn, x in ((on_coo, _coo()), (on_csr, _csr())):
        large = x.with_values(Tensor([1.5, 2.5, 4.0]))
        np.testing.assert_allclose(
            fn(large).values.asnumpy(), reference([1.5, 2.5, 4.0]), rtol=2e-5
        )


def test_a_function_takes_its_own_kind_only():
    with pytest.raises(TypeError, match="COOTensor"):
        ops.coo_abs(_csr())
    with pytest.raises(TypeError, match="CSRTensor"):
        ops.csr_mv(_coo(), Tensor([1.0]))


def test_making_and_taking_apart():
    coo, csr = ops.dense_to_sparse_coo(Tensor(WHOLE)), ops.dense_to_sparse_csr(Tensor(WHOLE))
    assert ops.coo_tensor_get_indices(coo).tolist() == [[0, 1], [1, 2], [1, 3]]
    np.testing.assert_array_equal(ops.coo_tensor_get_values(coo).asnumpy(), [0.5, 0.25, -0.75])
    assert ops.coo_tensor_get_dense_shape(coo) == (3, 4)
    assert ops.csr_tensor_get_indptr(csr).tolist() == [0, 1, 3, 3]
    assert ops.csr_tensor_get_indices(csr).tolist() == [1, 2, 3]
    assert ops.csr_tensor_get_values(csr).shape == (3,)
    assert ops.csr_tensor_get_dense_shape(csr) == (3, 4)
    np.testing.assert_array_equal(ops.csr_to_dense(csr).asnumpy(), WHOLE)
    np.testing.assert_array_equal(ops.csr_to_coo(csr).to_dense().asnumpy(), WHOLE)
    made = ops.make_sparse_tensor(coo.indices, coo.values, (3, 4))
    np.testing.assert_array_equal(made.to_dense().asnumpy(), WHOLE)
    assert ops.csr2coo(csr.indptr, 3).tolist() == [0, 1, 1]
    assert ops.coo2csr(Tensor([0, 1, 1], ms.int32), 3).tolist() == [0, 1, 3, 3]
    dense = Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert ops.csr_gather(csr.indptr, csr.indices, dense, (3, 4)).tolist() == [1, 6, 7]


@pytest.mark.parametrize("axis", [0, 1])
def test_joining(axis):
    joined = ops.coo_concat((_coo(), _coo()), axis)
    np.testing.assert_array_equal(joined.to_dense().asnumpy(), np.concatenate([WHOLE] * 2, axis))


def test_rows():
    rows = RowTensor(Tensor([2, 0], ms.int32), Tensor([[1.0, 2.0], [3.0, 4.0]]), (3, 2))
    assert rows.dense_shape == (3, 2)
    np.testing.assert_array_equal(rows.to_dense().asnumpy(), [[3, 4], [0, 0], [1, 2]])
    assert RowTensor(row_tensor=rows).indices.tolist() == [2, 0]
    with pytest.raises(ValueError, match="one row for each index"):
        RowTensor(Tensor([0], ms.int32), Tensor([[1.0, 2.0]]), (3, 3))
    with pytest.raises(TypeError):
        RowTensor(3, Tensor([[1.0, 2.0]]), (3, 3))


def test_the_old_name():
    x = SparseTensor(_coo().indices, _coo().values, (3, 4))
    np.testing.assert_array_equal(x.to_dense().asnumpy(), WHOLE)


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        (lambda i, v: (i, v, (3,)), ValueError),
        (lambda i, v: (v, v, (3, 4)), TypeError),
        (lambda i, v: (i, Tensor([1.0, 2.0]), (3, 4)), ValueError),
        (lambda i, v: (i, v, [3, 4]), TypeError),
        (lambda i, v: (i, v, (3, -4)), ValueError),
        (lambda i, v: (1, v, (3, 4)), TypeError),
        (lambda i, v: (i, v, (3, "a")), TypeError),
    ],
)
def test_wrong_parts(parts, error):
    with pytest.raises(error):
        COOTensor(*parts(_coo().indices, _coo().values))


def test_wrong_parts_of_rows():
    csr = _csr()
    with pytest.raises(ValueError, match="must have one more element"):
        CSRTensor(csr.indptr, csr.indices, csr.values, (2, 4))
    with pytest.raises(ValueError, match="one column index for each value"):
        CSRTensor(csr.indptr, csr.indices, Tensor([1.0]), (3, 4))
    with pytest.raises(ValueError, match="inner sizes"):
        csr.mm(Tensor(np.ones((3, 2), np.float32)))
    with pytest.raises(ValueError, match="axis must be 0 or 1"):
        csr.sum(2)
