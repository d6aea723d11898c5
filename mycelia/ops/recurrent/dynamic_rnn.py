"""MindSpore's recurrent operators with packed weights: DynamicRNN, DynamicGRUV2, LSTM."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import (
    check_bool,
    check_non_negative_int,
    check_positive_int,
    check_range,
    check_string,
)
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.activation.smooth import sigmoid, tanh
from mycelia.ops.argument_types import FLOATS, check_kinds, check_shape
from mycelia.ops.indexing.slice import narrow
from mycelia.ops.linalg.matmul import matmul
from mycelia.ops.random.dropout import dropout
from mycelia.ops.recurrent.layers import LSTMLayer
from mycelia.ops.shapes.concat import concat, split, stack
from mycelia.ops.shapes.flip import flip
from mycelia.ops.shapes.reshape import expand_dims, reshape
from mycelia.ops.shapes.views import swapaxes


class DynamicRNN(Op):
    """LSTM over (time, batch, features); gates in the order input, cell, forget, output.

    Returns the outputs, the states, the gates, and the tanh of the cells for every time step.
    """

    cell_type: str = "LSTM"
    direction: str = "UNIDIRECTIONAL"
    cell_depth: int = 1
    use_peephole: bool = False
    keep_prob: float = 1.0
    cell_clip: float = -1.0
    num_proj: int = 0
    time_major: bool = True
    activation: str = "tanh"
    forget_bias: float = 0.0
    is_training: bool = True
    examples = (
        case("f32[3,2,4]", "f32[7,12]", "f32[12]", None, "f32[1,2,3]", "f32[1,2,3]"),
        case(
            "f16[2,2,2]", "f16[3,4]", "f16[4]", None, "f16[1,2,1]", "f16[1,2,1]",
            forget_bias=1.0, cell_clip=0.5, differentiate=False,
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        check_string("DynamicRNN", "cell_type", self.cell_type, ("LSTM",))
        check_string("DynamicRNN", "direction", self.direction, ("UNIDIRECTIONAL",))
        check_string("DynamicRNN", "activation", self.activation, ("tanh",))
        check_bool("DynamicRNN", "time_major", self.time_major)
        _only("DynamicRNN", use_peephole=(self.use_peephole, False), num_proj=(self.num_proj, 0))
        _only("DynamicRNN", cell_depth=(self.cell_depth, 1), keep_prob=(self.keep_prob, 1.0))
        return {}

    def infer(
        self,
        x: TensorType,
        w: TensorType,
        b: TensorType,
        seq_length: Any,
        init_h: TensorType,
        init_c: TensorType,
    ) -> tuple[TensorType, ...]:
        hidden = init_h.shape[-1] if init_h.ndim == 3 else -1
        wanted = (x.shape[-1] + hidden, 4 * hidden)
        if x.ndim != 3 or w.shape != wanted or b.shape != wanted[1:]:
            raise problem(
                ValueError,
                "DynamicRNN: the weights do not match",
                got=f"x {x}, w {w}, b {b}, init_h {init_h}",
                expected=f"x (time, batch, input), w of shape {list(wanted)}, b of {4 * hidden}",
            )
        steps, batch = x.shape[:2] if self.time_major else x.shape[1::-1]
        check_shape("DynamicRNN", "init_h", init_h, (1, batch, hidden))
        check_shape("DynamicRNN", "init_c", init_c, (1, batch, hidden))
        check_kinds("DynamicRNN", FLOATS, x=x, w=w, b=b, init_h=init_h, init_c=init_c)
        found = b.with_shape((steps, batch, hidden))
        return (found, found.with_dtype(x.dtype), *(found for _ in range(6)))

    def lower(
        self, x: Array, w: Array, b: Array, seq_length: Any, init_h: Array, init_c: Array
    ) -> tuple[Array, ...]:
        _no_lengths("DynamicRNN", seq_length)
        inputs = jnp.asarray(x) if self.time_major else jnp.swapaxes(x, 0, 1)
        clip = self.cell_clip

        def step(state: tuple[Array, Array], now: Array) -> Any:
            hidden, cell = state
            gates = jnp.concatenate([now, hidden.astype(now.dtype)], -1) @ w + b
            gates = gates.astype(b.dtype)
            i, j, f, o = jnp.split(gates, 4, axis=-1)
            i, f, o = (jax.nn.sigmoid(g) for g in (i, f + self.forget_bias, o))
            j = jnp.tanh(j)
            cell = f * cell + i * j
            cell = jnp.clip(cell, -clip, clip) if clip > 0 else cell
            shown = jnp.tanh(cell)
            hidden = o * shown
            return (hidden, cell), (hidden, hidden, cell, i, j, f, o, shown)

        start = (jnp.asarray(init_h)[0].astype(b.dtype), jnp.asarray(init_c)[0].astype(b.dtype))
        found = lax.scan(step, start, inputs)[1]
        y, shown, *rest = (part.astype(b.dtype) for part in found)
        return (y, shown.astype(x.dtype), *rest)


class DynamicGRUV2(Op):
    """Gated recurrent unit (GRU) over (time, batch, features).

    Returns outputs and states, then the update, reset, and new gates, and the contribution of the
    state to the new gate, all for every time step.
    """

    direction: str = "UNIDIRECTIONAL"
    cell_depth: int = 1
    keep_prob: float = 1.0
    cell_clip: float = -1.0
    num_proj: int = 0
    time_major: bool = True
    activation: str = "tanh"
    gate_order: str = "rzh"
    reset_after: bool = True
    is_training: bool = True
    examples = (
        case("f32[3,2,4]", "f32[4,9]", "f32[3,9]", "f32[9]", "f32[9]", None, "f32[2,3]"),
        case(
            "f32[2,2,2]", "f32[2,6]", "f32[2,6]", None, None, None, "f32[2,2]",
            gate_order="zrh", reset_after=False,
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        check_string("DynamicGRUV2", "direction", self.direction, ("UNIDIRECTIONAL",))
        check_string("DynamicGRUV2", "activation", self.activation, ("tanh",))
        check_string("DynamicGRUV2", "gate_order", self.gate_order, ("rzh", "zrh"))
        check_bool("DynamicGRUV2", "reset_after", self.reset_after)
        _only("DynamicGRUV2", cell_depth=(self.cell_depth, 1), num_proj=(self.num_proj, 0))
        _only("DynamicGRUV2", keep_prob=(self.keep_prob, 1.0), time_major=(self.time_major, True))
        return {}

    def infer(
        self,
        x: TensorType,
        weight_input: TensorType,
        weight_hidden: TensorType,
        bias_input: TensorType | None,
        bias_hidden: TensorType | None,
        seq_length: Any,
        init_h: TensorType,
    ) -> tuple[TensorType, ...]:
        hidden = init_h.shape[-1] if init_h.ndim == 2 else -1
        expected = (x.shape[-1], 3 * hidden), (hidden, 3 * hidden)
        if x.ndim != 3 or (weight_input.shape, weight_hidden.shape) != expected:
            raise problem(
                ValueError,
                "DynamicGRUV2: the weights do not match",
                got=f"x {x}, weights {weight_input} and {weight_hidden}, init_h {init_h}",
                expected="(time, batch, input), (input, 3 hidden), (hidden, 3 hidden)",
            )
        check_shape("DynamicGRUV2", "init_h", init_h, (x.shape[1], hidden))
        floats = {"x": x, "weight_input": weight_input, "weight_hidden": weight_hidden}
        biases = {"bias_input": bias_input, "bias_hidden": bias_hidden}
        for name, found in biases.items():
            if found is not None:
                check_shape("DynamicGRUV2", name, found, (3 * hidden,))
        check_kinds("DynamicGRUV2", FLOATS, **floats, **biases, init_h=init_h)
        bias = bias_input or bias_hidden or init_h
        whole = TensorType(bias.dtype, (*x.shape[:2], hidden))
        return (whole,) * 6

    def lower(
        self,
        x: Array,
        weight_input: Array,
        weight_hidden: Array,
        bias_input: Array | None,
        bias_hidden: Array | None,
        seq_length: Any,
        init_h: Array,
    ) -> tuple[Array, ...]:
        _no_lengths("DynamicGRUV2", seq_length)
        order = (0, 1) if self.gate_order == "rzh" else (1, 0)
        biases = [b for b in (bias_input, bias_hidden, init_h) if b is not None]
        kind = biases[0].dtype
        hidden_bias = 0 if bias_hidden is None else bias_hidden
        own = jnp.split(jnp.asarray(weight_hidden), 3, axis=-1)

        def step(state: Array, now: Array) -> Any:
            given = jnp.split(now @ weight_input + (0 if bias_input is None else bias_input), 3, -1)
            held = jnp.split(state.astype(now.dtype) @ weight_hidden + hidden_bias, 3, axis=-1)
            reset, update = (jax.nn.sigmoid(given[k] + held[k]) for k in order)
            if self.reset_after:
                inner = held[2]
                new = jnp.tanh(given[2] + reset * inner)
            else:
                bias = 0 if bias_hidden is None else jnp.split(bias_hidden, 3)[2]
                inner = (reset * state).astype(now.dtype) @ own[2] + bias
                new = jnp.tanh(given[2] + inner)
            after = ((1 - update) * new + update * state).astype(kind)
            return after, (after, after, update, reset, new, inner)

        found = lax.scan(step, jnp.asarray(init_h).astype(kind), jnp.asarray(x))[1]
        return tuple(part.astype(kind) for part in found)


class LSTM(CheckedKeywords):
    """Stacked LSTM over (time, batch, features) with all weights in one tensor.

    The weight holds, layer by layer: the input weights of each direction, the state weights of
    each, then both biases of each. Gates are in the order input, forget, cell, output. With
    `proj_size` the state is a projection, whose weights come before the one bias.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int,
        has_bias: bool,
        bidirectional: bool,
        dropout: float,
        proj_size: int = 0,
    ) -> None:
        self.input_size = check_positive_int("LSTM", "input_size", input_size)
        self.hidden_size = check_positive_int("LSTM", "hidden_size", hidden_size)
        self.num_layers = check_positive_int("LSTM", "num_layers", num_layers)
        self.has_bias = check_bool("LSTM", "has_bias", has_bias)
        self.bidirectional = check_bool("LSTM", "bidirectional", bidirectional)
        self.dropout = check_range("LSTM", "dropout", dropout, 0.0, 1.0)
        self.proj_size = check_non_negative_int("LSTM", "proj_size", proj_size)
        if proj_size >= hidden_size:
            raise wrong_value("LSTM", "proj_size", proj_size, f"smaller than {hidden_size}")
        self._state_size = proj_size or hidden_size
        self.num_directions = 2 if bidirectional else 1

    def __call__(self, input: Any, h: Any, c: Any, w: Any) -> tuple[Any, ...]:
        layers = self._weights(reshape(w, (-1,)))
        found, last_h, last_c = input, [], []
        for number, directions in enumerate(layers):
            outputs = []
            for direction, weights in enumerate(directions):
                place = number * self.num_directions + direction
                given = flip(found, (0,)) if direction else found
                out, hidden, cell = self._run(given, h[place], c[place], weights)
                outputs.append(flip(out, (0,)) if direction else out)
                last_h.append(expand_dims(hidden, 0))
                last_c.append(expand_dims(cell, 0))
            found = concat(tuple(outputs), 2) if len(outputs) > 1 else outputs[0]
            if self.dropout and number < self.num_layers - 1:
                found = dropout(found, self.dropout)
        empty = narrow(reshape(w, (-1, 1)), 0, 0, 1)
        return found, concat(tuple(last_h), 0), concat(tuple(last_c), 0), empty, empty

    def _run(self, x: Any, h: Any, c: Any, weights: tuple[Any, ...]) -> tuple[Any, Any, Any]:
        """One layer in one direction: its outputs, last state, and last cell."""
        *given, projection = weights
        if projection is None:
            return LSTMLayer.of()(x, h, c, *given, None)[:3]
        w_ih, w_hh, b_ih, _ = given
        outputs = []
        for time in range(x.shape[0]):
            gates = matmul(x[time], swapaxes(w_ih, 0, 1)) + matmul(h, swapaxes(w_hh, 0, 1))
            if b_ih is not None:
                gates = gates + b_ih
            i, f, g, o = split(gates, self.hidden_size, 1)
            c = sigmoid(f) * c + sigmoid(i) * tanh(g)
            h = matmul(sigmoid(o) * tanh(c), swapaxes(projection, 0, 1))
            outputs.append(h)
        return stack(outputs, 0), h, c

    def _weights(self, flat: Any) -> list[list[tuple[Any, ...]]]:
        """Weights of each layer and direction, sliced from the packed tensor."""
        rows, start, layers = 4 * self.hidden_size, 0, []

        def cut(count: int) -> Any:
            nonlocal start
            start += count
            return narrow(flat, 0, start - count, count)

        total = self._total(self._biases)
        if flat.shape[0] not in (total, self._total(2 if self.has_bias else 0)):
            raise problem(
                ValueError,
                "LSTM: the weight has the wrong size",
                got=f"{flat.shape[0]} numbers",
                expected=f"{total} numbers",
            )
        for number in range(self.num_layers):
            width = self._width(number)
            each = range(self.num_directions)
            inputs = [reshape(cut(rows * width), (rows, width)) for _ in each]
            states = [reshape(cut(rows * self._state_size), (rows, -1)) for _ in each]
            size = self.proj_size * self.hidden_size
            projections = [reshape(cut(size), (self.proj_size, -1)) if size else None for _ in each]
            biases = [[cut(rows) if kind < self._biases else None for _ in each] for kind in (0, 1)]
            parts = (inputs, states, *biases, projections)
            layers.append([tuple(part[d] for part in parts) for d in each])
        return layers

    def _width(self, number: int) -> int:
        return self.input_size if number == 0 else self.num_directions * self._state_size

    @property
    def _biases(self) -> int:
        """Number of biases: one with a projection, as in MindSpore."""
        return 0 if not self.has_bias else 1 if self.proj_size else 2

    def _total(self, bias: int) -> int:
        """Number of elements of all weights."""
        rows = 4 * self.hidden_size
        widths = [self._width(n) + self._state_size + bias for n in range(self.num_layers)]
        projections = self.num_layers * self.proj_size * self.hidden_size
        return self.num_directions * (rows * sum(widths) + projections)


def _only(owner: str, **settings: tuple[Any, Any]) -> None:
    for name, (value, allowed) in settings.items():
        if value != allowed:
            raise problem(
                ValueError,
                f"{owner}: '{name}' supports only one value",
                got=f"{name}={value!r}",
                expected=f"{name}={allowed!r}",
            )


def _no_lengths(owner: str, seq_length: Any) -> None:
    if seq_length is not None:
        raise problem(ValueError, f"{owner}: seq_length must be None", got=str(seq_length))
