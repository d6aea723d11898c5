"""Layers of one function, layers for newer scripts, and networks that take a batch in parts."""

from __future__ import annotations

import math

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, parallel
from mycelia.nn import Cell, Dense, jvp_vjp
from mycelia.nn.layer import extended, gamma, matrix, sparse, time_distributed
from mycelia.nn.wrap import grad_reducer, micro_batches
from mycelia.tensor.sparse_matrix import COOTensor


class nn:  # the names as users write them
    MatDet, MatInverse = matrix.MatDet, matrix.MatInverse
    MatrixDiag, MatrixDiagPart = matrix.MatrixDiag, matrix.MatrixDiagPart
    MatrixSetDiag = matrix.MatrixSetDiag
    DiGamma, LGamma = gamma.DiGamma, gamma.LGamma
    IGamma, LBeta = gamma.IGamma, gamma.LBeta
    SparseToDense = sparse.SparseToDense
    SparseTensorDenseMatmul = sparse.SparseTensorDenseMatmul
    TimeDistributed = time_distributed.TimeDistributed
    Jvp, Vjp = jvp_vjp.Jvp, jvp_vjp.Vjp
    DistributedGradReducer = grad_reducer.DistributedGradReducer
    GradAccumulationCell = micro_batches.GradAccumulationCell
    MicroBatchInterleaved = micro_batches.MicroBatchInterleaved
    PReLUExt, LogSoftmaxExt = extended.PReLUExt, extended.LogSoftmaxExt
    DropoutExt, Dropout2dExt = extended.DropoutExt, extended.Dropout2dExt
    EmbeddingExt, LayerNormExt = extended.EmbeddingExt, extended.LayerNormExt
    L1LossExt, MaxPool2dExt = extended.L1LossExt, extended.MaxPool2dExt
    AvgPool1dExt, AvgPool2dExt = extended.AvgPool1dExt, extended.AvgPool2dExt
    AvgPool3dExt = extended.AvgPool3dExt


A = np.array([[4.0, 1.0], [1.0, 3.0]], np.float32)


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


def _same_in_graph(cell: Cell, *inputs: Tensor) -> np.ndarray:
    eager = cell(*inputs).asnumpy()
    np.testing.assert_allclose(cell.compile_and_run(*inputs).asnumpy(), eager, rtol=1e-5, atol=1e-6)
    return eager


def test_matrices():
    assert _same_in_graph(nn.MatDet(), Tensor(A)) == pytest.approx(11)
    np.testing.assert_allclose(nn.MatInverse()(Tensor(A)).asnumpy(), np.linalg.inv(A), rtol=1e-5)
    np.testing.assert_array_equal(
        nn.MatrixDiag()(Tensor([1.0, 2.0])).asnumpy(), np.diag([1.0, 2.0])
    )
    np.testing.assert_array_equal(nn.MatrixDiagPart()(Tensor(A)).asnumpy(), [4, 3])
    changed = nn.MatrixSetDiag()(Tensor(A), Tensor([7.0, 8.0]))
    np.testing.assert_array_equal(changed.asnumpy(), [[7, 1], [1, 8]])


def test_the_gamma_function():
    x = np.array([0.5, 2.0, 3.5], np.float32)
    lgamma = [math.lgamma(v) for v in x]
    np.testing.assert_allclose(_same_in_graph(nn.LGamma(), Tensor(x)), lgamma, atol=1e-6)
    np.testing.assert_allclose(
        nn.DiGamma()(Tensor([0.5, 2.0])).asnumpy(), [-1.96351004, 0.42278415], rtol=1e-5
    )
    np.testing.assert_allclose(
        nn.IGamma()(Tensor([2.0, 3.0]), Tensor([1.0, 2.0])).asnumpy(),
        [0.264240712, 0.323323220],
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        nn.LBeta()(Tensor([2.0, 3.0]), Tensor([1.0, 2.0])).asnumpy(),
        [math.log(1 / 2), math.log(1 / 12)],
        rtol=1e-5,
    )
    with pytest.raises(TypeError, match="float16 or float32"):
        nn.LGamma()(Tensor([1, 2]))
    with pytest.raises(TypeError, match="Tensor"):
        nn.DiGamma()(3)


def test_sparse_layers():
    indices, values = Tensor([[0, 1], [1, 2]], ms.int64), Tensor([1.0, 2.0])
    whole = np.zeros((3, 4), np.float32)
    whole[0, 1], whole[1, 2] = 1, 2
    dense = nn.SparseToDense()(COOTensor(indices, values, (3, 4)))
    np.testing.assert_array_equal(dense.asnumpy(), whole)
    y = _random(4, 2)
    product = nn.SparseTensorDenseMatmul()(indices, values, (3, 4), Tensor(y))
    np.testing.assert_allclose(product.asnumpy(), whole @ y, rtol=1e-6)
    turned = nn.SparseTensorDenseMatmul(adjoint_st=True, adjoint_dt=True)
    z = _random(2, 3)
    np.testing.assert_allclose(
        turned(indices, values, (3, 4), Tensor(z)).asnumpy(), whole.T @ z.T, rtol=1e-6
    )
    with pytest.raises(TypeError, match="COOTensor"):
        nn.SparseToDense()(Tensor(whole))


