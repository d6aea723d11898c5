"""Native kernels for LSTM layers: all time steps of some sequences of a batch, on one core each.

The sequences of a batch are independent, so cores need not wait for each other between the first
and the last time step.
"""

from __future__ import annotations

from functools import partial

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
from mycelia._engine.kernels.recurrent_gates import BOUND, OVER, UNDER


def lstm_forward(parts: int) -> KernelSignature:
    """x, h, c, packed weights, bias -> outputs, cells, gates; time, batch, inputs, features."""
    return KernelSignature(5, 3, ((0, 0), (0, 1), (0, 2), (1, 1)), parts)


def write_lstm_forward(
    module: ir.Module, name: str, processor: ProcessorFeatures, signature: KernelSignature
) -> ir.Function:
    """Write the forward pass: all time steps of a part of the batch.

    The weights are packed as (features / lanes, inputs and features, gates, lanes): the data that a
    tile of all gates of some features needs, in the order in which it does. Gates are computed
    while their sums are in registers.
    """
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), signature.types), name)
    kernel.linkage = "internal"
    # Arguments of a tile: previous h and c, then x, weights, bias, outputs, cells, gates.
    types = signature.types[:8] + signature.types[8:9] * 3
    tiles = tile_functions(module, f"{name}.tile", processor, types, _lstm_tile)
    w = LlvmBuilder(kernel, processor.lanes)
    x, h, c, weights, bias, outputs, cells, gates, steps, batch, inputs, features, part = (
        kernel.args
    )
    first, last = (w.over(w.times(batch, p), signature.parts) for p in (part, w.plus(part, 1)))
    panel = w.times(w.plus(inputs, features), COLUMNS * w.lanes)
    wide = w.times(batch, features)
    state = [h, c]
    with w.loop(0, steps, carried=state) as step:
        before, now = state, w.times(step, wide)
        out_now, cells_now = w.at(outputs, now), w.at(cells, now)
        gates_now = w.at(gates, w.times(now, COLUMNS))
        x_now = w.at(x, w.times(step, batch, inputs))
        with w.loop(0, features, w.lanes) as feature:
            own = w.at(weights, w.times(w.over(feature, w.lanes), panel))
            buffers = [x_now, *before, own, bias, out_now, cells_now, gates_now]
            call_tiles(w, tiles, [*buffers, inputs, features, feature], first, last)
        state[:] = [out_now, cells_now]
    w.builder.ret_void()
    return kernel


def _lstm_tile(w: LlvmBuilder, height: int, arguments: list[Value], row: Value) -> None:
    """Some rows of the batch, all gates of one register of features."""
    x, h, c, weights, bias, outputs, cells, gates, inputs, features, feature = arguments
    starts = [w.load(bias, w.plus(w.times(gate, features), feature)) for gate in range(COLUMNS)]
    sums: Sums = [list(starts) for _ in range(height)]
    wide = w.index(COLUMNS * w.lanes)
    sums = accumulate(w, sums, (w.at(x, w.times(row, inputs)), inputs), (weights, wide), inputs)
    below = w.at(weights, w.times(inputs, wide))
    own = (w.at(h, w.times(row, features)), features)
    sums = accumulate(w, sums, own, (below, wide), features)
    for i, (by_input, by_forget, by_cell, by_output) in enumerate(sums):
        index = w.plus(w.times(w.plus(row, i), features), feature)
        activated = [_sigmoid(w, by_input), _sigmoid(w, by_forget), _tanh(w, by_cell)]
        activated.append(_sigmoid(w, by_output))
        cell = w.fused(activated[1], w.load(c, index), w.multiply(activated[0], activated[2]))
        w.store(cell, cells, index)
        w.store(w.multiply(activated[3], _tanh(w, cell)), outputs, index)
        first = w.plus(w.times(w.plus(row, i), features, COLUMNS), feature)
        for gate, value in enumerate(activated):
            w.store(value, gates, w.plus(first, w.times(gate, features)))


