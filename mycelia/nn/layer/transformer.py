"""Transformers: stacks of encoder and decoder layers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance, check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.layer.container import CellList
from mycelia.nn.layer.normalization import LayerNorm
from mycelia.nn.layer.transformer_layer import TransformerDecoderLayer, TransformerEncoderLayer
from mycelia.tensor.initializer import initializer


class TransformerEncoder(Cell):
    """A stack of `num_layers` copies of `encoder_layer`, followed by `norm`."""

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerEncoder", "encoder_layer", encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Cell):
    """A stack of `num_layers` copies of `decoder_layer`, followed by `norm`."""

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers = _copies("TransformerDecoder", "decoder_layer", decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Cell):
    """Transformer encoder and decoder ("Attention Is All You Need"); either may be custom."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Cell | Callable[[Any], Any] = "relu",
        custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        options: tuple[Any, ...] = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            dtype,
        )
        if custom_encoder is None:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            encoder_layer = TransformerEncoderLayer(*options)
            custom_encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm)
        self.encoder = custom_encoder
        if custom_decoder is None:
            norm = LayerNorm((d_model,), epsilon=layer_norm_eps, dtype=dtype)
            decoder_layer = TransformerDecoderLayer(*options)
            custom_decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm)
        self.decoder = custom_decoder
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self._reset_matrices()

    def construct(
        self,
        src: Any,
        tgt: Any,
        src_mask: Any = None,
        tgt_mask: Any = None,
        memory_mask: Any = None,
        src_key_padding_mask: Any = None,
        tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise problem(
                ValueError,
                "The number of features for 'src' and 'tgt' must be equal to `d_model`.",
                got=f"src {src.shape}, tgt {tgt.shape}, d_model {self.d_model}",
            )
        memory = self.encoder(src, src_mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
        )

    def _reset_matrices(self) -> None:
        """Initialize all matrices from Xavier's uniform distribution, separately for each copy."""
        for parameter in self.get_parameters():
            if parameter.ndim > 1:
                parameter.set_data(initializer("xavier_uniform", parameter.shape, parameter.dtype))


def _copies(owner: str, argument: str, layer: Any, count: Any) -> CellList:
    check_instance(owner, argument, layer, Cell)
    check_non_negative_int(owner, "num_layers", count)
    return CellList([copy.deepcopy(layer) for _ in range(count)])
