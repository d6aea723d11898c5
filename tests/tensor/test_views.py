"""Views: a write to a tensor shows in the tensors that show its elements, and the other way."""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable
from typing import Any
from weakref import ref

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, mint, nn, ops

NUMBERS = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)

# how a view is made, and the same in numpy
VIEWS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "x[1]": (lambda x: x[1], lambda a: a[1]),
    "x[-1]": (lambda x: x[-1], lambda a: a[-1]),
    "x[0, 1:]": (lambda x: x[0, 1:], lambda a: a[0, 1:]),
    "x[:, ::2]": (lambda x: x[:, ::2], lambda a: a[:, ::2]),
    "x[..., ::-1]": (lambda x: x[..., ::-1], lambda a: a[..., ::-1]),
    "x[..., None, 2]": (lambda x: x[..., None, 2], lambda a: a[..., None, 2]),
    "x[1, 2, 3]": (lambda x: x[1, 2, 3], lambda a: a[1, 2, 3, ...]),
    "x[Tensor(1)]": (lambda x: x[Tensor(1)], lambda a: a[1]),
    "a row of a loop": (lambda x: list(x)[1], lambda a: a[1]),
    "view": (lambda x: x.view(4, 6), lambda a: a.reshape(4, 6)),
    "reshape": (lambda x: x.reshape(-1), lambda a: a.reshape(-1)),
    "view_as": (lambda x: x.view_as(ops.ones((6, 4))), lambda a: a.reshape(6, 4)),
    "flatten": (lambda x: x.flatten(), lambda a: a.reshape(-1)),
    "ravel": (lambda x: x.ravel(), lambda a: a.reshape(-1)),
    "nn.Flatten": (lambda x: nn.Flatten()(x), lambda a: a.reshape(2, 12)),
    "T": (lambda x: x.T, lambda a: a.T),
    "permute": (lambda x: x.permute(1, 2, 0), lambda a: a.transpose(1, 2, 0)),
    "swapaxes": (lambda x: x.swapaxes(0, 2), lambda a: a.swapaxes(0, 2)),
    "movedim": (lambda x: x.movedim(0, 2), lambda a: np.moveaxis(a, 0, 2)),
    "mint.transpose": (lambda x: mint.transpose(x, 0, 1), lambda a: a.swapaxes(0, 1)),
    "squeeze": (lambda x: x[:1].squeeze(0), lambda a: a[:1].squeeze(0)),
    "mint.squeeze": (lambda x: mint.squeeze(x[:1], 0), lambda a: a[:1].squeeze(0)),
    "unsqueeze": (lambda x: x.unsqueeze(1), lambda a: a[:, None]),
    "expand_dims": (lambda x: x.expand_dims(-1), lambda a: a[..., None]),
    "split": (lambda x: x.split(2, 1)[1], lambda a: a[:, 2:]),
    "ops.Split": (lambda x: ops.Split(2, 2)(x)[1], lambda a: a[:, :, 2:]),
    "chunk": (lambda x: x.chunk(2, 2)[0], lambda a: a[:, :, :2]),
    "tensor_split": (lambda x: x.tensor_split((1, 2), 1)[1], lambda a: a[:, 1:2]),
    "hsplit": (lambda x: x.hsplit(3)[2], lambda a: a[:, 2:]),
    "narrow": (lambda x: x.narrow(2, 1, 2), lambda a: a[:, :, 1:3]),
    "mint.select": (lambda x: mint.select(x, 1, 2), lambda a: a[:, 2]),
    "unbind": (lambda x: x.unbind(1)[1], lambda a: a[:, 1]),
    "ops.unstack": (lambda x: ops.unstack(x, 2)[3], lambda a: a[:, :, 3]),
    "diagonal": (lambda x: x.diagonal(1, 1, 2), lambda a: _writable(a.diagonal(1, 1, 2))),
    "strided_slice": (
        lambda x: ops.strided_slice(x, (1, 2, 0), (2, 0, 4), (1, -1, 2)),
        lambda a: a[1:2, 2:0:-1, ::2],
    ),
    "stop_gradient": (ops.stop_gradient, lambda a: a[...]),
    "data": (lambda x: x.data, lambda a: a[...]),
    "broadcast to the same shape": (lambda x: x.broadcast_to((2, 3, 4)), lambda a: a[...]),
    "rows of a transpose": (lambda x: x.swapaxes(0, 1)[1, 1:], lambda a: a.swapaxes(0, 1)[1, 1:]),
    "a slice of a reshape": (lambda x: x.view(-1)[3:9:2], lambda a: a.reshape(-1)[3:9:2]),
    "a diagonal of a reshape": (
        lambda x: x.view(4, 6)[:, :4].diagonal(),
        lambda a: _writable(a.reshape(4, 6)[:, :4].diagonal()),
    ),
}


