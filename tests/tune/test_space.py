"""What settings may be."""

from __future__ import annotations

import numpy as np
import pytest

from mycelia import nn, tune


def _drawn(kind, count: int = 4000) -> list:
    random = np.random.default_rng(0)
    return [kind.sample(random) for _ in range(count)]


def test_floats_fill_their_range_evenly():
    drawn = np.array(_drawn(tune.uniform(-1.0, 3.0)))
    assert drawn.min() >= -1.0 and drawn.max() <= 3.0
    shares = np.histogram(drawn, bins=4, range=(-1.0, 3.0))[0] / len(drawn)
    np.testing.assert_allclose(shares, 0.25, atol=0.03)


def test_floats_by_size_fill_each_power_of_ten_evenly():
    drawn = np.log10(_drawn(tune.log_uniform(1e-4, 1.0)))
    assert drawn.min() >= -4.0 and drawn.max() <= 0.0
    shares = np.histogram(drawn, bins=4, range=(-4.0, 0.0))[0] / len(drawn)
    np.testing.assert_allclose(shares, 0.25, atol=0.03)


def test_whole_numbers_include_both_ends():
    drawn = _drawn(tune.integer(2, 5))
    counts = np.bincount(drawn, minlength=6)[2:] / len(drawn)
    assert set(drawn) == {2, 3, 4, 5} and all(type(each) is int for each in drawn)
    np.testing.assert_allclose(counts, 0.25, atol=0.03)
    drawn = _drawn(tune.integer(1, 100, log=True))
    assert min(drawn) == 1 and max(drawn) == 100
    assert 0.4 < np.mean(np.array(drawn) <= 10) < 0.7


def test_options_are_as_likely_and_may_be_anything():
    options = [nn.ReLU, nn.GELU, "tanh", None, (3, 5)]
    kind = tune.choice(options)
    drawn = _drawn(kind)
    for option in options:
        assert abs(sum(each is option for each in drawn) / len(drawn) - 0.2) < 0.03
        assert kind.restored(kind.plain(option)) is option
    assert kind.describe() == {"options": ["ReLU", "GELU", "tanh", None, [3, 5]]}


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: tune.uniform(1.0, 1.0), ValueError, "range is empty"),
        (lambda: tune.uniform(0.0, float("inf")), ValueError, "range is empty"),
        (lambda: tune.uniform("a", 1.0), TypeError, "low"),
        (lambda: tune.log_uniform(0.0, 1.0), ValueError, "above 0"),
        (lambda: tune.integer(5, 4), ValueError, "range is empty"),
        (lambda: tune.integer(1.5, 4), TypeError, "low"),
        (lambda: tune.integer(0, 4, log=True), ValueError, "above 0"),
        (lambda: tune.choice([]), ValueError, "options"),
        (lambda: tune.choice([1, 1]), ValueError, "distinct names"),
        (lambda: tune.choice("abc"), TypeError, "options"),
        (lambda: tune.search(lambda t: 0.0, {"lr": 0.1}), TypeError, "space of 'lr' is invalid"),
        (lambda: tune.search(lambda t: 0.0, {}), ValueError, "no settings"),
        (lambda: tune.search(lambda t: 0.0, [1]), TypeError, "space"),
    ],
)
def test_wrong_spaces(make, error, message):
    with pytest.raises(error, match=message):
        make()
