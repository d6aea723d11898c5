"""Collective operators and functions over one process."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, communication
from mycelia.communication import comm_func
from mycelia.communication.comm_func import P2POp
from mycelia.ops.collective import collective as ops
from mycelia.ops.collective.point_to_point import NeighborExchange

X = np.arange(6, dtype=np.float32).reshape(2, 3)

ONE_TENSOR = [
    ops.AllReduce(),
    ops.AllReduce(ops.ReduceOp.MAX, "hccl_world_group"),
    ops.AllGather(),
    ops.ReduceScatter(ops.ReduceOp.SUM),
    ops.Reduce(0),
    ops.CollectiveGather(0),
    ops.CollectiveScatter(0),
    ops.AlltoAll(1, 0, 1),
]


@pytest.fixture(autouse=True)
def _joined() -> Iterator[None]:
    communication.init()
    yield
    communication.release()


@pytest.mark.parametrize("op", ONE_TENSOR, ids=str)
def test_alone_a_tensor_comes_back_with_its_gradient_in_both_modes(op):
    x = Tensor(X)
    for run in (op, ms.jit(lambda x: op(x))):
        out = run(x)
        np.testing.assert_array_equal(out.asnumpy(), X)
        assert out.dtype is ms.float32
    gradient = ms.grad(lambda x: (op(x) * x).sum())(x)
    np.testing.assert_array_equal(gradient.asnumpy(), 2 * X)


def test_tuples_of_tensors_come_back():
    x, n = Tensor(X), Tensor([1, 2])
    out = ops.Broadcast(0)((x, n))
    assert isinstance(out, tuple)
    np.testing.assert_array_equal(out[0].asnumpy(), X)
    np.testing.assert_array_equal(out[1].asnumpy(), [1, 2])
    exchange = NeighborExchange([0], [0], ([2, 3],), ([2, 3],), ms.float32)
    np.testing.assert_array_equal(exchange((x,))[0].asnumpy(), X)


def test_the_ways_to_reduce():
    ways = ops.ReduceOp
    assert (ways.SUM, ways.MAX, ways.MIN, ways.PROD, ways.AVG) == (
        "sum", "max", "min", "prod", "avg",
    )  # fmt: skip


def test_wrong_operators():
    with pytest.raises(TypeError, match="'op' must be str"):
        ops.AllReduce(3)
    with pytest.raises(TypeError, match="unknown reduction"):
        ops.AllReduce("foo")
    with pytest.raises(TypeError, match="'group' must be str"):
        ops.AllGather(group=3)
    with pytest.raises(TypeError, match="'root_rank' must be int"):
        ops.Broadcast("1")
    with pytest.raises(ValueError, match="'split_count' must be equal"):
        ops.AlltoAll(2, 0, 1)(Tensor(X))
    with pytest.raises(RuntimeError, match="The group foo does not exist"):
        ops.AllReduce("sum", "foo")(Tensor(X))
    with pytest.raises(ValueError, match="root_rank is not a rank"):
        ops.Broadcast(1)((Tensor(X),))
    with pytest.raises(ValueError, match="cannot gather a 0-d tensor"):
        ops.AllGather()(Tensor(1.0))
    with pytest.raises(ValueError, match="rank 1 is not in the group"):
        NeighborExchange([1], [0], ([2, 3],), ([2, 3],), ms.float32)((Tensor(X),))


def test_functions_give_the_tensor_and_a_handle_if_asked():
    for fn in (
        comm_func.all_reduce,
        comm_func.all_gather_into_tensor,
        comm_func.reduce_scatter_tensor,
    ):
        out, handle = fn(Tensor(X))
        assert handle is None
        np.testing.assert_array_equal(out.asnumpy(), X)
        out, handle = fn(Tensor(X), async_op=True)
        handle.wait()
        assert handle.is_completed()
        np.testing.assert_array_equal(out.asnumpy(), X)


def test_functions_with_one_sender_or_receiver():
    np.testing.assert_array_equal(comm_func.reduce(Tensor(X), 0).asnumpy(), X)
    np.testing.assert_array_equal(comm_func.broadcast(Tensor(X), src=0).asnumpy(), X)
    np.testing.assert_array_equal(comm_func.gather_into_tensor(Tensor(X)).asnumpy(), X)
    np.testing.assert_array_equal(comm_func.scatter_tensor(Tensor(X)).asnumpy(), X)
    assert comm_func.barrier() is None


def test_a_process_sends_messages_to_itself_in_order():
    comm_func.send(Tensor(X), 0, tag=4)
    handle = comm_func.isend(Tensor(X + 1), 0, tag=4)
    handle.wait()
    like = Tensor(np.zeros((2, 3), np.float32))
    np.testing.assert_array_equal(comm_func.recv(like, 0, tag=4).asnumpy(), X)
    out, handle = comm_func.irecv(like, 0, tag=4)
    np.testing.assert_array_equal(out.asnumpy(), X + 1)
    with pytest.raises(RuntimeError, match="cannot wait for a message from itself"):
        comm_func.recv(like, 0, tag=4)


def test_a_message_is_what_was_sent_even_if_the_tensor_changes_later():
    x = Tensor(X.copy())
    comm_func.send(x)
    x.zero_()
    np.testing.assert_array_equal(comm_func.recv(x).asnumpy(), X)


def test_many_messages_at_once():
    operations = [
        P2POp("irecv", (2, 3), 0, recv_dtype=ms.float32),
        comm_func.P2POp(comm_func.isend, Tensor(X), 0),
    ]
    received, sent = comm_func.batch_isend_irecv(operations)
    np.testing.assert_array_equal(received.asnumpy(), X)
    assert sent.shape == ()
    with pytest.raises(TypeError, match="list of P2POp"):
        comm_func.batch_isend_irecv([1])
    with pytest.raises(ValueError, match="isend or irecv"):
        P2POp("send", Tensor(X), 0)
    with pytest.raises(NotImplementedError):
        P2POp("isend", Tensor(X), 0, tag=1)


def test_all_to_all():
    parts, handle = comm_func.all_to_all_with_output_shape([(3, 2)], [Tensor(X)])
    assert handle is None
    np.testing.assert_array_equal(parts[0].asnumpy(), X.reshape(3, 2))
    out, handle = comm_func.all_to_all_single_with_output_shape(
        (2, 3), Tensor(X), [2], [2], async_op=True
    )
    assert handle.is_completed()
    np.testing.assert_array_equal(out.asnumpy(), X)
    target = Tensor(np.zeros(6, np.float32))
    assert comm_func.all_to_all_v_c(target, Tensor(X.ravel()), [6]) is None
    np.testing.assert_array_equal(target.asnumpy(), X.ravel())
    with pytest.raises(ValueError, match="have the size that it receives"):
        comm_func.all_to_all_with_output_shape([(7,)], [Tensor(X)])
    with pytest.raises(ValueError, match="sizes that sum"):
        comm_func.all_to_all_single_with_output_shape((2, 3), Tensor(X), [1])
    with pytest.raises(ValueError, match="sizes of input and output"):
        comm_func.all_to_all_v_c(target, Tensor(X.ravel()), [5])


def test_wrong_arguments_of_functions():
    with pytest.raises(TypeError, match="must be Tensor"):
        comm_func.all_reduce(3)
    with pytest.raises(TypeError, match="unknown reduction"):
        comm_func.all_reduce(Tensor(X), "foo")
    with pytest.raises(TypeError, match="'group' must be str"):
        comm_func.all_reduce(Tensor(X), "sum", 3)
    with pytest.raises(RuntimeError, match="does not exist"):
        comm_func.barrier("foo")
    with pytest.raises(ValueError, match="src"):
        comm_func.recv(Tensor(X), 1)
