"""Collective functions: the operators of `ops.collective` with handles, and point-to-point
messages.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable
from threading import Event
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_int, is_int
from mycelia._engine.core.dtype import as_dtype
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.process_groups import DEFAULT_WORLD_GROUP, world
from mycelia._engine.core.shape import size
from mycelia.communication.messages import Label, mail
from mycelia.ops.collective.collective import (
    AllGather,
    AllReduce,
    Broadcast,
    CollectiveGather,
    CollectiveScatter,
    Reduce,
    ReduceScatter,
    check_reduction,
)
from mycelia.ops.collective.point_to_point import NeighborExchange
from mycelia.ops.shapes.concat import concat
from mycelia.ops.shapes.reshape import reshape
from mycelia.tensor.tensor import Tensor


class CommHandle:
    """The handle of a collective. Collectives are complete on return; messages may be pending."""

    def __init__(self, done: Event | None = None) -> None:
        self._done = done

    def wait(self) -> None:
        """Wait for the result, or until the message is sent."""
        if self._done is not None:
            self._done.wait()

    def is_completed(self) -> bool:
        return self._done is None or self._done.is_set()


class _PendingReceive(CommHandle):
    """A pending receive: `tensor` gets its values when the message arrives."""

    def __init__(self, label: Label, like: Tensor) -> None:
        super().__init__()
        self.tensor = Tensor(np.zeros(like.shape, like.dtype.numpy))
        self._label, self._has_arrived = label, False
        _open_receipts[label].append(self)

    def wait(self) -> None:
        while not self._has_arrived:
            self._take()

    def is_completed(self) -> bool:
        while not self._has_arrived and mail().has(self._label):
            self._take()
        return self._has_arrived

    def _take(self) -> None:
        """Deliver the next message to the oldest pending receive."""
        waiting = _open_receipts[self._label]
        try:
            array = mail().receive(self._label)
        except RuntimeError:
            waiting.remove(self)
            raise
        waiting.popleft()._fill(array)

    def _fill(self, array: np.ndarray) -> None:
        like = self.tensor
        self._has_arrived = True
        if array.shape != like.shape or array.dtype != like.dtype.numpy:
            raise problem(
                ValueError,
                "irecv: the tensor that was sent differs in dtype or shape",
                got=f"{array.dtype} {array.shape}",
                expected=f"{like.dtype} {like.shape}",
            )
        like._replace(array)


_open_receipts: defaultdict[Label, deque[_PendingReceive]] = defaultdict(deque)


def all_reduce(
    tensor: Tensor, op: str = "sum", group: str = DEFAULT_WORLD_GROUP, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Reduce the tensors of all members; also returns a handle if `async_op`."""
    _check("all_reduce", tensor, group)
    return AllReduce.of(check_reduction("all_reduce", op), group)(tensor), _handle(async_op)


def all_gather_into_tensor(
    tensor: Tensor, group: str = DEFAULT_WORLD_GROUP, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Concatenate the tensors of all members; also returns a handle if `async_op`."""
    _check("all_gather_into_tensor", tensor, group)
    return AllGather.of(group)(tensor), _handle(async_op)


def reduce_scatter_tensor(
    tensor: Tensor, op: str = "sum", group: str = DEFAULT_WORLD_GROUP, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """Reduce the tensors and return this member's part; also a handle if `async_op`."""
    _check("reduce_scatter_tensor", tensor, group)
    reduction = check_reduction("reduce_scatter_tensor", op)
    return ReduceScatter.of(reduction, group)(tensor), _handle(async_op)


def reduce(tensor: Tensor, dst: int, op: str = "sum", group: str = DEFAULT_WORLD_GROUP) -> Tensor:
    """Reduce the tensors of all members to the member `dst`."""
    _check("reduce", tensor, group)
    check_int("reduce", "dst", dst)
    return Reduce.of(dst, check_reduction("reduce", op), group)(tensor)


def broadcast(tensor: Tensor, src: int = 0, group: str = DEFAULT_WORLD_GROUP) -> Tensor:
    """The tensor of the member `src`, on all members."""
    _check("broadcast", tensor, group)
    check_int("broadcast", "src", src)
    return Broadcast.of(src, group)((tensor,))[0]


def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str = DEFAULT_WORLD_GROUP) -> Tensor:
    """Concatenate the tensors of all members on the member `dst`."""
    _check("gather_into_tensor", tensor, group)
    check_int("gather_into_tensor", "dst", dst)
    return CollectiveGather.of(dst, group)(tensor)


def scatter_tensor(tensor: Tensor, src: int = 0, group: str = DEFAULT_WORLD_GROUP) -> Tensor:
    """This member's part of the rows of the member `src`."""
    _check("scatter_tensor", tensor, group)
    check_int("scatter_tensor", "src", src)
    return CollectiveScatter.of(src, group)(tensor)


