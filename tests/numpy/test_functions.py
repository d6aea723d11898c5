"""mycelia.numpy beyond the goldens: constants, random numbers, inputs, and numpy's own results."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import mycelia as ms
import mycelia.numpy as mnp
from mycelia import Tensor


def test_plain_numpy_is_not_shadowed():
    assert np.__name__ == "numpy" and hasattr(np, "ndarray")
    assert not hasattr(mnp, "ndarray")


def test_constants_are_numpys():
    assert (mnp.pi, mnp.inf, mnp.PINF, mnp.NINF) == (np.pi, np.inf, np.inf, -np.inf)
    assert np.isnan(mnp.nan)


def test_dtypes_are_mycelias_with_32_bits_by_default():
    assert (mnp.int_, mnp.uint, mnp.float_) == (ms.int32, ms.uint32, ms.float32)
    names = "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64"
    assert all(getattr(mnp, name) is getattr(ms, name) for name in names.split())


def test_round_is_around():
    assert mnp.round(Tensor([1.5, 2.5])).tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("name", "signature"),
    [
        ("arange", "(start, stop=None, step=None, dtype=None)"),
        ("arccos", "(input, dtype=None)"),
        ("negative", "(a, dtype=None)"),
        ("sqrt", "(x, dtype=None)"),
        ("add", "(x1, x2, dtype=None)"),
        ("sum", "(a, axis=None, dtype=None, keepdims=False, initial=None)"),
        ("mean", "(a, axis=None, keepdims=False, dtype=None)"),
        ("cross", "(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None)"),
        ("eye", "(N, M=None, k=0, dtype=mycelia.float32)"),
        ("meshgrid", "(*xi, sparse=False, indexing='xy')"),
    ],
)
def test_signatures_are_mindspores(name: str, signature: str):
    found = inspect.signature(getattr(mnp, name))
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in found.parameters.values()]
    shown = found.replace(parameters=bare, return_annotation=inspect.Signature.empty)
    assert str(shown) == signature
    assert getattr(mnp, name).__name__ == name and getattr(mnp, name).__doc__


# ---- what may be passed ---------------------------------------------------------------------


def test_numpy_arrays_count_like_lists_and_get_32_bits():
    assert mnp.array(np.arange(3)).dtype is ms.int32
    assert mnp.add(np.arange(2.0), Tensor([1, 2], ms.int8)).dtype is ms.float32
    assert mnp.array(np.arange(3, dtype=np.uint8)).dtype is ms.uint8
    assert mnp.transpose(np.arange(6).reshape(2, 3)).shape == (3, 2)


def test_lists_of_tensors_become_one_tensor():
    made = mnp.array([Tensor([1.0, 2.0]), [3, 4]])
    assert made.dtype is ms.float32 and made.tolist() == [[1, 2], [3, 4]]


def test_array_copies_and_asarray_does_not():
    source = Tensor([1.0, 2.0])
    assert mnp.asarray(source) is source
    assert mnp.array(source) is not source
    assert mnp.array(source, copy=False) is source
    assert mnp.copy(source) is not source


def test_python_types_and_names_are_dtypes():
    made = [mnp.zeros(1, dtype).dtype for dtype in (int, float, bool, "int8", np.float64)]
    assert made == [ms.int32, ms.float32, ms.bool_, ms.int8, ms.float64]


# ---- random numbers -------------------------------------------------------------------------


def test_rand_draws_evenly_from_zero_to_one():
    ms.set_seed(3)
    drawn = mnp.rand(50, 40).asnumpy()
    assert drawn.shape == mnp.rand((50, 40)).shape == (50, 40)
    assert drawn.dtype == np.float32 and drawn.min() >= 0 and drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.03
    one = mnp.rand(dtype=mnp.float16)
    assert one.shape == (1,) and one.dtype is ms.float16


def test_randn_draws_from_the_normal_distribution():
    ms.set_seed(3)
    drawn = mnp.randn(2000).asnumpy()
    assert abs(drawn.mean()) < 0.1 and abs(drawn.std() - 1) < 0.1
    assert mnp.randn(2, dtype=mnp.float64).dtype is ms.float64


def test_randint_draws_every_number_below_the_end():
    ms.set_seed(3)
    assert set(mnp.randint(2, 5, (200,)).tolist()) == {2, 3, 4}
    below = mnp.randint(5, dtype=mnp.int8)
    assert below.shape == (1,) and below.dtype is ms.int8 and 0 <= int(below) < 5


def test_the_seed_repeats_random_numbers():
    ms.set_seed(7)
    first = mnp.rand(50, 40).tolist()
    ms.set_seed(7)
    assert mnp.rand(50, 40).tolist() == first


# ---- where the real one has no result or a wrong one, numpy is the reference -------------------

NUMBERS = np.array([[4, -1, 3], [2, 7, -5]], np.int32)
FLOATS = np.array([[0.5, -1.5, 2.0], [3.0, 0.0, -0.25]], np.float32)
POSITIVE = np.array([1, 2, 5], np.int32)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: mnp.std(Tensor(NUMBERS)), np.std(NUMBERS)),
        (lambda: mnp.var(Tensor(NUMBERS), 0), np.var(NUMBERS, 0)),
        (lambda: mnp.mean([1, 2], dtype=mnp.float64), 1.5),
        (lambda: mnp.cbrt([8.0, -27.0, 0.0]), [2, -3, 0]),
        (lambda: mnp.nanmax([[np.nan, np.nan], [1, 2]], 1), [np.nan, 2]),
        (lambda: mnp.exp(POSITIVE), np.exp(POSITIVE)),
        (lambda: mnp.log(POSITIVE), np.log(POSITIVE)),
        (lambda: mnp.floor(POSITIVE), POSITIVE),
        (lambda: mnp.rint(POSITIVE), POSITIVE),
        (lambda: mnp.logaddexp(POSITIVE, 2), np.logaddexp(POSITIVE, 2)),
        (lambda: mnp.divmod([7, -7], [3, 3])[1], [1, 2]),
        (lambda: mnp.float_power(2, 0.5), 2**0.5),
        (lambda: mnp.norm(FLOATS, 2), np.linalg.norm(FLOATS, 2)),
        (lambda: mnp.norm(FLOATS, "nuc"), np.linalg.norm(FLOATS, "nuc")),
        (lambda: mnp.cross([1, 2], [4, 5]), -3),
        (lambda: mnp.correlate([1, 2, 3], [0, 1, 0.5], "full"), [0.5, 2, 3.5, 3, 0]),
        (lambda: mnp.clip(FLOATS, 0, 1, dtype=mnp.int32), np.clip(FLOATS, 0, 1).astype(int)),
        (lambda: mnp.full_like(FLOATS, [1, 2, 3]), [[1, 2, 3]] * 2),
        (lambda: mnp.piecewise(FLOATS, [FLOATS < 0], [-1, 1]), np.where(FLOATS < 0, -1, 1)),
        (lambda: mnp.piecewise(FLOATS, FLOATS < 0, [-1, 2]), np.where(FLOATS < 0, -1, 2)),
        (lambda: mnp.choose(1, [[1, 2], [3, 4]]), [3, 4]),
        (lambda: mnp.cov(FLOATS, aweights=[0.5, 1, 2]), np.cov(FLOATS, aweights=[0.5, 1, 2])),
        (lambda: mnp.count_nonzero(FLOATS > 0), 3),
        (lambda: mnp.multiply([1, 2], 2), [2, 4]),
        (lambda: mnp.squeeze(Tensor([[1.0], [2.0]]), 0), [[1], [2]]),
        (lambda: mnp.geomspace(3, 8, 1), [3]),
        (lambda: mnp.matmul([[1, 2]], Tensor([[0.5], [1.0]])), [[2.5]]),
        (lambda: mnp.searchsorted([3, 1, 2], [2], sorter=[1, 2, 0]), [1]),
        (lambda: mnp.polyder([1, 2], 5), np.zeros(0)),
        (lambda: mnp.interp(1.5, [1, 1, 2], [0, 4, 6]), np.interp(1.5, [1, 1, 2], [0, 4, 6])),
        (lambda: mnp.apply_along_axis(lambda v, b: v[0] + b, -1, FLOATS, 5), FLOATS[:, 0] + 5),
        (lambda: mnp.hanning(0), np.zeros(0)),
    ],
)
def test_results_are_numpys(ours: Any, theirs: Any):
    found = ours().asnumpy()
    assert found.shape == np.shape(theirs)
    np.testing.assert_allclose(found, theirs, rtol=1e-5, atol=1e-6)


def test_pad_with_a_function_gets_each_vector():
    def doubled(vector: Any, width: Any, axis: int, options: Any) -> Any:
        return vector * 2 + options["step"] + axis

    assert mnp.pad(Tensor([1.0, 2.0]), 1, mode=doubled, step=1).tolist() == [1, 3, 5, 1]


# ---- graphs and gradients -------------------------------------------------------------------


def test_a_network_with_numpy_functions_is_one_graph():
    def network(x: Any) -> Any:
        rows = mnp.concatenate((x, mnp.ones_like(x)), axis=0)
        weights = mnp.where(rows > 0, mnp.sqrt(mnp.abs(rows)), 0)
        return mnp.sum(mnp.matmul(weights, mnp.transpose(rows)), axis=1)

    x = Tensor(FLOATS)
    np.testing.assert_allclose(ms.jit(network)(x).asnumpy(), network(x).asnumpy(), rtol=1e-5)


def test_functions_that_users_give_are_read_into_the_graph():
    def network(x: Any) -> Any:
        return mnp.apply_along_axis(lambda row: mnp.cumsum(row) * 2, 1, x)

    x = Tensor(FLOATS)
    assert ms.jit(network)(x).tolist() == (np.cumsum(FLOATS, 1) * 2).tolist()


def test_sets_work_in_graph_mode_although_their_size_depends_on_numbers():
    @ms.jit
    def network(x: Any, y: Any) -> Any:
        return mnp.intersect1d(x, y), mnp.unique(x)

    shared, different = network(Tensor([3, 1, 3]), Tensor([7, 3]))
    assert shared.tolist() == [3] and different.tolist() == [3, 1]


@pytest.mark.parametrize(
    "loss",
    [
        lambda x: mnp.sum(mnp.square(x)),
        lambda x: mnp.mean(mnp.tanh(mnp.dot(x, mnp.transpose(x)))),
        lambda x: mnp.sum(mnp.pad(x, 2, mode="reflect", reflect_type="odd") * 0.5),
        lambda x: mnp.norm(mnp.cov(x)),
        lambda x: mnp.sum(mnp.interp(x, [-3, 0, 3], [1, 5, 2])),
        lambda x: mnp.var(mnp.convolve(mnp.ravel(x), [1.0, 2.0, -1.0])),
        lambda x: mnp.nansum(mnp.copysign(x, -1.0) / 3.0),
    ],
)
def test_gradients_agree_with_differences(loss: Any):
    x = np.array([[0.5, -1.3, 0.7], [1.1, 0.4, -0.6]], np.float64)
    exact = ms.grad(loss)(Tensor(x.astype(np.float32))).asnumpy()
    step = 1e-2
    for place in np.ndindex(x.shape):
        moved = [x.copy(), x.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        above, below = (float(loss(Tensor(m.astype(np.float32)))) for m in moved)
        assert exact[place] == pytest.approx((above - below) / (2 * step), rel=2e-2, abs=2e-2)
