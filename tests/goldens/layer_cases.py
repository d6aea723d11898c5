"""The layers whose results are compared with goldens, and the numbers they are given.

Both sides build the same layer from the same case, with parameters and inputs drawn from a
generator that the case's name seeds, so that only results are stored.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One layer and the inputs it is called with: 'f32[2,3]', or 'i32[4]<5' for indices below 5.

    Not differentiated are layers without gradients, and SeLU, whose gradient in MindSpore on CPU
    is not the derivative of its output.
    """

    make: Callable[[Any], Any]
    inputs: tuple[str, ...]
    train: bool = False
    differentiate: bool = True
    whole_graph: bool = False
    span: tuple[float, float] | None = None


def case(make: Callable[[Any], Any], *inputs: str, **options: Any) -> Case:
    return Case(make, inputs, **options)


CASES: dict[str, Case] = {
    # fully connected
    "dense": case(lambda nn: nn.Dense(3, 4), "f32[2,3]"),
    "dense_without_bias": case(lambda nn: nn.Dense(3, 4, has_bias=False), "f32[2,3]"),
    "dense_batched_relu": case(lambda nn: nn.Dense(3, 4, activation="relu"), "f32[2,5,3]"),
    "dense_vector": case(lambda nn: nn.Dense(3, 4, activation=nn.Tanh()), "f32[3]"),
    "bidense": case(lambda nn: nn.BiDense(3, 4, 2), "f32[5,3]", "f32[5,4]"),
    "bidense_batched": case(
        lambda nn: nn.BiDense(3, 4, 2, has_bias=False), "f32[2,2,3]", "f32[2,2,4]"
    ),
    "dense_bn_act": case(
        lambda nn: nn.DenseBnAct(3, 4, has_bn=True, activation="relu"), "f32[6,3]", train=True
    ),
    # rearranging
    "flatten": case(lambda nn: nn.Flatten(), "f32[2,3,4]"),
    "flatten_middle": case(lambda nn: nn.Flatten(1, 2), "f32[2,3,2,2]"),
    "unflatten": case(lambda nn: nn.Unflatten(1, (2, 3)), "f32[2,6]"),
    "identity": case(lambda nn: nn.Identity(), "f32[2,3]"),
    "dropout_in_inference": case(lambda nn: nn.Dropout(p=0.3), "f32[2,3]"),
    "one_hot": case(
        lambda nn: nn.OneHot(axis=0, depth=4, on_value=2.0, off_value=-1.0),
        "i32[3,2]<4",
        differentiate=False,
    ),
    "pad": case(lambda nn: nn.Pad(((1, 0), (2, 1))), "f32[2,3]"),
    "pad_reflect": case(lambda nn: nn.Pad(((1, 1), (2, 1)), mode="REFLECT"), "f32[3,4]"),
    "pad_symmetric": case(lambda nn: nn.Pad(((1, 1), (2, 1)), mode="SYMMETRIC"), "f32[3,4]"),
    "upsample_nearest": case(lambda nn: nn.Upsample(size=(4, 6)), "f32[1,2,2,3]"),
    "upsample_bilinear": case(
        lambda nn: nn.Upsample(size=(4, 5), mode="bilinear", align_corners=True), "f32[1,2,2,3]"
    ),
    # mathematical functions
    "norm": case(lambda nn: nn.Norm(1), "f32[3,4]"),
    "norm_of_all": case(lambda nn: nn.Norm(keep_dims=True), "f32[3,4]"),
    "clip_by_norm": case(lambda nn: nn.ClipByNorm(), "f32[2,3]", "f32[]", span=(0.5, 1.5)),
    "matmul": case(lambda nn: nn.MatMul(False, True), "f32[2,3,4]", "f32[5,4]"),
    "moments": case(lambda nn: nn.Moments(1, True), "f32[3,4]"),
    "tril": case(lambda nn: nn.Tril(), "f32[3,4]"),
    "triu": case(lambda nn: nn.Triu(), "f32[2,3,3]"),
    "reduce_log_sum_exp": case(lambda nn: nn.ReduceLogSumExp(1), "f32[3,4]"),
    "l1_regularizer": case(lambda nn: nn.L1Regularizer(0.5), "f32[3,4]"),
    "range": case(lambda nn: nn.Range(1, 9, 3), differentiate=False),
    # convolutions
    "conv1d": case(lambda nn: nn.Conv1d(2, 3, 3, stride=2, has_bias=True), "f32[2,2,6]"),
    "conv1d_pad": case(
        lambda nn: nn.Conv1d(4, 4, 3, pad_mode="pad", padding=2, dilation=2, group=2), "f32[1,4,7]"
    ),
    "conv2d": case(lambda nn: nn.Conv2d(2, 3, 3, has_bias=True), "f32[2,2,5,5]"),
    "conv2d_stride": case(lambda nn: nn.Conv2d(2, 3, (3, 2), stride=2), "f32[1,2,6,5]"),
    "conv2d_valid": case(
        lambda nn: nn.Conv2d(2, 3, 3, pad_mode="valid", dilation=2), "f32[1,2,6,6]"
    ),
    "conv2d_pad": case(
        lambda nn: nn.Conv2d(
            2, 4, 3, stride=2, pad_mode="pad", padding=(1, 0, 2, 1), has_bias=True
        ),
        "f32[1,2,5,5]",
    ),
    "conv2d_group": case(lambda nn: nn.Conv2d(4, 6, 3, group=2), "f32[1,4,4,4]"),
    "conv2d_depthwise": case(lambda nn: nn.Conv2d(4, 4, 3, group=4), "f32[1,4,4,4]"),
    "conv3d": case(lambda nn: nn.Conv3d(2, 3, 2, has_bias=True), "f32[1,2,3,3,3]"),
    "conv3d_pad": case(
        lambda nn: nn.Conv3d(2, 2, (2, 3, 2), stride=2, pad_mode="pad", padding=1), "f32[1,2,3,4,3]"
    ),
    "conv2d_bn_act": case(
        lambda nn: nn.Conv2dBnAct(2, 3, 3, has_bn=True, activation="leakyrelu", alpha=0.3),
        "f32[2,2,4,4]",
        train=True,
    ),
    "conv1d_transpose": case(
        lambda nn: nn.Conv1dTranspose(2, 3, 3, stride=2, pad_mode="pad", padding=1, has_bias=True),
        "f32[2,2,4]",
    ),
    "conv2d_transpose": case(lambda nn: nn.Conv2dTranspose(2, 3, 3, has_bias=True), "f32[1,2,4,4]"),
    "conv2d_transpose_stride": case(
        lambda nn: nn.Conv2dTranspose(2, 3, 3, stride=2), "f32[1,2,3,3]"
    ),
    "conv2d_transpose_valid": case(
        lambda nn: nn.Conv2dTranspose(2, 3, 3, stride=2, pad_mode="valid"), "f32[1,2,3,3]"
    ),
    "conv2d_transpose_output_padding": case(
        lambda nn: nn.Conv2dTranspose(2, 3, 3, 2, "pad", 1, output_padding=(1, 0)),
        "f32[1,2,3,3]",
    ),
    "conv2d_transpose_group": case(lambda nn: nn.Conv2dTranspose(4, 2, 3, group=2), "f32[1,4,3,3]"),
    "conv3d_transpose": case(
        lambda nn: nn.Conv3dTranspose(2, 3, 2, stride=2, has_bias=True), "f32[1,2,2,2,2]"
    ),
    "conv3d_transpose_pad": case(
        lambda nn: nn.Conv3dTranspose(2, 2, 3, 2, "pad", 1, output_padding=1), "f32[1,2,2,2,2]"
    ),
    # normalization
    "batch_norm_1d": case(lambda nn: nn.BatchNorm1d(3), "f32[5,3]"),
    "batch_norm_1d_train": case(lambda nn: nn.BatchNorm1d(3, momentum=0.7), "f32[5,3]", train=True),
    "batch_norm_1d_sequence": case(lambda nn: nn.BatchNorm1d(3), "f32[2,3,4]", train=True),
    "batch_norm_2d": case(lambda nn: nn.BatchNorm2d(3), "f32[2,3,3,3]"),
    "batch_norm_2d_train": case(lambda nn: nn.BatchNorm2d(3), "f32[2,3,3,3]", train=True),
    "batch_norm_2d_batch_statistics": case(
        lambda nn: nn.BatchNorm2d(2, use_batch_statistics=True), "f32[2,2,3,3]"
    ),
    "batch_norm_2d_moving_statistics": case(
        lambda nn: nn.BatchNorm2d(2, use_batch_statistics=False), "f32[2,2,3,3]", train=True
    ),
    "batch_norm_2d_not_affine": case(
        lambda nn: nn.BatchNorm2d(2, affine=False), "f32[2,2,3,3]", train=True
    ),
    "batch_norm_3d_train": case(lambda nn: nn.BatchNorm3d(2), "f32[2,2,2,3,2]", train=True),
    "sync_batch_norm_train": case(lambda nn: nn.SyncBatchNorm(2), "f32[2,2,3,3]", train=True),
    "layer_norm": case(lambda nn: nn.LayerNorm((4,)), "f32[3,4]"),
    "layer_norm_two_axes": case(lambda nn: nn.LayerNorm((3, 4), 1, 1, epsilon=1e-5), "f32[2,3,4]"),
    "group_norm": case(lambda nn: nn.GroupNorm(2, 4), "f32[2,4,3,3]"),
    "group_norm_not_affine": case(lambda nn: nn.GroupNorm(2, 4, affine=False), "f32[2,4,3]"),
    "lrn": case(lambda nn: nn.LRN(2, 1.0, 0.5, 0.75), "f32[1,6,2,2]"),
    # pooling
    "max_pool_1d": case(lambda nn: nn.MaxPool1d(3, 2), "f32[1,2,7]"),
    "max_pool_1d_pad": case(lambda nn: nn.MaxPool1d(3, 2, "pad", 1), "f32[2,6]"),
    "max_pool_2d": case(lambda nn: nn.MaxPool2d(2, 2), "f32[1,2,5,5]"),
    "max_pool_2d_same": case(lambda nn: nn.MaxPool2d(3, 2, "same"), "f32[1,2,5,6]"),
    "max_pool_2d_pad": case(
        lambda nn: nn.MaxPool2d(3, 2, "pad", 1, dilation=2, ceil_mode=True), "f32[1,2,8,8]"
    ),
    "max_pool_2d_indices": case(
        lambda nn: nn.MaxPool2d(3, 2, "pad", (1, 0), return_indices=True), "f32[1,2,6,6]"
    ),
    "max_pool_3d": case(lambda nn: nn.MaxPool3d(2, 2), "f32[1,2,4,4,4]"),
    "max_pool_3d_pad": case(
        lambda nn: nn.MaxPool3d(3, 2, "pad", 1, ceil_mode=True), "f32[1,1,4,4,4]"
    ),
    "max_pool_3d_indices": case(
        lambda nn: nn.MaxPool3d(3, 2, "pad", 1, return_indices=True), "f32[1,1,4,4,4]"
    ),
    "avg_pool_1d": case(lambda nn: nn.AvgPool1d(3, 2), "f32[1,2,7]"),
    "avg_pool_1d_same": case(lambda nn: nn.AvgPool1d(3, 2, "same"), "f32[1,2,6]"),
    "avg_pool_1d_pad": case(
        lambda nn: nn.AvgPool1d(3, 2, "pad", 1, ceil_mode=True, count_include_pad=False),
        "f32[1,2,6]",
    ),
    "avg_pool_2d": case(lambda nn: nn.AvgPool2d(2, 2), "f32[1,2,5,5]"),
    "avg_pool_2d_same": case(lambda nn: nn.AvgPool2d(3, 2, "same"), "f32[1,2,5,6]"),
    "avg_pool_2d_pad": case(lambda nn: nn.AvgPool2d(3, 2, "pad", 1), "f32[1,2,5,5]"),
    "avg_pool_2d_ceil": case(
        lambda nn: nn.AvgPool2d(3, 2, "pad", 1, ceil_mode=True, count_include_pad=False),
        "f32[1,2,6,6]",
    ),
    "avg_pool_2d_divisor": case(lambda nn: nn.AvgPool2d(2, 2, divisor_override=3), "f32[1,2,5,5]"),
    "avg_pool_3d": case(lambda nn: nn.AvgPool3d(2, 2), "f32[1,2,4,4,4]"),
    "avg_pool_3d_pad": case(
        lambda nn: nn.AvgPool3d(3, 2, "pad", 1, ceil_mode=True, count_include_pad=False),
        "f32[1,1,4,4,4]",
    ),
    "lp_pool_1d": case(lambda nn: nn.LPPool1d(2, 3), "f32[1,2,7]", span=(0.1, 1.0)),
    "lp_pool_2d": case(lambda nn: nn.LPPool2d(3, 2, 1), "f32[1,2,4,4]", span=(0.1, 1.0)),
    "adaptive_avg_pool_1d": case(lambda nn: nn.AdaptiveAvgPool1d(3), "f32[1,2,6]"),
    "adaptive_avg_pool_2d": case(lambda nn: nn.AdaptiveAvgPool2d((2, 4)), "f32[1,2,5,6]"),
    "adaptive_avg_pool_2d_none": case(lambda nn: nn.AdaptiveAvgPool2d((None, 3)), "f32[2,4,5]"),
    "adaptive_avg_pool_3d": case(lambda nn: nn.AdaptiveAvgPool3d((2, 2, 3)), "f32[1,2,3,4,5]"),
    "adaptive_max_pool_1d": case(lambda nn: nn.AdaptiveMaxPool1d(3), "f32[1,2,6]"),
    "adaptive_max_pool_2d": case(lambda nn: nn.AdaptiveMaxPool2d((2, 4)), "f32[1,2,5,6]"),
    "adaptive_max_pool_3d": case(lambda nn: nn.AdaptiveMaxPool3d((2, 2, 3)), "f32[1,2,3,4,5]"),
    # activations
    "relu": case(lambda nn: nn.ReLU(), "f32[3,4]"),
    "relu6": case(lambda nn: nn.ReLU6(), "f32[3,4]", span=(-2.0, 9.0)),
    "leaky_relu": case(lambda nn: nn.LeakyReLU(0.3), "f32[3,4]"),
    "elu": case(lambda nn: nn.ELU(), "f32[3,4]"),
    "celu": case(lambda nn: nn.CELU(0.7), "f32[3,4]"),
    "selu": case(lambda nn: nn.SeLU(), "f32[3,4]", differentiate=False),
    "silu": case(lambda nn: nn.SiLU(), "f32[3,4]"),
    "gelu": case(lambda nn: nn.GELU(), "f32[3,4]"),
    "gelu_exact": case(lambda nn: nn.GELU(approximate=False), "f32[3,4]"),
    "fast_gelu": case(lambda nn: nn.FastGelu(), "f32[3,4]"),
    "sigmoid": case(lambda nn: nn.Sigmoid(), "f32[3,4]"),
    "log_sigmoid": case(lambda nn: nn.LogSigmoid(), "f32[3,4]"),
    "tanh": case(lambda nn: nn.Tanh(), "f32[3,4]"),
    "tanhshrink": case(lambda nn: nn.Tanhshrink(), "f32[3,4]"),
    "prelu": case(lambda nn: nn.PReLU(), "f32[3,4]"),
    "prelu_channels": case(lambda nn: nn.PReLU(3), "f32[2,3,4]"),
    "softmax": case(lambda nn: nn.Softmax(), "f32[3,4]"),
    "softmax_first": case(lambda nn: nn.Softmax(0), "f32[3,4]"),
    "softmax_2d": case(lambda nn: nn.Softmax2d(), "f32[1,3,2,2]"),
    "softmin": case(lambda nn: nn.Softmin(), "f32[3,4]"),
    "log_softmax": case(lambda nn: nn.LogSoftmax(0), "f32[3,4]"),
    "hsigmoid": case(lambda nn: nn.HSigmoid(), "f32[3,4]", span=(-5.0, 5.0)),
    "hswish": case(lambda nn: nn.HSwish(), "f32[3,4]", span=(-5.0, 5.0)),
    "hshrink": case(lambda nn: nn.HShrink(), "f32[3,4]"),
    "softshrink": case(lambda nn: nn.SoftShrink(0.3), "f32[3,4]"),
    "softsign": case(lambda nn: nn.Softsign(), "f32[3,4]"),
    "mish": case(lambda nn: nn.Mish(), "f32[3,4]"),
    "hardtanh": case(lambda nn: nn.Hardtanh(-0.5, 0.7), "f32[3,4]"),
    "threshold": case(lambda nn: nn.Threshold(0.2, 7.0), "f32[3,4]"),
    "glu": case(lambda nn: nn.GLU(), "f32[3,4]"),
    # embedding
    "embedding": case(lambda nn: nn.Embedding(5, 3), "i32[2,4]<5"),
    "embedding_one_hot": case(lambda nn: nn.Embedding(5, 3, use_one_hot=True), "i64[2,4]<5"),
    "embedding_padding": case(lambda nn: nn.Embedding(5, 3, padding_idx=1), "i32[6]<5"),
    "embedding_lookup": case(
        lambda nn: nn.EmbeddingLookup(5, 3), "i32[2,4]<7", differentiate=False
    ),
    "multi_field_sum": case(
        lambda nn: nn.MultiFieldEmbeddingLookup(7, 3, 3),
        "i32[2,4]<7",
        "f32[2,4]",
        "i32[2,4]<3",
        differentiate=False,
    ),
    "multi_field_mean": case(
        lambda nn: nn.MultiFieldEmbeddingLookup(7, 3, 3, operator="MEAN"),
        "i32[2,4]<7",
        "f32[2,4]",
        "i32[2,4]<3",
        differentiate=False,
    ),
    "multi_field_max": case(
        lambda nn: nn.MultiFieldEmbeddingLookup(7, 3, 3, operator="MAX"),
        "i32[2,4]<7",
        "f32[2,4]",
        "i32[2,4]<3",
        differentiate=False,
    ),
    # padding
    "constant_pad_1d": case(lambda nn: nn.ConstantPad1d((1, 2), 0.5), "f32[2,3]"),
    "constant_pad_2d": case(lambda nn: nn.ConstantPad2d((1, 0, 2, -1), 0.5), "f32[2,3,4]"),
    "constant_pad_3d": case(lambda nn: nn.ConstantPad3d(1, -1), "f32[2,2,3]"),
    "zero_pad_2d": case(lambda nn: nn.ZeroPad2d((1, 0, 2, 1)), "f32[2,3,4]"),
    "reflection_pad_1d": case(lambda nn: nn.ReflectionPad1d((1, 2)), "f32[2,3]"),
    "reflection_pad_2d": case(lambda nn: nn.ReflectionPad2d((1, 2, 0, 1)), "f32[1,2,3,4]"),
    "reflection_pad_3d": case(lambda nn: nn.ReflectionPad3d(1), "f32[2,2,3,4]"),
    "replication_pad_1d": case(lambda nn: nn.ReplicationPad1d((1, 2)), "f32[2,3]"),
    "replication_pad_2d": case(lambda nn: nn.ReplicationPad2d((1, 2, 0, 1)), "f32[1,2,3,4]"),
    "replication_pad_3d": case(lambda nn: nn.ReplicationPad3d(1), "f32[2,2,2,3]"),
    # images
    "pixel_shuffle": case(lambda nn: nn.PixelShuffle(2), "f32[1,8,2,3]"),
    "pixel_unshuffle": case(lambda nn: nn.PixelUnshuffle(2), "f32[1,2,4,6]"),
    "channel_shuffle": case(lambda nn: nn.ChannelShuffle(2), "f32[1,6,2,2]"),
    "central_crop": case(lambda nn: nn.CentralCrop(0.5), "f32[2,8,6]"),
    "image_gradients": case(lambda nn: nn.ImageGradients(), "f32[1,2,3,4]"),
    "psnr": case(
        lambda nn: nn.PSNR(), "f32[2,3,4,4]", "f32[2,3,4,4]", span=(0.0, 1.0), whole_graph=True
    ),
    "ssim": case(
        lambda nn: nn.SSIM(2.0, filter_size=5),
        "f32[2,2,7,7]",
        "f32[2,2,7,7]",
        span=(0.0, 1.0),
        whole_graph=True,
    ),
    "ms_ssim": case(
        lambda nn: nn.MSSSIM(power_factors=(0.1, 0.3), filter_size=3),
        "f32[1,2,8,8]",
        "f32[1,2,8,8]",
        span=(0.0, 1.0),
        whole_graph=True,
    ),
}

