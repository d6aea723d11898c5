"""Operators the goldens cannot hold: random ones, ones with Python functions, packed weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops

RANDOM = np.random.RandomState(7)


def _array(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def _lstm(x: Any, h: Any, c: Any, w_ih: Any, w_hh: Any, bias: Any) -> np.ndarray:
    """Gates in the order input, forget, cell, output."""
    outputs = []
    for now in x:
        i, f, g, o = np.split(now @ w_ih.T + h @ w_hh.T + bias, 4, -1)
        c = _sigmoid(f) * c + _sigmoid(i) * np.tanh(g)
        h = _sigmoid(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs)


# ---- numbers and containers -----------------------------------------------------------------


def test_plain_values():
    assert ops.bool_and(True, False) is False
    assert ops.bool_or(True, False) is True
    assert ops.bool_not(True) is False
    assert ops.bool_eq(True, True) is True
    assert ops.string_concat("a", "b") == "ab"
    assert ops.string_eq("a", "b") is False
    assert ops.scalar_ne(1, 2) is True
    assert ops.is_not(1, None) is True
    assert ops.in_dict("a", {"a": 1}) is True
    assert ops.not_in_dict("a", {"a": 1}) is False
    assert ops.make_dict(("a", "b"), (1, 2)) == {"a": 1, "b": 2}
    assert ops.make_slice(1, 5, 2) == slice(1, 5, 2)
    assert ops.list_getitem([1, 2], 1) == 2
    assert ops.list_setitem([1, 2], 1, 5) == [1, 5]
    assert ops.tuple_setitem((1, 2), 0, 5) == (5, 2)
    assert ops.dict_getitem({"a": 1}, "a") == 1
    assert ops.dict_setitem({"a": 1}, "b", 2) == {"a": 1, "b": 2}
    assert ops.list_equal([1], [1]) is True
    assert ops.tuple_equal((1,), (2,)) is False
    assert ops.tuple_div((6, 9), (2, 3)) == (3, 3)
    assert ops.tail((1, 2, 3)) == (2, 3)
    assert str(ops.typeof(Tensor([1.0]))) == "f32[1]"


def test_plain_operators_refuse_tensors():
    with pytest.raises(TypeError, match="scalar_add"):
        ops.scalar_add(Tensor(1.0), 2)


def test_mixed_precision_cast_goes_into_containers():
    found = ops.mixed_precision_cast(ms.float16, [(Tensor([1.0]), Tensor([1]), 3)])
    assert isinstance(found, tuple)
    assert found[0][0].dtype is ms.float16
    assert found[0][1].dtype is ms.int64
    assert found[0][2] == 3
    assert ops.mixed_precision_cast(ms.float16, {"x": Tensor([1.0])})["x"].dtype is ms.float32


# ---- functions inside of programs -----------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_gradients_can_be_replaced(wrap: Any):
    double = ops.InsertGradientOf(lambda g: g * 2)
    found = ms.grad(wrap(lambda x: (double(x) * 3).sum()))(Tensor([1.0, 2.0]))
    assert np.asarray(found).tolist() == [6.0, 6.0]


def test_gradients_can_be_looked_at():
    seen = []
    hook = ops.HookBackward(lambda g: seen.append(np.asarray(g[0]).tolist()))
    found = ms.grad(lambda x: (hook(x * 2) * 3).sum())(Tensor([1.0, 2.0]))
    assert seen == [[3.0, 3.0]]
    assert np.asarray(found).tolist() == [6.0, 6.0]
    with pytest.raises(TypeError, match="hook_fn"):
        ops.HookBackward(3)


@pytest.mark.parametrize("wrap", [lambda f: f, ms.jit], ids=["eager", "graph"])
def test_a_numpy_function_as_an_operator(wrap: Any):
    both = ops.PyFunc(
        lambda x: (x + 1, x.sum()), [ms.float32], [(2,)], [ms.float32] * 2, [(2,), ()]
    )
    first, second = wrap(lambda x: both(x))(Tensor([1.0, 2.0]))
    assert np.asarray(first).tolist() == [2.0, 3.0]
    assert float(second) == 3.0


def test_loops():
    assert ops.ForiLoop()(0, 4, lambda i, v: v + i, Tensor(1.0)) == 7
    assert ops.WhileLoop()(lambda v: v < 10, lambda v: v * 2, Tensor(3.0)) == 12
    state, rows = ops.Scan()(lambda s, x: (s + x, s * x), Tensor(1.0), Tensor([1.0, 2.0, 3.0]))
    assert float(state) == 7
    assert np.asarray(rows).tolist() == [1.0, 4.0, 12.0]
    with pytest.raises(ValueError, match="Scan"):
        ops.Scan()(lambda s, x: (s, x), Tensor(1.0), Tensor([1.0]), length=3)


# ---- recurrent operators --------------------------------------------------------------------


@pytest.mark.parametrize("directions", [1, 2])
def test_lstm_with_packed_weights(directions: int):
    size, hidden, x = 3, 2, _array(4, 2, 3)
    w_ih, w_hh = _array(directions, 8, size), _array(directions, 8, hidden)
    biases = _array(2, directions, 8)
    packed = np.concatenate([part.ravel() for part in (w_ih, w_hh, biases)]).reshape(-1, 1, 1)
    h, c = _array(directions, 2, hidden), _array(directions, 2, hidden)
    net = ops.LSTM(size, hidden, 1, True, directions == 2, 0.0)
    found, last, _, _, _ = net(*map(Tensor, (x, h, c, packed)))
    wanted = _lstm(x, h[0], c[0], w_ih[0], w_hh[0], biases[:, 0].sum(0))
    np.testing.assert_allclose(np.asarray(found)[..., :hidden], wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(last)[0], wanted[-1], rtol=1e-4, atol=1e-5)
    if directions == 2:
        wanted = _lstm(x[::-1], h[1], c[1], w_ih[1], w_hh[1], biases[:, 1].sum(0))[::-1]
        np.testing.assert_allclose(np.asarray(found)[..., hidden:], wanted, rtol=1e-4, atol=1e-5)


def test_lstm_says_how_large_its_weight_is():
    net = ops.LSTM(3, 2, 1, False, False, 0.0)
    state = Tensor(_array(1, 2, 2))
    with pytest.raises(ValueError, match=r"(?s)LSTM.*40 numbers"):
        net(Tensor(_array(4, 2, 3)), state, state, Tensor(_array(7)))


def test_dynamic_rnn():
    x, w, b = _array(3, 2, 4), _array(7, 12), _array(12)
    h, c = _array(1, 2, 3), _array(1, 2, 3)
    found = ops.DynamicRNN(forget_bias=1.0)(*map(Tensor, (x, w, b)), None, Tensor(h), Tensor(c))
    i, j, f, o = np.split(w, 4, -1)
    bi, bj, bf, bo = np.split(b, 4)
    reordered = np.concatenate([i, f, j, o], -1).T
    bias = np.concatenate([bi, bf + 1.0, bj, bo])
    wanted = _lstm(x, h[0], c[0], reordered[:, :4], reordered[:, 4:], bias)
    np.testing.assert_allclose(np.asarray(found[0]), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found[6] * found[7]), wanted, rtol=1e-4, atol=1e-5)


def test_dynamic_gru():
    x, w, r, h = _array(3, 2, 4), _array(4, 9), _array(3, 9), _array(2, 3)
    found = ops.DynamicGRUV2()(*map(Tensor, (x, w, r)), None, None, None, Tensor(h))
    for step, now in enumerate(x):
        given, held = np.split(now @ w, 3, -1), np.split(h @ r, 3, -1)
        reset, update = _sigmoid(given[0] + held[0]), _sigmoid(given[1] + held[1])
        new = np.tanh(given[2] + reset * held[2])
        h = (1 - update) * new + update * h
        np.testing.assert_allclose(np.asarray(found[0])[step], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found[2])[-1], update, rtol=1e-4, atol=1e-5)
    with pytest.raises(ValueError, match="keep_prob"):
        ops.DynamicGRUV2(keep_prob=0.5)


# ---- embedding, dropout, in place ------------------------------------------------------------


def test_embedding_leaves_the_padding_row_without_gradient():
    table, index = Tensor(_array(4, 2)), Tensor([0, 1, 1, 3])
    found = ops.embedding(index, table, padding_idx=0)
    assert np.array_equal(np.asarray(found), np.asarray(table)[[0, 1, 1, 3]])
    slope = ms.grad(lambda w: ops.embedding(index, w, padding_idx=-4).sum())(table)
    assert np.asarray(slope).tolist() == [[0, 0], [2, 2], [0, 0], [1, 1]]
    slope = ms.grad(lambda w: ops.embedding(index, w, scale_grad_by_freq=True).sum())(table)
    assert np.asarray(slope).tolist() == [[1, 1], [1, 1], [0, 0], [1, 1]]
    with pytest.raises(ValueError, match="padding_idx"):
        ops.embedding(index, table, padding_idx=4)


def test_embedding_shortens_the_rows_it_reads():
    table = Tensor(np.array([[3.0, 4.0], [6.0, 8.0]], np.float32))
    ops.embedding(Tensor([0]), table, max_norm=1.0)
    np.testing.assert_allclose(np.asarray(table), [[0.6, 0.8], [6.0, 8.0]], rtol=1e-5)


def test_dropout_in_two_steps():
    ms.set_seed(1)
    keep = Tensor(0.8, ms.float32)
    mask = ops.DropoutGenMask()((100, 100), keep)
    assert mask.shape == (1264,)
    x = Tensor(np.ones((100, 100), np.float32))
    found = np.asarray(ops.DropoutDoMask()(x, mask, keep))
    assert set(np.unique(found)) == {np.float32(0), np.float32(1.25)}
    assert (found > 0).mean() == pytest.approx(0.8, abs=0.02)


def test_functions_that_work_in_place():
    x = Tensor([0.5, -0.5, 0.25])
    values = np.asarray(x).copy()
    for function, wanted in (
        (ops.tanh_, np.tanh),
        (ops.inplace_sigmoid, _sigmoid),
        (lambda t: ops.clamp_(t, 0.0, 0.6), lambda v: np.clip(v, 0.0, 0.6)),
        (ops.zero_, np.zeros_like),
    ):
        assert function(x) is x
        values = wanted(values)
        np.testing.assert_allclose(np.asarray(x), values, rtol=1e-6)
    np.testing.assert_allclose(np.asarray(ops.erfinv_(Tensor([0.5]))), [0.4769363], rtol=1e-5)
    flat = ops.put_(Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([-1, 0]), Tensor([9.0, 8.0]))
    assert np.asarray(flat).tolist() == [[8, 2], [3, 9]]
    with pytest.raises(ValueError, match="put_"):
        ops.put_(Tensor([1.0]), Tensor([0, 0]), Tensor([1.0]))


def test_stop_gradient_in_place():
    def fn(x: Any) -> Any:
        y = x * 2
        ops.stop_gradient_(y)
        return (y * x).sum()

    assert np.asarray(ms.grad(fn)(Tensor([3.0]))).tolist() == [6.0]


def test_random_numbers_in_place():
    ms.set_seed(2)
    x = Tensor(np.zeros(20000, np.float32))
    assert np.asarray(ops.uniform_(x, 1, 3)).mean() == pytest.approx(2, abs=0.02)
    assert (np.asarray(x).min() >= 1, np.asarray(x).max() < 3) == (True, True)
    assert np.asarray(ops.normal_(x, 5, 2)).std() == pytest.approx(2, abs=0.05)
    assert np.asarray(ops.exponential_(x, 4)).mean() == pytest.approx(0.25, abs=0.01)
    assert np.asarray(ops.bernoulli_(x, 0.3)).mean() == pytest.approx(0.3, abs=0.02)
    drawn = np.asarray(ops.random_(x, 2, 5))
    assert set(np.unique(drawn)) == {2.0, 3.0, 4.0}
    probabilities = Tensor(np.full(20000, 0.7, np.float32))
    assert np.asarray(ops.bernoulli_ext(probabilities)).mean() == pytest.approx(0.7, abs=0.02)
    with pytest.raises(ValueError, match="uniform_"):
        ops.uniform_(x, 3, 1)


def test_random_numbers_of_a_given_size():
    drawn = np.asarray(ops.Cauchy([20001], 2.0, 0.5)())
    assert np.median(drawn) == pytest.approx(2.0, abs=0.05)
    found = ops.NonDeterministicInts()((2, 3))
    assert (found.shape, found.dtype) == ((2, 3), ms.int64)
    assert len(np.unique(np.asarray(found))) == 6


# ---- views, aliases, sequences ---------------------------------------------------------------


def test_second_generation_names():
    x, y = _array(2, 3), _array(2, 3)
    assert np.array_equal(np.asarray(ops.TransposeView()(Tensor(x), (1, 0))), x.T)
    assert np.array_equal(np.asarray(ops.TransposeExtView()(Tensor(x), 0, 1)), x.T)
    assert np.array_equal(np.asarray(ops.SelectView()(Tensor(x), 1, -1)), x[:, -1])
    assert ops.Expand()(Tensor(x[:1]), (2, 3)).shape == (2, 3)
    assert np.all(np.asarray(ops.Fills()(Tensor(x), 2.0)) == 2)
    np.testing.assert_allclose(
        np.asarray(ops.LerpScalar()(Tensor(x), Tensor(y), 0.25)), x + 0.25 * (y - x), rtol=1e-5
    )
    np.testing.assert_allclose(
        np.asarray(ops.mse_loss_ext(Tensor(x), Tensor(y))), ((x - y) ** 2).mean(), rtol=1e-5
    )
    assert not np.asarray(ops.isnan_ext(Tensor([1, 2]))).any()
    found = ops.float_power_ext(Tensor([2, 3]), 2)
    assert (found.dtype, np.asarray(found).tolist()) == (ms.float64, [4.0, 9.0])
    found = ops.einsum_ext("ij,kj->ik", Tensor(x), Tensor(y))
    np.testing.assert_allclose(np.asarray(found), x @ y.T, rtol=1e-5, atol=1e-6)
    found = ops.baddbmm_ext(
        Tensor(np.ones((1, 2, 2), np.float32)), Tensor(x[None]), Tensor(y.T[None]), beta=2, alpha=3
    )
    np.testing.assert_allclose(np.asarray(found)[0], 2 + 3 * x @ y.T, rtol=1e-4, atol=1e-5)
    image = Tensor(np.arange(16, dtype=np.float32).reshape(1, 4, 4))
    assert np.asarray(ops.adaptive_avg_pool2d_ext(image, 2)).tolist() == [
        [[2.5, 4.5], [10.5, 12.5]]
    ]


def test_edit_distance():
    hypothesis = Tensor(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])), Tensor([1, 2, 3, 2])
    truth = Tensor(np.array([[0, 0], [0, 1], [1, 0], [1, 1]])), Tensor([1, 2, 2, 3])
    measure = ops.EditDistance(normalize=False)
    found = measure(*hypothesis, Tensor([2, 2]), *truth, Tensor([2, 2]))
    assert np.asarray(found).tolist() == [0.0, 2.0]
    found = ops.EditDistance()(*hypothesis, Tensor([2, 2]), *truth, Tensor([2, 2]))
    assert np.asarray(found).tolist() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: ops.fft(Tensor([1.0]), norm="none"), ValueError),
        (lambda: ops.rfft(Tensor(np.ones(3, np.complex64))), TypeError),
        (lambda: ops.cross(Tensor([1.0, 2.0]), Tensor([1.0, 2.0])), ValueError),
        (lambda: ops.vander(Tensor([[1.0]])), ValueError),
        (lambda: ops.diff(Tensor(1.0)), ValueError),
        (lambda: ops.quantile(Tensor([1.0]), 2.0), ValueError),
        (lambda: ops.unsorted_segment_sum(Tensor([1.0]), Tensor([0.5]), 2), TypeError),
        (lambda: ops.SegmentSum()(Tensor([1.0, 2.0]), Tensor([1, 0])), ValueError),
        (lambda: ops.sequence_mask(Tensor([1]), -1), ValueError),
        (lambda: ops.bincount(Tensor([-1])), ValueError),
        (lambda: ops.hann_window(-1), ValueError),
        (lambda: ops.matrix_exp(Tensor(np.ones((2, 3), np.float32))), ValueError),
        (lambda: ops.intopk(Tensor([1.0]), Tensor([0]), 1), ValueError),
        (lambda: ops.fractional_max_pool2d(Tensor(np.ones((1, 1, 4, 4))), 2), ValueError),
    ],
)
def test_bad_input_is_refused(call: Any, kind: type[Exception]):
    with pytest.raises(kind):
        call()


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ops.fft(x).real(),
        lambda x: ops.unsorted_segment_sum(x, Tensor([0, 1, 0], ms.int32), 2),
        lambda x: ops.cov(x),
        lambda x: ops.bessel_k1(ops.abs(x)),
        lambda x: ops.quantile(x, 0.3, 1),
        lambda x: ops.stft(x, 4),
        lambda x: ops.renorm(x, 2, 0, 1.0),
    ],
    ids=["fft", "unsorted_segment_sum", "cov", "bessel_k1", "quantile", "stft", "renorm"],
)
def test_graphs_give_what_eager_gives(function: Any):
    x = Tensor(_array(3, 4))
    eager, graph = function(x), ms.jit(function)(x)
    np.testing.assert_allclose(np.asarray(graph), np.asarray(eager), rtol=1e-5, atol=1e-6)


# ---- pieces of transformers ------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0, 1])
def test_rotary_positions_turn_pairs(mode: int):
    x, angle = _array(1, 2, 1, 4), _array(1, 2, 1, 2)
    spread = np.concatenate([angle, angle], -1) if mode == 0 else np.repeat(angle, 2, -1)
    found = ops.rotary_position_embedding(
        Tensor(x), Tensor(np.cos(spread)), Tensor(np.sin(spread)), mode
    )
    pairs = (x[..., :2], x[..., 2:]) if mode == 0 else (x[..., ::2], x[..., 1::2])
    turned = (pairs[0] + 1j * pairs[1]) * np.exp(1j * angle)
    result = np.asarray(found)
    first = result[..., :2] if mode == 0 else result[..., ::2]
    second = result[..., 2:] if mode == 0 else result[..., 1::2]
    np.testing.assert_allclose(first, turned.real, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(second, turned.imag, rtol=1e-5, atol=1e-6)


def test_norms_of_sums():
    a, b, gamma, beta = _array(2, 3), _array(2, 3), _array(3), _array(3)
    both = a + b
    normed, inverse, kept = ops.add_rms_norm(Tensor(a), Tensor(b), Tensor(gamma))
    root = 1 / np.sqrt((both**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(np.asarray(normed), both * root * gamma, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.asarray(inverse), root, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(kept), both, rtol=1e-6)
    found = ops.add_layer_norm(*map(Tensor, (a, b, gamma, beta)))
    mean = both.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(both.var(-1, keepdims=True) + 1e-5)
    wanted = (both - mean) * inverse * gamma + beta
    np.testing.assert_allclose(np.asarray(found[0]), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found[1]), mean, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(np.asarray(found[2]), inverse, rtol=1e-4)


def test_tokens_go_to_experts_and_come_back():
    tokens, experts = _array(3, 2), Tensor([[1, 0], [0, 2], [1, 2]], ms.int32)
    sent, places = ops.moe_token_permute(Tensor(tokens), experts)
    assert np.array_equal(np.asarray(sent), tokens[[0, 1, 0, 2, 1, 2]])
    probabilities = np.array([[0.25, 0.75], [0.5, 0.5], [0.1, 0.9]], np.float32)
    back = ops.moe_token_unpermute(sent, places, Tensor(probabilities))
    np.testing.assert_allclose(np.asarray(back), tokens, rtol=1e-5)


# ---- sparse optimizer steps ------------------------------------------------------------------

_RATE = Tensor(0.1, ms.float32)
_ADAM = [Tensor(v, ms.float32) for v in (0.9, 0.999, 0.1, 0.9, 0.999, 1e-8)]


@pytest.mark.parametrize(
    ("sparse", "dense", "states", "before", "after"),
    [
        (ops.SparseApplyAdagrad(0.1), ops.ApplyAdagrad(), 2, (), (_RATE,)),
        (ops.SparseApplyAdadelta(1e-6), ops.ApplyAdadelta(), 3, (_RATE, _RATE), (_RATE, _RATE, 1e-6)),
        (ops.SparseApplyFtrl(0.1, 0.01, 0.02, -0.5), ops.ApplyFtrl(), 3, (), None),
        (ops.FusedSparseFtrl(0.1, 0.01, 0.02, -0.5), ops.ApplyFtrl(), 3, (), None),
        (ops.SparseApplyProximalAdagrad(), ops.ApplyProximalAdagrad(), 2, (_RATE,) * 3, (_RATE,) * 3),
        (ops.FusedSparseProximalAdagrad(), ops.ApplyProximalAdagrad(), 2, (_RATE,) * 3, (_RATE,) * 3),
        (ops.FusedSparseAdam(), ops.Adam(), 3, _ADAM, _ADAM),
        (ops.FusedSparseLazyAdam(), ops.Adam(), 3, _ADAM, _ADAM),
    ],
    ids=lambda v: getattr(v, "name", ""),
)  # fmt: skip
def test_sparse_steps_are_dense_steps_of_some_rows(
    sparse: Any, dense: Any, states: int, before: Any, after: Any
):
    start = [np.abs(_array(4, 2)) + 0.5 for _ in range(states)]
    rows, index = _array(3, 2), np.array([2, 0, 2])
    whole = np.zeros((4, 2), np.float32)
    np.add.at(whole, index, rows)
    ours = [ms.Parameter(Tensor(s.copy()), name=f"s{i}") for i, s in enumerate(start)]
    sparse(*ours, *before, Tensor(rows), Tensor(index, ms.int32))
    wanted = [ms.Parameter(Tensor(s.copy()), name=f"d{i}") for i, s in enumerate(start)]
    gradient = Tensor(whole)
    match dense.name:
        case "ApplyFtrl":
            dense(*wanted, gradient, 0.1, 0.01, 0.02, -0.5)
        case _:
            dense(*wanted, *after, gradient)
    touched = [0, 1, 2, 3] if sparse.name == "FusedSparseAdam" else [0, 2]
    for found, goal, old in zip(ours, wanted, start, strict=True):
        np.testing.assert_allclose(
            np.asarray(found)[touched], np.asarray(goal)[touched], rtol=1e-4, atol=1e-6
        )
        if len(touched) == 2:
            assert np.array_equal(np.asarray(found)[[1, 3]], old[[1, 3]])


def test_sparse_steps_of_their_own():
    var, mean, moment = (ms.Parameter(Tensor(np.ones((2, 1), np.float32)), name=n) for n in "abc")
    gradient, index = Tensor(np.array([[2.0]], np.float32)), Tensor([1], ms.int32)
    ops.SparseApplyAdagradV2(0.1, 0.5)(var, mean, gradient, index)
    wanted = 1 - 0.1 * 2 / (np.sqrt(5) + 0.5)
    np.testing.assert_allclose(np.asarray(var)[:, 0], [1, wanted], rtol=1e-5)
    np.testing.assert_allclose(np.asarray(mean)[:, 0], [1, 5])
    ops.SparseApplyRMSProp(0.9, 0.5, 1e-4)(var, mean, moment, 0.1, gradient, index)
    step = 0.5 + 0.1 * 2 / np.sqrt(5 * 0.9 + 0.4 + 1e-4)
    np.testing.assert_allclose(np.asarray(moment)[:, 0], [1, step], rtol=1e-5)
    np.testing.assert_allclose(np.asarray(var)[:, 0], [1, wanted - step], rtol=1e-5)
