"""Methods that take their arguments in two forms, as in MindSpore."""

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor

ROWS = np.array([[0.5, -1.25, 2.0], [1.5, 3.0, -0.75]], np.float32)


def in_both(function, *arrays):
    """The numbers that a function gives, the same in eager mode and compiled."""
    tensors = [Tensor(array) for array in arrays]
    eager, compiled = function(*tensors), ms.jit(function)(*tensors)
    shown = [[t.asnumpy().tolist() for t in found] for found in (eager, compiled)]
    assert shown[0] == shown[1]
    return shown[0]


def test_one_axis_by_position_gives_extremes_and_their_positions():
    assert in_both(lambda x: x.max(0), ROWS) == [[1.5, 3.0, 2.0], [1, 1, 0]]
    assert in_both(lambda x: x.min(-1, True), ROWS) == [[[-1.25], [-0.75]], [[1], [2]]]
    assert in_both(lambda x: x.max(dim=1, keepdim=False), ROWS) == [[2.0, 3.0], [2, 1]]
    assert Tensor(ROWS).max(0)[1].dtype is ms.int64


def test_axes_by_name_or_as_a_tuple_give_extremes_alone():
    x = Tensor(ROWS)
    assert x.max(axis=0).asnumpy().tolist() == x.max((0,)).asnumpy().tolist() == [1.5, 3.0, 2.0]
    assert float(x.max()) == float(x.max(None)) == float(x.max((0, 1))) == 3.0
    assert x.min(axis=1, keepdims=True).shape == (2, 1)
    assert [t.shape for t in x.max(axis=0, return_indices=True)] == [(3,), (3,)]
    with pytest.raises(TypeError, match="dim"):
        x.max(True)


def test_two_axes_by_position_are_swapped():
    cube = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert in_both(lambda x: (x.transpose(0, 1),), ROWS)[0] == ROWS.T.tolist()
    assert in_both(lambda x: (x.transpose(1, 2),), cube)[0] == cube.swapaxes(1, 2).tolist()
    assert Tensor(cube).transpose(-1, 0).shape == Tensor(cube).transpose(dim0=2, dim1=0).shape
    assert Tensor(ROWS).transpose((0, 1)).shape == (2, 3)
    assert Tensor(cube).transpose(2, 0, 1).shape == (4, 2, 3)
    with pytest.raises(ValueError):
        Tensor(cube).transpose((1, 0))


def test_running_sums_of_narrow_integers_are_of_32_bits():
    for dtype in (ms.bool_, ms.int8, ms.uint8, ms.int16):
        assert Tensor([1, 1], dtype).cumsum(0).dtype is ms.int32
    assert Tensor([1, 1]).cumsum(0).dtype is ms.int64


def test_devices_that_a_tensor_cannot_go_to():
    assert Tensor(ROWS).to("CPU").shape == (2, 3)
    with pytest.raises(ValueError, match="device"):
        Tensor(ROWS).to("nowhere")


def test_sizes_that_do_not_fit_raise_both_types_that_mindspore_raises():
    for kind in (ValueError, RuntimeError):
        with pytest.raises(kind, match="inner sizes"):
            Tensor(ROWS) @ Tensor(ROWS)


@pytest.mark.parametrize("name", ["all", "any", "argmax", "argmin", "mean", "prod", "std", "sum"])
def test_reductions_take_their_axis_under_both_names(name):
    x = Tensor(ROWS) > 0 if name in ("all", "any") else Tensor(ROWS)
    by_dim, by_axis = getattr(x, name)(dim=1), getattr(x, name)(axis=1)
    assert by_dim.asnumpy().tolist() == by_axis.asnumpy().tolist()
    assert getattr(x, name)(dim=1, keepdim=True).shape == (2, 1)


def test_other_methods_that_take_an_axis_as_dim():
    x = Tensor(ROWS)
    assert x.sort(dim=0)[0].asnumpy().tolist() == np.sort(ROWS, 0).tolist()
    assert [part.shape for part in x.split(2, dim=1)] == [(2, 2), (2, 1)]
    assert x.repeat_interleave(2, dim=1).shape == (2, 6)
    assert x.median(dim=0, keepdim=True)[0].shape == (1, 3)


def test_forms_with_positions_for_other_arguments():
    x = Tensor(ROWS)
    assert x.sum(0, True).shape == (1, 3)
    assert x.flatten(0, 1).shape == (6,) and x.flatten(1).shape == (2, 3)
    assert x.max(0, False, return_indices=True)[1].shape == (3,)
    assert ms.ops.amax(x, 0, where=True).asnumpy().tolist() == [1.5, 3.0, 2.0]
    assert x.max(0, initial=2.5, where=x > 0).asnumpy().tolist() == [2.5, 3.0, 2.5]


