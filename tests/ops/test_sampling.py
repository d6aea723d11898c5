"""Random operators: a key repeats, seeds choose streams, distributions are the right ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mycelia
from mycelia import Tensor, ops
from mycelia.ops.random.distributions import RandomInteger

KEY = np.array([3, 5], np.uint32)
COUNT = 20_000


def draw(op: Any, *args: Any, key: np.ndarray = KEY) -> Any:
    return op.lower(*args, key)


def distance_to(samples: Any, distribution: Any) -> float:
    """The Kolmogorov-Smirnov distance between samples and a distribution function."""
    ordered = np.sort(np.asarray(samples, np.float64).ravel())
    exact = np.array([distribution(x) for x in ordered])
    steps = np.arange(ordered.size + 1) / ordered.size
    return float(max(np.abs(exact - steps[:-1]).max(), np.abs(exact - steps[1:]).max()))


LIMIT = 1.95 / math.sqrt(COUNT)  # exceeded once in a thousand times


def test_the_same_key_repeats_exactly_and_another_does_not():
    op = ops.StandardNormal()
    first, second = draw(op, (100,)), draw(op, (100,))
    other = draw(op, (100,), key=np.array([3, 6], np.uint32))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_different_seeds_give_different_streams():
    found = [
        draw(ops.StandardNormal(seed, seed2), (50,)) for seed, seed2 in ((0, 0), (1, 0), (0, 2))
    ]
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_set_seed_repeats_everything_after_it():
    def run() -> np.ndarray:
        mycelia.set_seed(11)
        return np.concatenate([ops.randn(4).asnumpy(), ops.rand(4).asnumpy()])

    np.testing.assert_array_equal(run(), run())


def test_normal_numbers_are_normal():
    found = draw(ops.StandardNormal(), (COUNT,))
    assert found.dtype == np.float32
    assert distance_to(found, lambda x: 0.5 * math.erfc(-x / math.sqrt(2))) < LIMIT


def test_laplace_numbers_are_laplace():
    def distribution(x: float) -> float:
        return 0.5 * math.exp(x) if x < 0 else 1 - 0.5 * math.exp(-x)

    assert distance_to(draw(ops.StandardLaplace(), (COUNT,)), distribution) < LIMIT


def test_uniform_numbers_are_uniform_and_below_one():
    found = np.asarray(draw(ops.UniformReal(), (COUNT,)))
    assert found.min() >= 0 and found.max() < 1
    assert distance_to(found, lambda x: x) < LIMIT


def test_uniform_integers_hit_every_value_and_not_the_upper_end():
    found = np.asarray(draw(ops.UniformInt(), (COUNT,), np.int32(-2), np.int32(3)))
    values, counts = np.unique(found, return_counts=True)
    assert values.tolist() == [-2, -1, 0, 1, 2]
    assert np.abs(counts / COUNT - 0.2).max() < 0.02


def test_randint_spans_its_range():
    found = np.asarray(draw(RandomInteger(low=5, high=8), (1000,)))
    assert found.dtype == np.int64
    assert set(found.tolist()) == {5, 6, 7}


def test_gamma_has_the_mean_and_variance_of_its_shape_and_scale():
    found = np.asarray(draw(ops.Gamma(), (COUNT,), np.float32(3.0), np.float32(2.0)))
    assert found.mean() == pytest.approx(6.0, rel=0.03)
    assert found.var() == pytest.approx(12.0, rel=0.06)


def test_poisson_has_equal_mean_and_variance():
    found = np.asarray(draw(ops.Poisson(), (COUNT,), np.float32(4.0)))
    assert found.mean() == pytest.approx(4.0, rel=0.03)
    assert found.var() == pytest.approx(4.0, rel=0.06)


def test_truncated_normal_stays_within_two_deviations():
    assert np.abs(np.asarray(draw(ops.TruncatedNormal(), (COUNT,)))).max() <= 2


def test_multinomial_draws_in_proportion_and_never_what_has_no_weight():
    weights = np.array([0.0, 9.0, 3.0, 0.0], np.float32)
    found = np.asarray(draw(ops.Multinomial(), weights, COUNT))
    shares = np.bincount(found, minlength=4) / COUNT
    np.testing.assert_allclose(shares, weights / weights.sum(), atol=0.015)
    assert shares[0] == shares[3] == 0


def test_multinomial_without_replacement_gives_different_classes():
    rows = Tensor(np.array([[0.0, 9.0, 3.0, 1.0]] * 50, np.float32))
    found = ops.multinomial(rows, 3, replacement=False).asnumpy()
    assert all(sorted(row) == [1, 2, 3] for row in found.tolist())
    with pytest.raises(ValueError, match="more samples than classes"):
        ops.multinomial(rows, 5, replacement=False)


def test_random_categorical_follows_the_softmax_and_repeats_for_a_seed():
    logits = np.log(np.array([[1.0, 2.0, 1.0]], np.float32))
    found = np.asarray(draw(ops.RandomCategorical(), logits, COUNT, 0))
    np.testing.assert_allclose(np.bincount(found[0]) / COUNT, [0.25, 0.5, 0.25], atol=0.015)
    repeated = [ops.random_categorical(Tensor(logits), 20, 7).asnumpy() for _ in range(2)]
    np.testing.assert_array_equal(*repeated)


def test_bernoulli_is_one_with_its_probability():
    found = ops.bernoulli(Tensor(np.zeros(COUNT, np.float32)), 0.3)
    assert found.asnumpy().mean() == pytest.approx(0.3, abs=0.015)
    with pytest.raises(ValueError, match="range"):
        ops.bernoulli(found, 2.0)


def test_permutations_hold_every_number_once():
    assert sorted(ops.randperm(20).tolist()) == list(range(20))
    rows = Tensor(np.arange(20, dtype=np.float32).reshape(10, 2))
    shuffled = ops.shuffle(rows).asnumpy()
    np.testing.assert_array_equal(np.sort(shuffled, axis=0), rows.asnumpy())


def test_choice_with_mask_gives_true_positions_and_says_which_are_padding():
    mask = np.array([[True, False, True], [False, True, False]])
    index, real = ops.choice_with_mask(Tensor(mask), 5)
    assert real.tolist() == [True] * 3 + [False] * 2
    found = {tuple(place) for place in index.asnumpy()[:3].tolist()}
    assert found == {(0, 0), (0, 2), (1, 1)}


def test_gumbel_softmax_hard_is_one_hot_and_draws_by_the_logits():
    logits = Tensor(np.log(np.tile(np.array([1.0, 3.0], np.float32), (COUNT, 1))))
    found = ops.gumbel_softmax(logits, 1.0, True).asnumpy()
    assert set(np.unique(found)) == {0.0, 1.0}
    assert found[:, 1].mean() == pytest.approx(0.75, abs=0.015)


def test_candidates_are_unique_and_avoid_the_true_classes_when_asked():
    true = Tensor(np.array([[1], [2]], np.int64))
    drawn, true_count, drawn_count = ops.uniform_candidate_sampler(true, 1, 4, True, 6, 0, True)
    assert sorted(drawn.tolist()) == [0, 3, 4, 5]
    np.testing.assert_allclose(true_count.asnumpy(), 4 / 6, rtol=1e-6)
    np.testing.assert_allclose(drawn_count.asnumpy(), 4 / 6, rtol=1e-6)


def test_dropout_keeps_the_mean_and_scales_what_it_keeps():
    ones = Tensor(np.ones(COUNT, np.float32))
    output, mask = ops.Dropout(keep_prob=0.8)(ones)
    assert output.asnumpy().mean() == pytest.approx(1.0, abs=0.02)
    np.testing.assert_allclose(output.asnumpy(), mask.asnumpy() / 0.8, rtol=1e-6)


def test_the_gradient_of_dropout_uses_its_mask():
    ones = Tensor(np.ones(64, np.float32))
    value, gradient = mycelia.value_and_grad(lambda x: ops.dropout(x, 0.5))(ones)
    np.testing.assert_array_equal(value.asnumpy(), gradient.asnumpy())


def test_dropout_in_evaluation_is_the_input_itself():
    x = Tensor(np.ones(4, np.float32))
    assert ops.dropout(x, 0.5, training=False) is x


def test_dropout2d_drops_whole_channels():
    images = Tensor(np.ones((8, 16, 3, 3), np.float32))
    found = ops.dropout2d(images, 0.5).asnumpy().reshape(128, 9)
    assert set(np.unique(found)) == {0.0, 2.0}
    assert (found == found[:, :1]).all()


@pytest.mark.parametrize("op", [ops.StandardNormal, ops.UniformReal])
def test_a_negative_seed_or_size_is_refused(op: Any):
    with pytest.raises(ValueError, match=">= 0"):
        op(-1)
    with pytest.raises(ValueError, match="negative"):
        op()((-1, 2))
