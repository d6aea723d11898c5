"""LSTM, GRU, and vanilla RNN layers over whole sequences, and their gradient.

Sequences are (time, batch, features). With `seq_length` (one length per sequence of the batch),
outputs after the end are zero, and the last state is the one at the end. The last result holds the
residuals of every time step that the gradient would otherwise recompute.

Internally, the arrays of a time step have the batch as the last axis: see `recurrent_arrays.py`. An
LSTM with a large batch uses native kernels on CPU: see `recurrent_native.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_string
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import Shape, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.kernels import native
from mycelia._engine.kernels import recurrent_native as kernels
from mycelia._engine.kernels.dot import matrix_product
from mycelia._engine.kernels.recurrent_arrays import (
    State,
    are_running,
    flat,
    from_flat,
    from_inputs,
    is_large,
    or_zero,
    states_before,
    times,
    where_running,
    with_bias,
)
from mycelia._engine.kernels.recurrent_gates import activated, shared, slopes_of, tanh_of, zero_of
from mycelia._engine.kernels.sums import last_sum
from mycelia._engine.operators.operator import Op
from mycelia.ops.argument_types import FLOATS, INTEGERS, check_kinds, check_same_dtypes
from mycelia.ops.shapes.creation import zeros_like

_Pull = Callable[[State, Any, State | None], tuple[State, Array, Array]]
_LSTM_GATES = ("s", "s", "t", "s")
_UNROLLED = 2  # time steps per iteration of the forward loop
_WIDE = 32  # columns from which it is as fast as one product for all time steps
_LSTM_EXAMPLE = ("f32[3,2,4]", "f32[2,5]", "f32[2,5]", "f32[20,4]", "f32[20,5]")


class Recurrent(Op, register=False):
    """Base of recurrent layers: checks, and the loop over time. `gates` is the number of gates.

    `step` advances the state by one time step, from the contributions of the input and the hidden
    state (the first element of the state) to the gates; it also returns the residuals.
    """

    gates = 1
    adds_up = False  # input and hidden state have the same gate gradients
    takes_missing_gradients = True

    def step(self, state: State, from_input: Array, from_hidden: Array) -> tuple[State, State]:
        raise TypeError(f"{self.name} does not define its step")

    def pulls(self, states: State, from_input: Array, residuals: State) -> tuple[_Pull, Any]:
        """Backward function of one time step, and the residuals that it needs of each step.

        `states` are the hidden state before each time step, and the rest of the first state.
        Here, the residual is the contribution of the hidden state to the gates.
        """

        def pull(
            d_after: State, residual: Any, d_residuals: State | None
        ) -> tuple[State, Array, Array]:
            back = jax.vjp(lambda *given: self.step(*given)[0], *residual)[1]
            d_before, d_input, d_hidden = back(d_after)
            return d_before, d_input, d_hidden if d_residuals is None else d_hidden + d_residuals[0]

        by_step = jnp.moveaxis(from_input, 1, 0).reshape(residuals[0].shape)
        return pull, (states, by_step, residuals[0])

    def outputs(self, x: TensorType, h: TensorType) -> TensorType:
        """Type of all hidden states."""
        return x.with_shape((*x.shape[:2], h.shape[1]))

    def residual_types(self, x: TensorType, h: TensorType) -> tuple[TensorType, ...]:
        """Types of the residuals of all time steps."""
        return (x.with_shape((x.shape[0], h.shape[0], self.gates, h.shape[1])),)

    def gradients(self, x: Any, state: tuple[Any, ...], *args: Any) -> tuple[Any, ...]:
        """Gradients of the input, the state, and the weights."""
        *rest, out, dout = args
        d_outputs, *d_last = _filled(dout[:-1], out[:-1])
        d_residuals = dout[-1]
        if d_residuals is not None:
            d_residuals = (
                None if all(d is None for d in d_residuals) else _filled(d_residuals, out[-1])
            )
        given = (out[0], out[-1], d_outputs, tuple(d_last), d_residuals)
        return RecurrentGrad.of(self)(x, state, *rest, *given)

    def check(
        self,
        x: TensorType,
        state: tuple[TensorType, ...],
        weights: tuple[TensorType, TensorType],
        biases: tuple[TensorType | None, TensorType | None],
        seq_length: TensorType | None,
    ) -> None:
        """Checks that all but the lengths are floats of one dtype, with matching shapes."""
        w_ih, w_hh = weights
        if x.ndim != 3:
            raise problem(
                ValueError,
                f"{self.name}: the input must have three dimensions (time, batch, features)",
                got=str(x),
            )
        hidden = self.gates * w_hh.shape[-1] if w_hh.ndim == 2 else -1
        columns = w_hh.shape[-1] if w_hh.ndim else -1
        wanted: dict[str, tuple[TensorType | None, Shape]] = {
            **{name: (part, (x.shape[1], columns)) for name, part in zip("hc", state)},
            "w_ih": (w_ih, (hidden, x.shape[2])),
            "w_hh": (w_hh, (hidden, columns)),
            **{n: (b, (hidden,)) for n, b in zip(("b_ih", "b_hh"), biases, strict=True)},
            "seq_length": (seq_length, (x.shape[1],)),
        }
        for name, (found, shape) in wanted.items():
            if found is not None and found.shape != shape:
                raise problem(
                    ValueError,
                    f"{self.name}: {name} has the wrong shape",
                    got=f"{found} for the input {x}",
                    expected=f"shape {list(shape)}",
                )
        data = {name: found for name, (found, _) in wanted.items() if name != "seq_length"}
        check_kinds(self.name, FLOATS, x=x)
        check_same_dtypes(self.name, x=x, **data)
        check_kinds(self.name, INTEGERS, seq_length=seq_length)


class LSTMLayer(Recurrent):
    """Long short-term memory (LSTM) layer; gates in the order input, forget, cell, output."""

    gates, adds_up = 4, True
    examples = (
        case(*_LSTM_EXAMPLE, "f32[20]", "f32[20]", None),
        case(*_LSTM_EXAMPLE, None, None, "i32[2]:<4"),
    )

    def infer(
        self,
        x: TensorType,
        h: TensorType,
        c: TensorType,
        w_ih: TensorType,
        w_hh: TensorType,
        b_ih: TensorType | None,
        b_hh: TensorType | None,
        seq_length: TensorType | None,
    ) -> tuple[Any, ...]:
        self.check(x, (h, c), (w_ih, w_hh), (b_ih, b_hh), seq_length)
        return self.outputs(x, h), h, h, self.residual_types(x, h)

    def lower(
        self,
        x: Array,
        h: Array,
        c: Array,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None,
        b_hh: Array | None,
        seq_length: Array | None,
    ) -> tuple[Array, ...]:
        def plain(x: Array, h: Array, c: Array, *weights: Array | None) -> tuple[Array, ...]:
            return _over_time(self, (h, c), x, weights, seq_length)

        given = (x, h, c, w_ih, w_hh, b_ih, b_hh)
        if self.form(*given, seq_length):
            return native.differentiated_as(plain, kernels.forward)(*given)
        return plain(*given)

    def form(self, x: Array, h: Array, *others: Array | None) -> str:
        *given, seq_length = others
        return native.FORM if seq_length is None and kernels.are_fitting(x, h, *given) else ""

    def residual_types(self, x: TensorType, h: TensorType) -> tuple[TensorType, ...]:
        """The gates, and the cells after each time step."""
        return (*super().residual_types(x, h), self.outputs(x, h))

    def step(self, state: State, from_input: Array, from_hidden: Array) -> tuple[State, State]:
        gates = activated(from_input + from_hidden, _LSTM_GATES)
        i, f, g, o = gates
        cell = f * state[1] + i * g
        return (o * tanh_of(cell), cell), (gates, cell)

    def pulls(self, states: State, from_input: Array, residuals: State) -> tuple[_Pull, Any]:
        """Computes derivatives for all time steps together; the backward loop only multiplies."""
        gates, cells = residuals
        i, f, g, o = jnp.moveaxis(gates, 1, 0)
        before, after = jnp.concatenate([states[1][None], cells[:-1]]), tanh_of(cells)
        slopes = [g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), after * o * (1 - o)]
        is_output = (np.arange(4) == 3)[:, None]

        def pull(
            d_after: State, residual: Any, d_residuals: State | None
        ) -> tuple[State, Array, Array]:
            forget, to_cell, to_gates, own = residual
            d_cell = d_after[1] + d_after[0] * to_cell
            if d_residuals is not None:
                d_cell = d_cell + d_residuals[1]
            d_gates = jnp.where(is_output, d_after[0], d_cell) * to_gates
            if d_residuals is not None:
                d_gates = d_gates + d_residuals[0] * slopes_of(own, _LSTM_GATES)
            return (jnp.zeros_like(d_cell), d_cell * forget), d_gates, d_gates

        return pull, (f, o * (1 - after * after), jnp.stack(slopes, axis=1), gates)

    def grad(self, x: Any, h: Any, c: Any, *args: Any) -> tuple[Any, ...]:
        dx, (dh, dc), *weights = self.gradients(x, (h, c), *args)
        return dx, dh, dc, *weights, None


class OneState(Recurrent, register=False):
    """Base of recurrent layers whose only state is their output."""

    def infer(
        self,
        x: TensorType,
        h: TensorType,
        w_ih: TensorType,
        w_hh: TensorType,
        b_ih: TensorType | None,
        b_hh: TensorType | None,
        seq_length: TensorType | None,
    ) -> tuple[Any, ...]:
        self.check(x, (h,), (w_ih, w_hh), (b_ih, b_hh), seq_length)
        return self.outputs(x, h), h, self.residual_types(x, h)

    def lower(
        self,
        x: Array,
        h: Array,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None,
        b_hh: Array | None,
        seq_length: Array | None,
    ) -> tuple[Array, ...]:
        return _over_time(self, (h,), x, (w_ih, w_hh, b_ih, b_hh), seq_length)

    def grad(self, x: Any, h: Any, *args: Any) -> tuple[Any, ...]:
        dx, (dh,), *weights = self.gradients(x, (h,), *args)
        return dx, dh, *weights, None


class GRULayer(OneState):
    """Gated recurrent unit (GRU) layer; gates in the order reset, update, new."""

    gates = 3
    examples = (
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", "f32[15]", "f32[15]", None),
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", None, None, "i32[2]:<4"),
    )

    def step(self, state: State, from_input: Array, from_hidden: Array) -> tuple[State, State]:
        reset, keep = gates = activated(from_input[:2] + from_hidden[:2], ("s", "s"))
        fresh = tanh_of(from_input[2] + reset * from_hidden[2])
        after = (1 - keep) * fresh + keep * state[0]
        return (after,), (gates, fresh, from_hidden[2])

    def residual_types(self, x: TensorType, h: TensorType) -> tuple[TensorType, ...]:
        """The gates, the new state, and the hidden state's contribution to it before the reset."""
        part = self.outputs(x, h)
        return x.with_shape((x.shape[0], h.shape[0], 2, h.shape[1])), part, part

    def pulls(self, states: State, from_input: Array, residuals: State) -> tuple[_Pull, Any]:
        """Computes derivatives for all time steps together; the backward loop only multiplies."""
        (reset, keep), fresh, hidden = jnp.moveaxis(residuals[0], 1, 0), *residuals[1:]
        to_fresh = (1 - keep) * (1 - fresh * fresh)
        to_keep = (states[0] - fresh) * keep * (1 - keep)
        to_reset = to_fresh * hidden * reset * (1 - reset)

        def pull(
            d_after: State, residual: Any, d_residuals: State | None
        ) -> tuple[State, Array, Array]:
            keep, to_input, to_hidden, *own = residual
            d_input, d_hidden = d_after[0] * to_input, d_after[0] * to_hidden
            if d_residuals is not None:
                more = _from_residuals(own, d_residuals)
                d_input, d_hidden = d_input + more[0], d_hidden + more[1]
            return (d_after[0] * keep,), d_input, d_hidden

        slopes = [
            jnp.stack([to_reset, to_keep, last], axis=1) for last in (to_fresh, to_fresh * reset)
        ]
        return pull, (keep, *slopes, *residuals)


