"""Run as a program: compile operators cut over two devices, and print what the devices exchange.

For each example a line: the operator, the axis, bytes claimed, bytes found by kind of exchange.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = (
    "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
)

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec

from mycelia._engine.ir.example import Case, case
from mycelia._engine.operators.axes import Axis, axes_of
from mycelia._engine.operators.operator import REGISTRY, Op
from tests.ops.axes.examples import Example

_KINDS = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
_EXCHANGE = re.compile(rf"= (.*?) ({_KINDS})(-start)?\(")
_ARRAY = re.compile(r"(pred|[a-z]+)(\d*)\[([\d,]*)\]")

CHOSEN: dict[str, tuple[Case, ...]] = {
    "MatMul": (case("f32[8,16]", "f32[16,32]"), case("f32[16,8]", "f32[16,32]", transpose_a=True)),
    "BatchMatMul": (case("f32[4,2,8,16]", "f32[4,2,16,32]"),),
    "Dense": (case("f32[4,8,16]", "f32[32,16]", "f32[32]"),),
    "Softmax": (case("f32[4,8]"),),
    "LayerNorm": (
        case("f32[4,8,16]", "f32[16]", "f32[16]", begin_norm_axis=-1, begin_params_axis=-1),
    ),
    "BatchNorm": (case("f32[4,6,10,12]", *["f32[6]:positive"] * 4, is_training=True),),
    "BatchNormGrad": (case("f32[4,6,8,8]", "f32[4,6,8,8]", *["f32[6]:positive"] * 3, None, None),),
    "CrossEntropy": (case("f32[4,10]", "i32[4]:<10", None),),
    "SoftmaxCrossEntropyWithLogits": (case("f32[4,10]", "f32[4,10]"),),
    "Embedding": (case("i32[4,8]:<10", "f32[10,16]"),),
    "EmbeddingGrad": (case("i32[4,8]:<10", "f32[4,8,16]", rows=10),),
    "Conv2D": (
        case("f32[4,6,10,10]", "f32[8,6,3,3]", out_channel=8, kernel_size=3, pad_mode="same"),
        case("f32[4,6,10,10]", "f32[6,1,3,3]", out_channel=6, kernel_size=3, group=6),
    ),
    "Conv2DBackpropFilter": (
        case("f32[4,8,8,8]", "f32[4,6,10,10]", (8, 6, 3, 3), out_channel=8, kernel_size=3),
    ),
    "Conv2DBackpropInput": (
        case("f32[4,8,8,8]", "f32[8,6,3,3]", (4, 6, 10, 10), out_channel=8, kernel_size=3),
    ),
    "Attention": (case("f32[4,2,6,8]", "f32[4,2,10,8]", "f32[4,2,10,6]", None, None, None),),
    "Dropout": (case("f32[4,8]"),),
    "MaxPool": (case("f32[4,6,8,8]", kernel_size=2, strides=2),),
    "ReduceMean": (case("f32[4,8]", (0,)),),
    "ReduceMax": (case("f32[4,8]", (0,)),),
    "Reshape": (case("f32[4,8,16]", (32, 16)), case("f32[32,16]", (4, 8, 16))),
    "Tril": (case("f32[4,8]"),),
}


def main() -> None:
    for name, op in sorted(REGISTRY.items()):
        every = () if op.host_only else op.examples[:1]
        for example in every if "every" in sys.argv else CHOSEN.get(name, ()):
            for axis, claimed, found in exchanged(op, example):
                print(json.dumps([name, axis.inputs, axis.outputs, claimed, found]))


def exchanged(op: type[Op], chosen: Case) -> Iterator[tuple[Axis, float, dict[str, int]]]:
    """For each axis that two devices can share: bytes claimed, and those in the program."""
    example = Example(op, chosen)
    arrays = example.arrays(0)
    results = jax.eval_shape(example.lower, *arrays)
    mesh = jax.make_mesh((2,), ("parts",), axis_types=(AxisType.Auto,))
    for axis in axes_of(example.op, example.types).axes:
        if axis.divides % 2:
            continue
        inputs = [_cut(mesh, array, dict(axis.inputs).get(i)) for i, array in enumerate(arrays)]
        outputs = [_cut(mesh, one, dict(axis.outputs).get(i)) for i, one in enumerate(results)]
        program = jax.jit(
            example.lower, in_shardings=inputs, out_shardings=outputs, keep_unused=True
        )
        combined = sum(results[i].size * results[i].dtype.itemsize for i, _ in axis.combined)
        text = program.lower(*arrays).compile().as_text()
        yield axis, axis.inner + combined, _found(text)


def _cut(mesh: Any, array: Any, dimension: int | None) -> NamedSharding:
    names = ["parts" if place == dimension else None for place in range(len(array.shape))]
    return NamedSharding(mesh, PartitionSpec(*names))


def _found(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for line in text.splitlines():
        match = _EXCHANGE.search(line)
        if match is not None:
            found[match[2]] = found.get(match[2], 0) + _bytes(match[1])
    return found


def _bytes(types: str) -> int:
    return sum(
        int(np.prod([int(n) for n in sizes.split(",") if n])) * max(int(bits or 8) // 8, 1)
        for _, bits, sizes in _ARRAY.findall(types)
    )


if __name__ == "__main__":
    main()
