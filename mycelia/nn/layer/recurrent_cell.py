"""Recurrent cells (RNN, GRU, LSTM), which compute one time step."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_instance, check_positive_int, check_string
from mycelia._engine.core.errors import problem, wrong_type
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_axis
from mycelia.ops.recurrent.layers import GRULayer, LSTMLayer, RNNLayer
from mycelia.ops.shapes.reshape import expand_dims
from mycelia.tensor.initializer import Uniform, initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

NONLINEARITIES = ("tanh", "relu")


class _RecurrentCell(Cell):
    """The base of recurrent cells: weights, and checks of the inputs."""

    gates: ClassVar[int]

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool, dtype: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        self.input_size = check_positive_int(owner, "input_size", input_size)
        self.hidden_size = check_positive_int(owner, "hidden_size", hidden_size)
        self.has_bias = check_bool(owner, "has_bias", has_bias)
        size = self.gates * hidden_size
        bound = Uniform(1 / math.sqrt(hidden_size))
        self.weight_ih = Parameter(initializer(bound, (size, input_size), dtype))
        self.weight_hh = Parameter(initializer(bound, (size, hidden_size), dtype))
        self.bias_ih, self.bias_hh = None, None
        if has_bias:
            self.bias_ih = Parameter(initializer(bound, (size,), dtype))
            self.bias_hh = Parameter(initializer(bound, (size,), dtype))

    def _sequence_of_one(self, x: Any) -> Any:
        """`x` as a sequence of one step, the form that the operators expect."""
        if not isinstance(x, Tensor) or not x.dtype.is_float:
            raise wrong_type(type(self).__name__, "x", x, "a Tensor of floats")
        if x.ndim != 2:
            raise problem(
                ValueError,
                f"For '{type(self).__name__}', the 'x' must have the shape (batch, input_size)",
                got=f"{x.shape}",
            )
        check_axis(type(self).__name__, "input_size", self.input_size, x, -1)
        return expand_dims(x, 0)

    def _check_state(self, argument: str, state: Any, x: Any) -> None:
        check_instance(type(self).__name__, argument, state, Tensor)
        if not state.dtype is x.dtype is self.weight_hh.dtype:
            raise problem(
                TypeError,
                f"For '{type(self).__name__}', input, state and weights differ in dtype",
                got=f"x {x.dtype}, {argument} {state.dtype}, weights {self.weight_hh.dtype}",
            )


class RNNCell(_RecurrentCell):
    """Elman RNN cell: h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or with relu."""

    gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        nonlinearity: str = "tanh",
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        check_instance("RNNCell", "nonlinearity", nonlinearity, str)
        self.nonlinearity = check_string("RNNCell", "nonlinearity", nonlinearity, NONLINEARITIES)
        self._step = RNNLayer(nonlinearity)

    def construct(self, x: Any, hx: Any) -> Any:
        sequence = self._sequence_of_one(x)
        self._check_state("hx", hx, x)
        _, hidden, _ = self._step(
            sequence, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        )
        return hidden


class GRUCell(_RecurrentCell):
    """Gated recurrent unit (GRU) cell; gates are in the order reset, update, new."""

    gates = 3

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self._step = GRULayer()

    def construct(self, x: Any, hx: Any) -> Any:
        sequence = self._sequence_of_one(x)
        self._check_state("hx", hx, x)
        _, hidden, _ = self._step(
            sequence, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        )
        return hidden


class LSTMCell(_RecurrentCell):
    """Long short-term memory (LSTM) cell; gates are in the order input, forget, cell, output."""

    gates = 4

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        has_bias: bool = True,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, has_bias, dtype)
        self._step = LSTMLayer()

    def construct(self, x: Any, hx: Any) -> tuple[Any, Any]:
        sequence = self._sequence_of_one(x)
        check_instance("LSTMCell", "hx", hx, tuple)
        self._check_state("hx[0]", hx[0], x)
        self._check_state("hx[1]", hx[1], x)
        _, hidden, memory, _ = self._step(
            sequence, *hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh, None
        )
        return hidden, memory