@pytest.mark.parametrize(("time", "alike"), [(1, None), (1, 0), (0, 1), (2, 0), (-2, None)])
def test_a_layer_for_every_step(time, alike):
    layer, x = Dense(3, 2), _random(4, 5, 6, 3)
    out = _same_in_graph(nn.TimeDistributed(layer, time, alike), Tensor(x))
    np.testing.assert_allclose(out, layer(Tensor(x)).asnumpy(), rtol=1e-5, atol=1e-6)


def test_wrong_layers_of_steps():
    with pytest.raises(TypeError, match="Cell or Primitive"):
        nn.TimeDistributed(3, 1)
    with pytest.raises(TypeError, match="time_axis"):
        nn.TimeDistributed(Dense(3, 2), "a")


class Cubes(Cell):
    """x³y, to differentiate by both."""

    def construct(self, x, y):
        return x**3 * y


def test_derivatives_along_a_direction():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    v, w = Tensor([1.0, 0.5]), Tensor([0.0, 1.0])
    out, change = nn.Jvp(Cubes())(x, y, (v, w))
    np.testing.assert_allclose(out.asnumpy(), [3, 32])
    np.testing.assert_allclose(change.asnumpy(), [9 * 1, 3 * 4 * 4 * 0.5 + 8], rtol=1e-5)
    out, gradients = nn.Vjp(Cubes())(x, y, v)
    np.testing.assert_allclose(out.asnumpy(), [3, 32])
    np.testing.assert_allclose(gradients[0].asnumpy(), [9, 48 * 0.5], rtol=1e-5)
    np.testing.assert_allclose(gradients[1].asnumpy(), [1, 8 * 0.5], rtol=1e-5)
    square = nn.Vjp(lambda x: x * x)
    np.testing.assert_allclose(square(x, v)[1].asnumpy(), [2, 2])
    with pytest.raises(TypeError, match="direction"):
        nn.Jvp(Cubes())(x)


def test_gradients_of_all_processes():
    parameters = [Parameter(Tensor([1.0]), name="p")]
    gradients = (Tensor([2.0, 4.0]), Tensor([3.0], ms.float16))
    reduced = nn.DistributedGradReducer(parameters)(gradients)
    assert [g.tolist() for g in reduced] == [[2, 4], [3]]
    halved = nn.DistributedGradReducer(parameters, mean=True, degree=2)(gradients)
    assert [g.tolist() for g in halved] == [[1, 2], [1.5]]
    assert halved[1].dtype is ms.float16
    parallel.set_auto_parallel_context(gradients_mean=True)
    try:
        assert nn.DistributedGradReducer(parameters, degree=4)(gradients)[1].tolist() == [0.75]
    finally:
        parallel.reset_auto_parallel_context()
    with pytest.raises(TypeError):
        nn.DistributedGradReducer(3)
    with pytest.raises(ValueError):
        nn.DistributedGradReducer(parameters, degree=0)
    with pytest.raises(TypeError):
        nn.DistributedGradReducer(parameters, mean=1)


class Mean(Cell):
    """The mean of the batch, and 1."""

    def construct(self, x):
        return x.mean() + 1


@pytest.mark.parametrize("wrap", [nn.GradAccumulationCell, nn.MicroBatchInterleaved])
def test_a_batch_in_parts(wrap):
    x = Tensor(np.arange(8, dtype=np.float32).reshape(4, 2))
    assert _same_in_graph(wrap(Mean(), 2), x) == 9
    assert ms.grad(wrap(Mean(), 2))(x).asnumpy().sum() == pytest.approx(2)
    with pytest.raises(ValueError, match="must be divided"):
        wrap(Mean(), 3)(x)
    with pytest.raises(TypeError, match="cell type"):
        wrap(3, 2)
    with pytest.raises(ValueError, match="large than 0"):
        wrap(Mean(), 0)
    with pytest.raises(TypeError, match="integer"):
        wrap(Mean(), "a")


def test_prelu_and_log_softmax():
    x = _random(2, 3, 4)
    out = _same_in_graph(nn.PReLUExt(3, init=0.5), Tensor(x))
    np.testing.assert_allclose(out, np.where(x > 0, x, x * 0.5), rtol=1e-6)
    y = _random(2, 3)
    grown = np.exp(y)
    for dim, axis in ((None, 1), (0, 0)):
        np.testing.assert_allclose(
            nn.LogSoftmaxExt(dim)(Tensor(y)).asnumpy(),
            np.log(grown / grown.sum(axis, keepdims=True)),
            rtol=1e-5,
            atol=1e-6,
        )