def lstm_backward(parts: int) -> KernelSignature:
    """c, weights, gates, cells, gradients of outputs, h, c -> of gates, h, c, bias; scratch.

    Sizes are time, batch, features.
    """
    return KernelSignature(7, 5, ((4, 0), (4, 1), (4, 2)), parts)


def write_lstm_backward(
    module: ir.Module, name: str, processor: ProcessorFeatures, signature: KernelSignature
) -> ir.Function:
    """Write the backward pass through all time steps of a part of the batch.

    Gradients of gates are written as (gates and features, time, batch), as the product that
    computes the gradients of weights needs them; those of the bias are the sums of this part.
    `scratch` holds the gradients of one time step as rows, (batch, gates and features).
    """
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), signature.types), name)
    kernel.linkage = "internal"
    types = [*signature.types[:3], signature.types[-1], signature.types[-1]]
    wide, narrow = (
        tile_functions(
            module, f"{name}.{columns}", processor, types, partial(_product_tile, columns)
        )
        for columns in (COLUMNS, 1)
    )
    w = LlvmBuilder(kernel, processor.lanes)
    c, weights, gates, cells, d_out, d_h, d_c, by_gate, dh, dc, bias, scratch, *sizes = kernel.args
    steps, batch, features, part = sizes
    first, last = (w.over(w.times(batch, p), signature.parts) for p in (part, w.plus(part, 1)))
    rows = w.times(features, COLUMNS)
    with w.loop(w.times(first, features), w.times(last, features), w.lanes) as index:
        w.store(w.load(d_h, index), dh, index)
        w.store(w.load(d_c, index), dc, index)
    own_bias = w.at(bias, w.times(part, rows))
    with w.loop(0, rows, w.lanes) as index:
        w.store(w.everywhere(0.0), own_bias, index)
    with w.loop(0, steps) as passed:
        step = w.minus(w.minus(steps, 1), passed)
        now = w.times(step, batch, features)
        is_first = w.builder.icmp_signed("==", step, w.index(0))
        earlier = w.at(cells, w.minus(now, w.times(batch, features)))
        before = w.builder.select(is_first, c, earlier)
        gates_now = w.at(gates, w.times(now, COLUMNS))
        state = [gates_now, before, w.at(cells, now), w.at(d_out, now), dh, dc, scratch]
        with w.loop(0, features, w.lanes) as feature:
            _lstm_pull(w, state, own_bias, features, feature, (first, last))
        _write_transposed(
            w, scratch, w.at(by_gate, w.times(step, batch)), rows, sizes, (first, last)
        )
        whole = w.times(w.over(features, COLUMNS * w.lanes), COLUMNS * w.lanes)
        for tiles, columns, begin, end in ((wide, COLUMNS, 0, whole), (narrow, 1, whole, features)):
            with w.loop(begin, end, columns * w.lanes) as feature:
                own = [scratch, w.at(weights, feature), w.at(dh, feature), rows, features]
                call_tiles(w, tiles, own, first, last)
    w.builder.ret_void()
    return kernel


def _lstm_pull(
    w: LlvmBuilder,
    state: list[Value],
    bias: Value,
    features: Value,
    feature: Value,
    rows: tuple[Value, Value],
) -> None:
    """The gradients of gates and cells of one time step, for one register of features."""
    gates, before, cells, d_out, dh, dc, scratch = state
    offsets = [w.plus(feature, w.times(gate, features)) for gate in range(COLUMNS)]
    sums = [w.load(bias, offset) for offset in offsets]
    with w.loop(*rows, carried=sums) as row:
        index = w.plus(w.times(row, features), feature)
        start = w.times(row, features, COLUMNS)
        i, f, g, o = (w.load(gates, w.plus(start, gate)) for gate in offsets)
        after = _tanh(w, w.load(cells, index))
        d = w.add(w.load(dh, index), w.load(d_out, index))
        d_cell = w.fused(w.multiply(d, o), w.rest(after, after), w.load(dc, index))
        w.store(w.multiply(d_cell, f), dc, index)
        gradients = [
            w.multiply(d_cell, g, i, w.rest(i, w.everywhere(1.0))),
            w.multiply(d_cell, w.load(before, index), f, w.rest(f, w.everywhere(1.0))),
            w.multiply(d_cell, i, w.rest(g, g)),
            w.multiply(d, after, o, w.rest(o, w.everywhere(1.0))),
        ]
        for gate, value in zip(offsets, gradients, strict=True):
            w.store(value, scratch, w.plus(start, gate))
        sums[:] = [w.add(s, value) for s, value in zip(sums, gradients, strict=True)]
    for gate, value in zip(offsets, sums, strict=True):
        w.store(value, bias, gate)