_KINDS = {"f32": np.float32, "i32": np.int32, "i64": np.int64}


def random_of(name: str) -> np.random.RandomState:
    """The generator of a case: the same numbers for the same name, in any numpy."""
    return np.random.RandomState(zlib.crc32(name.encode()) % 2**32)


def inputs_of(name: str) -> list[np.ndarray]:
    """The inputs of a case."""
    random, chosen = random_of(name + "/inputs"), CASES[name]
    return [_draw(random, text, chosen.span) for text in chosen.inputs]


def _draw(random: np.random.RandomState, text: str, span: tuple[float, float] | None) -> np.ndarray:
    found = re.fullmatch(r"(\w+)\[([\d,]*)\](?:<(\d+))?", text)
    assert found is not None, text
    kind, sizes, limit = found.groups()
    shape = tuple(int(n) for n in sizes.split(",") if n)
    if limit:
        return random.randint(0, int(limit), shape).astype(_KINDS[kind])
    numbers = random.uniform(*span, shape) if span else random.standard_normal(shape)
    return np.asarray(numbers).astype(_KINDS[kind])


def parameters_of(name: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """Values for the parameters of a case's layer, all between 0.25 and 1.25."""
    random = random_of(name + "/parameters")
    return [random.uniform(0.25, 1.25, shape).astype(np.float32) for shape in shapes]


def weights_of(name: str, shapes: list[tuple[int, ...]]) -> list[np.ndarray]:
    """What the outputs are multiplied with before their sum is differentiated."""
    random = random_of(name + "/weights")
    return [np.asarray(random.standard_normal(shape)).astype(np.float32) for shape in shapes]


def printed(layer: Any) -> str:
    """How a layer prints, without addresses and package names."""
    return re.sub(r"<[\w.]*?(\w+) object at 0x\w+>", r"<\1>", str(layer))
