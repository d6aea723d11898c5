"""Layers that THOR watches from their creation."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia.nn.layer.basic import Dense
from mycelia.nn.layer.convolution import Conv2d
from mycelia.nn.layer.curvature import watch
from mycelia.nn.layer.embedding import Embedding, EmbeddingLookup


class DenseThor(Dense):
    """Dense with a curvature probe for THOR."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
        has_bias: bool = True,
        activation: Any = None,
    ) -> None:
        super().__init__(in_channels, out_channels, weight_init, bias_init, has_bias, activation)
        watch(self)


class Conv2dThor(Conv2d):
    """Conv2d with a curvature probe for THOR, unless its channels are grouped."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = "normal",
        bias_init: Any = "zeros",
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group,
            has_bias, weight_init, bias_init,
        )  # fmt: skip
        watch(self)


class EmbeddingThor(Embedding):
    """Embedding with a curvature probe for THOR, unless `use_one_hot`."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: DType = dtypes.float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, use_one_hot, embedding_table, dtype, padding_idx
        )
        watch(self)


class EmbeddingLookupThor(EmbeddingLookup):
    """EmbeddingLookup with a curvature probe for THOR."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, manual_shapes, max_norm,
            sparse,
        )  # fmt: skip
        watch(self)
