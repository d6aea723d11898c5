"""The benchmark workloads, with sizes shared by all frameworks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MOMENTUM = {"optimizer": "momentum", "rate": 1e-3, "momentum": 0.9}
ADAM = {"optimizer": "adam", "rate": 1e-4, "betas": [0.9, 0.999], "epsilon": 1e-8}
SGD = {"optimizer": "sgd", "rate": 0.1}
STEP, FORWARD, BOTH = "training step", "forward pass", "forward and backward pass"

MLP = {"net": "mlp", "widths": [64, 64, 64, 10], "classes": 10}

# The names are those of torch's and MindSpore's model zoos. Dropout is left out, because losses of
# frameworks could not be compared with it.
ALEXNET = {
    "net": "alexnet",
    # channels, kernel, stride, padding, pooled afterwards
    "convolutions": [
        [64, 11, 4, 2, True],
        [192, 5, 1, 2, True],
        [384, 3, 1, 1, False],
        [256, 3, 1, 1, False],
        [256, 3, 1, 1, True],
    ],
    "features": 9216,
    "hidden": 4096,
    "classes": 1000,
}
RESNET18 = {
    "net": "resnet",
    "bottleneck": False,
    "large_stem": False,  # 3x3 without pooling, for images of 32x32
    "stages": [[64, 2, 1], [128, 2, 2], [256, 2, 2], [512, 2, 2]],  # width, blocks, stride
    "features": 512,
    "classes": 10,
}
RESNET50 = {
    "net": "resnet",
    "bottleneck": True,
    "large_stem": True,
    "stages": [[64, 3, 1], [128, 4, 2], [256, 6, 2], [512, 3, 2]],
    "features": 2048,
    "classes": 1000,
}
MOBILENET = {
    "net": "mobilenet",
    "stem": 32,
    # expansion, channels, blocks, stride
    "stages": [
        [1, 16, 1, 1],
        [6, 24, 2, 2],
        [6, 32, 3, 2],
        [6, 64, 4, 2],
        [6, 96, 3, 1],
        [6, 160, 3, 2],
        [6, 320, 1, 1],
    ],
    "features": 1280,
    "classes": 1000,
}
GPT = {"width": 256, "layers": 4, "heads": 4, "length": 128, "vocabulary": 8192, "classes": 8192}
BERT = {"width": 768, "layers": 4, "heads": 12, "length": 128, "vocabulary": 30522, "classes": 2}


@dataclass(frozen=True)
class Workload:
    """One row of the table."""

    name: str
    title: str
    run: str  # the unit that is timed
    sizes: dict[str, Any]  # the configuration for workers, as JSON


def _image_training(net: dict[str, Any], batch: int, *shape: int) -> dict[str, Any]:
    return net | MOMENTUM | {"task": "train", "inputs": [batch, *shape], "labels": batch}


def _image_inference(net: dict[str, Any], batch: int) -> dict[str, Any]:
    return net | {"task": "infer", "inputs": [batch, 3, 224, 224]}


CPU = (
    Workload(
        "mlp64",
        "MLP 64-64-64-10, batch 64",
        STEP,
        _image_training(MLP, 64, 64),
    ),
    Workload(
        "mlp64_sink",
        "MLP 64-64-64-10, batch 64, data sink (Mycelia: one program; others: a loop)",
        "64 training steps",
        _image_training(MLP, 64, 64) | {"steps": 64},
    ),
    Workload(
        "lenet",
        "LeNet-5, 28x28, batch 32",
        STEP,
        _image_training({"net": "lenet", "features": 256, "classes": 10}, 32, 1, 28, 28),
    ),
    Workload(
        "alexnet", "AlexNet, 224x224, batch 16", STEP, _image_training(ALEXNET, 16, 3, 224, 224)
    ),
    Workload(
        "resnet18", "ResNet-18, 32x32, batch 64", STEP, _image_training(RESNET18, 64, 3, 32, 32)
    ),
    Workload(
        "resnet50_train",
        "ResNet-50, 224x224, batch 8",
        STEP,
        # With the usual rate, rounding changes the loss after two updates.
        _image_training(RESNET50, 8, 3, 224, 224) | {"rate": 1e-4},
    ),
    Workload("resnet50_b1", "ResNet-50, 224x224, batch 1", FORWARD, _image_inference(RESNET50, 1)),
    Workload("resnet50_b8", "ResNet-50, 224x224, batch 8", FORWARD, _image_inference(RESNET50, 8)),
    Workload(
        "mobilenetv2",
        "MobileNetV2, 224x224, batch 16",
        STEP,
        _image_training(MOBILENET, 16, 3, 224, 224),
    ),
    Workload(
        "lstm",
        "LSTM 256, 64 steps, batch 32, Dense on the last step",
        STEP,
        MOMENTUM
        | {"net": "lstm", "width": 256, "classes": 10, "inputs": [32, 64, 256], "labels": 32},
    ),
    Workload(
        "bert4",
        "BERT-base with 4 layers, 128 words, batch 8, classification, Adam",
        STEP,
        BERT | ADAM | {"net": "bert", "inputs": [8, 128], "labels": 8},
    ),
    Workload(
        "gpt",
        "GPT 256 wide, 4 layers, vocabulary 8192, 128 words, batch 8",
        STEP,
        GPT | MOMENTUM | {"net": "gpt", "inputs": [8, 128], "labels": 8 * 128},
    ),
    Workload(
        "gpt_decode",
        "the same GPT writes 64 words with a key/value cache, batch 1",
        "64 words",
        GPT | {"net": "gpt_decode", "words": 64},
    ),
    Workload(
        "elementwise",
        "12 elementwise operators on 4M floats",
        FORWARD,
        {"net": "elementwise", "inputs": [2048, 2048]},
    ),
    Workload(
        "layernorm_gelu",
        "LayerNorm and GELU of 4096 x 1024",
        BOTH,
        {"net": "layernorm_gelu", "inputs": [4096, 1024]},
    ),
    Workload(
        "softmax_ce",
        "softmax cross entropy of 1024 x 32000",
        BOTH,
        {"net": "softmax_ce", "inputs": [1024, 32000], "classes": 32000, "labels": 1024},
    ),
    Workload(
        "embedding",
        "8192 rows of a 50000 x 256 embedding, SGD",
        STEP,
        SGD | {"net": "embedding", "vocabulary": 50000, "width": 256, "inputs": [8192]},
    ),
    Workload(
        "hvp",
        "Hessian times vector, MLP 256-256-256-1, batch 128",
        "product",
        {"net": "hvp", "widths": [256, 256, 256, 1], "inputs": [128, 256]},
    ),
    Workload(
        "solver",
        "inverse of 256 x 256 by Newton's iteration, until a tolerance",
        "solution",
        {"net": "solver", "size": 256, "tolerance": 1e-2},
    ),
)

SUITES = {"cpu": CPU}
