"""A builder for loops over float32 vectors in LLVM IR."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

INDEX, NUMBER, ADDRESS = ir.IntType(64), ir.FloatType(), ir.PointerType()
_ALIGNED = 4  # bytes: any float32 address

Value = Any  # of LLVM


class LlvmBuilder:
    """Writes one function. Indices count elements, not bytes."""

    def __init__(self, function: ir.Function, lanes: int) -> None:
        self.function, self.lanes = function, lanes
        self.vector = ir.VectorType(NUMBER, lanes)
        self.builder = ir.IRBuilder(function.append_basic_block())

    # Integers

    def index(self, value: int | Value) -> Value:
        return ir.Constant(INDEX, value) if isinstance(value, int) else value

    def plus(self, *terms: int | Value) -> Value:
        first, *rest = map(self.index, terms)
        for term in rest:
            first = self.builder.add(first, term)
        return first

    def minus(self, x: int | Value, y: int | Value) -> Value:
        return self.builder.sub(self.index(x), self.index(y))

    def times(self, *factors: int | Value) -> Value:
        first, *rest = map(self.index, factors)
        for factor in rest:
            first = self.builder.mul(first, factor)
        return first

    def over(self, x: int | Value, y: int | Value) -> Value:
        return self.builder.sdiv(self.index(x), self.index(y))

    def is_less(self, x: int | Value, y: int | Value) -> Value:
        return self.builder.icmp_signed("<", self.index(x), self.index(y))

    # Memory

    def at(self, base: Value, offset: int | Value) -> Value:
        """The address `offset` elements after `base`."""
        return self.builder.gep(base, [self.index(offset)], source_etype=NUMBER)

    def load(self, base: Value, offset: int | Value = 0) -> Value:
        """Load a full register."""
        return self.builder.load(self.at(base, offset), align=_ALIGNED, typ=self.vector)

    def store(self, value: Value, base: Value, offset: int | Value = 0) -> None:
        """Store a vector or a scalar."""
        self.builder.store(value, self.at(base, offset), align=_ALIGNED)

    def number(self, base: Value, offset: int | Value = 0) -> Value:
        return self.builder.load(self.at(base, offset), align=_ALIGNED, typ=NUMBER)

    def everywhere(self, number: float | Value) -> Value:
        """A vector with the same value in every lane."""
        if isinstance(number, float):
            return ir.Constant(self.vector, [number] * self.lanes)
        empty = ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        return self.chosen(first, empty, [0] * self.lanes)

    def chosen(self, x: Value, y: Value, lanes: Sequence[int]) -> Value:
        """Selected elements of two concatenated vectors."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), list(lanes))
        return self.builder.shuffle_vector(x, y, mask)

    # Vectors

    def add(self, x: Value, y: Value) -> Value:
        return self.builder.fadd(x, y)

    def multiply(self, *factors: Value) -> Value:
        first, *rest = factors
        for factor in rest:
            first = self.builder.fmul(first, factor)
        return first

    def divide(self, x: Value, y: Value) -> Value:
        return self.builder.fdiv(x, y)

    def fused(self, x: Value, y: Value, z: Value) -> Value:
        """x * y + z, rounded once."""
        return self.builder.call(self._fma(), [x, y, z])

    def rest(self, x: Value, y: Value) -> Value:
        """1 - x * y."""
        return self.fused(self.builder.fneg(x), y, self.everywhere(1.0))

    def bounded(self, x: Value, bound: float) -> Value:
        """x clipped to [-bound, bound]; NaN stays NaN."""
        for limit, sign in ((bound, ">"), (-bound, "<")):
            edge = self.everywhere(limit)
            x = self.builder.select(self.builder.fcmp_ordered(sign, x, edge), edge, x)
        return x

    # Control

    @contextmanager
    def loop(
        self,
        start: int | Value,
        stop: int | Value,
        step: int = 1,
        carried: list[Value] | None = None,
    ) -> Iterator[Value]:
        """A loop over indices from start to stop; instructions inside the block form its body.

        The body reads and replaces the values in `carried`, which afterwards holds the final ones.
        """
        carried = [] if carried is None else carried
        before = self.builder.block
        head, body, after = (self.function.append_basic_block() for _ in range(3))
        self.builder.branch(head)
        self.builder.position_at_end(head)
        index, *phis = (self.builder.phi(v.type) for v in (self.index(start), *carried))
        for phi, value in zip((index, *phis), (self.index(start), *carried), strict=True):
            phi.add_incoming(value, before)
        self.builder.cbranch(self.is_less(index, stop), body, after)
        self.builder.position_at_end(body)
        carried[:] = phis
        yield index
        end = self.builder.block
        for phi, value in zip((index, *phis), (self.plus(index, step), *carried), strict=True):
            phi.add_incoming(value, end)
        self.builder.branch(head)
        self.builder.position_at_end(after)
        carried[:] = phis

    def _fma(self) -> ir.Function:
        name = f"llvm.fma.v{self.lanes}f32"
        module = self.function.module
        kind = ir.FunctionType(self.vector, [self.vector] * 3)
        return module.globals.get(name) or ir.Function(module, kind, name)
