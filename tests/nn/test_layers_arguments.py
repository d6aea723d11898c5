"""Layers refuse wrong arguments and inputs with MindSpore's exception types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn


def tensor(*shape: int, dtype: Any = np.float32) -> Tensor:
    return Tensor(np.ones(shape, dtype))


WRONG_ARGUMENTS = [
    (TypeError, lambda: nn.Dense("a", 4)),
    (TypeError, lambda: nn.Dense(3.0, 4)),
    (ValueError, lambda: nn.Dense(0, 4)),
    (TypeError, lambda: nn.Dense(3, 4, has_bias=1)),
    (KeyError, lambda: nn.Dense(3, 4, activation="foo")),
    (TypeError, lambda: nn.Dense(3, 4, activation=nn.ReLU)),
    (ValueError, lambda: nn.Dense(3, 4, weight_init=tensor(3, 4))),
    (ValueError, lambda: nn.Dense(3, 4, bias_init=tensor(4, 1))),
    (ValueError, lambda: nn.Dense(3, 4, weight_init="foo")),
    (ValueError, lambda: nn.BiDense(3, 4, 0)),
    (ValueError, lambda: nn.BiDense(3, 4, 2, weight_init=tensor(2, 3))),
    (ValueError, lambda: nn.Dropout(0.0)),
    (TypeError, lambda: nn.Dropout(1)),
    (ValueError, lambda: nn.Dropout(p=1.0)),
    (TypeError, lambda: nn.Dropout(p="a")),
    (ValueError, lambda: nn.Dropout1d(1.5)),
    (TypeError, lambda: nn.Dropout2d(1)),
    (TypeError, lambda: nn.Pad([[1, 1]])),
    (ValueError, lambda: nn.Pad(((1, 1),), "foo")),
    (ValueError, lambda: nn.Pad(((1, 1, 1),))),
    (ValueError, lambda: nn.Unfold([2, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1])),
    (TypeError, lambda: nn.Norm("a")),
    (TypeError, lambda: nn.Norm(1, 1)),
    (TypeError, lambda: nn.ClipByNorm("a")),
    (ValueError, lambda: nn.Range(0, 8, 0)),
    (ValueError, lambda: nn.Roll((1, 2), (0,))),
    (TypeError, lambda: nn.Roll(1.0, 0)),
    (TypeError, lambda: nn.MatMul(1)),
    (TypeError, lambda: nn.Moments([0])),
    (TypeError, lambda: nn.Unflatten("a", (2, 3))),
    (ValueError, lambda: nn.L1Regularizer(0)),
    (ValueError, lambda: nn.L1Regularizer(float("inf"))),
    (ValueError, lambda: nn.Conv2d(2, 3, 0)),
    (TypeError, lambda: nn.Conv2d(2, 3, (3,))),
    (TypeError, lambda: nn.Conv2d(2, 3, [3, 3])),
    (TypeError, lambda: nn.Conv2d("a", 3, 3)),
    (ValueError, lambda: nn.Conv2d(2, 3, 3, pad_mode="foo")),
    (TypeError, lambda: nn.Conv2d(2, 3, 3, pad_mode=3)),
    (ValueError, lambda: nn.Conv2d(2, 3, 3, pad_mode="same", padding=1)),
    (ValueError, lambda: nn.Conv2d(2, 3, 3, pad_mode="pad", padding=(1, 2))),
    (TypeError, lambda: nn.Conv2d(2, 3, 3, pad_mode="pad", padding=1.0)),
    (ValueError, lambda: nn.Conv2d(4, 3, 3, group=2)),
    (ValueError, lambda: nn.Conv2d(2, 3, 3, data_format="foo")),
    (TypeError, lambda: nn.Conv1d(2, 3, (3,))),
    (ValueError, lambda: nn.Conv1d(2, 3, 3, stride=0)),
    (ValueError, lambda: nn.Conv1d(2, 3, 3, weight_init=tensor(3, 2, 1, 3))),
    (ValueError, lambda: nn.Conv3d(2, 3, (2, 2))),
    (ValueError, lambda: nn.Conv3dTranspose(2, 3, 3, output_padding=1)),
    (TypeError, lambda: nn.Conv2dTranspose(2, 3, 3, output_padding="a")),
    (TypeError, lambda: nn.Conv2dBnAct(2, 3, 3, has_bn=1)),
    (ValueError, lambda: nn.BatchNorm1d(0)),
    (TypeError, lambda: nn.BatchNorm1d(1.5)),
    (ValueError, lambda: nn.BatchNorm2d(3, momentum=1.5)),
    (TypeError, lambda: nn.BatchNorm2d(3, momentum=None)),
    (ValueError, lambda: nn.BatchNorm2d(3, use_batch_statistics=1)),
    (TypeError, lambda: nn.BatchNorm2d(3, affine=1)),
    (ValueError, lambda: nn.BatchNorm2d(3, gamma_init=tensor(4))),
    (TypeError, lambda: nn.LayerNorm(3)),
    (ValueError, lambda: nn.LayerNorm(())),
    (ValueError, lambda: nn.GroupNorm(3, 4)),
    (TypeError, lambda: nn.GroupNorm(2, 4, eps="a")),
    (TypeError, lambda: nn.InstanceNorm2d(3, affine=1)),
    (ValueError, lambda: nn.LRN(norm_region="foo")),
    (ValueError, lambda: nn.MaxPool2d(0)),
    (TypeError, lambda: nn.MaxPool2d([2, 2])),
    (ValueError, lambda: nn.MaxPool2d(2, 2, "foo")),
    (ValueError, lambda: nn.MaxPool2d(2, 2, padding=1)),
    (ValueError, lambda: nn.MaxPool2d(2, 2, return_indices=True)),
    (TypeError, lambda: nn.MaxPool1d((2,))),
    (ValueError, lambda: nn.MaxPool3d((2, 2))),
    (ValueError, lambda: nn.AvgPool2d(2, 2, padding=1)),
    (ValueError, lambda: nn.AvgPool2d(2, divisor_override=0)),
    (TypeError, lambda: nn.AvgPool1d((2, 2))),
    (ValueError, lambda: nn.AdaptiveAvgPool1d(0)),
    (TypeError, lambda: nn.AdaptiveAvgPool2d(None)),
    (ValueError, lambda: nn.RReLU(0.5, 0.3)),
    (TypeError, lambda: nn.GELU("tanh")),
    (TypeError, lambda: nn.PReLU(3, 0)),
    (ValueError, lambda: nn.PReLU(3, tensor(2))),
    (ValueError, lambda: nn.PReLU(3, tensor(3, dtype=np.int32))),
    (TypeError, lambda: nn.Softmax("a")),
    (TypeError, lambda: nn.HShrink("a")),
    (ValueError, lambda: nn.Hardtanh(0.5, 0.2)),
    (KeyError, lambda: nn.get_activation("foo")),
    (ValueError, lambda: nn.Embedding(5, 3, padding_idx=5)),
    (TypeError, lambda: nn.Embedding(5, 3, padding_idx=1.0)),
    (TypeError, lambda: nn.Embedding("a", 3)),
    (ValueError, lambda: nn.Embedding(5, 3, embedding_table=tensor(3, 5))),
    (ValueError, lambda: nn.EmbeddingLookup(5, 3, target="foo")),
    (TypeError, lambda: nn.EmbeddingLookup(5, 3, max_norm=1)),
    (ValueError, lambda: nn.EmbeddingLookup(5, 3, sparse=False)),
    (ValueError, lambda: nn.MultiFieldEmbeddingLookup(5, 3, 2, operator="foo")),
    (ValueError, lambda: nn.ConstantPad1d((1, 2, 3), 0.5)),
    (TypeError, lambda: nn.ConstantPad1d(1, "a")),
    (ValueError, lambda: nn.ReflectionPad1d(-1)),
    (TypeError, lambda: nn.ReplicationPad2d("a")),
    (ValueError, lambda: nn.ChannelShuffle(0)),
    (ValueError, lambda: nn.SSIM(max_val=0)),
    (TypeError, lambda: nn.SSIM(filter_sigma=1)),
    (TypeError, lambda: nn.MSSSIM(power_factors=0.1)),
    (TypeError, lambda: nn.CentralCrop(1)),
    (ValueError, lambda: nn.CentralCrop(1.5)),
]

WRONG_INPUTS = [
    (ValueError, lambda: nn.Dense(3, 4)(tensor(2, 4))),
    (TypeError, lambda: nn.Dense(3, 4)(tensor(2, 3, dtype=np.float16))),
    (TypeError, lambda: nn.Dense(3, 4)(3)),
    (ValueError, lambda: nn.BiDense(3, 4, 2)(tensor(5, 3), tensor(5, 3))),
    (ValueError, lambda: nn.Flatten()(tensor(3))),
    (TypeError, lambda: nn.Flatten()(3)),
    (ValueError, lambda: nn.Pad(((1, 1),))(tensor(2, 3))),
    (TypeError, lambda: nn.OneHot(depth=3)(tensor(2))),
    (TypeError, lambda: nn.Moments()(tensor(2, dtype=np.int32))),
    (TypeError, lambda: nn.Tril()(tensor(3, 3), 1.0)),
    (ValueError, lambda: nn.Roll(1, 3)(tensor(2, 3))),
    (ValueError, lambda: nn.Conv2d(2, 3, 3)(tensor(2, 5, 5))),
    (TypeError, lambda: nn.Conv2d(2, 3, 3)(tensor(1, 2, 5, 5, dtype=np.float16))),
    (ValueError, lambda: nn.Conv2d(2, 3, 7, pad_mode="valid")(tensor(1, 2, 5, 5))),
    (ValueError, lambda: nn.Conv1d(2, 3, 3)(tensor(2, 5))),
    (ValueError, lambda: nn.Conv2dTranspose(2, 3, 3)(tensor(2, 4, 4))),
    (
        ValueError,
        lambda: nn.Conv2dTranspose(2, 3, 3, 2, "pad", 1, output_padding=2)(tensor(1, 2, 4, 4)),
    ),
    (ValueError, lambda: nn.BatchNorm1d(3)(tensor(4, 3, 5, 2))),
    (ValueError, lambda: nn.BatchNorm1d(3)(tensor(4, 5))),
    (ValueError, lambda: nn.BatchNorm2d(3)(tensor(2, 3, 4))),
    (ValueError, lambda: nn.BatchNorm3d(3)(tensor(2, 3, 4, 4))),
    (TypeError, lambda: nn.BatchNorm2d(3)(tensor(2, 3, 4, 4, dtype=np.int32))),
    (ValueError, lambda: nn.LayerNorm((4,), 1, 1)(tensor(2, 3))),
    (ValueError, lambda: nn.GroupNorm(2, 4)(tensor(2, 3, 3, 3))),
    (ValueError, lambda: nn.InstanceNorm2d(3)(tensor(2, 3, 4))),
    (ValueError, lambda: nn.MaxPool2d(2, 2)(tensor(5, 5))),
    (ValueError, lambda: nn.MaxPool1d(2, 2)(tensor(1, 2, 5, 5))),
    (ValueError, lambda: nn.AvgPool1d(2, 2)(tensor(5))),
    (ValueError, lambda: nn.AdaptiveAvgPool1d(4)(tensor(1, 2, 6))),
    (TypeError, lambda: nn.Sigmoid()(tensor(2, dtype=np.int32))),
    (ValueError, lambda: nn.ELU(0.5)(tensor(2, 3))),
    (ValueError, lambda: nn.Softmax2d()(tensor(2, 3))),
    (ValueError, lambda: nn.GLU()(tensor(2, 3))),
    (TypeError, lambda: nn.Embedding(5, 3)(tensor(2, 2))),
    (TypeError, lambda: nn.Embedding(5, 3)(3)),
    (ValueError, lambda: nn.ReflectionPad1d(3)(tensor(2, 2, 3))),
    (ValueError, lambda: nn.PixelShuffle(3)(tensor(1, 8, 2, 3))),
    (ValueError, lambda: nn.SSIM()(tensor(1, 1, 8, 8), tensor(1, 1, 8, 8))),
    (TypeError, lambda: nn.PSNR()(tensor(1, 1, 2, 2), tensor(1, 1, 2, 2, dtype=np.float16))),
    (ValueError, lambda: nn.CentralCrop(0.5)(tensor(7, 5))),
    (ValueError, lambda: nn.ImageGradients()(tensor(2, 3, 4))),
]


@pytest.mark.parametrize("error, make", WRONG_ARGUMENTS)
def test_a_wrong_argument_is_refused_when_the_layer_is_made(error: Any, make: Any) -> None:
    with pytest.raises(error):
        make()


@pytest.mark.parametrize("error, call", WRONG_INPUTS)
def test_a_wrong_input_is_refused(error: Any, call: Any) -> None:
    with pytest.raises(error):
        call()


EMPTY = [
    (lambda: nn.Dense(3, 4), (0, 3), (0, 4)),
    (lambda: nn.Dense(3, 4), (2, 0, 3), (2, 0, 4)),
    (lambda: nn.Flatten(), (0, 3, 2), (0, 6)),
    (lambda: nn.Conv2d(2, 3, 3), (0, 2, 5, 5), (0, 3, 5, 5)),
    (lambda: nn.MaxPool2d(2, 2), (0, 2, 4, 4), (0, 2, 2, 2)),
    (lambda: nn.AvgPool2d(2, 2), (0, 2, 4, 4), (0, 2, 2, 2)),
    (lambda: nn.BatchNorm2d(2), (0, 2, 4, 4), (0, 2, 4, 4)),
    (lambda: nn.LayerNorm((3,)), (0, 3), (0, 3)),
    (lambda: nn.ReLU(), (0, 3), (0, 3)),
    (lambda: nn.Softmax(), (0, 3), (0, 3)),
]


@pytest.mark.parametrize("make, shape, expected", EMPTY)
def test_an_empty_batch_gives_an_empty_result(make: Any, shape: Any, expected: Any) -> None:
    assert make()(tensor(*shape)).shape == expected


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32, ms.float64])
def test_layers_compute_in_the_dtype_of_their_parameters(dtype: Any) -> None:
    image = Tensor(np.ones((2, 2, 5, 5)), dtype)
    for layer in (
        nn.Conv2d(2, 3, 3, has_bias=True, dtype=dtype),
        nn.MaxPool2d(2, 2),
        nn.AvgPool2d(2, 2),
        nn.Dense(5, 3, activation="tanh", dtype=dtype),
        nn.LayerNorm((5,), dtype=dtype),
    ):
        assert layer(image).dtype is dtype
