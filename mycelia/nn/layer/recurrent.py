"""Recurrent layers (RNN, GRU, LSTM) over whole sequences, with several layers and directions."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_instance, check_positive_int, check_string
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dropout
from mycelia.nn.layer.recurrent_cell import NONLINEARITIES
from mycelia.ops.recurrent.layers import GRULayer, LSTMLayer, RNNLayer
from mycelia.ops.shapes.concat import concat, stack, unstack
from mycelia.ops.shapes.creation import zeros
from mycelia.ops.shapes.flip import reverse, reverse_sequence
from mycelia.ops.shapes.reshape import cast, transpose
from mycelia.tensor.initializer import Uniform, initializer
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

_LISTS = ("w_ih_list", "w_hh_list", "b_ih_list", "b_hh_list")


class _RecurrentLayer(Cell):
    """The base of recurrent layers. `step` runs one layer in one direction.

    Sequences are (time, batch, features), or (batch, time, features) with `batch_first`. States
    are (layers * directions, batch, hidden). `seq_length` is the length of each sequence: outputs
    beyond it are 0, and the last state is the one at the end of the sequence.
    """

    gates: ClassVar[int]
    states: ClassVar[int] = 1
    step: Any

    @entry_point
    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = check_positive_int(owner, "input_size", input_size)
        self.hidden_size = check_positive_int(owner, "hidden_size", hidden_size)
        self.num_layers = check_positive_int(owner, "num_layers", num_layers)
        self.has_bias = check_bool(owner, "has_bias", has_bias)
        self.batch_first = check_bool(owner, "batch_first", batch_first)
        self.bidirectional = check_bool(owner, "bidirectional", bidirectional)
        self.dropout = _check_dropout(owner, dropout)
        self.dropout_op = Dropout(p=dropout)
        self._directions = ("", "_reverse") if bidirectional else ("",)
        self._make_weights(dtype)

    def _make_weights(self, dtype: Any) -> None:
        """Create the parameters in the order of checkpoints: by kind, then by layer."""
        size = self.gates * self.hidden_size
        bound = Uniform(1 / math.sqrt(self.hidden_size))
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        for kind in kinds if self.has_bias else kinds[:2]:
            for layer in range(self.num_layers):
                shape: tuple[int, ...] = (size,)
                if kind == "weight_ih":
                    shape = (size, self._features(layer))
                elif kind == "weight_hh":
                    shape = (size, self.hidden_size)
                for direction in self._directions:
                    name = f"{kind}_l{layer}{direction}"
                    setattr(self, name, Parameter(initializer(bound, shape, dtype), name=name))

    def _kind(self, kind: str) -> ParameterTuple:
        """The parameters of one kind, in the order of layers."""
        suffixes = [
            f"l{n}{direction}" for n in range(self.num_layers) for direction in self._directions
        ]
        return ParameterTuple(getattr(self, f"{kind}_{suffix}") for suffix in suffixes)

    def _set_kind(self, kind: str, values: Any) -> None:
        """Set the values of the parameters of one kind; their names do not change."""
        own = self._kind(kind)
        if len(values) != len(own):
            raise wrong_value(type(self).__name__, kind, values, f"{len(own)} parameters")
        for old, new in zip(own, values, strict=True):
            old.set_data(new)

    w_ih_list = property(
        lambda self: self._kind("weight_ih"), lambda self, v: self._set_kind("weight_ih", v)
    )
    w_hh_list = property(
        lambda self: self._kind("weight_hh"), lambda self, v: self._set_kind("weight_hh", v)
    )
    b_ih_list = property(
        lambda self: self._kind("bias_ih"), lambda self, v: self._set_kind("bias_ih", v)
    )
    b_hh_list = property(
        lambda self: self._kind("bias_hh"), lambda self, v: self._set_kind("bias_hh", v)
    )

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _LISTS:
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _features(self, layer: int) -> int:
        if layer == 0:
            return self.input_size
        return self.hidden_size * len(self._directions)

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> tuple[Any, Any]:
        self._check_input(x)
        if self.batch_first:
            x = transpose(x, (1, 0, 2))
        self._check_lengths(x, seq_length)
        states = self._initial_states(x, hx)
        last: list[list[Any]] = []
        for layer in range(self.num_layers):
            outputs = []
            for direction in self._directions:
                output, *state = self._run(x, states[len(last)], layer, direction, seq_length)
                outputs.append(output)
                last.append(state)
            x = outputs[0] if len(outputs) == 1 else concat(outputs, 2)
            if self.dropout > 0.0 and layer < self.num_layers - 1:
                x = self.dropout_op(x)
        if self.batch_first:
            x = transpose(x, (1, 0, 2))
        joined = tuple(stack([state[kind] for state in last], 0) for kind in range(self.states))
        return x, (joined if self.states > 1 else joined[0])

    def _run(self, x: Any, state: Any, layer: int, direction: str, lengths: Any) -> tuple[Any, ...]:
        """Run one layer in one direction; returns its output and its last state."""
        weights = self._weights(f"l{layer}{direction}", x.dtype)
        if not direction:
            return self.step(x, *state, *weights, lengths)[:-1]
        output, *last, _ = self.step(_backwards(x, lengths), *state, *weights, lengths)
        return _backwards(output, lengths), *last

    def _weights(self, suffix: str, dtype: Any) -> tuple[Any, ...]:
        weight_ih = cast(getattr(self, f"weight_ih_{suffix}"), dtype)
        weight_hh = cast(getattr(self, f"weight_hh_{suffix}"), dtype)
        if not self.has_bias:
            return weight_ih, weight_hh, None, None
        bias_ih = cast(getattr(self, f"bias_ih_{suffix}"), dtype)
        bias_hh = cast(getattr(self, f"bias_hh_{suffix}"), dtype)
        return weight_ih, weight_hh, bias_ih, bias_hh

    def _initial_states(self, x: Any, hx: Any) -> Any:
        """The initial states, one tuple for each layer and direction."""
        count = self.num_layers * len(self._directions)
        batch = x.shape[1]
        if hx is None:
            zero = zeros((batch, self.hidden_size), x.dtype)
            return [(zero,) * self.states] * count
        initial = hx if self.states > 1 else (hx,)
        self._check_states(initial, (count, batch, self.hidden_size))
        return list(zip(*[unstack(cast(state, x.dtype), 0) for state in initial], strict=True))

    def _check_input(self, x: Any) -> None:
        owner = type(self).__name__
        if not isinstance(x, Tensor) or not x.dtype.is_float:
            raise wrong_type(owner, "x", x, "a Tensor of floats")
        if x.ndim != 3 or x.shape[2] != self.input_size:
            order = "(batch, time, features)" if self.batch_first else "(time, batch, features)"
            raise problem(
                ValueError,
                f"For '{owner}', the 'x' must have the shape {order}",
                got=f"{x.shape}",
                expected=f"three dimensions, the last of size input_size={self.input_size}",
            )

    def _check_states(self, states: Any, shape: tuple[int, ...]) -> None:
        owner = type(self).__name__
        if self.states > 1 and (not isinstance(states, tuple) or len(states) != self.states):
            raise wrong_type(owner, "hx", states, f"a tuple of {self.states} Tensors")
        for state in states:
            check_instance(owner, "hx", state, Tensor)
            if state.shape != shape:
                raise problem(
                    ValueError,
                    f"For '{owner}', a state has a wrong shape",
                    got=f"{state.shape}",
                    expected=f"{shape}: (layers * directions, batch, hidden)",
                )

    def _check_lengths(self, x: Any, lengths: Any) -> None:
        if lengths is not None and lengths.shape != (x.shape[1],):
            raise problem(
                ValueError,
                f"For '{type(self).__name__}', each sequence needs one seq_length",
                got=f"seq_length of shape {lengths.shape} for a batch of {x.shape[1]}",
            )


class RNN(_RecurrentLayer):
    """Elman RNN layer: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    gates = 1

    def __init__(self, *args: Any, nonlinearity: str = "tanh", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.nonlinearity = check_string("RNN", "nonlinearity", nonlinearity, NONLINEARITIES)
        self.step = RNNLayer(nonlinearity)


class GRU(_RecurrentLayer):
    """Gated recurrent unit (GRU) layer; gates are in the order reset, update, new."""

    gates = 3

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step = GRULayer()


class LSTM(_RecurrentLayer):
    """Long short-term memory (LSTM) layer; gates are in the order input, forget, cell, output.

    The state is a tuple of hidden state and cell state.
    """

    gates = 4
    states = 2

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.step = LSTMLayer()


def _backwards(x: Any, lengths: Any) -> Any:
    """Reverse a (time, batch, features) sequence up to its length; padding stays in place."""
    if lengths is None:
        return reverse(x, (0,))
    return reverse_sequence(x, lengths, 0, 1)


def _check_dropout(owner: str, dropout: Any) -> float:
    if not isinstance(dropout, float):
        raise wrong_type(owner, "dropout", dropout, "float")
    if not 0 <= dropout < 1:
        raise wrong_value(owner, "dropout", dropout, "a number in range [0, 1)")
    return dropout
