"""Attention and transformers: numbers as the real MindSpore 2.10, names, masks, errors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from tests.goldens.layer_runs import compare, draw
from tests.goldens.transformer_cases import PADDING, cases

CASES = cases(draw)
GOLDENS = np.load(Path(__file__).parent.parent / "goldens" / "transformer.npz")


@pytest.mark.parametrize("name", CASES)
def test_numbers_and_gradients(name: str):
    compare(ms, CASES, GOLDENS, name)


def _names(cell: nn.Cell) -> list[str]:
    return [p.name for p in cell.get_parameters()]


def test_names_of_attention_parameters():
    joint = ["in_proj_weight", "in_proj_bias"]
    single = ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
    out = ["out_proj.weight", "out_proj.bias"]
    assert _names(nn.MultiheadAttention(8, 2)) == [*joint, *out]
    assert _names(nn.MultiheadAttention(8, 2, kdim=4)) == [*single, "in_proj_bias", *out]
    assert _names(nn.MultiheadAttention(8, 2, has_bias=False, add_bias_kv=True)) == [
        "in_proj_weight",
        "bias_k",
        "bias_v",
        "out_proj.weight",
    ]


def test_names_in_a_transformer():
    names = _names(nn.Transformer(8, 2, 1, 1, 16))
    assert names[0] == "encoder.layers.0.self_attn.in_proj_weight"
    assert names[12:14] == ["encoder.norm.gamma", "encoder.norm.beta"]
    assert "decoder.layers.0.multihead_attn.out_proj.bias" in names
    assert len(names) == 34


def test_copies_of_a_layer_start_equal_but_are_their_own():
    layer = nn.TransformerEncoderLayer(8, 2, 16)
    first, second = nn.TransformerEncoder(layer, 2).layers
    assert first is not layer and first is not second
    np.testing.assert_array_equal(first.dense1.weight.asnumpy(), second.dense1.weight.asnumpy())
    first.dense1.weight.set_data(ops.zeros_like(first.dense1.weight))
    assert second.dense1.weight.asnumpy().any()
    assert _names(layer)[0] == "self_attn.in_proj_weight"


def test_attention_of_one_tensor_to_itself():
    attention = nn.MultiheadAttention(8, 2)
    x = draw((5, 3, 8), 1)
    same = Tensor(x)
    joint, weights = attention(same, same, same)
    apart, _ = attention(Tensor(x), Tensor(x), Tensor(x))
    np.testing.assert_allclose(joint.asnumpy(), apart.asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(weights.asnumpy().sum(-1), 1, rtol=1e-5)


def test_masks_of_different_kinds_go_together():
    attention = nn.MultiheadAttention(8, 2)
    x = Tensor(draw((4, 3, 8), 1))
    padding, causal = PADDING, np.triu(np.ones((4, 4), bool), 1)
    expected = attention(x, x, x, Tensor(padding), attn_mask=Tensor(causal))[0].asnumpy()
    for make_padding in (_as_bool, _as_float):
        for make_causal in (_as_bool, _as_float):
            found, _ = attention(x, x, x, make_padding(padding), attn_mask=make_causal(causal))
            np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-5, atol=1e-6)


def _as_bool(mask: np.ndarray) -> Tensor:
    return Tensor(mask)


def _as_float(mask: np.ndarray) -> Tensor:
    return Tensor(np.where(mask, -np.inf, 0).astype(np.float32))


def test_dropout_falls_on_the_weights_when_training():
    attention = nn.MultiheadAttention(8, 2, dropout=0.5)
    x = Tensor(draw((5, 3, 8), 1))
    _, weights = attention(x, x, x, average_attn_weights=False)
    assert (weights.asnumpy() > 0).all()
    attention.set_train()
    _, weights = attention(x, x, x, average_attn_weights=False)
    assert (weights.asnumpy() == 0).any()


def test_half_precision():
    layer = nn.TransformerEncoderLayer(8, 2, 16, dtype=ms.float16)
    x = Tensor(draw((5, 3, 8), 1), ms.float16)
    mask = Tensor(np.triu(np.full((5, 5), -np.inf, np.float32), 1))
    assert layer(x).dtype is ms.float16
    assert layer(x, src_mask=mask).dtype is ms.float16


@pytest.mark.parametrize("activation", ["relu", ops.relu, nn.ReLU()])
def test_an_activation_is_a_name_a_function_or_a_cell(activation: object):
    layer = nn.TransformerEncoderLayer(8, 2, 16, activation=activation)
    assert layer(Tensor(draw((5, 3, 8), 1))).shape == (5, 3, 8)


def test_parts_of_the_users_own():
    class Double(nn.Cell):
        def construct(self, src, src_mask=None, src_key_padding_mask=None):
            return src * 2

    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 1)
    net = nn.Transformer(8, 2, custom_encoder=Double(), custom_decoder=decoder)
    source, target = Tensor(draw((4, 3, 8), 1)), Tensor(draw((5, 3, 8), 2))
    expected = decoder(target, source * 2)
    np.testing.assert_allclose(net(source, target).asnumpy(), expected.asnumpy(), rtol=1e-5)


def test_wrong_shapes_in_attention():
    attention = nn.MultiheadAttention(8, 2)
    q, k = Tensor(draw((5, 3, 8), 1)), Tensor(draw((4, 3, 8), 2))
    for wrong in (
        (Tensor(draw((5, 3, 6), 1)), k, k),
        (q, Tensor(draw((4, 3, 6), 2)), k),
        (q, k, Tensor(draw((3, 3, 8), 2))),
        (q, Tensor(draw((4, 2, 8), 2)), Tensor(draw((4, 2, 8), 2))),
        (q, Tensor(draw((4, 8), 2)), Tensor(draw((4, 8), 2))),
        (Tensor(draw((5, 3, 8, 1), 1)), k, k),
    ):
        with pytest.raises(ValueError):
            attention(*wrong)
    for mask in (draw((4, 5), 1), draw((3, 5, 4), 1), draw((1, 3, 5, 4), 1)):
        with pytest.raises(ValueError):
            attention(q, k, k, attn_mask=Tensor(mask))
    with pytest.raises(ValueError):
        attention(q, k, k, attn_mask=Tensor(np.zeros((5, 4), np.int32)))
    with pytest.raises(ValueError):
        attention(q, k, k, key_padding_mask=Tensor(np.zeros((3, 5), bool)))
    with pytest.raises(ValueError):
        attention(q, k, k, key_padding_mask=Tensor(np.zeros((3, 4), np.int32)))


def test_wrong_options():
    with pytest.raises(ValueError):
        nn.MultiheadAttention(8, 3)
    with pytest.raises(ValueError):
        nn.TransformerEncoderLayer(8, 2, activation="tanh")
    with pytest.raises(ValueError):
        nn.TransformerEncoderLayer(8, 2, activation=3)
    with pytest.raises(TypeError):
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2.0)
    with pytest.raises(ValueError):
        nn.Transformer(8, 2, 1, 1, 16)(Tensor(draw((5, 3, 6), 1)), Tensor(draw((4, 3, 6), 1)))
    mask = Tensor(np.zeros((3, 5), np.int32))
    with pytest.raises(AssertionError):
        nn.TransformerEncoderLayer(8, 2, 16)(Tensor(draw((5, 3, 8), 1)), None, mask)
