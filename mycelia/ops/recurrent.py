"""Recurrent layers over whole sequences: one layer, one direction, one program.

Sequences are (time, batch, features). With `seq_length` (one number for each sequence of the batch)
outputs after the end are zero and the last state is the one at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.core.checks import check_string
from mycelia.core.errors import problem
from mycelia.core.shape import Shape
from mycelia.ir.example import case
from mycelia.ir.types import TensorType
from mycelia.ops.engine import Array, jax, jnp, lax
from mycelia.ops.op import Op

State = tuple[Array, ...]
_LSTM_EXAMPLE = ("f32[3,2,4]", "f32[2,5]", "f32[2,5]", "f32[20,4]", "f32[20,5]")


class Recurrent(Op, register=False):
    """What the layers share: checks, and the loop over time. `gates` is the number of gates."""

    gates = 1

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
        return x.with_shape((*x.shape[:2], h.shape[1])), h, h

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
        def step(state: State, from_input: Array) -> State:
            hidden, cell = state
            i, f, g, o = jnp.split(from_input + _affine(hidden, w_hh, b_hh), 4, axis=-1)
            cell = jax.nn.sigmoid(f) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
            return jax.nn.sigmoid(o) * jnp.tanh(cell), cell

        return _over_time(step, (h, c), _affine(x, w_ih, b_ih), seq_length)


class OneState(Recurrent, register=False):
    """A recurrent layer whose only state is its output; `step` moves it by one moment."""

    def step(self, hidden: Array, from_input: Array, from_hidden: Array) -> Array:
        raise TypeError(f"{self.name} does not say its step")

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
        return x.with_shape((*x.shape[:2], h.shape[1])), h

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
        def step(state: State, from_input: Array) -> State:
            return (self.step(state[0], from_input, _affine(state[0], w_hh, b_hh)),)

        return _over_time(step, (h,), _affine(x, w_ih, b_ih), seq_length)


class GRULayer(OneState):
    """Gated recurrent unit; gates in the order reset, update, new."""

    gates = 3
    examples = (
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", "f32[15]", "f32[15]", None),
        case("f32[3,2,4]", "f32[2,5]", "f32[15,4]", "f32[15,5]", None, None, "i32[2]:<4"),
    )

    def step(self, hidden: Array, from_input: Array, from_hidden: Array) -> Array:
        reset, update, new = jnp.split(from_input, 3, axis=-1)
        reset_h, update_h, new_h = jnp.split(from_hidden, 3, axis=-1)
        keep = jax.nn.sigmoid(update + update_h)
        fresh = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
        return (1 - keep) * fresh + keep * hidden


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

    def step(self, hidden: Array, from_input: Array, from_hidden: Array) -> Array:
        activate = jnp.tanh if self.nonlinearity == "tanh" else jax.nn.relu
        return activate(from_input + from_hidden)


def _affine(x: Array, weight: Array, bias: Array | None) -> Array:
    product = jnp.matmul(x, jnp.swapaxes(weight, -1, -2))
    return product if bias is None else product + bias


def _over_time(
    step: Callable[[State, Array], State],
    state: State,
    from_input: Array,
    seq_length: Array | None,
) -> tuple[Array, ...]:
    """Run `step` over axis 0; gives all hidden states and the last state."""

    def body(before: State, moment: tuple[Array, Array]) -> tuple[State, Array]:
        time, inputs = moment
        after = step(before, inputs)
        if seq_length is None:
            return after, after[0]
        running = (time < seq_length)[:, None]
        kept = tuple(jnp.where(running, new, old) for new, old in zip(after, before, strict=True))
        return kept, jnp.where(running, after[0], jnp.zeros_like(after[0]))

    state = tuple(jnp.asarray(part) for part in state)
    last, outputs = lax.scan(body, state, (jnp.arange(from_input.shape[0]), from_input))
    return (outputs, *last)