def barrier(group: str = DEFAULT_WORLD_GROUP) -> None:
    """Wait until every member has reached the barrier."""
    _check_group("barrier", group)
    AllReduce.of("sum", group)(Tensor(np.zeros((), np.float32)))


def send(tensor: Tensor, dst: int = 0, group: str = DEFAULT_WORLD_GROUP, tag: int = 0) -> None:
    """Send a tensor to the member `dst`."""
    isend(tensor, dst, group, tag).wait()


def recv(tensor: Tensor, src: int = 0, group: str = DEFAULT_WORLD_GROUP, tag: int = 0) -> Tensor:
    """Receive the oldest tensor from the member `src`; `tensor` sets its shape and dtype."""
    received, handle = irecv(tensor, src, group, tag)
    handle.wait()
    return received


def isend(
    tensor: Tensor, dst: int = 0, group: str = DEFAULT_WORLD_GROUP, tag: int = 0
) -> CommHandle:
    """Send a tensor to the member `dst`, without waiting."""
    _check("isend", tensor, group)
    _check_peer("isend", "dst", dst, group)
    now = world()
    label = group, now.rank, check_int("isend", "tag", tag)
    return CommHandle(mail().send(label, now.members(group)[dst], tensor.asnumpy()))


def irecv(
    tensor: Tensor, src: int = 0, group: str = DEFAULT_WORLD_GROUP, tag: int = 0
) -> tuple[Tensor, CommHandle]:
    """Receive the oldest tensor from the member `src`; wait for the handle before using it."""
    _check("irecv", tensor, group)
    _check_peer("irecv", "src", src, group)
    sender = world().members(group)[src]
    receipt = _PendingReceive((group, sender, check_int("irecv", "tag", tag)), tensor)
    receipt.is_completed()
    return receipt.tensor, receipt


class P2POp:
    """One message of `batch_isend_irecv`: `op` is isend or irecv, or its name."""

    def __init__(
        self,
        op: str | Callable[..., Any],
        tensor: Any,
        peer: int,
        group: str | None = None,
        tag: int = 0,
        *,
        recv_dtype: Any = None,
    ) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", None)
        if name not in ("isend", "irecv"):
            raise wrong_value("P2POp", "op", op, "isend or irecv")
        if not isinstance(tensor, (Tensor, tuple)):
            raise wrong_type("P2POp", "tensor", tensor, "Tensor or tuple")
        if isinstance(tensor, tuple) and (name == "isend" or recv_dtype is None):
            raise problem(
                ValueError,
                "P2POp: a shape instead of a tensor needs op=irecv and recv_dtype",
                got=f"op={name}, recv_dtype={recv_dtype}",
            )
        if tag != 0:
            raise problem(NotImplementedError, "P2POp: tag must be 0", got=str(tag))
        self.op, self.peer, self.tag = name, check_int("P2POp", "peer", peer), tag
        self.tensor, self.recv_dtype = tensor, recv_dtype
        self.group = DEFAULT_WORLD_GROUP if group is None else group

    def like(self) -> Tensor:
        """A tensor with the shape and dtype of the message."""
        if isinstance(self.tensor, Tensor):
            return self.tensor
        return Tensor(shape=self.tensor, dtype=as_dtype(self.recv_dtype))


def batch_isend_irecv(p2p_op_list: Any) -> tuple[Tensor, ...]:
    """Send and receive many tensors in one call; results of sends are placeholders."""
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list:
        raise wrong_type("batch_isend_irecv", "p2p_op_list", p2p_op_list, "a list of P2POp")
    for message in p2p_op_list:
        if not isinstance(message, P2POp):
            raise wrong_type("batch_isend_irecv", "p2p_op_list", message, "a list of P2POp")
    for message in p2p_op_list:
        if message.op == "isend":
            isend(message.tensor, message.peer, message.group, message.tag)
    return tuple(
        Tensor(0.0)
        if message.op == "isend"
        else recv(message.like(), message.peer, message.group, message.tag)
        for message in p2p_op_list
    )


def all_to_all_with_output_shape(
    output_shape_list: Any,
    input_tensor_list: Any,
    group: str | None = None,
    async_op: bool = False,
) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """Exchange one tensor with each member; also returns a handle if `async_op`."""
    owner = "all_to_all_with_output_shape"
    members = _check_group(owner, group)
    for name, value in (
        ("output_shape_list", output_shape_list),
        ("input_tensor_list", input_tensor_list),
    ):
        if not isinstance(value, (list, tuple)):
            raise wrong_type(owner, name, value, "list or tuple")
        if len(value) != members:
            raise wrong_value(owner, name, len(value), f"as long as the group, {members}")
    shapes = [_shape_of(owner, shape) for shape in output_shape_list]
    for tensor in input_tensor_list:
        _check_tensor(owner, tensor)
    return _exchanged(owner, tuple(input_tensor_list), shapes, group), _handle(async_op)


