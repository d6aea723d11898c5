"""Native kernels for convolutions, channels-last: gradients of weights.

Each core processes some lines of outputs. A line of the kernel's window is contiguous in the
input, so the gradient of the weight is a sum of products of lines: the inputs of the points of a
line times their output gradients. Both lines stay in the L1 cache, the sums of a tile in
registers.
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
    step, width and in of x; all of the gradient; lines, and width and in, of the kernel.
    """
    of_input = tuple((0, axis) for axis in range(1, 5))
    of_gradient = tuple((1, axis) for axis in range(4))
    return KernelSignature(2, 1, (*of_input, *of_gradient, (2, 1), (2, 2)), parts)


def write_weight_gradient(
    module: ir.Module, name: str, processor: ProcessorFeatures, signature: KernelSignature
) -> ir.Function:
    """Write the kernel: sums over a part of the lines of all images, in whole tiles of outputs."""
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), signature.types), name)
    kernel.linkage = "internal"
    buffers, sizes = signature.types[:3], signature.types[3:6]
    tiles = tile_functions(module, f"{name}.tile", processor, buffers + sizes, _tile)
    w = LlvmBuilder(kernel, processor.lanes)
    x, gradient, sums, steps, step, width, inputs, *rest = kernel.args
    batch, height, points, outputs, lines, window, part = rest
    panel = w.times(window, outputs)  # sums of a line of the kernel
    size = w.times(lines, panel)
    own_sums = w.at(sums, w.times(part, size))
    with w.loop(0, size, w.lanes) as index:
        w.store(w.everywhere(0.0), own_sums, index)
    line, between = w.times(width, inputs), w.times(step, inputs)
    total = w.times(batch, height)
    first, last = (w.over(w.times(total, p), signature.parts) for p in (part, w.plus(part, 1)))
    with w.loop(first, last) as row:
        image = w.over(row, height)
        at_row = w.plus(w.times(image, steps), w.minus(row, w.times(image, height)))
        seen = w.at(x, w.times(at_row, step, line))
        back = w.at(gradient, w.times(row, points, outputs))
        with w.loop(0, lines) as k, w.loop(0, outputs, COLUMNS * w.lanes) as output:
            left, found = w.at(seen, w.times(k, line)), w.at(own_sums, w.times(k, panel))
            right, found = w.at(back, output), w.at(found, output)
            call_tiles(w, tiles, [left, right, found, points, outputs, between], 0, window)
    w.builder.ret_void()
    return kernel


def _tile(w: LlvmBuilder, height: int, arguments: list[Value], row: Value) -> None:
    """Add a line to the sums of some positions of the window."""
    left, right, found, points, outputs, between = arguments
    starts = [w.times(w.plus(row, i), outputs) for i in range(height)]
    indices = [[w.plus(start, c * w.lanes) for c in range(COLUMNS)] for start in starts]
    sums: Sums = [[w.load(found, index) for index in line] for line in indices]
    sides = (w.at(left, row), w.index(1)), (right, outputs)
    for line, values in zip(indices, accumulate(w, sums, *sides, points, between), strict=True):
        for index, value in zip(line, values, strict=True):
            w.store(value, found, index)
