"""Collective communication: all-reduce, all-gather, reduce-scatter, broadcast, all-to-all.

In a group of one process, the result follows from its own tensor. In larger groups, the operator is
part of a program over several processes (`_engine/runtime/distributed/multiprocess_jit.py`).
Gradients are those of the sum of the losses of all processes.
"""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.process_groups import DEFAULT_WORLD_GROUP, world
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.core.wait_registry import Ranks
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp
from mycelia._engine.kernels import ring_collectives
from mycelia._engine.kernels.ring_collectives import Ring, ring_of
from mycelia._engine.operators.operator import Op
from mycelia.ops.elementwise.arithmetic import div, mul
from mycelia.ops.elementwise.comparison import equal
from mycelia.ops.shapes.reshape import cast


class ReduceOp:
    """Reductions over the processes of a group."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"
    AVG = "avg"


REDUCTIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD, ReduceOp.AVG)


class Collective(Op, register=False):
    """Base class of collective operators over the processes of `group`.

    `op`, if present, names the reduction; `peer` names the field with the rank that sends or
    receives alone.
    """

    peer: ClassVar[str] = ""

    def normalize(self) -> dict[str, Any]:
        owner = type(self).__name__
        attributes = vars(self)
        if not isinstance(attributes["group"], str):
            raise wrong_type(owner, "group", attributes["group"], "str")
        if "op" in attributes:
            check_reduction(owner, attributes["op"])
        if self.peer:
            check_int(owner, self.peer, attributes[self.peer])
        return {}

    def infer(self, x: TensorType) -> TensorType:
        self.members()
        return x

    def lower(self, x: Any) -> Any:
        members = self.ranks()
        if len(members) == 1:
            return self.alone(x)
        local = (
            tuple(map(ring_collectives.own, x)) if isinstance(x, tuple) else ring_collectives.own(x)
        )
        return self.among(local, ring_of(self.name, members))

    def alone(self, x: Any) -> Any:
        """The result in a group of one process."""
        return (
            tuple([jnp.asarray(tensor) for tensor in x]) if isinstance(x, tuple) else jnp.asarray(x)
        )

    def among(self, x: Any, ring: Ring) -> Any:
        """The result in a larger group, inside a program over its processes."""
        raise NotImplementedError

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (dout,)

    def ranks(self) -> Ranks:
        """The global ranks of the group's processes."""
        return world().members(vars(self)["group"])

    def participants(self) -> Ranks:
        """The processes that must run this operator, in the order of the program's axis."""
        return self.ranks()

    def members(self) -> int:
        """The number of participating processes.

        Checks that this process and the `peer` are among them.
        """
        attributes, rank = vars(self), world().rank
        ranks = self.ranks()
        if rank not in ranks:
            raise problem(
                RuntimeError,
                f"{self.name}: this process is not in the group {attributes['group']}",
                got=f"rank {rank}",
                expected=f"one of {list(ranks)}",
            )
        if self.peer and not 0 <= attributes[self.peer] < len(ranks):
            raise problem(
                ValueError,
                f"{self.name}: {self.peer} is not a rank of the group {attributes['group']}",
                got=str(attributes[self.peer]),
                expected=f"0 to {len(ranks) - 1}",
            )
        return len(ranks)


class Combining(Collective, register=False):
    """Base class of collectives that reduce the tensors of all ranks with `op`."""

    def infer(self, x: TensorType) -> TensorType:
        reduction = vars(self)["op"]
        if reduction in (ReduceOp.MAX, ReduceOp.MIN) and x.dtype.is_complex:
            raise problem(
                TypeError, f"{self.name}: {reduction} does not support complex numbers", got=str(x)
            )
        self.members()
        return x

    def weights(self, x: Any, out: Any) -> Any:
        """The derivative of the result with respect to this rank's value; equal values share it."""
        attributes = vars(self)
        if attributes["op"] == ReduceOp.PROD:
            return ProductOfOthers.of(attributes["group"])(x)
        hit = cast(equal(x, out), x.dtype)
        return div(hit, AllReduce.of(ReduceOp.SUM, attributes["group"])(hit))


class AllReduce(Combining):
    """All-reduce: reduces the tensors of all ranks; every rank gets the result."""

    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("f32[]", op="max"), case("i32[4]", op="prod"))

    def among(self, x: Array, ring: Ring) -> Array:
        return ring_collectives.reduced(x, self.op, ring)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        if self.op in (ReduceOp.SUM, ReduceOp.AVG):
            return (AllReduce.of(self.op, self.group)(dout),)
        total = AllReduce.of(ReduceOp.SUM, self.group)(dout)
        return (mul(total, self.weights(x, out)),)


class ProductOfOthers(Collective, register=False):
    """The product of the tensors of all other ranks."""

    group: str = DEFAULT_WORLD_GROUP

    def alone(self, x: Array) -> Array:
        return jnp.ones_like(x)

    def among(self, x: Array, ring: Ring) -> Array:
        stacked = ring_collectives.gathered(x, ring)
        others = stacked.at[ring.index()].set(jnp.ones_like(x))
        return jnp.prod(others, axis=0, dtype=others.dtype)


class AllGather(Collective):
    """All-gather: concatenates the tensors of all ranks along axis 0.

    Every rank gets the result.
    """

    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("i32[4]"))

    def infer(self, x: TensorType) -> TensorType:
        return rows_times(self, x, self.members())

    def among(self, x: Array, ring: Ring) -> Array:
        return ring_collectives.joined(ring_collectives.gathered(x, ring))

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (ReduceScatter.of(ReduceOp.SUM, self.group)(dout),)


