"""Recurrent layers over whole sequences: one layer, one direction, one program.

Sequences are (time, batch, features). With `seq_length` (one number for each sequence of the batch)
outputs after the end are zero and the last state is the one at the end. The last result is what
the hidden state gave to the gates at each moment, which the gradient would else compute again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia.core.checks import check_string
from mycelia.core.errors import problem
from mycelia.core.shape import Shape
from mycelia.ir.example import case
from mycelia.ir.types import TensorType
from mycelia.ops.creation import zeros_like
from mycelia.ops.device import on_cpu
from mycelia.ops.engine import Array, jax, jnp, lax
from mycelia.ops.linalg import over_rows
from mycelia.ops.op import Op
from mycelia.ops.sums import row_sum

State = tuple[Array, ...]
Step = Callable[[State, Array, Array], State]
_Pull = Callable[[State, Any], tuple[State, Array, Array]]
_LSTM_GATES = ("s", "s", "t", "s")
_UNROLLED = 2  # moments in one pass of the forward loop
_LSTM_EXAMPLE = ("f32[3,2,4]", "f32[2,5]", "f32[2,5]", "f32[20,4]", "f32[20,5]")


class Recurrent(Op, register=False):
    """What the layers share: checks, and the loop over time. `gates` is the number of gates.

    `step` moves the state by one moment, from what the input and what the hidden state (the first
    part of the state) give to the gates.
    """

    gates = 1
    takes_missing_gradients = True

    def step(self, state: State, from_input: Array, from_hidden: Array) -> State:
        raise TypeError(f"{self.name} does not say its step")

    def pulls(
        self, states: State, from_input: Array, from_hidden: Array, running: Array | None
    ) -> tuple[_Pull, Any]:
        """How a gradient goes back through one moment, and what that needs of each moment.

        `states` are the hidden state before each moment, and the other parts of the first state.
        """

        def pull(d_after: State, moment: Any) -> tuple[State, Array, Array]:
            return jax.vjp(self.step, *moment)[1](d_after)

        return pull, (states, from_input, from_hidden)

    def outputs(self, x: TensorType, h: TensorType, gates: int = 1) -> TensorType:
        """The type of all hidden states, or of as much for each of some gates."""
        return x.with_shape((*x.shape[:2], gates * h.shape[1]))

    def gradients(self, x: Any, state: tuple[Any, ...], *args: Any) -> tuple[Any, ...]:
        """The gradients of the input, of the parts of the state, and of the weights."""
        *rest, out, dout = args
        d_outputs, *d_last = [
            zeros_like(like) if d is None else d for d, like in zip(dout[:-1], out, strict=False)
        ]
        given = (out[0], out[-1], d_outputs, tuple(d_last), dout[-1])
        return RecurrentGrad.of(self)(x, state, *rest, *given)

    def check(self, x: TensorType, h: TensorType, w_ih: TensorType, w_hh: TensorType) -> None:
        if x.ndim != 3:
            raise problem(
                ValueError,
                f"{self.name}: the input must have three dimensions (time, batch, features)",
                got=str(x),
            )
        hidden = self.gates * w_hh.shape[-1] if w_hh.ndim == 2 else -1
        wanted: dict[str, tuple[TensorType, Shape]] = {
            "h": (h, (x.shape[1], w_hh.shape[-1])),
            "w_ih": (w_ih, (hidden, x.shape[2])),
            "w_hh": (w_hh, (hidden, w_hh.shape[-1])),
        }
        for name, (found, shape) in wanted.items():
            if found.shape != shape:
                raise problem(
                    ValueError,
                    f"{self.name}: {name} has a wrong shape",
                    got=f"{found} for the input {x}",
                    expected=f"shape {list(shape)}",
                )


class LSTMLayer(Recurrent):
    """Long short-term memory; gates in the order input, forget, cell, output."""

    gates = 4
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
    ) -> tuple[TensorType, ...]:
        self.check(x, h, w_ih, w_hh)
        return self.outputs(x, h), h, h, self.outputs(x, h, self.gates)

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
        return _over_time(self.step, (h, c), x, (w_ih, w_hh, b_ih, b_hh), seq_length)

    def step(self, state: State, from_input: Array, from_hidden: Array) -> State:
        i, f, g, o = _activated(from_input + from_hidden, _LSTM_GATES)
        cell = f * state[1] + i * g
        return o * jnp.tanh(cell), cell

    def pulls(
        self, states: State, from_input: Array, from_hidden: Array, running: Array | None
    ) -> tuple[_Pull, Any]:
        """All slopes are computed for all moments at once; the way back only multiplies."""
        i, f, g, o = _activated(from_input + from_hidden, _LSTM_GATES)

        def move(cell: Array, moment: Any) -> tuple[Array, Array]:
            now, kept, added = moment
            return _where(now, (kept * cell + added,), (cell,))[0], cell

        before = lax.scan(move, states[1], (running, f, i * g))[1]
        after = jnp.tanh(f * before + i * g)
        slopes = [g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), after * o * (1 - o)]

        def pull(d_after: State, moment: Any) -> tuple[State, Array, Array]:
            kept, to_cell, to_gates = moment
            d_cell = d_after[1] + d_after[0] * to_cell
            above = (d_cell, d_cell, d_cell, d_after[0])
            parts = zip(above, jnp.split(to_gates, 4, axis=-1), strict=True)
            d_gates = jnp.concatenate([d * slope for d, slope in parts], axis=-1)
            return (jnp.zeros_like(d_cell), d_cell * kept), d_gates, d_gates

        return pull, (f, o * (1 - after * after), jnp.concatenate(slopes, axis=-1))

    def grad(self, x: Any, h: Any, c: Any, *args: Any) -> tuple[Any, ...]:
        dx, (dh, dc), *weights = self.gradients(x, (h, c), *args)
        return dx, dh, dc, *weights, None


class OneState(Recurrent, register=False):
    """A recurrent layer whose only state is its output."""

    def infer(
        self,
        x: TensorType,
        h: TensorType,
        w_ih: TensorType,
        w_hh: TensorType,
        b_ih: TensorType | None,
        b_hh: TensorType | None,
        seq_length: TensorType | None,
    ) -> tuple[TensorType, ...]:
        self.check(x, h, w_ih, w_hh)
        return self.outputs(x, h), h, self.outputs(x, h, self.gates)

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
        return _over_time(self.step, (h,), x, (w_ih, w_hh, b_ih, b_hh), seq_length)

    def grad(self, x: Any, h: Any, *args: Any) -> tuple[Any, ...]:
        dx, (dh,), *weights = self.gradients(x, (h,), *args)
        return dx, dh, *weights, None


class GRULayer(OneState):
    """Gated recurrent unit; gates in the order reset, update, new."""

    gates = 3
    examples = (
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", "f32[15]", "f32[15]", None),
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", None, None, "i32[2]:<4"),
    )

    def step(self, state: State, from_input: Array, from_hidden: Array) -> State:
        first = 2 * from_input.shape[-1] // 3
        reset, keep = _activated(from_input[..., :first] + from_hidden[..., :first], ("s", "s"))
        fresh = jnp.tanh(from_input[..., first:] + reset * from_hidden[..., first:])
        return ((1 - keep) * fresh + keep * state[0],)


class RNNLayer(OneState):
    """The plain recurrent layer, with tanh or relu."""

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

    def step(self, state: State, from_input: Array, from_hidden: Array) -> State:
        activate = jnp.tanh if self.nonlinearity == "tanh" else jax.nn.relu
        return (activate(from_input + from_hidden),)


class RecurrentGrad(Op, register=False):
    """The gradients of a layer, from its outputs; only the state goes back moment by moment.

    The gradients of input and weights are computed at the end, for all moments at once: large
    products, where a loop would have many small ones.
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
        from_hidden: Array,
        d_outputs: Array,
        d_last: State,
        d_from_hidden: Array | None,
    ) -> tuple[Any, ...]:
        state = tuple(jnp.asarray(part) for part in state)
        hidden = jnp.concatenate([state[0][None], outputs[:-1]])  # before each moment
        given = _affine(x, w_ih, b_ih), jnp.asarray(from_hidden)
        running = None if seq_length is None else _running(x.shape[0], seq_length)
        states = (hidden, *state[1:])
        pull, moments = self.op.pulls(states, *given, running)

        def back(d_state: State, moment: Any) -> tuple[State, tuple[Array, Array | None]]:
            now, dout, inner, d_given = moment
            d_after = (d_state[0] + dout, *d_state[1:])
            d_after = _where(now, d_after, tuple(map(jnp.zeros_like, d_after)))
            d_before, d_input, d_hidden = pull(d_after, inner)
            if d_given is not None:
                d_hidden = d_hidden + _where(now, (d_given,), (jnp.zeros_like(d_given),))[0]
            d_before = (d_before[0] + d_hidden @ w_hh, *d_before[1:])
            other = None if d_hidden is d_input else d_hidden
            return _where(now, d_before, d_state), (d_input, other)

        every = (running, d_outputs, moments, d_from_hidden)
        d_state, (d_input, other) = lax.scan(back, tuple(d_last), every, reverse=True)
        d_hidden = d_input if other is None else other
        return (
            d_input @ w_ih, d_state, _over_rows(d_input, x), _over_rows(d_hidden, hidden),
            None if b_ih is None else row_sum(d_input),
            None if b_hh is None else row_sum(d_hidden),
        )  # fmt: skip


