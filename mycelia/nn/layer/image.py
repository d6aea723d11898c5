"""Image layers: rearranging pixels, resizing, cropping, and similarity measures."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance, check_positive_int, is_int, is_number
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import ReLU
from mycelia.nn.layer.container import CellList
from mycelia.nn.layer.convolution import Conv2d
from mycelia.nn.layer.pooling import AvgPool2d
from mycelia.nn.sizes import check_rank
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import log
from mycelia.ops.elementwise.power import pow
from mycelia.ops.image.interpolate import interpolate
from mycelia.ops.indexing.slice import narrow
from mycelia.ops.reduction.reduction import ReduceMean, ReduceProd
from mycelia.ops.shapes.concat import stack
from mycelia.ops.shapes.pad import Pad
from mycelia.ops.shapes.pixel_shuffle import pixel_shuffle, pixel_unshuffle
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.ops.shapes.views import swapaxes
from mycelia.tensor.tensor import Tensor


class Upsample(Cell):
    """Resizes images to `size`, or by `scale_factor`, with the interpolation `mode`."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def construct(self, x: Any) -> Any:
        return interpolate(
            x,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            self.recompute_scale_factor,
        )


class PixelShuffle(Cell):
    """Pixel shuffle: moves channels to space, (*, C r^2, H, W) to (*, C, H r, W r)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """Pixel unshuffle: moves space to channels, (*, C, H r, W r) to (*, C r^2, H, W)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def construct(self, input: Any) -> Any:
        return pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """Channel shuffle: interleaves `groups` groups of channels on axis 1 (Zhang et al. 2017)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        if not is_int(groups):
            raise wrong_type("ChannelShuffle", "groups", groups, "int")
        if groups < 1:
            raise wrong_value("ChannelShuffle", "groups", groups, "larger than 0")
        self.groups = groups

    def construct(self, x: Any) -> Any:
        shape = x.shape
        grouped = (shape[0], self.groups, shape[1] // self.groups, *shape[2:])
        return reshape(swapaxes(reshape(x, grouped), 1, 2), shape)


class CentralCrop(Cell):
    """Crops the central `central_fraction` of the height and width, (C, H, W) or (N, C, H, W)."""

    def __init__(self, central_fraction: float) -> None:
        super().__init__()
        check_instance("CentralCrop", "central_fraction", central_fraction, float)
        if not 0.0 < central_fraction <= 1.0:
            raise wrong_value(
                "CentralCrop", "central_fraction", central_fraction, "in range of (0.0, 1.0]"
            )
        self.central_fraction = central_fraction

    def construct(self, image: Any) -> Any:
        check_rank("CentralCrop", image, 3, 4)
        for axis in (-2, -1):
            size = image.shape[axis]
            start = int((size - size * self.central_fraction) / 2)
            image = narrow(image, axis, start, size - 2 * start)
        return image


class ImageGradients(Cell):
    """Image gradients: differences of (N, C, H, W) between rows and between columns."""

    def construct(self, images: Any) -> tuple[Any, Any]:
        check_rank("ImageGradients", images, 4)
        return _differences(images, 2), _differences(images, 3)


def _differences(images: Any, axis: int) -> Any:
    """Each pixel's successor along `axis` minus the pixel; 0 at the end."""
    size = images.shape[axis] - 1
    change = narrow(images, axis, 1, size) - narrow(images, axis, 0, size)
    return Pad.of(tuple((0, 1) if i == axis else (0, 0) for i in range(4)))(change)


class PSNR(Cell):
    """Peak signal-to-noise ratio of two batches of images, in decibels."""

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        self.max_val = _check_peak("PSNR", max_val)
        self.mean = ReduceMean()

    def construct(self, img1: Any, img2: Any) -> Any:
        _check_pair("PSNR", img1, img2)
        error = cast(img1, dtypes.float32) - cast(img2, dtypes.float32)
        ratio = self.max_val**2 / self.mean(square(error), (-3, -2, -1))
        return log(ratio) * (10 / math.log(10))