class ReduceScatter(Combining):
    """Reduce-scatter: reduces the tensors of all ranks; every rank gets a shard of the rows."""

    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"), case("f32[4]", op="min"))

    def infer(self, x: TensorType) -> TensorType:
        return share_of_rows(self, super().infer(x), self.members())

    def among(self, x: Array, ring: Ring) -> Array:
        return ring_collectives.scattered(x, self.op, ring)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        gather = AllGather.of(self.group)
        if self.op == ReduceOp.SUM:
            return (gather(dout),)
        if self.op == ReduceOp.AVG:
            return (mul(gather(dout), 1.0 / self.members()),)
        return (mul(gather(dout), self.weights(x, gather(out))),)


class Reduce(Combining):
    """Reduces the tensors of all ranks; `dest_rank` gets the result, the others zeros."""

    peer = "dest_rank"
    dest_rank: int
    op: str = ReduceOp.SUM
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]", dest_rank=0), case("f32[4]", dest_rank=0, op="max"))

    def among(self, x: Array, ring: Ring) -> Array:
        return ring_collectives.only_at(
            ring_collectives.reduced(x, self.op, ring), self.dest_rank, ring
        )

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        there = Broadcast.of(self.dest_rank, self.group)
        total = there((dout,))[0]
        if self.op == ReduceOp.SUM:
            return (total,)
        if self.op == ReduceOp.AVG:
            return (mul(total, 1.0 / self.members()),)
        return (mul(total, self.weights(x, there((out,))[0])),)


class CollectiveGather(Collective):
    """Gather: concatenates the tensors of all ranks along axis 0.

    `dest_rank` gets the result, the others zeros.
    """

    peer = "dest_rank"
    dest_rank: int
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]", dest_rank=0),)

    def infer(self, x: TensorType) -> TensorType:
        return rows_times(self, x, self.members())

    def among(self, x: Array, ring: Ring) -> Array:
        whole = ring_collectives.joined(ring_collectives.gathered(x, ring))
        return ring_collectives.only_at(whole, self.dest_rank, ring)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (CollectiveScatter.of(self.dest_rank, self.group)(dout),)


class CollectiveScatter(Collective):
    """Scatter: splits the rows of the tensor of `src_rank` among all ranks."""

    peer = "src_rank"
    src_rank: int = 0
    group: str = DEFAULT_WORLD_GROUP
    examples = (case("f32[2,3]"),)

    def infer(self, x: TensorType) -> TensorType:
        return share_of_rows(self, x, self.members())

    def among(self, x: Array, ring: Ring) -> Array:
        return ring_collectives.share(ring_collectives.from_member(x, self.src_rank, ring), ring)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return (CollectiveGather.of(self.src_rank, self.group)(dout),)


class Broadcast(Collective):
    """Broadcast: sends the tensors of `root_rank` to every rank."""

    peer = "root_rank"
    root_rank: int
    group: str = DEFAULT_WORLD_GROUP
    examples = (case(("f32[2,3]", "i32[2]"), root_rank=0), case(("f32[]",), root_rank=0))

    def infer(self, x: tuple[TensorType, ...]) -> tuple[TensorType, ...]:
        self.members()
        return x

    def among(self, x: tuple[Array, ...], ring: Ring) -> tuple[Array, ...]:
        return tuple([ring_collectives.from_member(tensor, self.root_rank, ring) for tensor in x])

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        back = Reduce.of(self.root_rank, ReduceOp.SUM, self.group)
        return (tuple([d if d is None else back(d) for d in dout]),)


class AlltoAll(Collective):
    """All-to-all: splits along `split_dim` into one block per rank.

    The received blocks are concatenated along `concat_dim`.
    """

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
        if shape[split] % members:
            raise problem(
                ValueError,
                "AlltoAll: the split axis is not divisible by the number of processes",
                got=f"{x}, split along axis {split} for {members} processes",
            )
        shape[split] //= members
        shape[joined] *= members
        return TensorType(x.dtype, tuple(shape))

    def among(self, x: Array, ring: Ring) -> Array:
        blocks = jnp.stack(jnp.split(x, ring.count, axis=self.split_dim))
        return ring_collectives.joined(
            ring_collectives.exchanged(blocks, ring), axis=self.concat_dim
        )

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        fields = self.split_count, self.concat_dim, self.split_dim, self.group
        return (AlltoAll.of(*fields)(dout),)


def check_reduction(owner: str, reduction: Any) -> str:
    """Checks the name of a reduction and returns it."""
    if not isinstance(reduction, str):
        raise wrong_type(owner, "op", reduction, "str")
    if reduction not in REDUCTIONS:
        raise problem(
            TypeError,
            f"{owner}: unknown reduction",
            got=repr(reduction),
            expected=f"one of {', '.join(REDUCTIONS)}",
        )
    return reduction


def rows_times(op: Op, x: TensorType, count: int) -> TensorType:
    """The type of `count` tensors like `x`, concatenated along axis 0."""
    if not x.ndim:
        raise problem(ValueError, f"{op.name}: cannot gather a 0-d tensor", got=str(x))
    return TensorType(x.dtype, (x.shape[0] * count, *x.shape[1:]))


def share_of_rows(op: Op, x: TensorType, count: int) -> TensorType:
    """The type of one of `count` equal shards of the rows of `x`."""
    if not x.ndim or x.shape[0] % count:
        raise problem(
            ValueError,
            f"{op.name}: the rows are not divisible by the number of processes",
            got=f"{x} for {count} processes",
        )
    return TensorType(x.dtype, (x.shape[0] // count, *x.shape[1:]))
