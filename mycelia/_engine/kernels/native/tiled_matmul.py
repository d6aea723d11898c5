"""Matrix products tile by tile, with as many sums as fit in registers."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mycelia._engine.kernels.native.llvm_builder import INDEX, LlvmBuilder, Value
from mycelia._engine.kernels.native.machine_code import ProcessorFeatures

COLUMNS = 4  # vectors per tile row

Sums = list[list[Value]]  # per row and column
Body = Callable[[LlvmBuilder, int, list[Value], Value], None]


def heights(processor: ProcessorFeatures) -> tuple[int, ...]:
    """The heights of the tiles that rows are divided into, the largest first.

    Besides the sums, registers hold the factors: one side completely, the other one by one.
    """
    fitting = (h for h in range(1, processor.registers) if _needed(h) <= processor.registers)
    most = max(fitting)
    return (most, *[power for power in (4, 2, 1) if power < most])


def accumulate(
    w: LlvmBuilder,
    sums: Sums,
    left: tuple[Value, Value],
    right: tuple[Value, Value],
    count: Value,
    step: int | Value = 1,
) -> Sums:
    """Add the product of `count` columns of the left side and as many rows of the right side.

    A side is an address and the distance between its rows; `step` is the distance between columns
    of the left side.
    """
    width = len(sums[0])
    (rows, between), (columns, stride) = left, right
    starts = [w.at(rows, w.times(row, between)) for row in range(len(sums))]
    carried = [value for row in sums for value in row]
    with w.loop(0, count, carried=carried) as k:
        row = w.at(columns, w.times(k, stride))
        at = w.times(k, step)
        numbers = [w.everywhere(w.number(start, at)) for start in starts]
        for column in range(width):
            factors = w.load(row, column * w.lanes)
            for i, number in enumerate(numbers):
                index = i * width + column
                carried[index] = w.fused(number, factors, carried[index])
    return [carried[i : i + width] for i in range(0, len(carried), width)]


def tile_functions(
    module: ir.Module, name: str, processor: ProcessorFeatures, types: list[ir.Type], body: Body
) -> dict[int, ir.Function]:
    """For each tile height, the function that `body` writes; its last argument is a row."""
    functions = {}
    for height in heights(processor):
        kind = ir.FunctionType(ir.VoidType(), [*types, INDEX])
        function = ir.Function(module, kind, f"{name}.{height}")
        function.linkage = "internal"
        w = LlvmBuilder(function, processor.lanes)
        *arguments, row = function.args
        body(w, height, arguments, row)
        w.builder.ret_void()
        functions[height] = function
    return functions


def call_tiles(
    w: LlvmBuilder, tiles: dict[int, ir.Function], arguments: list[Value], start: Value, stop: Value
) -> None:
    """Call the tile functions for all rows from start to stop."""
    for height, function in tiles.items():
        whole = w.times(w.over(w.minus(stop, start), height), height)
        end = w.plus(start, whole)
        with w.loop(start, end, height) as row:
            w.builder.call(function, [*arguments, row])
        start = end


def _needed(height: int) -> int:
    """The number of registers that a tile needs."""
    return height * COLUMNS + min(height, COLUMNS) + 1