def _writable(view: np.ndarray) -> np.ndarray:
    view.flags.writeable = True
    return view


def fresh() -> tuple[Tensor, np.ndarray]:
    return Tensor(NUMBERS), NUMBERS.copy()


def same(tensor: Any, array: Any) -> None:
    np.testing.assert_array_equal(np.asarray(tensor), array)


def fill_first(view: Any) -> None:
    """Write the first slice (or the only number) of a view."""
    view[(0,) if view.ndim else ()] = 100


WRITES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "v[0] = 100": (fill_first, fill_first),
    "v[...] = 100": (lambda v: v.__setitem__(..., 100), lambda a: a.__setitem__(..., 100)),
    "v[mask] = 0": (lambda v: v.__setitem__(v > 9, 0), lambda a: a.__setitem__(a > 9, 0)),
    "v[...] += 1": (
        lambda v: v.__setitem__(..., v[...] + 1),
        lambda a: a.__setitem__(..., a + 1),
    ),
    "add_": (lambda v: v.add_(3), lambda a: a.__iadd__(3)),
    "mul_": (lambda v: v.mul_(2), lambda a: a.__imul__(2)),
    "fill_": (lambda v: v.fill_(7), lambda a: a.fill(7)),
    "zero_": (lambda v: v.zero_(), lambda a: a.fill(0)),
    "copy_": (lambda v: v.copy_(ops.ones_like(v)), lambda a: a.fill(1)),
    "masked_fill_": (
        lambda v: v.masked_fill_(v > 9, -1.0),
        lambda a: np.copyto(a, -1, where=a > 9),
    ),
    "ops.assign": (lambda v: ops.assign(v, ops.ones_like(v) * 5), lambda a: a.fill(5)),
    "ops.assign_add": (lambda v: ops.assign_add(v, ops.ones_like(v)), lambda a: a.__iadd__(1)),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("view", VIEWS)
def test_a_write_to_a_view_shows_in_its_tensor_and_in_other_views(view: str, write: str):
    x, a = fresh()
    flat, flat_a = x.view(-1), a.reshape(-1)
    v, b = VIEWS[view][0](x), VIEWS[view][1](a)
    WRITES[write][0](v)
    WRITES[write][1](b)
    same(v, b)
    same(x, a)
    same(flat, flat_a)


@pytest.mark.parametrize("view", VIEWS)
def test_a_write_to_a_tensor_shows_in_its_views(view: str):
    x, a = fresh()
    v, b = VIEWS[view][0](x), VIEWS[view][1](a)
    x[:, 1] = 50
    a[:, 1] = 50
    same(v, b)
    x.mul_(2)
    a *= 2
    same(v, b)


def test_the_usual_ways_to_write_through_a_view():
    x, a = fresh()
    x[0][1] = 5
    a[0][1] = 5
    row, row_a = x[1], a[1]
    row[2] = 6
    row_a[2] = 6
    x.view(-1)[0:2] = 1
    a.reshape(-1)[0:2] = 1
    x.T[0] += 9
    a.T[0] += 9
    for one in x:
        one[0] = 3
    for one_a in a:
        one_a[0] = 3
    same(x, a)
    same(row, row_a)


def test_views_with_large_arrays_on_the_device():
    numbers = np.arange(40_000, dtype=np.float32).reshape(200, 200)
    x, a = Tensor(numbers) * 1, numbers.copy()
    rows, half = x.T, x[:, 100:]
    rows[3] = 7
    a.T[3] = 7
    half.mul_(2)
    a[:, 100:] *= 2
    same(x, a)
    same(rows, a.T)
    same(half, a[:, 100:])


