"""Kernels of recurrent layers: all moments of some sequences of a batch, one core for each part.

Sequences of a batch have nothing to do with each other, so that cores need not wait for each other
from the first moment to the last.
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
    """x, h, c, packed weights, bias -> outputs, cells, gates; moments, batch, inputs, features."""
    return KernelSignature(5, 3, ((0, 0), (0, 1), (0, 2), (1, 1)), parts)


def write_lstm_forward(
    module: ir.Module, name: str, processor: ProcessorFeatures, given: KernelSignature
) -> ir.Function:
    """All moments of a part of the batch.

    The weights come as (features / lanes, inputs and features, gates, lanes): what a tile of all
    gates of some features needs, in the order in which it does. Gates are computed while their
    sums are in registers.
    """
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), given.types), name)
    kernel.linkage = "internal"
    # The tile needs h and c before the moment, then: x, weights, bias, outputs, cells, gates.
    types = given.types[:8] + given.types[8:9] * 3
    tiles = tile_functions(module, f"{name}.tile", processor, types, _lstm_tile)
    w = LlvmBuilder(kernel, processor.lanes)
    x, h, c, weights, bias, outputs, cells, gates, moments, batch, inputs, features, part = (
        kernel.args
    )
    first, last = (w.over(w.times(batch, p), given.parts) for p in (part, w.plus(part, 1)))
    panel = w.times(w.plus(inputs, features), COLUMNS * w.lanes)
    wide = w.times(batch, features)
    state = [h, c]
    with w.loop(0, moments, carried=state) as moment:
        before, now = state, w.times(moment, wide)
        out_now, cells_now = w.at(outputs, now), w.at(cells, now)
        gates_now = w.at(gates, w.times(now, COLUMNS))
        x_now = w.at(x, w.times(moment, batch, inputs))
        with w.loop(0, features, w.lanes) as feature:
            own = w.at(weights, w.times(w.over(feature, w.lanes), panel))
            buffers = [x_now, *before, own, bias, out_now, cells_now, gates_now]
            call_tiles(w, tiles, [*buffers, inputs, features, feature], first, last)
        state[:] = [out_now, cells_now]
    w.builder.ret_void()
    return kernel


def _lstm_tile(w: LlvmBuilder, height: int, given: list[Value], row: Value) -> None:
    """Some rows of the batch, all gates of as many features as a register holds."""
    x, h, c, weights, bias, outputs, cells, gates, inputs, features, feature = given
    starts = [w.load(bias, w.plus(w.times(gate, features), feature)) for gate in range(COLUMNS)]
    sums: Sums = [list(starts) for _ in range(height)]
    wide = w.index(COLUMNS * w.lanes)
    sums = accumulate(w, sums, (w.at(x, w.times(row, inputs)), inputs), (weights, wide), inputs)
    below = w.at(weights, w.times(inputs, wide))
    own = (w.at(h, w.times(row, features)), features)
    sums = accumulate(w, sums, own, (below, wide), features)
    for i, (by_input, by_forget, by_cell, by_output) in enumerate(sums):
        place = w.plus(w.times(w.plus(row, i), features), feature)
        found = [_sigmoid(w, by_input), _sigmoid(w, by_forget), _tanh(w, by_cell)]
        found.append(_sigmoid(w, by_output))
        cell = w.fused(found[1], w.load(c, place), w.multiply(found[0], found[2]))
        w.store(cell, cells, place)
        w.store(w.multiply(found[3], _tanh(w, cell)), outputs, place)
        first = w.plus(w.times(w.plus(row, i), features, COLUMNS), feature)
        for gate, value in enumerate(found):
            w.store(value, gates, w.plus(first, w.times(gate, features)))


def lstm_backward(parts: int) -> KernelSignature:
    """c, weights, gates, cells, gradients of outputs, h, c -> of gates, h, c, bias; room.

    Sizes are moments, batch, features.
    """
    return KernelSignature(7, 5, ((4, 0), (4, 1), (4, 2)), parts)


def write_lstm_backward(
    module: ir.Module, name: str, processor: ProcessorFeatures, given: KernelSignature
) -> ir.Function:
    """The way back through all moments for a part of the batch.

    Gradients of gates are written as (gates and features, moments, batch), as the product that
    makes gradients of weights wants them; those of the bias are the sums of this part. `room`
    holds the gradients of one moment as rows, (batch, gates and features).
    """
    kernel = ir.Function(module, ir.FunctionType(ir.VoidType(), given.types), name)
    kernel.linkage = "internal"
    types = [*given.types[:3], given.types[-1], given.types[-1]]
    wide, narrow = (
        tile_functions(
            module, f"{name}.{columns}", processor, types, partial(_product_tile, columns)
        )
        for columns in (COLUMNS, 1)
    )
    w = LlvmBuilder(kernel, processor.lanes)
    c, weights, gates, cells, d_out, d_h, d_c, by_gate, dh, dc, bias, room, *sizes = kernel.args
    moments, batch, features, part = sizes
    first, last = (w.over(w.times(batch, p), given.parts) for p in (part, w.plus(part, 1)))
    rows = w.times(features, COLUMNS)
    with w.loop(w.times(first, features), w.times(last, features), w.lanes) as place:
        w.store(w.load(d_h, place), dh, place)
        w.store(w.load(d_c, place), dc, place)
    own_bias = w.at(bias, w.times(part, rows))
    with w.loop(0, rows, w.lanes) as place:
        w.store(w.everywhere(0.0), own_bias, place)
    with w.loop(0, moments) as passed:
        moment = w.minus(w.minus(moments, 1), passed)
        now = w.times(moment, batch, features)
        is_first = w.builder.icmp_signed("==", moment, w.index(0))
        earlier = w.at(cells, w.minus(now, w.times(batch, features)))
        before = w.builder.select(is_first, c, earlier)
        gates_now = w.at(gates, w.times(now, COLUMNS))
        state = [gates_now, before, w.at(cells, now), w.at(d_out, now), dh, dc, room]
        with w.loop(0, features, w.lanes) as feature:
            _lstm_pull(w, state, own_bias, features, feature, (first, last))
        _write_turned(w, room, w.at(by_gate, w.times(moment, batch)), rows, sizes, (first, last))
        whole = w.times(w.over(features, COLUMNS * w.lanes), COLUMNS * w.lanes)
        for tiles, columns, begin, end in ((wide, COLUMNS, 0, whole), (narrow, 1, whole, features)):
            with w.loop(begin, end, columns * w.lanes) as feature:
                own = [room, w.at(weights, feature), w.at(dh, feature), rows, features]
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
    """The gradients of gates and cells of one moment, for as many features as a register holds."""
    gates, before, cells, d_out, dh, dc, room = state
    places = [w.plus(feature, w.times(gate, features)) for gate in range(COLUMNS)]
    sums = [w.load(bias, place) for place in places]
    with w.loop(*rows, carried=sums) as row:
        place = w.plus(w.times(row, features), feature)
        start = w.times(row, features, COLUMNS)
        i, f, g, o = (w.load(gates, w.plus(start, gate)) for gate in places)
        after = _tanh(w, w.load(cells, place))
        d = w.add(w.load(dh, place), w.load(d_out, place))
        d_cell = w.fused(w.multiply(d, o), w.rest(after, after), w.load(dc, place))
        w.store(w.multiply(d_cell, f), dc, place)
        found = [
            w.multiply(d_cell, g, i, w.rest(i, w.everywhere(1.0))),
            w.multiply(d_cell, w.load(before, place), f, w.rest(f, w.everywhere(1.0))),
            w.multiply(d_cell, i, w.rest(g, g)),
            w.multiply(d, after, o, w.rest(o, w.everywhere(1.0))),
        ]
        for gate, value in zip(places, found, strict=True):
            w.store(value, room, w.plus(start, gate))
        sums[:] = [w.add(s, value) for s, value in zip(sums, found, strict=True)]
    for gate, value in zip(places, sums, strict=True):
        w.store(value, bias, gate)


def _product_tile(
    columns: int, w: LlvmBuilder, height: int, given: list[Value], row: Value
) -> None:
    """Some rows of the gradient of the hidden state: gradients of gates times weights."""
    room, weights, dh, count, features = given
    sums: Sums = [[w.everywhere(0.0)] * columns for _ in range(height)]
    left = (w.at(room, w.times(row, count)), count)
    for i, found in enumerate(accumulate(w, sums, left, (weights, features), count)):
        place = w.times(w.plus(row, i), features)
        for column, value in enumerate(found):
            w.store(value, dh, w.plus(place, column * w.lanes))


def _write_turned(
    w: LlvmBuilder,
    room: Value,
    by_gate: Value,
    width: Value,
    sizes: list[Value],
    rows: tuple[Value, Value],
) -> None:
    """Write the rows of `room` as columns, a square of registers at a time."""
    moments, batch, *_ = sizes
    first, last = rows
    between = w.times(moments, batch)  # of one row of the result and the next
    whole = w.times(w.over(w.minus(last, first), w.lanes), w.lanes)
    with w.loop(0, width, w.lanes) as column:
        with w.loop(first, w.plus(first, whole), w.lanes) as row:
            square = [
                w.load(room, w.plus(w.times(w.plus(row, i), width), column)) for i in range(w.lanes)
            ]
            for i, turned in enumerate(_turned(w, square)):
                w.store(turned, by_gate, w.plus(w.times(w.plus(column, i), between), row))
        with w.loop(w.plus(first, whole), last) as row, w.loop(0, w.lanes) as i:
            place = w.plus(column, i)
            number = w.number(room, w.plus(w.times(row, width), place))
            w.store(number, by_gate, w.plus(w.times(place, between), row))


def _turned(w: LlvmBuilder, square: list[Value]) -> list[Value]:
    """The columns of a square: halves of vectors change places, then halves of halves, ..."""
    distance = w.lanes // 2
    while distance:
        lower = [i for i in range(w.lanes) if i & distance]
        upper = [i + w.lanes for i in range(w.lanes)]
        found = list(square)
        for j in lower:
            a, b = square[j - distance], square[j]
            keep_a = [upper[i - distance] if i & distance else i for i in range(w.lanes)]
            keep_b = [upper[i] if i & distance else i + distance for i in range(w.lanes)]
            found[j - distance] = w.chosen(a, b, keep_a)
            found[j] = w.chosen(a, b, keep_b)
        square, distance = found, distance // 2
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
