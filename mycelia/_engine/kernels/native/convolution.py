"""Kernels of convolutions, channels last: gradients of weights, some lines of outputs a core.

A line of the kernel's window lies in one piece in the input, so that the gradient of the weight is
a sum of products of lines: what the points of a line see, times what came back for them. Both lines
stay in the nearest cache, the sums of a tile in registers.
"""

from __future__ import annotations

from llvmlite import ir

from mycelia._engine.kernels.native.ffi_handler import KernelSignature
from mycelia._engine.kernels.native.llvm_builder import LlvmBuilder, Value
from mycelia._engine.kernels.native.machine_code import ProcessorFeatures
from mycelia._engine.kernels.native.tiled_matmul import (
    COLUMNS,
    Sums,
    accumulate,
    call_tiles,
    tile_functions,
)


def weight_gradient(parts: int) -> KernelSignature:
    """x (batch, steps, lines of a step, width, in), gradient (batch, height, width, out) -> sums.

    The sums are (parts, lines of the kernel, its width and in, out). The sizes: steps, lines of a
    step, width and in of x; all of the gradient; lines, width and in of the kernel.
    """
    of_input = tuple((0, axis) for axis in range(1, 5))
    of_gradient = tuple((1, axis) for axis in range(4))
    return KernelSignature(2, 1, (*of_input, *of_gradient, (2, 1), (2, 2)), parts)


def write_weight_gradient(
    module: ir.Module, name: str, processor: ProcessorFeatures, given: KernelSignature
) -> ir.Function:
    """The sums over a part of the lines of all images. There are whole tiles of outputs."""
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), given.types), name)
    kernel.linkage = "internal"
    buffers, sizes = given.types[:3], given.types[3:6]
    tiles = tile_functions(module, f"{name}.tile", processor, buffers + sizes, _tile)
    w = LlvmBuilder(kernel, processor.lanes)
    x, gradient, sums, steps, step, width, inputs, *rest = kernel.args
    batch, height, points, outputs, lines, window, part = rest
    panel = w.times(window, outputs)  # sums of a line of the kernel
    size = w.times(lines, panel)
    own = w.at(sums, w.times(part, size))
    with w.loop(0, size, w.lanes) as place:
        w.store(w.everywhere(0.0), own, place)
    line, between = w.times(width, inputs), w.times(step, inputs)
    total = w.times(batch, height)
    first, last = (w.over(w.times(total, p), given.parts) for p in (part, w.plus(part, 1)))
    with w.loop(first, last) as row:
        image = w.over(row, height)
        at_row = w.plus(w.times(image, steps), w.minus(row, w.times(image, height)))
        seen = w.at(x, w.times(at_row, step, line))
        back = w.at(gradient, w.times(row, points, outputs))
        with w.loop(0, lines) as k, w.loop(0, outputs, COLUMNS * w.lanes) as output:
            left, found = w.at(seen, w.times(k, line)), w.at(own, w.times(k, panel))
            right, found = w.at(back, output), w.at(found, output)
            call_tiles(w, tiles, [left, right, found, points, outputs, between], 0, window)
    w.builder.ret_void()
    return kernel


def _tile(w: LlvmBuilder, height: int, given: list[Value], row: Value) -> None:
    """Add a line to the sums of some places of the window."""
    left, right, found, points, outputs, between = given
    starts = [w.times(w.plus(row, i), outputs) for i in range(height)]
    places = [[w.plus(start, c * w.lanes) for c in range(COLUMNS)] for start in starts]
    sums: Sums = [[w.load(found, place) for place in line] for line in places]
    sides = (w.at(left, row), w.index(1)), (right, outputs)
    for line, values in zip(places, accumulate(w, sums, *sides, points, between), strict=True):
        for place, value in zip(line, values, strict=True):
            w.store(value, found, place)
