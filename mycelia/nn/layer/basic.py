"""Basic layers: fully connected, dropout, reshaping, one-hot, padding, and patches."""

from __future__ import annotations

import math
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import (
    check_bool,
    check_instance,
    check_positive_int,
    check_string,
    is_int,
)
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import normalize_axis
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import get_activation
from mycelia.nn.sizes import check_axis
from mycelia.ops.convolution.unfold import ExtractImagePatches
from mycelia.ops.linalg.matmul import BiasAdd, MatMul
from mycelia.ops.random.dropout import Dropout as DropoutOp
from mycelia.ops.random.dropout import dropout1d, dropout2d, dropout3d
from mycelia.ops.reduction.reduction import ReduceSum
from mycelia.ops.shapes.creation import OneHot as OneHotOp
from mycelia.ops.shapes.pad import MirrorPad
from mycelia.ops.shapes.pad import Pad as PadOp
from mycelia.ops.shapes.reshape import reshape, transpose
from mycelia.ops.shapes.shape_queries import shape as shape_of
from mycelia.ops.shapes.views import flatten
from mycelia.tensor.initializer import HeUniform, Uniform, initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Dense(Cell):
    """Fully connected layer: activation(x @ W^T + b), with W of (out_channels, in_channels)."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.in_channels = check_positive_int("Dense", "in_channels", in_channels)
        self.out_channels = check_positive_int("Dense", "out_channels", out_channels)
        self.has_bias = check_bool("Dense", "has_bias", has_bias)
        shape = (out_channels, in_channels)
        _check_init_shape("Dense", "weight_init", weight_init, shape)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            _check_init_shape("Dense", "bias_init", bias_init, (out_channels,))
            bias_init = Uniform(1 / math.sqrt(in_channels)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.matmul = MatMul(transpose_b=True)
        self.bias_add = BiasAdd()
        self.activation = activation_of("Dense", activation)

    def construct(self, x: Any) -> Any:
        check_axis("Dense", "in_channels", self.in_channels, x, -1)
        shape = shape_of(x)
        if len(shape) != 2:
            x = reshape(x, (-1, shape[-1]))
        x = self.matmul(x, self.weight)
        if self.has_bias:
            x = self.bias_add(x, self.bias)
        if self.activation is not None:
            x = self.activation(x)
        if len(shape) != 2:
            x = reshape(x, (*shape[:-1], self.out_channels))
        return x

    def extend_repr(self) -> str:
        text = f"input_channels={self.in_channels}, output_channels={self.out_channels}"
        if self.has_bias:
            text += f", has_bias={self.has_bias}"
        if self.activation is not None:
            text += f", activation={self.activation}"
        return text


def activation_of(owner: str, activation: Any) -> Any:
    """The activation from a name, Cell, or Primitive, or None."""
    if isinstance(activation, str):
        return get_activation(activation, owner)
    if activation is not None and not isinstance(activation, (Cell, Primitive)):
        raise wrong_type(owner, "activation", activation, "str or Cell or Primitive")
    return activation


def _check_init_shape(owner: str, argument: str, init: Any, shape: tuple[int, ...]) -> None:
    if isinstance(init, Tensor) and init.shape != shape:
        raise problem(
            ValueError,
            f"{owner}: the tensor in '{argument}' has a wrong shape",
            got=f"{init.shape}",
            expected=f"{shape}",
        )


class BiDense(Cell):
    """Bilinear layer: x1 W x2 + b for each output channel."""

    def __init__(
        self,
        in1_channels: int,
        in2_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.in_channels = check_positive_int("BiDense", "in1_channels", in1_channels)
        self.in1_channels = in1_channels
        self.in2_channels = check_positive_int("BiDense", "in2_channels", in2_channels)
        self.out_channels = check_positive_int("BiDense", "out_channels", out_channels)
        self.has_bias = check_bool("BiDense", "has_bias", has_bias)
        shape = (out_channels, in1_channels, in2_channels)
        bound = Uniform(1 / math.sqrt(in1_channels))
        _check_init_shape("BiDense", "weight_init", weight_init, shape)
        weight_init = bound if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, dtype), name="weight")
        self.bias = None
        if has_bias:
            _check_init_shape("BiDense", "bias_init", bias_init, (out_channels,))
            bias_init = bound if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_channels,), dtype), name="bias")
        self.matmul = MatMul()
        self.bias_add = BiasAdd()
        self.reduce_sum = ReduceSum()

    def construct(self, input1: Any, input2: Any) -> Any:
        shape = input1.shape
        _check_last(1, input1.shape, self.in1_channels)
        _check_last(2, input2.shape, self.in2_channels)
        left = reshape(input1, (-1, self.in1_channels))
        right = reshape(input2, (-1, 1, self.in2_channels))
        weight = reshape(transpose(self.weight, (1, 0, 2)), (self.in1_channels, -1))
        middle = reshape(self.matmul(left, weight), (-1, self.out_channels, self.in2_channels))
        out = self.reduce_sum(middle * right, -1)
        if self.has_bias:
            out = self.bias_add(out, self.bias)
        return reshape(out, (*shape[:-1], self.out_channels))

    def extend_repr(self) -> str:
        text = (
            f"in1_channels={self.in1_channels}, in2_channels={self.in2_channels}, "
            f"output_channels={self.out_channels}"
        )
        return f"{text}, has_bias={self.has_bias}" if self.has_bias else text


def _check_last(number: int, shape: tuple[int, ...], channels: int) -> None:
    if not shape or shape[-1] != channels:
        raise problem(
            ValueError,
            f"BiDense: the last dimension of input{number} must be in{number}_channels",
            got=f"shape {shape} and {channels} channels",
        )


class Dropout(Cell):
    """Dropout: in training, zeroes elements with probability `p` and scales up the rest.

    The deprecated `keep_prob` is 1 - p, and applies only if `p` is not given.
    """

    def __init__(
        self, keep_prob: float = 0.5, p: float | None = None, dtype: DType = dtypes.float32
    ) -> None:
        super().__init__()
        if p is None:
            check_instance("Dropout", "keep_prob", keep_prob, float)
            if not 0 < keep_prob <= 1:
                raise wrong_value("Dropout", "keep_prob", keep_prob, "a number in range (0, 1]")
        else:
            if isinstance(p, bool) or not isinstance(p, (int, float)):
                raise wrong_type("Dropout", "p", p, "float or int")
            if not 0 <= p < 1:
                raise wrong_value("Dropout", "p", p, "a number in range [0, 1)")
            keep_prob = 1.0 - p
        self.p = p
        self.keep_prob = keep_prob
        self.dropout = DropoutOp(keep_prob)

    def construct(self, x: Any) -> Any:
        if not self.training or self.keep_prob == 1:
            return x
        out, _ = self.dropout(x)
        return out

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ChannelDropoutLayer(Cell):
    """The base of layers that drop whole channels."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        owner = type(self).__name__
        check_instance(owner, "p", p, float)
        if not 0 <= p <= 1:
            raise wrong_value(owner, "p", p, "a number in range [0, 1]")
        self.p = p
        self.keep_prob = 1.0 - p


