"""Calls of operators whose results are compared with the real MindSpore's.

Plain Python and numpy, so that the maker of the goldens and the test share it. Each case is (operator, fields,
arguments): an argument is a tensor, written `dtype[shape]:domain`, a tuple of tensors, or a plain value.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

X = "f32[2,3]"
Y = "f32[3]"
P = "f32[2,3]:positive"
U = "f32[2,3]:unit"
S = "f32[2,3]:spread"
D = "f32[2,3]:distinct"
IMAGE = "f32[2,3,6,6]"

CASES: list[tuple[str, dict[str, Any], tuple[Any, ...]]] = [
    *[(name, {}, (X, Y)) for name in ("Add", "Sub", "Mul", "SquaredDifference")],
    *[(name, {}, (X, P)) for name in ("RealDiv", "Div", "DivNoNan", "Xdivy", "Atan2")],
    *[(name, {}, (D, S)) for name in ("Maximum", "Minimum", "FloorDiv", "FloorMod", "Mod")],
    *[(name, {}, ("i32[4]", "i32[4]:<3")) for name in ("Add", "Sub", "Mul", "Maximum", "Minimum")],
    ("Add", {}, ("i32[3]", "f32[3]")),
    ("Mul", {}, ("i8[3]", "u8[3]:<5")),
    ("Add", {}, ("f16[3]", "f32[3]")),
    ("RealDiv", {}, ("i32[4]", "i32[4]:<3")),
    ("Pow", {}, (P, X)),
    ("Xlogy", {}, (X, P)),
    ("TruncateDiv", {}, ("i32[4]", "i32[4]:positive")),
    ("TruncateMod", {}, ("i32[4]", "i32[4]:positive")),
    *[
        (name, {}, (X,))
        for name in (
            "Neg", "Square", "Exp", "Sin", "Cos", "Tanh", "Sigmoid", "Erf", "Erfc", "Atan", "Sinh",
            "Cosh", "Asinh", "Expm1", "Softplus", "Softsign", "GeLU", "LogSoftmax", "Softmax", "Mish",
            "OnesLike", "ZerosLike", "Floor", "Ceil", "Rint", "Round", "FastGeLU", "SeLU", "Identity",
            "HSigmoid", "IsNan", "IsInf", "IsFinite",
        )
    ],
    *[(name, {}, (P,)) for name in ("Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv")],
    *[(name, {}, (U,)) for name in ("ACos", "Asin", "Atanh", "Erfinv", "Tan", "Lgamma", "Digamma")],
    *[(name, {}, (S,)) for name in ("Abs", "Sign", "ReLU", "ReLU6", "Elu", "HSwish", "Trunc")],
    ("Acosh", {}, ("f32[3]:above_one",)),
    ("Elu", {}, (S,)),
    ("Softmax", {"axis": 0}, (X,)),
    ("LogSoftmax", {"axis": 0}, (X,)),
    ("HShrink", {"lambd": 0.5}, (S,)),
    ("SoftShrink", {"lambd": 0.5}, (S,)),
    ("PReLU", {}, ("f32[2,3,2]:spread", "f32[3]:unit")),
    *[
        (name, {}, ("i32[2,3]", "i32[3]"))
        for name in ("Equal", "NotEqual", "Greater", "GreaterEqual", "Less", "LessEqual")
    ],
    *[(name, {}, (X, X)) for name in ("Equal", "Greater", "Less")],
    *[(name, {}, ("bool[4]", "bool[4]")) for name in ("LogicalAnd", "LogicalOr")],
    ("LogicalNot", {}, ("bool[4]",)),
    ("ApproximateEqual", {"tolerance": 0.5}, (X, X)),
    *[
        (name, {"keep_dims": keep}, (D, axis))
        for name in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin")
        for keep, axis in ((False, 1), (True, (0, 1)), (False, ()))
    ],
    ("ReduceProd", {}, (P, 1)),
    ("ReduceSum", {}, ("i32[2,3]", 0)),
    ("ReduceMean", {}, ("f32[2,3,4]", (0, -1))),
    *[(name, {}, ("bool[2,3]", 1)) for name in ("ReduceAll", "ReduceAny")],
    *[(name, {"axis": 1}, (D,)) for name in ("ArgMaxWithValue", "ArgMinWithValue")],
    ("ArgMaxWithValue", {"axis": 0, "keep_dims": True}, (D,)),
    ("Argmax", {"axis": 1}, (D,)),
    ("Argmin", {"axis": 0}, (D,)),
    ("CumSum", {}, (X, 1)),
    ("CumSum", {"exclusive": True, "reverse": True}, (X, 0)),
    ("CumProd", {}, (P, 1)),
    ("L2Loss", {}, (X,)),
    ("L2Normalize", {"axis": 1}, (X,)),
    ("LpNorm", {"axis": [0, 1], "p": 2}, (X,)),
    ("TopK", {}, ("f32[2,5]:distinct", 3)),
    ("Sort", {}, (D,)),
    ("Sort", {"axis": 0, "descending": True}, (D,)),
    ("AddN", {}, ((X, X, X),)),
    ("MatMul", {}, (X, "f32[3,4]")),
    ("MatMul", {"transpose_a": True}, ("f32[3,2]", "f32[3,4]")),
    ("MatMul", {"transpose_b": True}, (X, "f32[4,3]")),
    ("BatchMatMul", {}, ("f32[2,3,4]", "f32[2,4,2]")),
    ("BatchMatMul", {"transpose_b": True}, ("f32[2,3,4]", "f32[2,2,4]")),
    ("BiasAdd", {}, ("f32[2,3,4,4]", "f32[3]")),
    ("Cast", {}, (X, "float16")),
    ("Cast", {}, ("f32[2,3]", "int32")),
    ("Reshape", {}, (X, (3, 2))),
    ("Reshape", {}, (X, (-1,))),
    ("Transpose", {}, ("f32[2,3,4]", (2, 0, 1))),
    ("ExpandDims", {}, (X, -1)),
    ("Squeeze", {"axis": 1}, ("f32[2,1,3]",)),
    ("Flatten", {}, ("f32[2,3,4]",)),
    ("Tile", {}, (X, (2, 1, 2))),
    ("BroadcastTo", {"shape": (4, 2, 3)}, (X,)),
    ("Concat", {"axis": 1}, ((X, "f32[2,2]"),)),
    ("Stack", {"axis": 1}, ((X, X),)),
    ("Unstack", {"axis": 0}, (X,)),
    ("Split", {"axis": 1, "output_num": 3}, (X,)),
    ("Slice", {}, ("f32[3,4]", (1, 0), (2, 3))),
    ("StridedSlice", {}, ("f32[4,5]", (0, 1), (4, 5), (2, 2))),
    ("StridedSlice", {"shrink_axis_mask": 1}, ("f32[4,5]", (1, 0), (2, 5), (1, 1))),
    ("Pad", {"paddings": ((1, 2), (0, 1))}, (X,)),
    ("MirrorPad", {"mode": "REFLECT"}, (X, "raw:[[1,1],[2,1]]")),
    ("Gather", {}, ("f32[5,3]", "i32[2,2]:<5", 0)),
    ("Gather", {}, ("f32[2,5]", "i32[3]:<5", 1)),
    ("GatherD", {}, ("f32[2,5]", 1, "i64[2,3]:<5")),
    ("GatherNd", {}, ("f32[3,4]", "i32[5,2]:<3")),
    ("ScatterNd", {}, ("i32[3,1]:<4", "f32[3,2]", (4, 2))),
    ("TensorScatterAdd", {}, ("f32[4,2]", "i32[3,1]:<4", "f32[3,2]")),
    ("TensorScatterUpdate", {}, ("f32[4,2]", "i32[1,1]:<4", "f32[1,2]")),
    ("TensorScatterElements", {"axis": 1}, ("f32[2,4]", "i32[2,1]:<4", "f32[2,1]")),
    ("Select", {}, ("bool[2,3]", X, X)),
    ("OneHot", {}, ("i32[4]:<5", 5, "scalar:1.0", "scalar:0.0")),
    ("ReverseV2", {"axis": [1]}, (X,)),
    ("ReverseSequence", {"seq_dim": 1}, ("f32[2,4]", "i64[2]:<4")),
    ("DepthToSpace", {"block_size": 2}, ("f32[1,8,2,2]",)),
    ("SpaceToDepth", {"block_size": 2}, ("f32[1,2,4,4]",)),
    ("Meshgrid", {"indexing": "ij"}, (("f32[2]", "f32[3]"),)),
    ("Eye", {}, (3, 4, "float32")),
    ("LinSpace", {}, ("scalar:0.0", "scalar:1.0", 5)),
    ("Conv2D", {"out_channel": 4, "kernel_size": 3}, (IMAGE, "f32[4,3,3,3]")),
    ("Conv2D", {"out_channel": 4, "kernel_size": 3, "pad_mode": "same", "stride": 2}, (IMAGE, "f32[4,3,3,3]")),
    ("Conv2D", {"out_channel": 4, "kernel_size": 3, "pad_mode": "pad", "pad": 1, "dilation": 2}, (IMAGE, "f32[4,3,3,3]")),
    ("Conv2D", {"out_channel": 6, "kernel_size": 1, "group": 3}, (IMAGE, "f32[6,1,1,1]")),
    ("Conv3D", {"out_channel": 2, "kernel_size": 2}, ("f32[1,3,4,4,4]", "f32[2,3,2,2,2]")),
    ("Conv2DTranspose", {"out_channel": 2, "kernel_size": 3}, ("f32[1,2,4,4]", "f32[2,3,3,3]", (1, 3, 6, 6))),
    ("MaxPool", {"kernel_size": 2, "strides": 2}, ("f32[1,2,4,4]:distinct",)),
    ("MaxPool", {"kernel_size": 3, "strides": 2, "pad_mode": "same"}, ("f32[1,2,5,5]:distinct",)),
    ("AvgPool", {"kernel_size": 2, "strides": 2}, ("f32[1,2,4,4]",)),
    ("AvgPool", {"kernel_size": 3, "strides": 2, "pad_mode": "same"}, ("f32[1,2,5,5]",)),
    ("MaxPool3D", {"kernel_size": 2, "strides": 2}, ("f32[1,2,4,4,4]:distinct",)),
    ("AvgPool3D", {"kernel_size": 2, "strides": 2}, ("f32[1,2,4,4,4]",)),
    ("AdaptiveAvgPool2D", {"output_size": 3}, ("f32[1,2,5,5]",)),
    ("BatchNorm", {"is_training": True}, (IMAGE, "f32[3]", "f32[3]", "param:f32[3]", "param:f32[3]:positive")),
    ("BatchNorm", {"is_training": False}, (IMAGE, "f32[3]", "f32[3]", "param:f32[3]", "param:f32[3]:positive")),
    ("LayerNorm", {"begin_norm_axis": -1, "begin_params_axis": -1}, ("f32[2,3,4]", "f32[4]", "f32[4]")),
    ("LRN", {}, ("f32[1,4,3,3]",)),
    ("SoftmaxCrossEntropyWithLogits", {}, ("f32[4,5]", "f32[4,5]:probability")),
    ("SparseSoftmaxCrossEntropyWithLogits", {}, ("f32[4,5]", "i32[4]:<5")),
    ("SigmoidCrossEntropyWithLogits", {}, (X, U)),
    ("SmoothL1Loss", {"beta": 0.5}, (X, X)),
    ("BinaryCrossEntropy", {}, (U, U, P)),
    ("BCEWithLogitsLoss", {}, (X, U, P, P)),
    ("NLLLoss", {}, ("f32[3,4]", "i32[3]:<4", "f32[4]:positive")),
    ("KLDivLoss", {"reduction": "sum"}, (X, U)),
    ("ResizeNearestNeighbor", {"size": (4, 4)}, ("f32[1,2,3,3]",)),
    ("IOU", {}, ("raw:[[0,0,3,3],[1,1,5,4]]", "raw:[[0,0,2,2],[1,2,4,6],[3,3,5,5]]")),
    ("BoundingBoxEncode", {}, ("raw:[[0,0,3,3],[1,1,5,4]]", "raw:[[1,0,4,3],[0,1,5,5]]")),
    ("AssignAdd", {}, ("param:f32[2,3]", X)),
    ("Assign", {}, ("param:f32[2,3]", X)),
    ("ScatterAdd", {}, ("param:f32[4,2]", "i32[3]:<4", "f32[3,2]")),
    ("ScatterUpdate", {}, ("param:f32[4,2]", "i32[1]:<4", "f32[1,2]")),
    ("ScatterNdUpdate", {}, ("param:f32[4,2]", "i32[1,1]:<4", "f32[1,2]")),
    ("IndexAdd", {"axis": 1}, ("param:f32[2,4]", "i32[2]:<4", "f32[2,2]")),
    ("Fill", {}, ("float32", (2, 2), 3.0)),
    ("Zeros", {}, ((2, 2), "float32")),
    ("Ones", {}, ((2, 2), "int32")),
    ("StopGradient", {}, (X,)),
]  # fmt: skip

DTYPES = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32,
    "i64": np.int64, "u8": np.uint8, "bool": np.bool_,
}  # fmt: skip
DTYPE_NAMES = ("float16", "float32", "float64", "int32", "int64", "bool_")
_TENSOR = re.compile(r"^(param:)?(\w+)\[([\d,]*)\](?::(\S+))?$")


class Drawn:
    """One argument made from its specification: an array, and whether it is a Parameter."""

    def __init__(self, array: np.ndarray, parameter: bool = False) -> None:
        self.array, self.parameter = array, parameter


def draw(spec: Any, random: np.random.RandomState) -> Any:
    """The argument for `spec`: a Drawn array, a tuple of them, a dtype name, or the value itself."""
    if isinstance(spec, tuple) and any(isinstance(s, str) for s in spec):
        return tuple(draw(s, random) for s in spec)
    if not isinstance(spec, str) or spec in DTYPE_NAMES:
        return spec
    if spec.startswith("raw:"):
        kind = np.int32 if spec == "raw:[[1,1],[2,1]]" else np.float32
        return Drawn(np.array(eval(spec[4:]), kind))
    if spec.startswith("scalar:"):
        return Drawn(np.float32(spec[7:]).reshape(()))
    found = _TENSOR.match(spec)
    assert found is not None, spec
    shape = tuple(int(n) for n in found[3].split(",") if n)
    values = _values(found[4] or "", shape, found[2], random)
    return Drawn(np.asarray(values).astype(DTYPES[found[2]]), found[1] is not None)


def _values(domain: str, shape: Any, kind: str, random: np.random.RandomState) -> Any:
    if domain.startswith("<"):
        return random.randint(1 if kind == "u8" else 0, int(domain[1:]), shape)
    if kind == "bool":
        return random.randint(0, 2, shape)
    if kind[0] in "iu":
        return random.randint(1, 5, shape) if domain else random.randint(-5, 6, shape)
    if domain == "positive":
        return random.uniform(0.5, 2.0, shape)
    if domain == "above_one":
        return random.uniform(1.2, 3.0, shape)
    if domain == "unit":
        return random.uniform(0.1, 0.9, shape)
    if domain == "spread":
        return random.uniform(0.2, 2.0, shape) * random.choice([-1.0, 1.0], shape)
    if domain == "distinct":
        count = int(np.prod(shape))
        return (random.permutation(count) * 0.37 - 0.15 * count).reshape(shape)
    if domain == "probability":
        raw = random.uniform(0.1, 1.0, shape)
        return raw / raw.sum(-1, keepdims=True)
    return random.standard_normal(shape)