class RNNLayer(OneState):
    """Vanilla recurrent layer, with tanh or relu."""

    nonlinearity: str = "tanh"
    examples = (
        case("f32[3,2,4]", "f32[2,5]", "f32[5,4]", "f32[5,5]", "f32[5]", "f32[5]", None),
        case("f32[3,2,4]", "f32[2,5]", "f32[5,4]", "f32[5,5]", None, None, "i32[2]:<4"),
        case(
            "f32[3,2,4]", "f32[2,5]", "f32[5,4]", "f32[5,5]", "f32[5]", "f32[5]", None,
            nonlinearity="relu",
        ),
    )  # fmt: skip

    def normalize(self) -> dict[str, Any]:
        check_string("RNNLayer", "nonlinearity", self.nonlinearity, ("tanh", "relu"))
        return {}

    def step(self, state: State, from_input: Array, from_hidden: Array) -> tuple[State, State]:
        activate = jnp.tanh if self.nonlinearity == "tanh" else jax.nn.relu
        return (activate(from_input[0] + from_hidden[0]),), (from_hidden,)


class RecurrentGrad(Op, register=False):
    """Gradients of a recurrent layer; only the state is differentiated step by step.

    The gradients of input and weights are computed at the end, for all time steps together: a few
    large products instead of many small ones in the loop.
    """

    op: Recurrent

    @property
    def name(self) -> str:
        return f"{self.op.name}Grad"

    def lower(
        self,
        x: Array,
        state: State,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None,
        b_hh: Array | None,
        seq_length: Array | None,
        outputs: Array,
        residuals: State,
        d_outputs: Array,
        d_last: State,
        d_residuals: State | None,
    ) -> tuple[Any, ...]:
        given = (x, state, w_ih, w_hh, b_ih, outputs, residuals, d_outputs, d_last)

        def back(*given: Any) -> tuple[Any, ...]:
            return self._back((seq_length, d_residuals), *given)

        def by_kernel(*given: Any) -> tuple[Any, ...]:
            _, (_, c), _, w_hh, _, _, *gradients = given
            d_state, by_gate, sums = kernels.backward(c, w_hh, *gradients)
            return d_state, (by_gate,), (sums,)

        if self.form(x, state, w_ih, w_hh, b_ih, b_hh, seq_length, *given[5:], d_residuals):
            back = native.differentiated_as(back, by_kernel)
        d_state, by_gate, sums = back(*given)
        by_input, by_hidden = (d.reshape(w_hh.shape[0], -1) for d in (by_gate[0], by_gate[-1]))
        hidden = states_before(state[0], outputs)
        return (
            jnp.moveaxis(matrix_product(w_ih.T, by_input).reshape(-1, *x.shape[:2]), 0, 2),
            d_state,
            matrix_product(by_input, x.reshape(-1, x.shape[2])),
            matrix_product(by_hidden, hidden.reshape(-1, hidden.shape[2])),
            None if b_ih is None else sums[0],
            None if b_hh is None else sums[-1],
        )

    def form(self, x: Array, state: State, *others: Any) -> str:
        *weights, seq_length, outputs, residuals, d_outputs, d_last, d_residuals = others
        if not isinstance(self.op, LSTMLayer) or seq_length is not None or d_residuals is not None:
            return ""
        given = (state[1], *weights, outputs, *residuals, d_outputs, *d_last)
        return native.FORM if kernels.are_fitting(x, state[0], *given) else ""

    def _back(
        self,
        special: tuple[Array | None, State | None],
        x: Array,
        state: State,
        w_ih: Array,
        w_hh: Array,
        b_ih: Array | None,
        outputs: Array,
        residuals: State,
        d_outputs: Array,
        d_last: State,
    ) -> tuple[State, tuple[Array, ...], tuple[Array, ...]]:
        """Gradients of the first state, and of the input's and hidden state's gate contributions.

        The latter are (gates and features, time steps, batch), one if they are the same; their
        sums over time steps and batch are the last result. `special` holds the optional arguments
        `seq_length` and `d_residuals`.
        """
        seq_length, d_residuals = special
        batch, (rows, features) = x.shape[1], w_hh.shape
        running = None if seq_length is None else are_running(outputs.shape, seq_length)
        from_input = from_inputs(x, w_ih)
        if b_ih is not None:
            from_input = from_input + b_ih[:, None, None]
        states = (flat(states_before(state[0], outputs)), *map(flat, state[1:]))
        residuals = tuple(map(flat, residuals))
        pull, per_step = self.op.pulls(states, from_input, residuals)
        to_hidden, zero = lax.optimization_barrier(w_hh.T), zero_of(residuals[0])

        def back(carry: tuple[State, State], inputs: Any) -> tuple[tuple[State, State], None]:
            d_state, written = carry
            time, now, dout, inner, given = inputs
            d_after = or_zero(now, (d_state[0] + dout, *d_state[1:]))
            given = None if given is None else or_zero(now, given)
            d_before, *d_gates = pull(d_after, inner, given)
            columns = [shared(d, zero).reshape(rows, batch) for d in d_gates[: len(written)]]
            product = times(to_hidden, columns[-1]).reshape(features * batch)
            written = tuple(
                lax.dynamic_update_index_in_dim(all_, column, time, 1)
                for all_, column in zip(written, columns, strict=True)
            )
            d_before = (d_before[0] + product, *d_before[1:])
            return (where_running(now, d_before, d_state), written), None

        given = None if d_residuals is None else tuple(map(flat, d_residuals))
        every = (jnp.arange(x.shape[0]), running, flat(d_outputs), per_step, given)
        start = (_blank(residuals[0], from_input.shape),) * (1 if self.op.adds_up else 2)
        carry = (tuple(map(flat, d_last)), start)
        (d_state, written), _ = lax.scan(back, carry, every, reverse=True)
        sums = tuple(last_sum(d.reshape(rows, -1))[:, 0] for d in written)
        return tuple([from_flat(part, features, batch) for part in d_state]), written, sums


