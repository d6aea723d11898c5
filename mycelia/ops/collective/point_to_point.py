"""Point-to-point communication: Send, Receive, NeighborExchange.

Two processes exchange tensors in one step. Pairs of processes run in the same order everywhere, so
that no cycle of waiting processes can form.
"""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int, is_int
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.process_groups import DEFAULT_WORLD_GROUP, world
from mycelia._engine.core.shape import Shape
from mycelia._engine.core.wait_registry import Ranks
from mycelia._engine.ir.example import case
from mycelia._engine.ir.primitive import freeze
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels import ring_collectives
from mycelia._engine.kernels.ring_collectives import ring_of
from mycelia.ops.collective.collective import Collective
from mycelia.ops.elementwise.arithmetic import add
from mycelia.ops.shapes.creation import zeros_like
from mycelia.ops.shapes.reshape import Barrier


class NeighborExchange(Collective):
    """Sends one tensor to each of `send_rank_ids` and receives one from each of `recv_rank_ids`."""

    send_rank_ids: tuple[int, ...]
    recv_rank_ids: tuple[int, ...]
    recv_shapes: tuple[tuple[int, ...], ...]
    send_shapes: tuple[tuple[int, ...], ...]
    recv_type: Any
    group: str = DEFAULT_WORLD_GROUP
    examples = (
        case(
            ("f32[2,3]",),
            send_rank_ids=[0],
            recv_rank_ids=[0],
            recv_shapes=([2, 3],),
            send_shapes=([2, 3],),
            recv_type="float32",
        ),
    )

    def normalize(self) -> dict[str, Any]:
        lists = ("send_rank_ids", "recv_rank_ids", "recv_shapes", "send_shapes")
        for name in lists:
            if not isinstance(getattr(self, name), (list, tuple)):
                raise wrong_type("NeighborExchange", name, getattr(self, name), "list or tuple")
        tidy = {name: freeze(getattr(self, name)) for name in lists}
        return super().normalize() | tidy | {"recv_type": as_dtype(self.recv_type)}

    def infer(self, x: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        members = self.members()
        for rank in (*self.send_rank_ids, *self.recv_rank_ids):
            if not is_int(rank) or not 0 <= rank < members:
                raise problem(
                    ValueError,
                    f"NeighborExchange: rank {rank} is not in the group {self.group}",
                    expected=f"0 to {members - 1}",
                )
        shapes = tuple([tensor.shape for tensor in x])
        if shapes != self.send_shapes or len(x) != len(self.send_rank_ids):
            raise problem(
                ValueError,
                "NeighborExchange: the tensors do not match send_shapes",
                got=str(shapes),
                expected=f"{self.send_shapes}, one for each of {self.send_rank_ids}",
            )
        self._check_matching(x)
        return tuple([TensorType(self.recv_type, shape) for shape in self.recv_shapes])

    def _check_matching(self, x: tuple[TensorType, ...]) -> None:
        """Checks all dtypes, and the shapes of tensors that this rank sends to itself."""
        me = self.ranks().index(world().rank)
        sent = [self.send_shapes[i] for i in _indices_of(self.send_rank_ids, me)]
        got = [self.recv_shapes[i] for i in _indices_of(self.recv_rank_ids, me)]
        if sent != got or any(tensor.dtype is not self.recv_type for tensor in x):
            raise problem(
                ValueError,
                "NeighborExchange: tensors a rank sends to itself must match those received",
                got=f"{[str(tensor) for tensor in x]} sent, {self.recv_type} {got} expected back",
            )

    def lower(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        ranks = self.ranks()
        me = ranks.index(world().rank)
        received: dict[int, Array] = {}
        before: Array | None = None
        for peer in sorted({*self.send_rank_ids, *self.recv_rank_ids}, key=lambda p: _pair(me, p)):
            sent = [x[i] for i in _indices_of(self.send_rank_ids, peer)]
            indices = _indices_of(self.recv_rank_ids, peer)
            if peer == me:
                received.update(zip(indices, map(jnp.asarray, sent), strict=True))
                continue
            first, second = _pair(me, peer)
            got, before = ring_collectives.swapped(
                sent,
                [self.recv_shapes[i] for i in indices],
                self.recv_type.numpy,
                me == first,
                ring_of(self.name, (ranks[first], ranks[second])),
                before,
            )
            received.update(zip(indices, got, strict=True))
        return tuple([received[i] for i in range(len(self.recv_rank_ids))])

    def participants(self) -> Ranks:
        peers = {*self.send_rank_ids, *self.recv_rank_ids}
        return tuple(sorted({world().rank, *(r for i, r in enumerate(self.ranks()) if i in peers)}))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = NeighborExchange(
            self.recv_rank_ids,
            self.send_rank_ids,
            self.send_shapes,
            self.recv_shapes,
            self.recv_type,
            self.group,
        )
        return (back(dout),)


class Send(Collective):
    """Sends a tensor to `dest_rank`, which must call Receive; returns the tensor.

    Gradients flow back to it if the result is used.
    """

    peer = "dest_rank"
    sr_tag: int
    dest_rank: int
    group: str = DEFAULT_WORLD_GROUP
    group_back: str = DEFAULT_WORLD_GROUP

    def normalize(self) -> dict[str, Any]:
        check_int("Send", "sr_tag", self.sr_tag)
        return super().normalize()

    def infer(self, x: TensorType) -> TensorType:
        _check_other(self, self.dest_rank)
        return x

    def lower(self, x: Array) -> Array:
        _, total = _swapped_with(self, self.dest_rank, [x], [], x.dtype)
        return ring_collectives.after(x, total)

    def participants(self) -> Ranks:
        return _with(self, self.dest_rank)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        fields = self.sr_tag, self.dest_rank, tuple(x.shape), x.dtype, self.group_back, self.group
        # `out` as the argument orders the Receive after the Send
        return (add(Receive.of(*fields)(out), dout),)


class Receive(Collective):
    """Receives the tensor that `src_rank` sends with Send.

    Gradients flow back to the sender if the argument depends on a differentiated tensor; its values
    do not matter.
    """

    peer = "src_rank"
    sr_tag: int
    src_rank: int
    shape: Shape
    dtype: DType
    group: str = DEFAULT_WORLD_GROUP
    group_back: str = DEFAULT_WORLD_GROUP

    def normalize(self) -> dict[str, Any]:
        check_int("Receive", "sr_tag", self.sr_tag)
        if not isinstance(self.shape, (list, tuple)):
            raise wrong_type("Receive", "shape", self.shape, "list or tuple")
        tidy = {"shape": freeze(self.shape), "dtype": as_dtype(self.dtype)}
        return super().normalize() | tidy

    def infer(self, x: TensorType | None = None) -> TensorType:
        _check_other(self, self.src_rank)
        return TensorType(self.dtype, self.shape)

    def lower(self, x: Array | None = None) -> Array:
        return _swapped_with(self, self.src_rank, [], [self.shape], self.dtype.numpy, x)[0][0]

    def participants(self) -> Ranks:
        return _with(self, self.src_rank)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        sent = Send.of(self.sr_tag, self.src_rank, self.group_back, self.group)(dout)
        return (None if x is None else Barrier.of()((zeros_like(x),), (sent,))[0],)


def _swapped_with(
    op: Collective,
    peer: int,
    sent: list[Array],
    expected: list[Shape],
    dtype: Any,
    before: Array | None = None,
) -> tuple[list[Array], Array]:
    """The result of `swapped` between this process and another rank."""
    ranks = op.ranks()
    me = ranks.index(world().rank)
    first, second = _pair(me, peer)
    ring = ring_of(op.name, (ranks[first], ranks[second]))
    return ring_collectives.swapped(sent, expected, dtype, me == first, ring, before)


def _with(op: Collective, peer: int) -> Ranks:
    op.members()
    return tuple(sorted((world().rank, op.ranks()[peer])))


def _check_other(op: Collective, peer: int) -> None:
    op.members()
    if op.ranks()[peer] == world().rank:
        raise problem(
            ValueError,
            f"{op.name}: a process cannot exchange messages with itself",
            got=f"{op.peer}={peer}, the rank of this process",
            fix="send to another process, or use comm_func.isend, which does not block",
        )


def _indices_of(ranks: tuple[int, ...], wanted: int) -> list[int]:
    return [i for i, rank in enumerate(ranks) if rank == wanted]


def _pair(first: int, second: int) -> tuple[int, int]:
    return min(first, second), max(first, second)