def all_to_all_single_with_output_shape(
    output_shape: Any,
    tensor: Tensor,
    output_split_sizes: Any = None,
    input_split_sizes: Any = None,
    group: str | None = None,
    async_op: bool = False,
) -> tuple[Tensor, CommHandle | None]:
    """Exchange rows with each member, and concatenate; also returns a handle if `async_op`."""
    owner = "all_to_all_single_with_output_shape"
    members = _check_group(owner, group)
    _check_tensor(owner, tensor)
    shape = _shape_of(owner, output_shape)
    for name, sizes, rows in (
        ("output_split_sizes", output_split_sizes, shape[:1]),
        ("input_split_sizes", input_split_sizes, tensor.shape[:1]),
    ):
        if sizes is not None and (len(sizes) != members or (sum(sizes),) != rows):
            raise wrong_value(owner, name, sizes, f"{members} sizes that sum to {rows}")
    sent = _row_counts(tensor.shape[0], members, input_split_sizes)
    received = _row_counts(shape[0], members, output_split_sizes)
    shapes = [(count, *shape[1:]) for count in received]
    parts = _exchanged(owner, tuple(_pieces(tensor, sent)), shapes, group)
    return concat(parts), _handle(async_op)


def all_to_all_v_c(
    output: Tensor,
    input: Tensor,
    send_count_matrix: Any,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Exchange elements with each member according to a count matrix, into `output`."""
    owner = "all_to_all_v_c"
    members = _check_group(owner, group)
    _check_tensor(owner, output)
    _check_tensor(owner, input)
    counts = np.array([int(n) for n in send_count_matrix])
    me = world().members(group or DEFAULT_WORLD_GROUP).index(world().rank)
    square = counts.reshape(members, members) if counts.size == members**2 else None
    if square is None or (square[me].sum(), square[:, me].sum()) != (input.size, output.size):
        raise wrong_value(
            owner,
            "send_count_matrix",
            counts.tolist(),
            f"{members}x{members} counts that match the sizes of input and output, "
            f"{input.size} and {output.size}",
        )
    pieces = _pieces(reshape(input, (-1,)), square[me].tolist())
    parts = _exchanged(owner, tuple(pieces), [(n,) for n in square[:, me].tolist()], group)
    output.copy_(reshape(concat(parts), output.shape))
    return _handle(async_op)


def _exchanged(
    owner: str, tensors: tuple[Tensor, ...], shapes: list[tuple[int, ...]], group: str | None
) -> tuple[Tensor, ...]:
    """Send one tensor to each member, and receive one of `shapes` from each."""
    group = DEFAULT_WORLD_GROUP if group is None else group
    me = world().members(group).index(world().rank)
    _check_same_count(owner, tensors[me], shapes[me])
    everyone = tuple(range(len(shapes)))
    sent = tuple([reshape(one, shapes[me]) if i == me else one for i, one in enumerate(tensors)])
    exchange = NeighborExchange(
        everyone, everyone, tuple(shapes), tuple([t.shape for t in sent]), sent[0].dtype, group
    )
    return exchange(sent)


def _row_counts(rows: int, members: int, given: Any) -> list[int]:
    """The number of rows of each member: equal parts by default."""
    if given is not None:
        return [int(n) for n in given]
    if rows % members:
        raise problem(
            ValueError,
            "all_to_all: the rows cannot be divided evenly",
            got=f"{rows} rows for {members} processes",
            fix="pass input_split_sizes and output_split_sizes",
        )
    return [rows // members] * members


def _pieces(tensor: Tensor, counts: list[int]) -> list[Tensor]:
    """Split the rows of a tensor into pieces of these lengths."""
    ends = np.cumsum(counts).tolist()
    return [tensor[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _handle(async_op: bool) -> CommHandle | None:
    return CommHandle() if check_bool("comm_func", "async_op", async_op) else None


def _check(owner: str, tensor: Any, group: Any) -> None:
    _check_tensor(owner, tensor)
    _check_group(owner, group)


def _check_tensor(owner: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor):
        raise wrong_type(owner, "tensor", tensor, "Tensor")


def _check_group(owner: str, group: Any) -> int:
    """The number of members of a group."""
    if group is None:
        return world().size
    if not isinstance(group, str):
        raise wrong_type(owner, "group", group, "str")
    return len(world().members(group))


def _check_peer(owner: str, argument: str, rank: Any, group: str) -> None:
    members = _check_group(owner, group)
    if not 0 <= check_int(owner, argument, rank) < members:
        raise wrong_value(owner, argument, rank, f"a rank of the group: 0 to {members - 1}")


def _shape_of(owner: str, shape: Any) -> tuple[int, ...]:
    if isinstance(shape, Tensor):
        return shape.shape
    if not isinstance(shape, tuple) or not all(is_int(n) for n in shape):
        raise wrong_type(owner, "output_shape", shape, "a tuple of int or a Tensor")
    return shape


def _check_same_count(owner: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tensor.size != size(shape):
        raise problem(
            ValueError,
            f"{owner}: what a process sends to itself must have the size that it receives",
            got=f"{tensor.shape} to {shape}",
        )