class Dropout1d(_ChannelDropoutLayer):
    """Zeroes whole channels of (N, C, L) with probability `p` in training."""

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return dropout1d(x, self.p)


class Dropout2d(_ChannelDropoutLayer):
    """Zeroes whole channels of (N, C, H, W) with probability `p` in training."""

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return dropout2d(x, self.p)

    def extend_repr(self) -> str:
        return f"p={self.keep_prob}"


class Dropout3d(_ChannelDropoutLayer):
    """Zeroes whole channels of (N, C, D, H, W) with probability `p` in training."""

    def construct(self, x: Any) -> Any:
        if not self.training or self.p == 0:
            return x
        return dropout3d(x, self.p)

    def extend_repr(self) -> str:
        return f"p={self.keep_prob}"


class Flatten(Cell):
    """Flattens the axes from `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def construct(self, x: Any) -> Any:
        rank = max(len(shape_of(x)), 1)
        normalize_axis(self.start_dim, rank, "Flatten")
        normalize_axis(self.end_dim, rank, "Flatten")
        return flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)


class Unflatten(Cell):
    """Splits one axis into several, of the sizes `unflattened_size`."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        if not is_int(axis):
            raise wrong_type("Unflatten", "axis", axis, "int")
        self.axis = axis
        self.unflattened_size = check_instance(
            "Unflatten", "unflattened_size", unflattened_size, (tuple, list)
        )

    def construct(self, input_x: Any) -> Any:
        shape = input_x.shape
        axis = normalize_axis(self.axis, len(shape), "Unflatten")
        return reshape(input_x, (*shape[:axis], *self.unflattened_size, *shape[axis + 1 :]))


class Identity(Cell):
    """Returns its input."""

    def construct(self, x: Any) -> Any:
        return x


class OneHot(Cell):
    """One-hot encoding along a new axis: `on_value` at each index, `off_value` elsewhere."""

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.onehot = OneHotOp(axis)
        self.depth = depth
        self.on_value = Tensor(on_value, dtype)
        self.off_value = Tensor(off_value, dtype)

    def construct(self, indices: Any) -> Any:
        return self.onehot(indices, self.depth, self.on_value, self.off_value)


class Pad(Cell):
    """Pads by `paddings` = ((before, after), ...), with zeros or by mirroring."""

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        self.mode = check_string("Pad", "mode", mode, ("CONSTANT", "REFLECT", "SYMMETRIC"))
        self.paddings = check_instance("Pad", "paddings", paddings, tuple)
        for pair in paddings:
            if len(pair) != 2:
                raise wrong_value("Pad", "paddings", paddings, "a tuple of pairs")
        if len(paddings) > 4:
            raise problem(
                ValueError,
                "Pad: only 'paddings' up to 4 dims is supported",
                got=f"{len(paddings)}",
            )
        self.constant = mode == "CONSTANT"
        self.pad = PadOp(paddings) if self.constant else MirrorPad.of(mode)

    def construct(self, x: Any) -> Any:
        return self.pad(x) if self.constant else self.pad(x, self.paddings)


class Unfold(Cell):
    """Extracts patches of images: (N, C, H, W) to (N, rows x columns x C, H', W').

    `ksizes`, `strides`, and `rates` (the dilation of a patch) have the form [1, row, column, 1].
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        for argument, value in (("ksizes", ksizes), ("strides", strides), ("rates", rates)):
            _check_rows_and_columns(argument, value)
        check_string("Unfold", "padding", str(padding).lower(), ("valid", "same"))
        sizes = [(1, 1, *value[1:3]) for value in (ksizes, strides, rates)]
        self.extract_image_patches = ExtractImagePatches.of(*sizes, padding)

    def construct(self, input_x: Any) -> Any:
        return self.extract_image_patches(input_x)


def _check_rows_and_columns(argument: str, value: Any) -> None:
    check_instance("Unfold", argument, value, (tuple, list))
    if len(value) != 4 or value[0] != 1 or value[3] != 1:
        raise wrong_value("Unfold", argument, value, "of the form [1, row, column, 1]")
    for number in value:
        check_positive_int("Unfold", argument, number)
