"""Functions of mint without a golden: random numbers, writing in place, parts of batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, mint


def _array(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.RandomState(seed).standard_normal(shape).astype(np.float32)


def test_uniform_numbers_lie_between_0_and_1():
    drawn = mint.rand(40, 50)
    assert drawn.shape == (40, 50) and drawn.dtype == ms.float32
    values = np.asarray(drawn)
    assert values.min() >= 0 and values.max() < 1 and abs(values.mean() - 0.5) < 0.03
    like = mint.rand_like(drawn, dtype=ms.float64)
    assert like.shape == (40, 50) and like.dtype == ms.float64
    assert abs(np.asarray(like).mean() - 0.5) < 0.03
    assert mint.rand((2, 3), dtype=ms.float16).dtype == ms.float16


def test_normal_numbers_have_the_mean_and_the_deviation_asked_for():
    for drawn in (mint.randn(40, 50), mint.randn_like(mint.zeros((40, 50)))):
        values = np.asarray(drawn)
        assert values.shape == (40, 50) and values.dtype == np.float32
        assert abs(values.mean()) < 0.1 and abs(values.std() - 1) < 0.1
    values = np.asarray(mint.normal(3.0, 2.0, (40, 50)))
    assert abs(values.mean() - 3) < 0.2 and abs(values.std() - 2) < 0.2
    means = Tensor(np.array([[0.0], [100.0]], np.float32))
    values = np.asarray(mint.normal(means, Tensor(np.ones(500, np.float32))))
    assert values.shape == (2, 500) and abs(values[1].mean() - 100) < 0.3
    assert mint.normal(means).shape == (2, 1)
    with pytest.raises(ValueError, match="need a size"):
        mint.normal(0.0, 1.0)


def test_random_integers_lie_between_their_bounds():
    drawn = mint.randint(5, (300,))
    assert drawn.dtype == ms.int64 and set(np.asarray(drawn)) == set(range(5))
    assert set(np.asarray(mint.randint(-2, 2, (300,)))) == {-2, -1, 0, 1}
    like = mint.randint_like(mint.zeros((100, 3)), 2, 4)
    assert like.dtype == ms.float32 and set(np.asarray(like).ravel()) == {2.0, 3.0}
    assert mint.randint_like(like, 3, dtype=ms.int32).dtype == ms.int32
    with pytest.raises(TypeError, match="wrong number of arguments"):
        mint.randint(5)
    with pytest.raises(TypeError, match="must be a Tensor"):
        mint.randint_like(3, 4)


def test_a_random_order_has_every_number_once():
    order = mint.randperm(50)
    assert order.dtype == ms.int64
    assert sorted(np.asarray(order)) == list(range(50)) and list(np.asarray(order)) != list(
        range(50)
    )
    assert mint.randperm(3, dtype=ms.int32).dtype == ms.int32


def test_bernoulli_follows_the_probabilities():
    chances = Tensor(np.repeat(np.array([[0.0], [0.3], [1.0]], np.float32), 3000, 1))
    drawn = np.asarray(mint.bernoulli(chances))
    assert drawn.dtype == np.float32 and set(np.unique(drawn)) == {0.0, 1.0}
    np.testing.assert_allclose(drawn.mean(1), [0, 0.3, 1], atol=0.05)
    with pytest.raises(TypeError, match="float tensor"):
        mint.bernoulli(Tensor([1, 0]))


def test_multinomial_draws_different_classes_unless_they_may_repeat():
    weights = Tensor(np.array([1.0, 0.0, 3.0, 2.0], np.float32))
    once = mint.multinomial(weights, 3)
    assert once.dtype == ms.int64 and sorted(np.asarray(once)) == [0, 2, 3]
    many = np.asarray(mint.multinomial(weights, 6000, replacement=True))
    np.testing.assert_allclose(
        np.bincount(many, minlength=4) / 6000, [1 / 6, 0, 1 / 2, 1 / 3], atol=0.04
    )


def test_seeds_repeat_what_is_drawn():
    ms.set_seed(3)
    first = np.asarray(mint.rand(4))
    second = np.asarray(mint.rand(4))
    ms.set_seed(3)
    assert np.array_equal(np.asarray(mint.rand(4)), first) and not np.array_equal(first, second)
    with pytest.raises(TypeError, match="set_seed"):
        mint.rand(2, generator=object())
    with pytest.raises(ValueError, match="device"):
        mint.randn(2, device="Ascend")


def test_empty_tensors_have_the_shape_and_dtype_asked_for():
    assert mint.empty(2, 3).shape == (2, 3) and mint.empty((4,), dtype=ms.int32).dtype == ms.int32
    like = mint.empty_like(mint.ones((2, 5), dtype=ms.float16), device="cpu")
    assert like.shape == (2, 5) and like.dtype == ms.float16
    with pytest.raises(RuntimeError, match="pin_memory"):
        mint.empty(2, pin_memory=True)
    with pytest.raises(TypeError, match="size"):
        mint.empty(2.5)


@pytest.mark.parametrize(
    ("name", "call", "wanted"),
    [
        ("relu_", lambda x: mint.nn.functional.relu_(x), lambda x: np.maximum(x, 0)),
        ("sigmoid_", lambda x: mint.nn.functional.sigmoid_(x), lambda x: 1 / (1 + np.exp(-x))),
        ("hardtanh_", lambda x: mint.nn.functional.hardtanh_(x), lambda x: np.clip(x, -1, 1)),
        ("elu_", lambda x: mint.nn.functional.elu_(x), lambda x: np.where(x > 0, x, np.expm1(x))),
        (
            "threshold_",
            lambda x: mint.nn.functional.threshold_(x, 0.1, 5.0),
            lambda x: np.where(x > 0.1, x, 5.0),
        ),
        ("relu6", lambda x: mint.nn.functional.relu6(x, inplace=True), lambda x: np.clip(x, 0, 6)),
        ("ELU", lambda x: mint.nn.ELU(inplace=True)(x), lambda x: np.where(x > 0, x, np.expm1(x))),
    ],
)
def test_functions_in_place_change_their_input_and_give_it(name: str, call: Any, wanted: Any):
    values = _array(3, 4)
    x = Tensor(values)
    assert call(x) is x
    np.testing.assert_allclose(np.asarray(x), wanted(values), rtol=1e-5)


def test_writing_in_place_also_works_compiled_and_differentiated():
    values = _array(3, 4)

    def loss(x: Any) -> Any:
        y = x * 2
        mint.nn.functional.relu_(y)
        return (y * y).sum()

    wanted = 8 * np.maximum(values, 0)
    np.testing.assert_allclose(np.asarray(ms.grad(loss)(Tensor(values))), wanted, rtol=1e-5)
    np.testing.assert_allclose(np.asarray(ms.jit(ms.grad(loss))(Tensor(values))), wanted, rtol=1e-5)


def test_addr_adds_an_outer_product_in_place():
    x, a, b = _array(2, 3), _array(2, seed=1), _array(3, seed=2)
    target = Tensor(x)
    assert mint.addr_(target, Tensor(a), Tensor(b), beta=0.5, alpha=2) is target
    np.testing.assert_allclose(np.asarray(target), 0.5 * x + 2 * np.outer(a, b), rtol=1e-5)


def test_npu_gelu_is_gelu():
    x = Tensor(_array(5))
    for way in ("none", "tanh"):
        ours = np.asarray(mint.npu_gelu(x, way))
        np.testing.assert_array_equal(ours, mint.nn.functional.gelu(x, approximate=way).asnumpy())
    exact = np.asarray(x) * 0.5 * (1 + np.asarray(mint.erf(x / 2**0.5)))
    np.testing.assert_allclose(np.asarray(mint.npu_gelu(x)), exact, rtol=1e-5, atol=1e-6)


def test_flatten_joins_the_dimensions_between():
    x = _array(2, 3, 4)
    assert mint.nn.functional.flatten(Tensor(x), 1, 2).shape == (2, 12)
    np.testing.assert_array_equal(mint.nn.functional.flatten(Tensor(x)).asnumpy(), x.ravel())
    assert mint.flatten(Tensor(2.0)).shape == (1,)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("unitriangular", [False, True])
def test_triangular_solve(upper: bool, transpose: bool, unitriangular: bool):
    a, b = _array(3, 3) + 3 * np.eye(3, dtype=np.float32), _array(3, 2, seed=1)
    x, same = mint.triangular_solve(Tensor(b), Tensor(a), upper, transpose, unitriangular)
    used = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        np.fill_diagonal(used, 1)
    used = used.T if transpose else used
    np.testing.assert_allclose(used @ np.asarray(x), b, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(np.asarray(same), a)


def test_qr_gives_factors():
    a = _array(4, 3)
    for mode, columns in (("reduced", 3), ("complete", 4)):
        q, r = mint.linalg.qr(Tensor(a), mode)
        assert q.shape == (4, columns)
        np.testing.assert_allclose(np.asarray(q) @ np.asarray(r), a, atol=1e-5)
        np.testing.assert_allclose(np.asarray(q).T @ np.asarray(q), np.eye(columns), atol=1e-5)
    q, r = mint.linalg.qr(Tensor(a), mode="r")
    assert q.shape == (0,) and r.shape == (3, 3)


def test_statistics_of_parts_give_those_of_the_whole_batch():
    x, eps = _array(6, 3, 4, 2), 1e-5
    parts = (x[:2], x[2:])
    stats = [mint.batch_norm_stats(Tensor(part), eps) for part in parts]
    np.testing.assert_allclose(np.asarray(stats[0][0]), x[:2].mean((0, 2, 3)), atol=1e-6)
    means, invstds = (mint.stack([s[i] for s in stats]) for i in (0, 1))
    counts = Tensor(np.array([16.0, 32.0], np.float32))
    running = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    mean, invstd = mint.batch_norm_gather_stats_with_counts(
        Tensor(x[:2]), means, invstds, *running, momentum=0.2, eps=eps, counts=counts
    )
    np.testing.assert_allclose(np.asarray(mean), x.mean((0, 2, 3)), atol=1e-6)
    np.testing.assert_allclose(np.asarray(invstd), 1 / np.sqrt(x.var((0, 2, 3)) + eps), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(running[0]), 0.2 * x.mean((0, 2, 3)), atol=1e-6)
    wide = x.transpose(1, 0, 2, 3).reshape(3, -1)
    np.testing.assert_allclose(np.asarray(running[1]), 0.8 + 0.2 * wide.var(1, ddof=1), rtol=1e-5)
    weight, bias = Tensor(np.full(3, 2.0, np.float32)), Tensor(np.ones(3, np.float32))
    out = np.asarray(mint.batch_norm_elemt(Tensor(x), weight, bias, mean, invstd, eps))
    np.testing.assert_allclose(out.mean((0, 2, 3)), np.ones(3), atol=1e-5)
    np.testing.assert_allclose(out.std((0, 2, 3)), np.full(3, 2.0), rtol=1e-4)
    own = mint.batch_norm_elemt(Tensor(x))
    np.testing.assert_allclose(np.asarray(own).std((0, 2, 3)), np.ones(3), rtol=1e-4)


def test_batch_norm_moves_running_statistics_and_uses_them():
    x = _array(4, 3, 5)
    mean, variance = Tensor(np.zeros(3, np.float32)), Tensor(np.ones(3, np.float32))
    mint.nn.functional.batch_norm(Tensor(x), mean, variance, training=True, momentum=0.5)
    np.testing.assert_allclose(np.asarray(mean), 0.5 * x.mean((0, 2)), atol=1e-6)
    with pytest.raises(ValueError, match="needs running_mean"):
        mint.nn.functional.batch_norm(Tensor(x), None, None)


def test_embedding_shortens_long_rows_in_its_weight():
    table = np.array([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]], np.float32)
    weight = Tensor(table)
    rows = mint.nn.functional.embedding(Tensor([0, 1]), weight, max_norm=1.0)
    np.testing.assert_allclose(np.asarray(rows), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-5)
    np.testing.assert_allclose(np.asarray(weight), [[0.6, 0.8], [0.3, 0.4], [6, 8]], rtol=1e-5)


def test_one_example_needs_no_batch():
    x = _array(2, 6, 6)
    batch = Tensor(x[None])
    for call in (
        lambda x: mint.nn.functional.max_pool2d(x, 2, return_indices=True)[1],
        lambda x: mint.nn.functional.avg_pool2d(x, 3, 1, 1),
        lambda x: mint.nn.functional.conv_transpose2d(x, Tensor(_array(2, 1, 3, 3)), stride=2),
    ):
        np.testing.assert_allclose(
            np.asarray(call(Tensor(x))), np.asarray(call(batch))[0], rtol=1e-6
        )


@pytest.mark.parametrize(
    ("error", "match", "call"),
    [
        (TypeError, "dtype", lambda x: mint.mean(mint.arange(3))),
        (ValueError, "both None", lambda x: mint.clamp(x)),
        (ValueError, "3 dimensions", lambda x: mint.bmm(x, x)),
        (ValueError, "vectors of the same length", lambda x: mint.dot(x, x)),
        (ValueError, "3 elements", lambda x: mint.cross(x, x, dim=0)),
        (ValueError, "shapes differ", lambda x: mint.cross(x, x[:1])),
        (RuntimeError, "out of range", lambda x: mint.kthvalue(x, 9)),
        (ValueError, "index", lambda x: mint.select(x, 0, 7)),
        (ValueError, "unknown order", lambda x: mint.norm(x, "max")),
        (ValueError, "compute_mode", lambda x: mint.cdist(x, x, 2.0, "fast")),
        (ValueError, "vector or a matrix", lambda x: mint.diag(x[None])),
        (ValueError, "not the sum", lambda x: mint.repeat_interleave(x, 2, 0, output_size=5)),
        (TypeError, "vector of integers", lambda x: mint.bincount(x)),
        (ValueError, "negative", lambda x: mint.bincount(Tensor([1, -1]))),
        (ValueError, "one index for each", lambda x: mint.index_add(x, 0, Tensor([0]), x)),
        (ValueError, "stride of 1", lambda x: mint.nn.functional.conv2d(
            x[None, None], x[None, None], stride=2, padding="same"
        )),
        (ValueError, "divisor_override", lambda x: mint.nn.functional.avg_pool2d(
            x[None], 2, divisor_override=0
        )),
        (ValueError, "dimensions", lambda x: mint.nn.functional.max_pool2d(x, 2)),
        (ValueError, "output_padding", lambda x: mint.nn.functional.conv_transpose2d(
            x[None], x[None, None], output_padding=1
        )),
        (ValueError, "'p'", lambda x: mint.nn.functional.dropout(x, 1.5)),
        (TypeError, "integers", lambda x: mint.nn.functional.one_hot(x)),
        (ValueError, "padding_idx", lambda x: mint.nn.functional.embedding(Tensor([0]), x, 5)),
        (ValueError, "reduction", lambda x: mint.nn.functional.kl_div(x, x, "most")),
        (ValueError, "beta", lambda x: mint.nn.functional.smooth_l1_loss(x, x, beta=-1.0)),
        (ValueError, "bicubic", lambda x: mint.nn.functional.interpolate(x, 3, mode="bicubic")),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused(error: type, match: str, call: Any):
    with pytest.raises(error, match=match):
        call(Tensor(_array(2, 3)))
