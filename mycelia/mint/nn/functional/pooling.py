"""Average and max pooling, max unpooling, and adaptive pooling."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core.checks import as_tuple, check_bool, is_int
from mycelia._engine.core.dtype import int64
from mycelia._engine.core.errors import problem
from mycelia.mint.nn.functional.unbatched import batched


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:
    """1-D average pooling of (N, C, L) or (C, L)."""
    sizes = _sizes("avg_pool1d", 1, kernel_size, stride, padding)

    def pooled(x: Any) -> Any:
        return ops.avg_pool1d(x, *sizes, ceil_mode, count_include_pad)

    return batched("avg_pool1d", 1, pooled, input)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """2-D average pooling of (N, C, H, W) or (C, H, W)."""
    sizes = _sizes("avg_pool2d", 2, kernel_size, stride, padding)
    divisor = _divisor("avg_pool2d", divisor_override)

    def pooled(x: Any) -> Any:
        return ops.avg_pool2d(x, *sizes, ceil_mode, count_include_pad, divisor)

    return batched("avg_pool2d", 2, pooled, input)


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """3-D average pooling of (N, C, D, H, W) or (C, D, H, W)."""
    sizes = _sizes("avg_pool3d", 3, kernel_size, stride, padding)
    divisor = _divisor("avg_pool3d", divisor_override)

    def pooled(x: Any) -> Any:
        return ops.avg_pool3d(x, *sizes, ceil_mode, count_include_pad, divisor)

    return batched("avg_pool3d", 3, pooled, input)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """2-D max pooling of (N, C, H, W) or (C, H, W), optionally with the indices of the maxima."""
    check_bool("max_pool2d", "return_indices", return_indices)

    def pooled(x: Any) -> Any:
        return ops.max_pool2d(x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)

    return _with_places(batched("max_pool2d", 2, pooled, input))


def max_unpool2d(
    input: Any,
    indices: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    output_size: Any = None,
) -> Any:
    """Partial inverse of max pooling of (N, C, H, W) or (C, H, W): zeros except at the maxima."""
    wanted = None if output_size is None else tuple(output_size)

    def restored(x: Any, places: Any) -> Any:
        shape = wanted if wanted is None else (*x.shape[:2], *wanted[-2:])
        return ops.max_unpool2d(x, places, kernel_size, stride, padding, shape)

    return batched("max_unpool2d", 2, restored, input, indices)


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Any:
    """1-D adaptive average pooling to `output_size`."""
    (size,) = as_tuple("adaptive_avg_pool1d", "output_size", output_size, 1)
    flat = ops.adaptive_avg_pool2d(ops.expand_dims(input, -2), (1, size))
    return ops.squeeze(flat, -2)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """1-D adaptive max pooling to `output_size`, optionally with the indices of the maxima."""
    (size,) = as_tuple("adaptive_max_pool1d", "output_size", output_size, 1)
    flat = ops.adaptive_max_pool2d(ops.expand_dims(input, -2), (1, size), True)
    values, places = (ops.squeeze(part, -2) for part in flat)
    return (values, ops.cast(places, int64)) if return_indices else values


def _with_places(result: Any) -> Any:
    return (result[0], ops.cast(result[1], int64)) if isinstance(result, tuple) else result


def _sizes(owner: str, rank: int, kernel: Any, stride: Any, padding: Any) -> tuple[Any, Any, Any]:
    """The window sizes, the strides, and a pair of paddings for each axis."""
    pads = as_tuple(owner, "padding", padding, rank)
    window = as_tuple(owner, "kernel_size", kernel, rank)
    steps = window if stride is None else as_tuple(owner, "stride", stride, rank)
    return window, steps, tuple(pad for pad in pads for _ in range(2))


def _divisor(owner: str, divisor_override: Any) -> int:
    """The divisor of every window; 0 means the size of the window."""
    if divisor_override is None:
        return 0
    if not is_int(divisor_override) or divisor_override == 0:
        raise problem(
            ValueError,
            f"{owner}: 'divisor_override' must be a nonzero int",
            got=f"{divisor_override!r}",
        )
    result: int = divisor_override
    return result
