"""`mindspore.ops.operations._grad_ops`: gradient operators that can be called directly.

Each is the pullback of its operator. `_Pullback` computes it from the input; gradients that
MindSpore computes from the output are formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.ir.handlers import call_user_function
from mycelia.tensor.nested import tensors_of
from mycelia.transforms.pullback import record_call

Forward = Callable[..., Callable[..., Any]]


class _Gradient:
    """Gradient operator; its attributes are the arguments of its constructor."""

    defaults: dict[str, Any]

    def __init__(self, *values: Any, **named: Any) -> None:
        settings = dict(zip(self.defaults, values, strict=False)) | named
        unknown = set(settings) - set(self.defaults)
        if unknown or len(values) > len(self.defaults):
            raise TypeError(f"{type(self).__name__} takes {list(self.defaults)}, got {settings}")
        self.fields = self.defaults | settings

    def add_prim_attr(self, name: str, value: Any) -> _Gradient:
        """Attributes have no effect on the computation."""
        return self


class _Pullback(_Gradient):
    """Pullback of `forward(**fields)`; `roles` describes the arguments of a call in order.

    `x` is differentiated, `c` is constant, `g` is the output gradient, `_` is not needed.
    """

    forward: Forward
    roles: str

    def __call__(self, *args: Any) -> Any:
        roles = self.roles[: len(args)]
        inputs = [arg for arg, role in zip(args, roles, strict=True) if role in "xc"]
        wanted = [number for number, role in enumerate(_kept(roles)) if role == "x"]
        seed = args[roles.index("g")]
        function = type(self).forward(**self.fields)

        def operator(*operands: Any) -> Any:
            return call_user_function(function, *operands)

        pullback = record_call(operator, tuple(inputs), {}, wanted)
        outputs = tensors_of(pullback.value)
        gradients, _ = pullback.pull([(outputs[0], ops.cast(seed, outputs[0].dtype))])
        return gradients[0] if len(gradients) == 1 else tuple(gradients)


def _kept(roles: str) -> str:
    return "".join(role for role in roles if role in "xc")


def _pullback(name: str, roles: str, forward: Forward, **defaults: Any) -> type[_Gradient]:
    members = {"roles": roles, "forward": staticmethod(forward), "defaults": defaults}
    return type(name, (_Pullback,), members | {"__doc__": f"The gradient of {name[:-4]}."})


class _Formula(_Gradient):
    """Gradient computed from the output."""

    formula: Callable[..., Any]

    def __call__(self, *args: Any) -> Any:
        return type(self).formula(*args, **self.fields)


def _formula(name: str, formula: Callable[..., Any], **defaults: Any) -> type[_Gradient]:
    members = {"formula": staticmethod(formula), "defaults": defaults}
    return type(name, (_Formula,), members | {"__doc__": f"The gradient of {name[:-4]}."})


def _fixed(function: Callable[..., Any]) -> Forward:
    return lambda: function


# ---- from the input -----------------------------------------------------------------------------

AbsGrad = _pullback("AbsGrad", "xg", _fixed(ops.abs))
ACosGrad = _pullback("ACosGrad", "xg", _fixed(ops.acos))
AsinGrad = _pullback("AsinGrad", "xg", _fixed(ops.asin))
AtanGrad = _pullback("AtanGrad", "xg", _fixed(ops.atan))
ReluGrad = _pullback("ReluGrad", "gx", _fixed(ops.relu))
ReLU6Grad = _pullback("ReLU6Grad", "gx", _fixed(ops.relu6))
SiLUGrad = _pullback("SiLUGrad", "gx", _fixed(ops.silu))
FastGeLUGrad = _pullback("FastGeLUGrad", "gx", ops.FastGeLU)
GeLUGrad = _pullback("GeLUGrad", "gx_", ops.GeLU)
HSigmoidGrad = _pullback("HSigmoidGrad", "gx", ops.HSigmoid)
HSwishGrad = _pullback("HSwishGrad", "gx", ops.HSwish)
HShrinkGrad = _pullback("HShrinkGrad", "gx", ops.HShrink, lambd=0.5)
SoftShrinkGrad = _pullback("SoftShrinkGrad", "gx", ops.SoftShrink, lambd=0.5)
SoftplusGrad = _pullback("SoftplusGrad", "gx", ops.Softplus)
LogitGrad = _pullback("LogitGrad", "gx", ops.Logit, eps=-1.0)
PReLUGrad = _pullback("PReLUGrad", "gxx", ops.PReLU)
GluGrad = _pullback("GluGrad", "gx", lambda axis: lambda x: ops.glu(x, axis), axis=-1)
L2NormalizeGrad = _pullback("L2NormalizeGrad", "x_g", ops.L2Normalize, axis=0, epsilon=1e-4)
LRNGrad = _pullback("LRNGrad", "gx_", ops.LRN, depth_radius=5, bias=1.0, alpha=1.0, beta=0.5)
BinaryCrossEntropyGrad = _pullback(
    "BinaryCrossEntropyGrad", "xcgc", ops.BinaryCrossEntropy, reduction="mean"
)
KLDivLossGrad = _pullback("KLDivLossGrad", "gxc", ops.KLDivLoss, reduction="mean")
SmoothL1LossGrad = _pullback(
    "SmoothL1LossGrad", "xcg", ops.SmoothL1Loss, beta=1.0, reduction="none"
)
SoftMarginLossGrad = _pullback("SoftMarginLossGrad", "xcg", ops.SoftMarginLoss, reduction="mean")
SigmoidCrossEntropyWithLogitsGrad = _pullback(
    "SigmoidCrossEntropyWithLogitsGrad", "xcg", ops.SigmoidCrossEntropyWithLogits
)
MultiMarginLossGrad = _pullback(
    "MultiMarginLossGrad", "gxcc", ops.MultiMarginLoss, p=1, margin=1.0, reduction="mean"
)
MultilabelMarginLossGrad = _pullback(
    "MultilabelMarginLossGrad", "gxc_", ops.MultilabelMarginLoss, reduction="mean"
)
NLLLossGrad = _pullback("NLLLossGrad", "xgcc_", ops.NLLLoss, reduction="mean", ignore_index=-100)
_SAMPLING = {
    "interpolation_mode": "bilinear",
    "padding_mode": "zeros",
    "align_corners": False,
    "output_mask": (1, 1),
}
GridSampler2DGrad = _pullback(
    "GridSampler2DGrad",
    "gxx",
    lambda output_mask, **fields: ops.GridSampler2D(**fields),
    **_SAMPLING,
)
GridSampler3DGrad = _pullback(
    "GridSampler3DGrad",
    "gxx",
    lambda output_mask, **fields: ops.GridSampler3D(**fields),
    **_SAMPLING,
)
GatherDGradV2 = _pullback("GatherDGradV2", "xccg", ops.GatherD)
MaskedSelectGrad = _pullback("MaskedSelectGrad", "xcg", ops.MaskedSelect)
SliceGrad = _pullback("SliceGrad", "gxcc", ops.Slice)
MaximumGrad = _pullback(
    "MaximumGrad", "xxg", lambda grad_x, grad_y: ops.Maximum(), grad_x=True, grad_y=True
)
MinimumGrad = _pullback(
    "MinimumGrad", "xxg", lambda grad_x, grad_y: ops.Minimum(), grad_x=True, grad_y=True
)
_POOLING = {"kernel_size": 1, "strides": 1, "pad_mode": "VALID", "data_format": "NCHW"}
MaxPoolGrad = _pullback("MaxPoolGrad", "x_g", ops.MaxPool, **_POOLING)
AvgPoolGrad = _pullback("AvgPoolGrad", "x_g", ops.AvgPool, **_POOLING)
MaxPoolGradWithArgmax = _pullback("MaxPoolGradWithArgmax", "xg_", ops.MaxPool, **_POOLING)


def _max_pool_3d(kernel_size: Any, strides: Any, **fields: Any) -> Callable[..., Any]:
    """Pooling operator for windows with or without the batch and channel axes."""
    kernel_size = kernel_size[-3:] if isinstance(kernel_size, tuple) else kernel_size
    strides = strides[-3:] if isinstance(strides, tuple) else strides
    return ops.MaxPool3D(kernel_size=kernel_size, strides=strides, **fields)


MaxPool3DGrad = _pullback(
    "MaxPool3DGrad",
    "x_g",
    _max_pool_3d,
    kernel_size=(1, 1, 1, 1, 1),
    strides=(1, 1, 1, 1, 1),
    pad_mode="VALID",
    pad_list=0,
    data_format="NCDHW",
)
MvlgammaGrad = _pullback("MvlgammaGrad", "gx", ops.Mvlgamma, p=2)
PdistGrad = _pullback("PdistGrad", "gx_", lambda p: lambda x: ops.pdist(x, p), p=2.0)


# ---- from the output ----------------------------------------------------------------------------


def _spread(function: Callable[..., Any], shape: Any, gradient: Any) -> Any:
    """Pullback of a linear function of a tensor with the given shape."""
    pullback = record_call(function, (ops.zeros(tuple(shape), gradient.dtype),), {}, [0])
    gradients, _ = pullback.pull([(tensors_of(pullback.value)[0], gradient)])
    return gradients[0]


def _mirrored_gradient(dout: Any, paddings: Any, mode: str) -> Any:
    pads = [[int(n) for n in row] for row in ops.cast(paddings, "int64").asnumpy()]
    sizes = [size - sum(pad) for size, pad in zip(dout.shape, pads, strict=True)]
    pad = ops.MirrorPad(mode)
    return _spread(lambda x: pad(x, paddings), sizes, dout)


def _resized_gradient(dout: Any, image: Any, **fields: Any) -> Any:
    resize = ops.ResizeBilinearV2(**fields)
    return _spread(lambda x: resize(x, dout.shape[-2:]), image.shape, dout)


def _nearest_gradient(dout: Any, size: Any, align_corners: bool, half_pixel_centers: bool) -> Any:
    resize = ops.ResizeNearestNeighborV2(align_corners, half_pixel_centers)
    return _spread(lambda x: resize(x, dout.shape[-2:]), (*dout.shape[:-2], *size), dout)


SigmoidGrad = _formula("SigmoidGrad", lambda y, g: g * y * (1 - y))
TanhGrad = _formula("TanhGrad", lambda y, g: g * (1 - y * y))
SqrtGrad = _formula("SqrtGrad", lambda y, g: g * 0.5 / y)
RsqrtGrad = _formula("RsqrtGrad", lambda y, g: g * y * y * y * -0.5)
ReciprocalGrad = _formula("ReciprocalGrad", lambda y, g: -g * y * y)
InvGrad = _formula("InvGrad", lambda y, g: -g * y * y)
AcoshGrad = _formula("AcoshGrad", lambda y, g: g / ops.sinh(y))
AsinhGrad = _formula("AsinhGrad", lambda y, g: g / ops.cosh(y))
EluGrad = _formula("EluGrad", lambda g, y: ops.select(y > 0, g, g * (y + 1)))
SeluGrad = _formula(
    "SeluGrad", lambda g, y: ops.select(y > 0, g * 1.0507009873554805, g * (y + 1.7580993408473766))
)
SoftmaxGrad = _formula("SoftmaxGrad", lambda y, g: y * (g - ops.sum(g * y, -1, keepdim=True)))
LogSoftmaxGrad = _formula(
    "LogSoftmaxGrad",
    lambda y, g, axis: g - ops.exp(y) * ops.sum(g, axis, keepdim=True),
    axis=-1,
)
DropoutGrad = _formula(
    "DropoutGrad", lambda g, mask, keep_prob: g * mask / keep_prob, keep_prob=0.5
)
TraceGrad = _formula(
    "TraceGrad", lambda g, shape: _spread(ops.Trace(), ops.cast(shape, "int64").tolist(), g)
)
FlattenGrad = _formula("FlattenGrad", lambda g, shape: ops.reshape(g, shape))
_RESIZING = {"align_corners": False, "half_pixel_centers": False}
ResizeBilinearGrad = _formula("ResizeBilinearGrad", _resized_gradient, **_RESIZING)
ResizeNearestNeighborGrad = _formula("ResizeNearestNeighborGrad", _nearest_gradient, **_RESIZING)
MirrorPadGrad = _formula("MirrorPadGrad", _mirrored_gradient, mode="REFLECT")
