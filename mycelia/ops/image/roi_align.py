"""ROI align: features of regions of interest, averaged over a fixed grid of bins."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype


class ROIAlign(Op):
    """ROI align: averages features (N, C, H, W) over bins of each region (image, x1, y1, x2, y2).

    Each bin takes `sample_num` x `sample_num` bilinear samples, or about one per pixel if
    `sample_num` is not positive. `roi_end_mode` 1 includes the last pixel. Regions get no gradient
    (He et al., Mask R-CNN, 2017).
    """

    pooled_height: int
    pooled_width: int
    spatial_scale: float
    sample_num: int = 2
    roi_end_mode: int = 1
    examples = (
        case(
            "f32[2,2,5,6]",
            "f32[3,5]:<2",
            pooled_height=2,
            pooled_width=3,
            spatial_scale=1.0,
            differentiate=False,
        ),
        case(
            "f32[1,1,4,4]",
            "f32[2,5]:zeros",
            pooled_height=2,
            pooled_width=2,
            spatial_scale=0.5,
            sample_num=0,
            roi_end_mode=0,
            differentiate=False,
        ),
        case("f32[1,2,4,4]", "f32[0,5]", pooled_height=1, pooled_width=1, spatial_scale=1.0),
    )

    def normalize(self) -> dict[str, Any]:
        for argument in ("pooled_height", "pooled_width", "sample_num", "roi_end_mode"):
            check_int(self.name, argument, getattr(self, argument))
        if not isinstance(self.spatial_scale, float):
            raise wrong_type(self.name, "spatial_scale", self.spatial_scale, "float")
        if self.roi_end_mode not in (0, 1):
            raise wrong_value(self.name, "roi_end_mode", self.roi_end_mode, "0 or 1")
        if min(self.pooled_height, self.pooled_width) < 1:
            raise problem(
                RuntimeError,
                "ROIAlign: there must be at least one bin along each axis",
                got=f"pooled_height {self.pooled_height}, pooled_width {self.pooled_width}",
            )
        return {}

    def infer(self, features: TensorType, rois: TensorType) -> TensorType:
        for given in (features, rois):
            if given.dtype.kind != "float":
                raise unsupported_dtype(self.name, given, "floats")
        if features.ndim != 4 or rois.ndim != 2 or rois.shape[1] != 5:
            raise problem(
                ValueError,
                "ROIAlign: features or rois has the wrong shape",
                got=f"features {features} and rois {rois}",
                expected="features [N, C, H, W] and rois [regions, 5]",
            )
        if 0 in (features.shape[0], *features.shape[2:]):
            raise problem(ValueError, "ROIAlign: the features are empty", got=str(features))
        bins = (self.pooled_height, self.pooled_width)
        return features.with_shape((rois.shape[0], features.shape[1], *bins))

    def bounds(self, features: Any, rois: Any) -> tuple[IndexBound, ...]:
        return (IndexBound(1, 0, features.shape[0], read=_images_of),)

    def lower(self, features: Array, rois: Array) -> Array:
        wide = jnp.float64 if features.dtype == jnp.float64 else jnp.float32
        regions = lax.stop_gradient(jnp.asarray(rois).astype(wide))
        images = jnp.asarray(features).astype(wide)
        starts = regions[:, 1:3] * self.spatial_scale
        ends = (regions[:, 3:5] + self.roi_end_mode) * self.spatial_scale
        smallest = 0 if self.roi_end_mode else 1  # minimum size of a region in pixels
        sizes = jnp.maximum(ends - starts, smallest)
        down = (starts[:, 1], sizes[:, 1], self.pooled_height, images.shape[2])
        across = (starts[:, 0], sizes[:, 0], self.pooled_width, images.shape[3])
        which = jnp.clip(regions[:, 0].astype(jnp.int32), 0, images.shape[0] - 1)
        read = self._read_samples if self.sample_num > 0 else self._read_pixels
        return read(images, which, down, across).astype(features.dtype)

    def _read_samples(self, images: Array, which: Array, down: Any, across: Any) -> Array:
        """The mean over a fixed number of samples per bin: gather, weigh, average."""
        number = self.sample_num
        rows, columns = (
            _corners(_samples(starts, sizes, bins, number), length)
            for starts, sizes, bins, length in (down, across)
        )
        pixels = jnp.moveaxis(images, 1, 3)  # channels-last, so that a gather moves whole pixels
        image_indices = which[:, None, None]
        total: Array = 0.0
        for y, y_weight in rows:
            for x, x_weight in columns:
                weight = y_weight[:, :, None] * x_weight[:, None, :]
                total = (
                    total + pixels[image_indices, y[:, :, None], x[:, None, :]] * weight[..., None]
                )
        shape = (len(which), down[2], number, across[2], number, images.shape[1])
        means = jnp.mean(total.reshape(shape), axis=(2, 4))
        return jnp.moveaxis(means, 3, 1)

    def _read_pixels(self, images: Array, which: Array, down: Any, across: Any) -> Array:
        """The mean over about one sample per pixel, with a weight for each row and column."""
        rows, columns = _axis_weights(*down), _axis_weights(*across)

        def one(region: Any) -> Array:
            number, row_weights, column_weights = region
            return jnp.einsum(
                "ph,chw,qw->cpq",
                row_weights,
                images[number],
                column_weights,
                precision=lax.Precision.HIGHEST,
            )

        return lax.map(one, (which, rows, columns))


def _images_of(regions: Any) -> Any:
    """The image index of each region."""
    return regions[:, 0].astype(np.int32)


def _samples(starts: Array, sizes: Array, bins: int, number: int) -> Array:
    """The sample positions of each region along one axis: [regions, bins * number]."""
    steps = (jnp.arange(bins * number, dtype=starts.dtype) + 0.5) / (bins * number)
    return starts[:, None] + sizes[:, None] * steps


def _corners(positions: Array, length: int) -> list[tuple[Array, Array]]:
    """The two pixels around each position and their weights, which vanish beyond the border."""
    inside = (positions >= -1) & (positions <= length)
    clipped = jnp.clip(positions, 0, length - 1)
    low = jnp.floor(clipped)
    share = clipped - low
    index = low.astype(jnp.int32)
    after = jnp.minimum(index + 1, length - 1)
    return [(index, jnp.where(inside, 1 - share, 0)), (after, jnp.where(inside, share, 0))]


def _axis_weights(starts: Array, sizes: Array, bins: int, length: int) -> Array:
    """The weight of every pixel of one axis in every bin: [regions, bins, length]."""
    number = jnp.maximum(jnp.floor(sizes / bins), 1)
    first = starts[:, None] + sizes[:, None] / bins * jnp.arange(bins, dtype=starts.dtype)
    step = (sizes / bins / number)[:, None]

    def add(sample: Array, total: Array) -> Array:
        positions = first + (sample + 0.5) * step
        used = (sample < number)[:, None, None]
        for index, weight in _corners(positions, length):
            share = jax.nn.one_hot(index, length, dtype=starts.dtype) * weight[..., None]
            total = total + jnp.where(used, share, 0)
        return total

    most = jnp.max(number, initial=0).astype(jnp.int32)
    zeros = jnp.zeros((*first.shape, length), starts.dtype)
    total = lax.fori_loop(0, most, lambda i, t: add(i.astype(starts.dtype), t), zeros)
    return total / number[:, None, None]
