"""The attention and transformer layers to compare with the real MindSpore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Draw = Callable[..., np.ndarray]
CAUSAL = np.triu(np.ones((5, 5), bool), 1)
PADDING = np.array([[False] * 4, [False, False, False, True], [False, False, True, True]])
SOURCE_PADDING = np.array([[False] * 5, [False] * 4 + [True], [False] * 3 + [True] * 2])


def cases(draw: Draw) -> dict[str, Any]:
    """Layers, inputs and keyword inputs by name; `draw(shape, seed)` gives numbers."""
    return {**_attention(draw), **_encoders(draw), **_decoders(draw)}


def _attention(draw: Draw) -> dict[str, Any]:
    q, k, v = draw((5, 3, 8), 1), draw((4, 3, 8), 2), draw((4, 3, 8), 3)
    narrow_k, narrow_v = draw((4, 3, 4), 4), draw((4, 3, 6), 5)
    masked = {"attn_mask": CAUSAL[:, :4], "key_padding_mask": PADDING}
    extras = {"add_bias_kv": True, "add_zero_attn": True}
    per_head = {"attn_mask": draw((6, 5, 4), 7), "average_attn_weights": False}
    floats = {"key_padding_mask": draw((3, 4), 8), "attn_mask": draw((5, 4), 6)}
    return {
        "attention.plain": (_attend(), (q, k, v), {}),
        "attention.no_weights": (_attend(), (q, k, v), {"need_weights": False}),
        "attention.no_bias": (_attend(has_bias=False), (q, k, v), {}),
        "attention.own_dims": (_attend(kdim=4, vdim=6), (q, narrow_k, narrow_v), {}),
        "attention.masked": (_attend(), (q, k, v), masked),
        "attention.extra_keys": (_attend(**extras), (q, k, v), masked),
        "attention.mask_per_head": (_attend(), (q, k, v), per_head),
        "attention.float_masks": (_attend(), (q, k, v), floats),
        "attention.batch_first": (
            _attend(batch_first=True),
            (draw((3, 5, 8), 1), draw((3, 4, 8), 2), draw((3, 4, 8), 3)),
            {"key_padding_mask": PADDING},
        ),
        "attention.unbatched": (
            _attend(),
            (draw((5, 8), 1), draw((4, 8), 2), draw((4, 8), 3)),
            {"attn_mask": draw((5, 4), 6), "average_attn_weights": False},
        ),
    }


def _encoders(draw: Draw) -> dict[str, Any]:
    x = draw((5, 3, 8), 1)
    masks = {"src_mask": CAUSAL, "src_key_padding_mask": SOURCE_PADDING}
    return {
        "encoder_layer.plain": (_layer("Encoder"), (x,), {}),
        "encoder_layer.masked": (_layer("Encoder"), (x,), masks),
        "encoder_layer.gelu": (_layer("Encoder", activation="gelu"), (x,), {}),
        "encoder_layer.norm_first": (_layer("Encoder", norm_first=True), (x,), masks),
        "encoder_layer.batch_first": (
            _layer("Encoder", batch_first=True),
            (draw((3, 5, 8), 1),),
            masks,
        ),
        "encoder.two_layers": (_encoder, (x,), masks),
    }


def _decoders(draw: Draw) -> dict[str, Any]:
    x, memory = draw((5, 3, 8), 1), draw((4, 3, 8), 2)
    masks = {
        "tgt_mask": CAUSAL,
        "memory_mask": CAUSAL[:, :4],
        "tgt_key_padding_mask": SOURCE_PADDING,
        "memory_key_padding_mask": PADDING,
    }
    sources = {
        "src_mask": CAUSAL[:4, :4],
        "src_key_padding_mask": PADDING,
        **masks,
    }
    small = {"num_encoder_layers": 1, "num_decoder_layers": 1}
    return {
        "decoder_layer.plain": (_layer("Decoder"), (x, memory), {}),
        "decoder_layer.masked": (_layer("Decoder"), (x, memory), masks),
        "decoder_layer.norm_first": (_layer("Decoder", norm_first=True), (x, memory), masks),
        "decoder.two_layers": (_decoder, (x, memory), masks),
        "transformer.masked": (_transformer(**small), (memory, x), sources),
        "transformer.norm_first": (_transformer(norm_first=True, **small), (memory, x), {}),
    }


def _attend(**options: Any) -> Callable[[Any], Any]:
    return lambda ms: ms.nn.MultiheadAttention(8, 2, **options)


def _layer(kind: str, **options: Any) -> Callable[[Any], Any]:
    return lambda ms: getattr(ms.nn, f"Transformer{kind}Layer")(8, 2, 16, **options)


def _encoder(ms: Any) -> Any:
    layer = ms.nn.TransformerEncoderLayer(8, 2, 16)
    return ms.nn.TransformerEncoder(layer, 2, ms.nn.LayerNorm((8,)))


def _decoder(ms: Any) -> Any:
    return ms.nn.TransformerDecoder(ms.nn.TransformerDecoderLayer(8, 2, 16), 2)


def _transformer(**options: Any) -> Callable[[Any], Any]:
    return lambda ms: ms.nn.Transformer(8, 2, dim_feedforward=16, **options)
