"""What is known of cutting an operator over devices: its axes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """One direction in which the work of an operator can be cut into equal parts.

    Each part gets its piece of every place in `inputs` and makes its piece of every place in
    `outputs`. A result in `combined` comes out of each part whole in shape, but as one term: the
    terms are put together by a sum, a maximum, a minimum or a logical or. Every other result is
    complete in each part. Where reductions along the axis are used up inside the operator
    (the mean of a normalization, the sum of a softmax), the parts must exchange `inner` bytes.
    """

    size: int  # positions along the axis, where it is coarsest
    divides: int  # an even cut into n parts is aligned at all places iff n divides this number
    inputs: tuple[tuple[int, int], ...]  # (leaf among the data arguments, dimension)
    outputs: tuple[tuple[int, int], ...]  # (leaf among the results, dimension)
    combined: tuple[tuple[int, str], ...]  # (leaf among the results, "sum" | "max" | "min" | "any")
    flops: float  # how much of the operator's work is divided when the axis is cut
    inner: float = 0.0  # bytes of reduced values that parts exchange inside the operator
    uniform: bool = False  # positions are single ones everywhere, and it does not matter which

    @property
    def apart(self) -> bool:
        """Whether each position has results of its own, which need nothing of the others."""
        return self.uniform and bool(self.outputs) and not self.combined and not self.inner


@dataclass(frozen=True)
class OperatorAxes:
    """The axes along which an operator can be cut for arguments of some types, and its work.

    Leaves are numbered over all tensors of the arguments, and of the results, in order; nested
    tuples count as their entries, None and static values as nothing.
    """

    axes: tuple[Axis, ...]  # those that can be cut, as inputs mention them, then outputs
    flops: float  # all work: 2mnk for a product, 1 for each number that anything else makes
    unused: tuple[int, ...] = ()  # leaves among the data arguments whose numbers do not matter