def test_what_copies_is_no_view():
    x, a = fresh()
    copies = [
        x[[0, 1]], x[Tensor([0, 1])], x[x > 0], x.copy(), x.clone(), x.T.reshape(-1), x.T.flatten(),
        x + 0, x.astype(ms.float64), ops.tile(x, (1, 1, 1)), ops.concat((x,)), x.roll(0, 0),
        ops.deepcopy(x), copy.copy(x), copy.deepcopy(x), Tensor(x), Parameter(x, name="p"),
        ops.index_select(x, 0, Tensor([0, 1])), x.repeat_interleave(1, 0), x.tril(30), x.flip((0,)),
        x[0].copy(), copy.deepcopy(x[0]), pickle.loads(pickle.dumps(x[0])),
    ]  # fmt: skip
    before = [np.array(one) for one in copies]
    for one in copies:
        one[...] = 0
    same(x, a)
    x[...] = -1
    for one, numbers in zip(copies, before, strict=True):
        same(one, numbers * 0)


def test_an_augmented_name_is_another_tensor():
    x, a = fresh()
    row = x[0]
    row += 1
    same(x, a)
    same(row, a[0] + 1)


def test_an_expanded_view_cannot_be_written_where_it_repeats():
    x = Tensor([[1.0, 2.0]])
    wide = x.broadcast_to((3, 2))
    with pytest.raises(RuntimeError, match="repeats elements"):
        wide[...] = 0
    with pytest.raises(RuntimeError, match="repeats elements"):
        wide.add_(1)
    wide[2][1] = 5  # one element, which all rows show
    assert wide.asnumpy().tolist() == [[1, 5]] * 3 and x.asnumpy().tolist() == [[1, 5]]
    x[0, 0] = 9
    assert wide.asnumpy().tolist() == [[9, 5]] * 3


# ---- parameters -----------------------------------------------------------------------------


def test_parameters_are_written_through_their_views():
    p = Parameter(Tensor(NUMBERS), name="p")
    a = NUMBERS.copy()
    p[0][1] = 7
    a[0][1] = 7
    view = p.view(-1)
    view[:2] = 8
    a.reshape(-1)[:2] = 8
    same(p, a)
    ops.assign(p, Tensor(NUMBERS * 3))
    same(view, NUMBERS.reshape(-1) * 3)


def test_set_data_leaves_the_views_behind():
    p = Parameter(Tensor([1.0, 2.0, 3.0]), name="p")
    start, end = p[:2], p[1:]
    p.set_data(Tensor([7.0, 8.0, 9.0]))
    assert start.asnumpy().tolist() == [1, 2]
    start[1] = 5
    assert end.asnumpy().tolist() == [5, 3] and p.asnumpy().tolist() == [7, 8, 9]
    again = p[0:1]
    p[0] = 4
    assert again.asnumpy().tolist() == [4] and start.asnumpy().tolist() == [1, 5]


def test_views_show_what_an_optimizer_writes():
    p = Parameter(Tensor([1.0, 2.0]), name="p")
    last = p[1:]
    nn.SGD([p], learning_rate=0.5)((Tensor([1.0, 1.0]),))
    assert last.asnumpy().tolist() == [1.5]