def _activated(gates: Array, kinds: tuple[str, ...]) -> list[Array]:
    """The gates, each by sigmoid ("s") or tanh ("t"), in one go over all of them.

    sigmoid(x) is (1 + tanh(x / 2)) / 2. One loop for all is several times faster than a loop for
    each: XLA would compute some gates wherever they are used.
    """
    size = gates.shape[-1] // len(kinds)
    half = np.repeat([0.5 if kind == "s" else 1.0 for kind in kinds], size).astype(gates.dtype)
    return jnp.split(jnp.tanh(gates * half) * half + (1 - half), len(kinds), axis=-1)


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    product = jnp.matmul(x, jnp.swapaxes(weight, -1, -2))
    return product if bias is None else product + bias


def _over_rows(left: Array, right: Array) -> Array:
    """The sum of the outer products of all rows."""
    rows = [part.reshape(-1, part.shape[-1]) for part in (left, right)]
    return over_rows(*rows) if on_cpu() else rows[0].T @ rows[1]


def _running(count: int, seq_length: Array) -> Array:
    """For each moment and sequence, whether the sequence is not over."""
    return (jnp.arange(count)[:, None] < jnp.asarray(seq_length))[:, :, None]


def _where(running: Array | None, new: State, old: State) -> State:
    if running is None:
        return new
    return tuple(jnp.where(running, n, o) for n, o in zip(new, old, strict=True))


def _over_time(
    step: Step, state: State, x: Array, weights: tuple[Any, ...], seq_length: Array | None
) -> tuple[Array, ...]:
    """Run `step` over axis 0; gives hidden states, the last state, what gates got."""
    w_ih, w_hh, b_ih, b_hh = weights
    running = None if seq_length is None else _running(x.shape[0], seq_length)

    def body(before: State, moment: tuple[Any, Array]) -> tuple[State, State]:
        now, from_input = moment
        from_hidden = _affine(before[0], w_hh, b_hh)
        after = step(before, from_input, from_hidden)
        found = (after[0], from_hidden)
        return _where(now, after, before), _where(now, found, tuple(map(jnp.zeros_like, found)))

    state = tuple(jnp.asarray(part) for part in state)
    every = (running, _affine(x, w_ih, b_ih))
    last, (outputs, given) = lax.scan(body, state, every, unroll=_UNROLLED)
    return (outputs, *last, given)
