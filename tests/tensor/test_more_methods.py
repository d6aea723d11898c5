"""Methods of Tensor that write in place, draw at random, or look at matrices and bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        (lambda t: t.zero_(), np.zeros((2, 3))),
        (lambda t: t.fill_diagonal_(9.0), [[9, 1, 2], [3, 9, 5]]),
        (lambda t: t.index_add_(0, Tensor([1]), Tensor([[1.0, 1, 1]]), alpha=2), [[0, 1, 2], [5, 6, 7]]),
        (lambda t: t.index_copy_(1, Tensor([0]), Tensor([[7.0], [8.0]])), [[7, 1, 2], [8, 4, 5]]),
        (lambda t: t.index_fill_(1, Tensor([2]), 0.0), [[0, 1, 0], [3, 4, 0]]),
        (lambda t: t.index_put_((Tensor([0]), Tensor([2])), Tensor([9.0])), [[0, 1, 9], [3, 4, 5]]),
        (lambda t: t.masked_scatter_(t > 3, Tensor([9.0, 8.0])), [[0, 1, 2], [3, 9, 8]]),
        (lambda t: t.scatter_(1, Tensor([[0], [1]]), Tensor([[9.0], [8.0]])), [[9, 1, 2], [3, 8, 5]]),
        (lambda t: t.scatter_(1, Tensor([[1], [1]]), 2.0, reduce="multiply"), [[0, 2, 2], [3, 8, 5]]),
        (lambda t: t.scatter_add_(0, Tensor([[1, 0, 1]]), Tensor([[1.0, 1, 1]])), [[0, 2, 2], [4, 4, 6]]),
        (lambda t: t.put_(Tensor([0, 5]), Tensor([9.0, 8.0])), [[9, 1, 2], [3, 4, 8]]),
        (lambda t: t.addmm_(Tensor(np.eye(2, dtype=np.float32)), Tensor(X)), 2 * X),
        (lambda t: t.assign_value(Tensor(X + 1)), X + 1),
    ],
    ids=lambda v: "" if not callable(v) else "change",
)  # fmt: skip
def test_methods_that_write_in_place(change: Any, wanted: Any):
    tensor = Tensor(X.copy())
    assert change(tensor) is tensor
    np.testing.assert_array_equal(np.asarray(tensor), np.array(wanted, np.float32))


def test_random_numbers():
    ms.set_seed(3)
    tensor = Tensor(np.zeros(20000, np.float32))
    assert np.asarray(tensor.uniform(2.0, 4.0)).mean() == pytest.approx(3, abs=0.02)
    assert np.median(np.asarray(tensor.cauchy(1.0, 0.5))) == pytest.approx(1, abs=0.05)
    assert np.log(np.asarray(tensor.log_normal(0.0, 1.0))).std() == pytest.approx(1, abs=0.05)
    assert not np.asarray(tensor).any()
    assert np.asarray(tensor.uniform_()).mean() == pytest.approx(0.5, abs=0.01)
    assert np.asarray(tensor.bernoulli()).mean() == pytest.approx(0.5, abs=0.02)
    assert np.asarray(tensor.normal_()).std() == pytest.approx(1, abs=0.03)
    assert np.asarray(tensor.bernoulli_(0.2)).mean() == pytest.approx(0.2, abs=0.02)
    assert np.asarray(tensor.exponential_(2)).mean() == pytest.approx(0.5, abs=0.02)
    assert np.asarray(tensor.random_(0, 10)).max() == 9


def test_matrices():
    tensor = Tensor((X + 1j * X).astype(np.complex64))
    assert np.array_equal(np.asarray(tensor.mH), (X - 1j * X).T)
    assert np.array_equal(np.asarray(tensor.H), (X - 1j * X).T)
    assert np.array_equal(np.asarray(tensor.mT), (X + 1j * X).T)
    with pytest.raises(ValueError, match="at least 2 axes"):
        Tensor([1.0]).mT
    triangle = np.array([[2.0, 1.0], [0.0, 4.0]], np.float32)
    found, _ = Tensor(X).triangular_solve(Tensor(triangle))
    np.testing.assert_allclose(np.asarray(found), np.linalg.solve(triangle, X), rtol=1e-5)
    found, _ = Tensor(X).triangular_solve(Tensor(triangle), unitriangular=True)
    unit = np.triu(triangle, 1) + np.eye(2)
    np.testing.assert_allclose(np.asarray(found), np.linalg.solve(unit, X), rtol=1e-5)


def test_householder_products_as_a_method():
    reflect = Tensor(np.array([[1.0], [1.0]], np.float32)).ormqr(
        Tensor(np.array([1.0], np.float32)), Tensor(X)
    )
    wanted = (np.eye(2) - np.ones((2, 2))) @ X
    np.testing.assert_allclose(np.asarray(reflect), wanted, atol=1e-6)


def test_bytes_go_and_come_back():
    data = Tensor(X).get_bytes()
    assert data == X.tobytes()
    back = Tensor.convert_bytes_to_tensor(data, (2, 3), ms.float32)
    assert np.array_equal(np.asarray(back), X)


def test_data_is_out_of_reach_of_gradients():
    found = ms.grad(lambda t: (t.data * t).sum())(Tensor([3.0]))
    assert np.asarray(found).tolist() == [3.0]


def test_flags_and_places():
    tensor = Tensor(X.copy())
    assert tensor.storage_offset() == 0
    assert tensor.data_ptr() == tensor.asnumpy().ctypes.data
    assert tensor.has_init is False


def test_choices_and_orders():
    values, places = Tensor([[3.0, 1.0, 2.0]]).kthvalue(2, keepdim=True)
    assert (np.asarray(values).tolist(), np.asarray(places).tolist()) == ([[2.0]], [[2]])
    with pytest.raises(ValueError, match="kthvalue"):
        Tensor([1.0]).kthvalue(2)
    chosen = Tensor([0, 5, -1]).choose([Tensor([1, 2, 3]), Tensor([4, 5, 6])])
    assert np.asarray(chosen).tolist() == [1, 5, 3]
    wrapped = Tensor([0, 5, -1]).choose([Tensor([1, 2, 3]), Tensor([4, 5, 6])], mode="wrap")
    assert np.asarray(wrapped).tolist() == [1, 5, 6]
    assert Tensor(X).allclose(Tensor(X + 1e-9)) is True
    assert np.asarray(Tensor([1, -2]).bitwise_not()).tolist() == [-2, 1]
    assert np.asarray(Tensor([True, False]).bitwise_not()).tolist() == [False, True]
    assert np.asarray(Tensor(X).nanquantile(0.5)).item() == 2.5
    assert np.asarray(Tensor(X).quantile(0.5)).item() == 2.5


def test_adding_at_indices():
    tensor = Tensor(X)
    found = tensor.index_add(Tensor([1], ms.int32), Tensor([[1.0, 1, 1]]), 0)
    assert np.asarray(found).tolist() == [[0, 1, 2], [4, 5, 6]]
    found = tensor.scatter_add(1, Tensor([[0], [0]]), Tensor([[1.0], [2.0]]))
    assert np.asarray(found).tolist() == [[1, 1, 2], [5, 4, 5]]
    assert np.asarray(tensor).tolist() == X.tolist()


def test_new_tensors_of_the_same_dtype():
    tensor = Tensor([1, 2], ms.int32)
    assert (tensor.new_full((2,), 3).dtype, tensor.new_empty((3,)).shape) == (ms.int32, (3,))
    assert np.asarray(tensor.new_full((2,), 3)).tolist() == [3, 3]


def test_sums_to_a_size_that_does_not_fit():
    with pytest.raises(ValueError, match="sum_to_size"):
        Tensor(X).sum_to_size(2, 2)


@pytest.mark.parametrize("name", ["uniform", "bernoulli", "uniform_", "normal_", "random_"])
def test_generators_are_refused_rather_than_ignored(name: str):
    with pytest.raises(TypeError, match="generators are not supported"):
        getattr(Tensor([0.5]), name)(generator=object())


# ---- select, take, to ---------------------------------------------------------------------------


def test_select_takes_a_dimension_and_an_index_or_a_condition():
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.select(0, 1).asnumpy().tolist() == [3, 4, 5]
    assert x.select(dim=-1, index=-1).asnumpy().tolist() == [2, 5]
    assert x.select(x > 1, x * 0).asnumpy().tolist() == [[0, 0, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="index"):
        x.select(0, 2)


@pytest.mark.parametrize("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_take_brings_indices_inside_as_its_mode_says(mode: int):
    ms.set_context(mode=mode)
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))

    def take(x: Tensor, how: str) -> Tensor:
        return x.take(Tensor([7, -1, -9]), mode=how)

    run = ms.jit(take) if mode == ms.GRAPH_MODE else take
    assert run(x, "clip").asnumpy().tolist() == [5, 5, 0]
    assert run(x, "wrap").asnumpy().tolist() == [1, 5, 3]
    with pytest.raises(ValueError, match="mode"):
        x.take(Tensor([0]), mode="wrapp")


def test_to_takes_dtypes_tensors_and_devices_that_exist():
    x = Tensor([1.5, 2.0])
    assert x.to(Tensor([1], ms.int32)).dtype is ms.int32
    assert x.to(other=Tensor([1], ms.int32)).dtype is ms.int32
    assert x.to("CPU", ms.float16).dtype is ms.float16
    assert x.to(device="cpu", dtype=ms.float16, non_blocking=True).dtype is ms.float16
    copied = x.to(ms.float32, copy=True)
    copied[0] = 9.0
    assert x.asnumpy().tolist() == [1.5, 2]
    with pytest.raises(ValueError, match="did you mean 'GPU'"):
        x.to("cuda")
    with pytest.raises(ValueError, match="device"):
        x.to("float16")
    with pytest.raises(TypeError, match="did you mean 'device'"):
        x.to(devic="CPU")
    with pytest.raises(TypeError):
        x.to(3)