@pytest.mark.parametrize("kind", [nn.DropoutExt, nn.Dropout2dExt])
def test_dropout(kind):
    x = Tensor(np.ones((8, 16, 4, 4), np.float32))
    layer = kind(0.25)
    assert layer(x) is x
    out = layer.set_train()(x).asnumpy()
    assert set(np.unique(out.round(4))) == {0, np.float32(1.3333)}
    kept = out.mean(axis=(2, 3)) > 0 if kind is nn.Dropout2dExt else out > 0
    assert 0.6 < kept.mean() < 0.9
    if kind is nn.Dropout2dExt:
        assert set(np.unique(out.std(axis=(2, 3)).round(4))) == {0}
    changed = Tensor(np.ones((64, 64), np.float32))
    in_place = nn.DropoutExt(0.5, inplace=True).set_train()
    assert in_place(changed) is changed
    assert 0 in changed.asnumpy()
    with pytest.raises(ValueError):
        kind(1.5)


def test_embedding():
    table = _random(5, 3)
    layer = nn.EmbeddingExt(5, 3, _weight=Tensor(table), _freeze=True)
    index = Tensor([[0, 4], [2, 2]])
    np.testing.assert_array_equal(_same_in_graph(layer, index), table[[[0, 4], [2, 2]]])
    assert layer.weight.requires_grad is False
    padded = nn.EmbeddingExt(5, 3, padding_idx=2)
    assert padded(Tensor([2])).asnumpy().sum() == 0
    gradient = ms.grad(lambda i: padded(i).sum(), None, [padded.weight])(index)
    assert gradient[0].asnumpy().sum(1).tolist() == [3, 0, 0, 0, 3]
    with pytest.raises(ValueError, match="differ in shape"):
        nn.EmbeddingExt(5, 4, _weight=Tensor(table))


def test_layer_norm_and_loss():
    x = _random(2, 3, 4)
    wanted = (x - x.mean((1, 2), keepdims=True)) / np.sqrt(x.var((1, 2), keepdims=True) + 1e-5)
    np.testing.assert_allclose(
        _same_in_graph(nn.LayerNormExt((3, 4)), Tensor(x)), wanted, rtol=1e-4, atol=1e-5
    )
    assert nn.LayerNormExt(4, bias=False).bias is None
    assert nn.LayerNormExt(4, elementwise_affine=False).weight is None
    plain = nn.LayerNormExt((3, 4), elementwise_affine=False)
    np.testing.assert_allclose(plain(Tensor(x)).asnumpy(), wanted, rtol=1e-4, atol=1e-5)
    y = _random(2, 3, 4)[::-1].copy()
    for reduction, reference in (("mean", np.mean), ("sum", np.sum), ("none", lambda d: d)):
        np.testing.assert_allclose(
            nn.L1LossExt(reduction)(Tensor(x), Tensor(y)).asnumpy(),
            reference(abs(x - y)),
            rtol=1e-5,
        )
    with pytest.raises(ValueError):
        nn.L1LossExt("foo")


def test_pooling():
    x = _random(1, 2, 4, 6)
    halves = x.reshape(1, 2, 2, 2, 3, 2)
    np.testing.assert_allclose(
        _same_in_graph(nn.MaxPool2dExt(2), Tensor(x)), halves.max((3, 5)), rtol=1e-6
    )
    values, places = nn.MaxPool2dExt(2, return_indices=True)(Tensor(x))
    found = np.take_along_axis(x.reshape(1, 2, -1), places.asnumpy().reshape(1, 2, -1), 2)
    np.testing.assert_allclose(found, values.asnumpy().reshape(1, 2, -1))
    np.testing.assert_allclose(
        _same_in_graph(nn.AvgPool2dExt(2), Tensor(x)), halves.mean((3, 5)), rtol=1e-5, atol=1e-6
    )
    np.testing.assert_allclose(
        nn.AvgPool2dExt(2, divisor_override=2)(Tensor(x)).asnumpy(),
        halves.sum((3, 5)) / 2,
        rtol=1e-5,
        atol=1e-6,
    )
    line = x[0]
    np.testing.assert_allclose(
        nn.AvgPool1dExt(3)(Tensor(line)).asnumpy(),
        line.reshape(2, 4, 2, 3).mean(3),
        rtol=1e-5,
        atol=1e-6,
    )
    np.testing.assert_allclose(
        nn.AvgPool1dExt(2)(Tensor(line[0])).asnumpy(),
        line[0].reshape(4, 3, 2).mean(2),
        rtol=1e-5,
        atol=1e-6,
    )
    block = _random(1, 1, 2, 2, 2)
    np.testing.assert_allclose(
        nn.AvgPool3dExt(2)(Tensor(block)).asnumpy().ravel(), [block.mean()], rtol=1e-5
    )
    with pytest.raises(TypeError, match="axes"):
        nn.AvgPool2dExt(2)(Tensor([1.0]))
