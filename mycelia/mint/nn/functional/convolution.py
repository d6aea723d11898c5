"""Linear and convolution functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import as_tuple, check_string
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia.mint.nn.functional.unbatched import batched
from mycelia.ops.convolution.transposed import Conv2DTranspose
from mycelia.ops.linalg.matmul import MatMul


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight^T + bias."""
    check_tensors("linear", input=input, weight=weight)
    rows = ops.reshape(input, (-1, input.shape[-1])) if len(input.shape) != 2 else input
    columns = weight if len(weight.shape) == 2 else ops.expand_dims(weight, 0)
    result = MatMul.of(transpose_b=True)(rows, columns)
    shape = (*input.shape[:-1], *weight.shape[:-1])
    result = result if result.shape == shape else ops.reshape(result, shape)
    return result if bias is None else ops.add(result, bias)


def conv1d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """1-D convolution of (N, C, L) or (C, L) with `weight` (out, C / groups, kernel)."""
    sizes = (stride, padding, dilation)
    return _convolved("conv1d", ops.conv1d, 1, input, weight, bias, sizes, groups)


def conv2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """2-D convolution of (N, C, H, W) or (C, H, W) with `weight` (out, C / groups, kernel)."""
    sizes = (stride, padding, dilation)
    return _convolved("conv2d", ops.conv2d, 2, input, weight, bias, sizes, groups)


def conv3d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Any:
    """3-D convolution of (N, C, D, H, W) or (C, D, H, W), `weight` (out, C / groups, kernel)."""
    sizes = (stride, padding, dilation)
    return _convolved("conv3d", ops.conv3d, 3, input, weight, bias, sizes, groups)


def _convolved(
    owner: str,
    convolution: Callable[..., Any],
    rank: int,
    input: Any,
    weight: Any,
    bias: Any,
    sizes: tuple[Any, Any, Any],
    groups: int,
) -> Any:
    steps = as_tuple(owner, "stride", sizes[0], rank)
    spread = as_tuple(owner, "dilation", sizes[2], rank)
    mode, pads = _padding(owner, sizes[1], steps)
    step, apart = (steps[0], spread[0]) if rank == 1 else (steps, spread)

    def convolved(x: Any) -> Any:
        return convolution(x, weight, bias, step, mode, pads, apart, groups)

    return batched(owner, rank, convolved, input)


def _padding(owner: str, padding: Any, steps: tuple[int, ...]) -> tuple[str, Any]:
    """The padding as the operators expect it: a mode and one number per axis."""
    if not isinstance(padding, str):
        pads = as_tuple(owner, "padding", padding, len(steps))
        return "pad", pads[0] if len(pads) == 1 else pads
    if check_string(owner, "padding", padding, ("same", "valid")) == "same" and set(steps) != {1}:
        raise problem(
            ValueError,
            f"{owner}: padding='same' needs a stride of 1",
            got=f"stride {steps}",
        )
    return padding, 0


def conv_transpose2d(
    input: Any,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Any:
    """Transposed 2-D convolution; the weight is (channels in, channels out / groups, kernel)."""
    owner = "conv_transpose2d"
    steps, pads, extra, apart = (
        as_tuple(owner, name, value, 2)
        for name, value in (
            ("stride", stride),
            ("padding", padding),
            ("output_padding", output_padding),
            ("dilation", dilation),
        )
    )
    if any(e >= max(s, d) for e, s, d in zip(extra, steps, apart, strict=True)):
        raise problem(
            ValueError,
            "conv_transpose2d: 'output_padding' must be smaller than the stride or the dilation",
            got=f"output_padding {extra}, stride {steps}, dilation {apart}",
        )
    channels, outputs, *kernel = weight.shape
    around = tuple(pad for pad in pads for _ in range(2))

    def grown(size: int, axis: int) -> int:
        reach = apart[axis] * (kernel[axis] - 1) + 1
        result: int = (size - 1) * steps[axis] - 2 * pads[axis] + reach + extra[axis]
        return result

    def transposed(x: Any) -> Any:
        sizes = tuple(grown(n, axis) for axis, n in enumerate(x.shape[2:]))
        operator = Conv2DTranspose.of(
            out_channel=channels, kernel_size=tuple(kernel), pad_mode="pad", pad=around,
            stride=steps, dilation=apart, group=groups,
        )  # fmt: skip
        result = operator(x, weight, (x.shape[0], outputs * groups, *sizes))
        return result if bias is None else ops.bias_add(result, bias)

    return batched(owner, 2, transposed, input)
