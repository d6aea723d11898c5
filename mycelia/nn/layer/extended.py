"""Layers with the arguments of MindSpore's newer API: those whose names end in Ext."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_positive_int, check_range, check_string
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import as_shape
from mycelia.nn.cell import Cell
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class PReLUExt(Cell):
    """Leaky ReLU with a learned slope, one for all channels or one for each."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        count = check_positive_int("PReLUExt", "num_parameters", num_parameters)
        self.weight = Parameter(initializer(init, (count,), _dtype(dtype)), name="weight")

    def construct(self, input: Any) -> Any:
        return ops.prelu(input, self.weight)


class LogSoftmaxExt(Cell):
    """Logarithm of the softmax along `dim`, by default 0 for tensors of 0, 1, or 3 axes, else 1."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def construct(self, x: Any) -> Any:
        dim = (0 if x.ndim in (0, 1, 3) else 1) if self.dim is None else self.dim
        return ops.log_softmax(x, dim)


class DropoutExt(Cell):
    """Dropout: in training, zeroes elements with probability `p` and scales up the rest."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = check_range(type(self).__name__, "p", p, 0.0, 1.0)
        self.inplace = check_bool(type(self).__name__, "inplace", inplace)

    def construct(self, input: Any) -> Any:
        if not self.training or self.p == 0:
            return input
        result = self._dropped(input)
        return input.copy_(result) if self.inplace else result

    def _dropped(self, input: Any) -> Any:
        return ops.dropout(input, self.p)

    def extend_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout2dExt(DropoutExt):
    """Zeroes whole channels with probability `p` in training."""

    def _dropped(self, input: Any) -> Any:
        return ops.dropout2d(input, self.p)


class EmbeddingExt(Cell):
    """Looks up rows of a table by index."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        rows = check_positive_int("EmbeddingExt", "num_embeddings", num_embeddings)
        width = check_positive_int("EmbeddingExt", "embedding_dim", embedding_dim)
        if _weight is not None and _weight.shape != (rows, width):
            raise problem(
                ValueError,
                "EmbeddingExt: '_weight' and the table differ in shape",
                got=str(_weight.shape),
                expected=str((rows, width)),
            )
        self.padding_idx = padding_idx
        self.max_norm, self.norm_type = max_norm, norm_type
        self.scale_grad_by_freq = check_bool(
            "EmbeddingExt", "scale_grad_by_freq", scale_grad_by_freq
        )
        self.weight = Parameter(
            self._table(rows, width, _dtype(dtype)) if _weight is None else _weight,
            name="weight",
            requires_grad=not _freeze,
        )

    def _table(self, rows: int, width: int, dtype: Any) -> Tensor:
        table = initializer("normal", (rows, width), dtype).asnumpy()
        if self.padding_idx is not None:
            table[self.padding_idx] = 0
        return Tensor(table)

    def construct(self, input: Any) -> Any:
        return ops.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )


class LayerNormExt(Cell):
    """Layer normalization over the last axes, of sizes `normalized_shape`."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = as_shape(normalized_shape, "LayerNormExt")
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.weight = self.bias = None
        if elementwise_affine:
            ones = initializer("ones", self.normalized_shape, _dtype(dtype))
            self.weight = Parameter(ones, name="weight")
        if elementwise_affine and bias:
            zeros = initializer("zeros", self.normalized_shape, _dtype(dtype))
            self.bias = Parameter(zeros, name="bias")

    def construct(self, input: Any) -> Any:
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class L1LossExt(Cell):
    """Absolute error of logits and labels, reduced to the mean or the sum if requested."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = check_string("L1LossExt", "reduction", reduction, ("mean", "sum", "none"))

    def construct(self, logits: Any, labels: Any) -> Any:
        return ops.l1_loss(logits, labels, self.reduction)


class MaxPool2dExt(Cell):
    """2D max pooling, with the indices of the maxima if `return_indices`."""

    def __init__(
        self,
        kernel_size: Any = 1,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.arguments = (stride, padding, dilation, return_indices, ceil_mode)

    def construct(self, input: Any) -> Any:
        return ops.max_pool2d(input, self.kernel_size, *self.arguments)


class AvgPool1dExt(Cell):
    """1D average pooling over the last axis."""

    axes = 1

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = check_bool(type(self).__name__, "ceil_mode", ceil_mode)
        self.count_include_pad = check_bool(
            type(self).__name__, "count_include_pad", count_include_pad
        )

    def construct(self, input: Any) -> Any:
        if input.ndim not in (self.axes + 1, self.axes + 2):
            raise wrong_type(
                type(self).__name__, "input", input, f"of {self.axes + 1} or {self.axes + 2} axes"
            )
        if input.ndim == self.axes + 1:
            return self._pooled(input.expand_dims(0)).squeeze(0)
        return self._pooled(input)

    def _pooled(self, input: Any) -> Any:
        return ops.avg_pool1d(input, *self._window())

    def _window(self) -> tuple[Any, Any, Any, bool, bool]:
        windows = self.kernel_size, self.stride, self.padding
        return (*windows, self.ceil_mode, self.count_include_pad)


class AvgPool2dExt(AvgPool1dExt):
    """2D average pooling over the last two axes."""

    axes = 2

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)
        if divisor_override is not None:
            check_positive_int(type(self).__name__, "divisor_override", divisor_override)
        self.divisor_override = divisor_override

    def _pooled(self, input: Any) -> Any:
        return ops.avg_pool2d(input, *self._window(), self.divisor_override or 0)


class AvgPool3dExt(AvgPool2dExt):
    """3D average pooling over the last three axes."""

    axes = 3

    def _pooled(self, input: Any) -> Any:
        return ops.avg_pool3d(input, *self._window(), self.divisor_override or 0)


def _dtype(dtype: Any) -> Any:
    return dtypes.float32 if dtype is None else dtypes.as_dtype(dtype)