class _Similarity(Cell):
    """The base of SSIM and MSSSIM: structural similarity at one scale."""

    def __init__(
        self, max_val: float, filter_size: int, filter_sigma: float, k1: float, k2: float
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.max_val = _check_peak(owner, max_val)
        self.filter_size = check_positive_int(owner, "filter_size", filter_size)
        self.filter_sigma = check_instance(owner, "filter_sigma", filter_sigma, float)
        if filter_sigma <= 0:
            raise wrong_value(owner, "filter_sigma", filter_sigma, "float and must > 0")
        self.k1 = check_instance(owner, "k1", k1, float)
        self.k2 = check_instance(owner, "k2", k2, float)
        self.mean = ReduceMean()

    def _compare(self, blur: Cell, x: Any, y: Any) -> tuple[Any, Any]:
        """The SSIM of images, and its contrast-structure term, for each channel."""
        shape = x.shape
        x = reshape(x, (shape[0] * shape[1], 1, *shape[2:]))
        y = reshape(y, (shape[0] * shape[1], 1, *shape[2:]))
        c1, c2 = (self.k1 * self.max_val) ** 2, (self.k2 * self.max_val) ** 2
        mean_x, mean_y = blur(x), blur(y)
        product, squares = mean_x * mean_y * 2.0, square(mean_x) + square(mean_y)
        luminance = (product + c1) / (squares + c1)
        covariance = blur(x * y) * 2.0 - product
        variance = blur(square(x) + square(y)) - squares
        structure = (covariance + c2) / (variance + c2)
        similarity = self.mean(luminance * structure, (-3, -2, -1))
        contrast = self.mean(structure, (-3, -2, -1))
        return reshape(similarity, shape[:2]), reshape(contrast, shape[:2])

    def _blur(self) -> Conv2d:
        """A convolution with a Gaussian window, which is not trainable."""
        window = Tensor(_gaussian(self.filter_size, self.filter_sigma))
        blur = Conv2d(1, 1, self.filter_size, pad_mode="valid", weight_init=window)
        blur.weight.requires_grad = False
        return blur


class SSIM(_Similarity):
    """Structural similarity (SSIM) of two batches of images (Wang et al. 2004)."""

    def __init__(
        self,
        max_val: float = 1.0,
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        self.conv = self._blur()

    def construct(self, img1: Any, img2: Any) -> Any:
        _check_pair("SSIM", img1, img2, self.filter_size)
        similarity, _ = self._compare(
            self.conv, cast(img1, dtypes.float32), cast(img2, dtypes.float32)
        )
        return self.mean(similarity, -1)


class MSSSIM(_Similarity):
    """Multi-scale SSIM; each scale halves the resolution (Wang et al. 2003)."""

    def __init__(
        self,
        max_val: float = 1.0,
        power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11,
        filter_sigma: float = 1.5,
        k1: float = 0.01,
        k2: float = 0.03,
    ) -> None:
        check_instance("MSSSIM", "power_factors", power_factors, (tuple, list))
        for factor in power_factors:
            if not is_number(factor):
                raise wrong_type("MSSSIM", "power_factors", power_factors, "a tuple of numbers")
        super().__init__(max_val, filter_size, filter_sigma, k1, k2)
        self.multi_convs_list = CellList([self._blur() for _ in power_factors])
        self.avg_pool = AvgPool2d(kernel_size=2, stride=2, pad_mode="valid")
        self.relu = ReLU()
        self.power_factors = Tensor(np.asarray(power_factors, np.float32))
        self.product = ReduceProd()

    def construct(self, img1: Any, img2: Any) -> Any:
        _check_pair("MSSSIM", img1, img2, self.filter_size)
        x, y = cast(img1, dtypes.float32), cast(img2, dtypes.float32)
        measures = []
        for scale, blur in enumerate(self.multi_convs_list):
            if scale > 0:
                x, y = self.avg_pool(x), self.avg_pool(y)
            similarity, contrast = self._compare(blur, x, y)
            measures.append(contrast)
        measures[-1] = similarity
        joined = pow(self.relu(stack(measures, -1)), self.power_factors)
        return self.mean(self.product(joined, -1), -1)


def _gaussian(size: int, sigma: float) -> np.ndarray:
    """A Gaussian window of `size` x `size` values with sum 1, as a convolution weight."""
    offsets = np.arange(size) - (size - 1) / 2
    row = -np.square(offsets) / (2 * sigma**2)
    window = np.exp(row[:, None] + row[None, :])
    return (window / window.sum()).astype(np.float32).reshape(1, 1, size, size)


def _check_peak(owner: str, max_val: Any) -> float:
    if not is_number(max_val):
        raise wrong_type(owner, "max_val", max_val, "int or float")
    if max_val <= 0:
        raise wrong_value(owner, "max_val", max_val, "above 0.0")
    return max_val


def _check_pair(owner: str, img1: Any, img2: Any, filter_size: int = 1) -> None:
    check_rank(owner, img1, 4)
    if img1.dtype is not img2.dtype:
        raise problem(
            TypeError,
            f"{owner}: the images must have the same dtype",
            got=f"{img1.dtype} and {img2.dtype}",
        )
    if img1.shape != img2.shape:
        raise problem(
            ValueError,
            f"{owner}: the images must have the same shape",
            got=f"{img1.shape} and {img2.shape}",
        )
    if min(img1.shape[2:]) < filter_size:
        raise problem(
            ValueError,
            f"{owner}: the images are smaller than the filter",
            got=f"shape {img1.shape} and filter_size {filter_size}",
        )