def test_views_show_what_a_compiled_step_writes():
    class Step(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.p = Parameter(Tensor([1.0, 2.0]), name="p")

        @ms.jit
        def construct(self, x: Tensor) -> Tensor:
            ops.assign_add(self.p, x)
            return self.p * 1

    step = Step()
    last = step.p[1:]
    for _ in range(3):
        step(Tensor([1.0, 1.0]))
    assert last.asnumpy().tolist() == [5]
    last[0] = 0
    assert step(Tensor([0.0, 0.0])).asnumpy().tolist() == [4, 0]


# ---- memory shared with numpy ---------------------------------------------------------------


def test_views_show_what_numpy_writes_to_shared_memory():
    x, a = fresh()
    before = x[0]
    shared = x.asnumpy()
    after, turned = x[1], x.T
    shared[:, 0] = 77
    a[:, 0] = 77
    same(before, a[0])
    same(after, a[1])
    same(turned * 1, a.T)
    after[1] = 5
    a[1][1] = 5
    same(shared, a)
    x[0] = 6
    a[0] = 6
    same(shared, a)
    same(turned, a.T)


def test_the_numbers_of_a_view_are_a_copy():
    x, a = fresh()
    row = x[0]
    row.asnumpy()[:] = 0
    same(x, a)
    same(row, a[0])


def test_a_tensor_from_numpy_writes_to_the_array():
    a = NUMBERS.copy()
    x = Tensor.from_numpy(a)
    x[0] = 5
    x[1][2] = 6
    assert a[0].tolist() == [[5] * 4] * 3 and a[1, 2].tolist() == [6] * 4


def test_an_array_that_others_hold_is_not_shared_with_numpy():
    x = Tensor([1.0, 2.0])
    other = Tensor(x)
    x.asnumpy()[0] = 9
    assert other.asnumpy().tolist() == [1, 2] and x.asnumpy().tolist() == [9, 2]


# ---- gradients ------------------------------------------------------------------------------

X = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def _row_written(x: Tensor) -> Tensor:
    y = x * 1
    row = y[0]
    row[1] = x[1, 1]
    return (y * y).sum()


def _sibling(x: Tensor) -> Tensor:
    y = x * 1
    row, flat = y[0], y.view(-1)
    row[1] = x[1, 1] * 2
    return (flat * flat).sum()


def _base_written(x: Tensor) -> Tensor:
    y = x * 1
    turned = y.T
    y[0] = x[1] * 2
    return (turned * turned).sum()


def _written_view_used(x: Tensor) -> Tensor:
    y = x * 1
    row = y[0]
    row.mul_(3)
    return (row * row).sum() + y.sum()


def _used_before(x: Tensor) -> Tensor:
    y = x * 1
    squares = y * y
    y.T[0] = 0
    return squares.sum() + y.sum()


def _out_of_reach(x: Tensor) -> Tensor:
    y = x * 1
    ops.stop_gradient(y)[0] = 7
    return (y * y).sum()


GRADIENTS = {
    _row_written: [[2, 0, 6], [8, 20, 12]],
    _sibling: [[2, 0, 6], [8, 10 + 40, 12]],
    _base_written: [[0, 0, 0], [40, 50, 60]],
    _written_view_used: [[18 + 3, 36 + 3, 54 + 3], [1, 1, 1]],
    _used_before: [[2, 5, 7], [8, 11, 13]],
    _out_of_reach: [[14, 14, 14], [8, 10, 12]],
}


@pytest.mark.parametrize("fn", GRADIENTS, ids=lambda fn: fn.__name__)
def test_gradients_flow_through_written_views(fn: Callable[[Tensor], Tensor]):
    same(ms.grad(fn)(X), GRADIENTS[fn])
    hessian_row = ms.grad(lambda x: ms.grad(fn)(x)[1].sum())(X)
    assert np.isfinite(hessian_row.asnumpy()).all()


# ---- cost -----------------------------------------------------------------------------------


def test_a_tensor_does_not_keep_its_views_alive():
    x, _ = fresh()
    row = x[0]
    gone = ref(row)
    del row
    assert gone() is None
    for _ in range(1000):
        x[0].reshape(-1)
    assert len(x._relation.refs) < 100


def test_a_tensor_lives_as_long_as_two_of_its_views():
    x, a = fresh()
    alive = ref(x)
    first, second = x.view(4, 6)[:3], x.view(-1)
    del x
    first[0] = 7
    assert second.asnumpy()[:6].tolist() == [7] * 6
    del first
    gc.collect()
    assert alive() is None
    second[0] = 1
    same(second, np.concatenate([[1], [7] * 5, a.reshape(-1)[6:]]))


def test_a_view_alone_keeps_nothing_else_alive():
    x, _ = fresh()
    alive, middle = ref(x), x.view(4, 6)
    row = middle[0]
    del x, middle
    gc.collect()
    assert alive() is None
    row[0] = 5
    assert row.asnumpy().tolist() == [5, 2, 3, 4, 5, 6]


def test_an_outdated_view_alone_keeps_what_it_shows():
    x, _ = fresh()
    row = x[0]
    x[0] = 5
    del x
    gc.collect()
    same(row, np.full((3, 4), 5))


def test_the_result_of_a_function_is_written_wherever_it_came_from():
    zeros = ms.numpy.zeros_like(Tensor(NUMBERS))
    zeros[0] = 1
    assert float(zeros.sum()) == 12