def test_sums_and_differences_take_a_factor():
    x = Tensor(ROWS)
    assert x.add(x, alpha=2).asnumpy().tolist() == (ROWS * 3).tolist()
    assert x.sub(1, alpha=2).asnumpy().tolist() == (ROWS - 2).tolist()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda x: x.expand_as(x=x), ROWS),
        (lambda x: x.isclose(x2=x), ROWS == ROWS),
        (lambda x: (x > 0).logical_and(y=x < 2), (ROWS > 0) & (ROWS < 2)),
        (lambda x: x.matmul(tensor2=x.T), ROWS @ ROWS.T),
        (lambda x: x.permute(dims=(1, 0)), ROWS.T),
        (lambda x: x.permute(axis=(1, 0)), ROWS.T),
        (lambda x: x.remainder(divisor=2), ROWS % 2),
        (lambda x: x.true_divide(other=2), ROWS / 2),
        (lambda x: x.sub(y=2), ROWS - 2),
        (lambda x: x.multiply(value=2), ROWS * 2),
        (lambda x: x.float_power(other=2), ROWS.astype(np.float64) ** 2),
        (lambda x: x.take(index=Tensor([0, 4])), ROWS.take([0, 4])),
        (lambda x: x.tile(dims=(2, 1)), np.tile(ROWS, (2, 1))),
        (lambda x: x.tile(reps=(2, 1)), np.tile(ROWS, (2, 1))),
        (lambda x: x.reshape(shape=(3, 2)), ROWS.reshape(3, 2)),
        (lambda x: x.view(shape=(3, 2)), ROWS.reshape(3, 2)),
        (lambda x: x.view(dtype=ms.int32), ROWS.view(np.int32)),
        (lambda x: x.view(ms.int32), ROWS.view(np.int32)),
        (lambda x: x.unsqueeze(axis=0), ROWS[None]),
        (lambda x: x.where(x > 0, other=0.0), np.where(ROWS > 0, ROWS, 0)),
        (lambda x: x.diagonal(axis1=1, axis2=0), ROWS.T.diagonal()),
        (lambda x: x.trace(1), ROWS.trace(1)),
        (lambda x: x.trace(dtype=ms.float16), ROWS.trace().astype(np.float16)),
        (lambda x: x.gather(1, Tensor([[0], [2]])), [[0.5], [-0.75]]),
        (lambda x: x.gather(dim=1, index=Tensor([[0], [2]])), [[0.5], [-0.75]]),
        (lambda x: x.gather(Tensor([1, 0]), 1), ROWS[:, [1, 0]]),
        (lambda x: x.sort(dim=1, stable=True)[1], np.argsort(ROWS, 1)),
        (lambda x: x.argsort(dim=1, stable=True), np.argsort(ROWS, 1)),
        (lambda x: x.split(split_size=2, dim=1)[0], ROWS[:, :2]),
        (lambda x: x.std(dim=1, correction=0, keepdim=True), ROWS.std(1, keepdims=True)),
        (lambda x: x.softmax(-1, None), np.exp(ROWS) / np.exp(ROWS).sum(1, keepdims=True)),
        (lambda x: x.repeat_interleave(2, dim=0, output_size=4), ROWS.repeat(2, 0)),
        (lambda x: x.approximate_equal(other=x), ROWS == ROWS),
        (
            lambda x: x.scatter(1, Tensor([[0], [1]]), Tensor([[2.0], [1.0]]), reduce="add"),
            [[2.5, -1.25, 2.0], [1.5, 4.0, -0.75]],
        ),
    ],
)
def test_second_names_and_forms_of_arguments(call, expected):
    found, wanted = call(Tensor(ROWS)), np.asarray(expected)
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5)
    assert found.shape == wanted.shape


def test_tensors_become_sparse():
    x = Tensor([[0.0, 2.0], [0.0, 0.0]])
    assert x.to_coo().indices.asnumpy().tolist() == [[0, 1]]
    assert x.to_csr().values.asnumpy().tolist() == [2.0]


def test_python_types_as_dtypes_are_of_64_bits():
    x = Tensor(ROWS)
    assert x.astype(float).dtype is ms.float64 and x.astype("float").dtype is ms.float64
    assert x.astype(int).dtype is ms.int64 and x.astype(bool).dtype is ms.bool_
    assert ms.pytype_to_dtype(float) is ms.float64


def test_statistics_of_integers_have_fractions():
    x = Tensor([[3, 1, 2], [0, 5, 4]], ms.int32)
    assert x.var().dtype is ms.float32 and x.std(1).dtype is ms.float32
    assert x.var().asnumpy() == pytest.approx(np.array([3, 1, 2, 0, 5, 4]).var())


@pytest.mark.parametrize("number", [np.float16(1.5), np.float32(1.5), np.float64(1.5)])
def test_scalars_of_numpy_count_by_their_kind(number):
    x = Tensor([1, 2], ms.int32)
    for call in (lambda x: x + number, lambda x: ms.ops.add(number, x)):
        for found in (call(x), ms.jit(call)(x)):
            assert found.dtype is ms.float32 and found.asnumpy().tolist() == [2.5, 3.5]
    assert ms.ops.equal(x, number).asnumpy().tolist() == [False, False]
    assert (x.astype(ms.float16) + number).dtype is ms.float16
    assert (x + np.int64(1)).dtype is ms.int32 and (Tensor([True]) + np.int8(1)).dtype is ms.int64
