"""Two small tensors, or one and a number, take a shorter way in eager mode: to the same results."""

import itertools

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, ops
from mycelia._engine.runtime.eager import dispatch

DTYPES = (ms.float32, ms.float16, ms.float64, ms.int32, ms.int64, ms.uint8, ms.bool_)
NUMBERS = (2, -1, 0, 2.5, -0.0, True)
OPERATORS = (ops.add, ops.sub, ops.mul, ops.div, ops.less, ops.maximum)


def long_way(monkeypatch, operator, *args):
    """The result with the shortest way closed."""
    with monkeypatch.context() as patch:
        patch.setattr(dispatch.thread_mode, "at_once", None)
        return operator(*args)


def outcome(run, *args):
    try:
        found = run(*args)
    except (TypeError, ValueError) as error:
        return type(error), str(error).splitlines()[0]
    return found.dtype, found.shape, found.asnumpy().tobytes()


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda o: o.__name__)
def test_pairs(monkeypatch, operator):
    for dtype, shape in itertools.product(DTYPES, [(), (3,), (2, 3)]):
        x = Tensor(np.arange(np.prod(shape)).reshape(shape), dtype)
        for y in (x, *NUMBERS):
            long = outcome(lambda x=x, y=y: long_way(monkeypatch, operator, x, y))
            assert outcome(operator, x, y) == long, (dtype, shape, y)


def test_what_asnumpy_shares_is_not_taken():
    x, y = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    shared = x.asnumpy()
    total = x + y
    shared[0] = 100
    assert total.asnumpy().tolist() == [4, 6] and (x + y).asnumpy().tolist() == [103, 6]


def test_recorded_calls_have_gradients():
    def product(x):
        return (x * 3 + x * x).sum()

    assert ms.grad(product)(Tensor([1.0, 2.0])).asnumpy().tolist() == [5, 7]


def test_the_long_way_says_what_is_wrong():
    with pytest.raises(ValueError, match="shape"):
        Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])