def _filled(gradients: Any, values: Any) -> tuple[Any, ...]:
    """Gradients of some values, zeros for those that have none."""
    return tuple(
        [zeros_like(v) if d is None else d for d, v in zip(gradients, values, strict=True)]
    )


def _blank(like: Array, shape: Shape) -> Array:
    """Uninitialized output buffer for the columns of each time step; zeros would cost time."""
    return like.reshape(shape) if like.size == size(shape) else jnp.zeros(shape, like.dtype)


def _from_residuals(residuals: Sequence[Array], d_residuals: State) -> tuple[Array, Array]:
    """Gradients of the input's and hidden state's GRU contributions, from the residuals' ones."""
    (reset, keep), fresh, hidden = residuals
    (d_reset, d_keep), d_fresh, d_hidden = d_residuals
    d_fresh = d_fresh * (1 - fresh * fresh)
    d_gates = [(d_reset + d_fresh * hidden) * reset * (1 - reset), d_keep * keep * (1 - keep)]
    return jnp.stack([*d_gates, d_fresh]), jnp.stack([*d_gates, d_fresh * reset + d_hidden])


def _over_time(
    op: Recurrent, state: State, x: Array, weights: tuple[Any, ...], seq_length: Array | None
) -> tuple[Any, ...]:
    """Runs `op` over axis 0; returns hidden states, the last state, and the residuals.

    If a time step has many columns, the products with the input are computed step by step too: they
    overlap with the wait for the state, and need not be written and transposed.
    """
    w_ih, w_hh, b_ih, b_hh = weights
    batch, features = state[0].shape
    shape = (x.shape[0], batch, features)
    running = None if seq_length is None else are_running(shape, seq_length)
    inside = batch >= _WIDE and is_large(w_ih, batch)

    def body(before: State, inputs: tuple[Any, Array]) -> tuple[State, tuple[State, State]]:
        now, from_input = inputs
        from_input = times(w_ih, from_input.T) if inside else from_input
        from_hidden = times(w_hh, before[0].reshape(features, batch))
        parts = [with_bias(from_input, b_ih), with_bias(from_hidden, b_hh)]
        after, residuals = op.step(before, *[part.reshape(op.gates, -1) for part in parts])
        return where_running(now, after, before), (or_zero(now, after[:1]), or_zero(now, residuals))

    state = tuple(map(flat, state))
    given = x if inside else jnp.moveaxis(from_inputs(x, w_ih), 0, 1)
    last, ((outputs,), residuals) = lax.scan(body, state, (running, given), unroll=_UNROLLED)
    outputs, *ends = (from_flat(part, features, batch) for part in (outputs, *last))
    return outputs, *ends, tuple([from_flat(part, features, batch) for part in residuals])
