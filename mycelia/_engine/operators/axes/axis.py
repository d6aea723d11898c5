"""Descriptions of the axes along which an operator can be sharded."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """One axis along which an operator can be split into equal shards.

    Each shard receives a slice of every dimension in `inputs` and computes a slice of every
    dimension in `outputs`. A result in `combined` has its full shape in each shard, but is only one
    term: the terms are combined by a sum, a maximum, a minimum, or a logical or. Every other result
    is complete in each shard. If reductions along the axis are consumed inside the operator (the
    mean of a
    normalization, the sum of a softmax), the shards must exchange `inner` bytes.
    """

    size: int  # positions along the axis, where it is coarsest
    divides: int  # a split into n shards is aligned in all dimensions iff n divides this number
    inputs: tuple[tuple[int, int], ...]  # (leaf among the data arguments, dimension)
    outputs: tuple[tuple[int, int], ...]  # (leaf among the results, dimension)
    combined: tuple[tuple[int, str], ...]  # (leaf among the results, "sum" | "max" | "min" | "any")
    flops: float  # the part of the operator's work that splitting the axis divides
    inner: float = 0.0  # bytes of reduced values that shards exchange inside the operator
    uniform: bool = False  # the axis has one size everywhere, and positions are interchangeable

    @property
    def apart(self) -> bool:
        """Whether each position has separate results, which do not depend on the others."""
        return self.uniform and bool(self.outputs) and not self.combined and not self.inner


@dataclass(frozen=True)
class OperatorAxes:
    """The axes along which an operator can be sharded for some argument types, and its work.

    Leaves are numbered over all tensors of the arguments, and of the results, in order; nested
    tuples count as their entries, None and static values are skipped.
    """

    axes: tuple[Axis, ...]  # those of the inputs in order, then those of the outputs alone
    flops: float  # total work: 2mnk for a matrix product, 1 per element for everything else
    unused: tuple[int, ...] = ()  # leaves of the data arguments whose values do not matter
