"""Writing loops over vectors of float32 as LLVM's instructions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

INDEX, NUMBER, ADDRESS = ir.IntType(64), ir.FloatType(), ir.PointerType()
_ALIGNED = 4  # bytes: any place of a float32

Value = Any  # of LLVM


class LlvmBuilder:
    """Writes one function. Indices count numbers, not bytes."""

    def __init__(self, function: ir.Function, lanes: int) -> None:
        self.function, self.lanes = function, lanes
        self.vector = ir.VectorType(NUMBER, lanes)
        self.builder = ir.IRBuilder(function.append_basic_block())

    # Whole numbers

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

    def at(self, base: Value, place: int | Value) -> Value:
        """The address so many numbers after another."""
        return self.builder.gep(base, [self.index(place)], source_etype=NUMBER)

    def load(self, base: Value, place: int | Value = 0) -> Value:
        """As many numbers as a register holds."""
        return self.builder.load(self.at(base, place), align=_ALIGNED, typ=self.vector)

    def store(self, value: Value, base: Value, place: int | Value = 0) -> None:
        """A vector or a single number."""
        self.builder.store(value, self.at(base, place), align=_ALIGNED)

    def number(self, base: Value, place: int | Value = 0) -> Value:
        return self.builder.load(self.at(base, place), align=_ALIGNED, typ=NUMBER)

    def everywhere(self, number: float | Value) -> Value:
        """A vector of equal numbers."""
        if isinstance(number, float):
            return ir.Constant(self.vector, [number] * self.lanes)
        empty = ir.Constant(self.vector, ir.Undefined)
        one = self.builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
        return self.chosen(one, empty, [0] * self.lanes)

    def chosen(self, x: Value, y: Value, places: Sequence[int]) -> Value:
        """The numbers at some places of two vectors, one after the other."""
        mask = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), list(places))
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
        """x between -bound and bound; what is not a number stays so."""
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
        """The instructions inside are for each number from start to stop.

        Those inside see what `carried` holds so far, and replace it; then it is what is left.
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
