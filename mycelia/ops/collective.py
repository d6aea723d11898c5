"""Collective operators: tensors that meet those of the other processes in a group.

With one process in the world a group has one member, so what comes from all members together is
what this one gave.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia.core.checks import check_int, is_int
from mycelia.core.dtype import as_dtype
from mycelia.core.errors import problem, wrong_type
from mycelia.core.shape import normalize_axis
from mycelia.core.world import DEFAULT_WORLD_GROUP, world
from mycelia.ir.example import case
from mycelia.ir.primitive import freeze
from mycelia.ir.types import TensorType
from mycelia.ops.engine import Array, jnp
from mycelia.ops.op import Op


class ReduceOp:
    """How numbers of several processes become one."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = "avg"


REDUCTIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG)


class Collective(Op, register=False):
    """A tensor that goes through the processes of `group`.

    `op`, if there is one, says how numbers are combined; `peer` names the field with the member
    that sends or receives alone.
    """

    peer: ClassVar[str] = ""

    def normalize(self) -> dict[str, Any]:
        owner = type(self).__name__
        given = vars(self)
        if not isinstance(given["group"], str):
            raise wrong_type(owner, "group", given["group"], "str")
        if "op" in given:
            check_reduction(owner, given["op"])
        if self.peer:
            check_int(owner, self.peer, given[self.peer])
        return {}

    def infer(self, x: TensorType) -> TensorType:
        self.members()
        return x

    def lower(self, x: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout,)

    def members(self) -> int:
        """How many processes take part; the one named by `peer` must be among them."""
        given = vars(self)
        ranks = world().members(given["group"])
        if self.peer and not 0 <= given[self.peer] < len(ranks):
            raise problem(
                ValueError,
                f"{self.name}: {self.peer} is no rank of the group {given['group']}",
                got=str(given[self.peer]),
                expected=f"0 to {len(ranks) - 1}",
            )
        return len(ranks)


class AllReduce(Collective):
    """The tensors of all members combined; every member gets the result."""

    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("f32[]", op="max"), case("i32[4]", op="prod"))


class AllGather(Collective):
    """The tensors of all members, one below the other; every member gets the result."""

    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("i32[4]"))

    def infer(self, x: TensorType) -> TensorType:
        return rows_times(self, x, self.members())


class ReduceScatter(Collective):
    """The tensors of all members combined; every member gets its share of the rows."""

    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("f32[4]", op="min"))

    def infer(self, x: TensorType) -> TensorType:
        return share_of_rows(self, x, self.members())


class Reduce(Collective):
    """The tensors of all members combined; the member `dest_rank` gets the result."""

    peer = "dest_rank"
    dest_rank: int
    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]", dest_rank=0), case("f32[4]", dest_rank=0, op="max"))


class CollectiveGather(Collective):
    """The tensors of all members, one below the other; the member `dest_rank` gets the result."""

    peer = "dest_rank"
    dest_rank: int
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]", dest_rank=0),)

    def infer(self, x: TensorType) -> TensorType:
        return rows_times(self, x, self.members())


class CollectiveScatter(Collective):
    """The tensor of the member `src_rank`, its rows shared out among all."""

    peer = "src_rank"
    src_rank: int = 0
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"),)

    def infer(self, x: TensorType) -> TensorType:
        return share_of_rows(self, x, self.members())


class Broadcast(Collective):
    """The tensors of the member `root_rank`, for every member."""

    peer = "root_rank"
    root_rank: int
    group: str = DEFAULT_WORLD_GROUP
    examples = (case(("f32[2,3]", "i32[2]"), root_rank=0), case(("f32[]",), root_rank=0))

    def infer(self, x: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.members()
        return x

    def lower(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple([jnp.asarray(one) for one in x])


class AlltoAll(Collective):
    """Blocks along `split_dim`, one for each member; the blocks got are joined at `concat_dim`."""

    split_count: int
    split_dim: int
    concat_dim: int
    group: str = DEFAULT_WORLD_GROUP
    examples = (
        case("f32[2,3]", split_count=1, split_dim=0, concat_dim=1),
        case("i32[4,1,2]", split_count=1, split_dim=-1, concat_dim=0),
    )

    def normalize(self) -> dict[str, Any]:
        for name in ("split_count", "split_dim", "concat_dim"):
            check_int("AlltoAll", name, getattr(self, name))
        return super().normalize()

    def infer(self, x: TensorType) -> TensorType:
        members = self.members()
        if self.split_count != members:
            raise problem(
                ValueError,
                "For 'AlltoAll', the 'split_count' must be equal to 'rank_size', but got "
                f"'split_count': {self.split_count}, 'rank_size': {members}",
            )
        split = normalize_axis(self.split_dim, x.ndim, "AlltoAll")
        joined = normalize_axis(self.concat_dim, x.ndim, "AlltoAll")
        shape = list(x.shape)
        shape[split] //= members
        shape[joined] *= members
        return TensorType(x.dtype, tuple(shape))


class NeighborExchange(Collective):
    """One tensor for each of `send_rank_ids`, and one from each of `recv_rank_ids`."""

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
                    f"NeighborExchange: there is no rank {rank} in the group {self.group}",
                    expected=f"0 to {members - 1}",
                )
        given = tuple([one.shape for one in x])
        if given != self.send_shapes or len(x) != len(self.send_rank_ids):
            raise problem(
                ValueError,
                "NeighborExchange: the tensors are not those of send_shapes",
                got=str(given),
                expected=f"{self.send_shapes}, one for each of {self.send_rank_ids}",
            )
        got = tuple([TensorType(self.recv_type, shape) for shape in self.recv_shapes])
        if members == 1 and got != x:
            raise problem(
                ValueError,
                "NeighborExchange: what a process sends itself it must receive alike",
                got=str(got),
                expected=str(x),
            )
        return got

    def lower(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return tuple([jnp.asarray(one) for one in x])


def check_reduction(owner: str, way: Any) -> str:
    """The way of a reduction, if there is one of that name."""
    if not isinstance(way, str):
        raise wrong_type(owner, "op", way, "str")
    if way not in REDUCTIONS:
        raise problem(
            TypeError,
            f"{owner}: there is no such reduction",
            got=repr(way),
            expected=f"one of {', '.join(REDUCTIONS)}",
        )
    return way


def rows_times(op: Op, x: TensorType, count: int) -> TensorType:
    """The type of `count` tensors like `x` one below the other."""
    if not x.ndim:
        raise problem(ValueError, f"{op.name}: a number has no rows to gather", got=str(x))
    return TensorType(x.dtype, (x.shape[0] * count, *x.shape[1:]))


def share_of_rows(op: Op, x: TensorType, count: int) -> TensorType:
    """The type of one of `count` equal shares of the rows of `x`."""
    if not x.ndim or x.shape[0] % count:
        raise problem(
            ValueError,
            f"{op.name}: the rows cannot be shared out evenly",
            got=f"{x} for {count} processes",
        )
    return TensorType(x.dtype, (x.shape[0] // count, *x.shape[1:]))