def _product_tile(
    columns: int, w: LlvmBuilder, height: int, arguments: list[Value], row: Value
) -> None:
    """Some rows of the gradient of the hidden state: gradients of gates times weights."""
    scratch, weights, dh, count, features = arguments
    sums: Sums = [[w.everywhere(0.0)] * columns for _ in range(height)]
    left = (w.at(scratch, w.times(row, count)), count)
    for i, sums_of_row in enumerate(accumulate(w, sums, left, (weights, features), count)):
        index = w.times(w.plus(row, i), features)
        for column, value in enumerate(sums_of_row):
            w.store(value, dh, w.plus(index, column * w.lanes))


def _write_transposed(
    w: LlvmBuilder,
    scratch: Value,
    by_gate: Value,
    width: Value,
    sizes: list[Value],
    rows: tuple[Value, Value],
) -> None:
    """Write the rows of `scratch` as columns, a square of registers at a time."""
    steps, batch, *_ = sizes
    first, last = rows
    between = w.times(steps, batch)  # from one row of the result to the next
    whole = w.times(w.over(w.minus(last, first), w.lanes), w.lanes)
    with w.loop(0, width, w.lanes) as column:
        with w.loop(first, w.plus(first, whole), w.lanes) as row:
            square = [
                w.load(scratch, w.plus(w.times(w.plus(row, i), width), column))
                for i in range(w.lanes)
            ]
            for i, transposed in enumerate(_transposed(w, square)):
                w.store(transposed, by_gate, w.plus(w.times(w.plus(column, i), between), row))
        with w.loop(w.plus(first, whole), last) as row, w.loop(0, w.lanes) as i:
            target = w.plus(column, i)
            number = w.number(scratch, w.plus(w.times(row, width), target))
            w.store(number, by_gate, w.plus(w.times(target, between), row))


def _transposed(w: LlvmBuilder, square: list[Value]) -> list[Value]:
    """Transpose a square: swap halves of vectors, then halves of halves, ..."""
    distance = w.lanes // 2
    while distance:
        lower = [i for i in range(w.lanes) if i & distance]
        upper = [i + w.lanes for i in range(w.lanes)]
        result = list(square)
        for j in lower:
            a, b = square[j - distance], square[j]
            keep_a = [upper[i - distance] if i & distance else i for i in range(w.lanes)]
            keep_b = [upper[i] if i & distance else i + distance for i in range(w.lanes)]
            result[j - distance] = w.chosen(a, b, keep_a)
            result[j] = w.chosen(a, b, keep_b)
        square, distance = result, distance // 2
    return square


def _tanh(w: LlvmBuilder, x: Value) -> Value:
    near = w.bounded(x, BOUND)
    square = w.multiply(near, near)
    over, under = (_polynomial(w, factors, square) for factors in (OVER, UNDER))
    return w.bounded(w.divide(w.multiply(near, over), under), 1.0)


def _sigmoid(w: LlvmBuilder, x: Value) -> Value:
    half = w.everywhere(0.5)
    return w.fused(_tanh(w, w.multiply(x, half)), half, half)


def _polynomial(w: LlvmBuilder, factors: tuple[float, ...], x: Value) -> Value:
    first, *rest = map(w.everywhere, factors)
    for factor in rest:
        first = w.fused(first, x, factor)
    return first
