"""Operators and layers at inputs where they once differed from MindSpore."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia import numpy as mnp
from mycelia.scipy import linalg


def test_ctc_loss_of_scores_that_are_not_normalized():
    scores = Tensor(np.arange(40, dtype=np.float32).reshape(10, 1, 4))
    labels, times, counts = Tensor([[1, 2, 3]], ms.int32), Tensor([10]), Tensor([3])
    loss = nn.CTCLoss()(scores, labels, times, counts)
    np.testing.assert_allclose(loss.asnumpy(), -69.2692, rtol=1e-5)  # from the real MindSpore
    large = Tensor(np.arange(400, dtype=np.float32).reshape(10, 1, 40))
    loss, _ = ops.ctc_loss(large, labels, times, counts)
    np.testing.assert_allclose(loss.asnumpy(), -609.2692, rtol=1e-5)


def test_common_divisors_of_the_smallest_integer():
    smallest = Tensor([-(2**31), -(2**31)], ms.int32)
    assert ops.gcd(smallest, Tensor([6, 0], ms.int32)).asnumpy().tolist() == [2, -(2**31)]
    assert ops.lcm(Tensor([4, 0], ms.int32), Tensor([-6, 3], ms.int32)).asnumpy().tolist() == [
        12,
        0,
    ]


def test_numpy_names_take_what_numpy_takes():
    assert mnp.diff(Tensor([1, 5, 2]), 0, append=3.0).asnumpy().tolist() == [1, 5, 2]
    assert mnp.gcd(Tensor([4.5]), Tensor([6.0])).asnumpy().tolist() == [1.5]
    assert mnp.lcm(Tensor([4.5]), 3).asnumpy().tolist() == [9]
    assert mnp.cumsum(Tensor([1, 0, 2]), dtype=ms.bool_).asnumpy().tolist() == [True] * 3
    assert mnp.histogram(Tensor([1, 2, 3, 4]), bins=[2])[0].shape == (0,)
    edges = Tensor([[0.0, 2.0, 5.0], [0.0, 2.0, 5.0]])
    counts, _ = mnp.histogramdd(Tensor(np.arange(6.0).reshape(3, 2)), edges)
    assert counts.asnumpy().tolist() == [[1, 0], [0, 2]]
    assert mnp.result_type("?") is ms.bool_
    assert mnp.sometrue(Tensor([[True, False]]), keepdims=-1).shape == (1, 1)


def test_numpy_names_refuse_what_numpy_refuses():
    with pytest.raises(TypeError, match="scalar"):
        mnp.amax(Tensor([1.0, 2.0]), initial=[1])
    with pytest.raises(TypeError, match="bool"):
        mnp.intersect1d(Tensor([1, 2]), Tensor([2, 3]), assume_unique=1)
    with pytest.raises(TypeError, match="overwrite_a"):
        linalg.eigh(Tensor([[1.0, 2.0], [2.0, 1.0]]), Tensor([[1.0]]), overwrite_a=5.0)


def test_blocks_of_different_dtypes_meet():
    found = linalg.block_diag(Tensor([[1.0]]), Tensor([[2]]), Tensor([[3.0]]))
    assert found.dtype is ms.float32 and found.asnumpy().diagonal().tolist() == [1, 2, 3]


def test_an_lstm_with_a_projection():
    layer = ops.LSTM(3, 4, 1, True, False, 0.0, proj_size=2)
    h, c = Tensor(np.ones((1, 1, 2), np.float32)), Tensor(np.ones((1, 1, 4), np.float32))
    weight = Tensor(np.full((104, 1, 1), 0.1, np.float32))
    output, hidden, cell, _, _ = layer(Tensor(np.ones((5, 1, 3), np.float32)), h, c, weight)
    assert output.shape == (5, 1, 2) and hidden.shape == (1, 1, 2) and cell.shape == (1, 1, 4)
    np.testing.assert_allclose(float(output.sum()), 1.6238645, rtol=1e-5)  # the real MindSpore


def test_the_weights_of_an_lstm_as_lists():
    layer = nn.LSTM(3, 4, 2)
    assert [p.name for p in layer.w_ih_list] == ["weight_ih_l0", "weight_ih_l1"]
    ones = [Parameter(Tensor(np.ones(p.shape, np.float32))) for p in layer.b_hh_list]
    layer.b_hh_list = ones
    assert layer.bias_hh_l1.asnumpy().tolist() == [1] * 16


def test_focal_loss_of_one_label_for_all_rows():
    logits = Tensor(np.array([[0.8, 1.4], [0.5, 0.9], [1.2, 0.9]], np.float32))
    loss = nn.FocalLoss()(logits, Tensor([[1]], ms.int32))
    np.testing.assert_allclose(loss.asnumpy(), 0.0549, atol=1e-4)  # the real MindSpore


def test_casts_of_containers_in_mixed_precision():
    cast = ops.mixed_precision_cast(ms.float16, [Tensor([1.0]), Tensor([2])])
    assert type(cast) is tuple and [t.dtype for t in cast] == [ms.float16, ms.int64]


def test_checkpoints_of_lists_of_parameters(tmp_path):
    file = str(tmp_path / "x.ckpt")
    both = [Parameter(Tensor([1.0]), name="p"), Parameter(Tensor([2.0]), name="q")]
    ms.save_checkpoint(both, file, choice_func=lambda name: name == "q")
    assert list(ms.load_checkpoint(file)) == ["q"]
    ms.save_checkpoint(both, str(tmp_path / "y"), format="safetensors")
    loaded = ms.load_checkpoint_async(str(tmp_path / "y.safetensors")).result()
    assert sorted(loaded) == ["p", "q"]
    with pytest.raises(ValueError, match="crc_check"):
        ms.save_checkpoint(both, file, crc_check=1)


@pytest.mark.parametrize("run", [lambda x, y: x * y, lambda x, y: x / y, ops.mul, ops.div])
def test_a_tensor_without_axes_follows_the_other_in_products_and_quotients(modes, run):
    def dtype(one, other):
        return ms.jit(run)(one, other).dtype if modes == "graph" else run(one, other).dtype

    wide, row = Tensor(2.0, ms.float64), Tensor([1.0, 2.0], ms.float16)
    assert dtype(wide, row) is dtype(row, wide) is ms.float16
    assert dtype(wide, Tensor([1, 2], ms.int32)) is ms.float64
    assert dtype(wide, Tensor(1.0)) is dtype(Tensor([1.0], ms.float64), row) is ms.float64
    assert (wide + row).dtype is ms.float64  # as in MindSpore: sums follow no rule of their own


def test_structures_that_map_goes_into():
    choose = ops.MultitypeFuncGraph("choose")
    choose.register("Tensor", "Tensor")(lambda x, y: x * y)
    choose.register("Tensor", "Tuple")(lambda x, y: x + y[0])
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    beside, product = ops.HyperMap(choose)((x, x), ((y, x), y))
    assert beside.asnumpy().tolist() == [4, 6] and product.asnumpy().tolist() == [3, 8]
    assert ops.HyperMap(choose)(x, (y, x)).asnumpy().tolist() == [4, 6]
    for unlike in ((x, (y, x)), ((x, y), (x,))):
        with pytest.raises(RuntimeError, match="the same structure"):
            ops.Map(choose)(*unlike)


def test_a_single_function_is_called_with_any_types():
    second = ops.MultitypeFuncGraph("second")
    second.register("Tensor", "Tensor")(lambda x, y: y)
    assert ops.HyperMap(second)((Tensor(1), None), (Tensor(2), None))[1] is None


def test_dtypes_by_the_codes_of_numpy():
    assert mnp.result_type("f4", ms.int32) is ms.float32
    assert mnp.result_type("i2", ms.int8) is ms.int16
    assert mnp.result_type("?") is ms.bool_


def test_flags_of_linear_algebra_are_checked():
    matrix = Tensor([[2.0, 1.0], [1.0, 3.0]])
    for function in (linalg.inv, linalg.det, linalg.lu, linalg.lu_factor, linalg.cho_factor):
        with pytest.raises(TypeError, match="check_finite"):
            function(matrix, check_finite=1)
    with pytest.raises(TypeError, match="overwrite_b"):
        linalg.cho_solve((matrix, True), Tensor([1.0, 2.0]), overwrite_b=1)
    assert len(linalg.eigh(matrix, type=2)) == 2


def test_arguments_of_saving_are_checked(tmp_path):
    with pytest.raises(TypeError, match="integrated_save"):
        ms.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "x"), integrated_save=1)
    with pytest.raises(ValueError, match="enc_mode"):
        ms.save_checkpoint(nn.Dense(1, 1), str(tmp_path / "x"), enc_mode=1)
