"""Products of matrices, tile by tile: as many sums at a time as registers hold."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from mycelia._engine.kernels.native.llvm_builder import INDEX, LlvmBuilder, Value
from mycelia._engine.kernels.native.machine_code import ProcessorFeatures

COLUMNS = 4  # vectors that a tile is wide

Sums = list[list[Value]]  # of each row, one for each column
Body = Callable[[LlvmBuilder, int, list[Value], Value], None]


def heights(processor: ProcessorFeatures) -> tuple[int, ...]:
    """Rows of the tiles that rows are cut into, the largest first.

    Besides the sums, registers hold what is multiplied: one side whole, the other one by one.
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
    """Add the product of `count` columns of the left side with as many rows of the right one.

    Sides are an address and the distance of one row from the next; `step` is that of one column of
    the left side from the next.
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
                place = i * width + column
                carried[place] = w.fused(number, factors, carried[place])
    return [carried[i : i + width] for i in range(0, len(carried), width)]


def tile_functions(
    module: ir.Module, name: str, processor: ProcessorFeatures, types: list[ir.Type], body: Body
) -> dict[int, ir.Function]:
    """For each height of a tile, the function that `body` writes; its last argument is a row."""
    found = {}
    for height in heights(processor):
        kind = ir.FunctionType(ir.VoidType(), [*types, INDEX])
        function = ir.Function(module, kind, f"{name}.{height}")
        function.linkage = "internal"
        w = LlvmBuilder(function, processor.lanes)
        *given, row = function.args
        body(w, height, given, row)
        w.builder.ret_void()
        found[height] = function
    return found


def call_tiles(
    w: LlvmBuilder, tiles: dict[int, ir.Function], given: list[Value], start: Value, stop: Value
) -> None:
    """Call the functions of tiles for all rows from start to stop."""
    for height, function in tiles.items():
        whole = w.times(w.over(w.minus(stop, start), height), height)
        end = w.plus(start, whole)
        with w.loop(start, end, height) as row:
            w.builder.call(function, [*given, row])
        start = end


def _needed(height: int) -> int:
    """Registers for a tile."""
    return height * COLUMNS + min(height, COLUMNS) + 1
