"""Transforms that mix the images and labels of a batch: MixUp and CutMix."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntEnum
from threading import Lock
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_int, check_number, wrong_type
from mycelia.dataset.vision.image import MOST, ImageTransform, saturated

_CHANNELS = (1, 3)


class ImageBatchFormat(IntEnum):
    """The axis order of a batch of images."""

    NHWC = 0
    NCHW = 1


@dataclass(frozen=True, eq=False)
class MixUpBatch(ImageTransform):
    """Blends each image and label of a batch with another one, with one weight for all.

    After Zhang et al., "mixup: Beyond empirical risk minimization", 2017.
    """

    is_random = True
    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_number("alpha", self.alpha, 0, MOST, open_low=True)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, np.ndarray]:
        images, labels = _batch("MixUpBatch", values)
        if images.shape[1] not in _CHANNELS and images.shape[3] not in _CHANNELS:
            raise _wrong_channels("MixUpBatch", images)
        order = random.permutation(len(images))
        part = np.float32(random.beta(self.alpha, self.alpha))
        mixed = _blended(images.astype(np.float32), part, order)
        return saturated(mixed, images.dtype), _blended(labels, part, order)


def _blended(values: np.ndarray, part: np.float32, order: np.ndarray) -> np.ndarray:
    return part * values + (1 - part) * values[order]


@dataclass(frozen=True, eq=False)
class CutMixBatch(ImageTransform):
    """Replaces a box of each image by that of another image; labels are weighted by area.

    After Yun et al., "CutMix: Regularization strategy to train strong classifiers with
    localizable features", 2019.
    """

    is_random = True
    image_batch_format: ImageBatchFormat
    alpha: float = 1.0
    prob: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.image_batch_format, ImageBatchFormat):
            raise wrong_type("image_batch_format", self.image_batch_format, "ImageBatchFormat")
        check_number("alpha", self.alpha, 0, MOST, open_low=True)
        check_number("prob", self.prob, 0, 1)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, np.ndarray]:
        images, labels = _batch("CutMixBatch", values)
        channels_last = self.image_batch_format == ImageBatchFormat.NHWC
        if images.shape[3 if channels_last else 1] not in _CHANNELS:
            raise _wrong_channels("CutMixBatch", images)
        cut, mixed = images.copy(), labels.copy()
        height, width = images.shape[1:3] if channels_last else images.shape[2:]
        order = random.permutation(len(images))
        for index, other in enumerate(order):
            if random.random() >= self.prob:
                continue
            rows, columns = _box(height, width, random.beta(self.alpha, self.alpha), random)
            at: Any = (rows, columns) if channels_last else (slice(None), rows, columns)
            cut[index][at] = images[other][at]
            area = (rows.stop - rows.start) * (columns.stop - columns.start)
            part = np.float32(1 - area / (height * width))
            mixed[index] = part * labels[index] + (1 - part) * labels[other]
        return cut, mixed


def _box(height: int, width: int, kept: float, random: Any) -> tuple[slice, slice]:
    side = math.sqrt(1 - kept)
    return _stretch(height, side, random), _stretch(width, side, random)


def _stretch(size: int, side: float, random: Any) -> slice:
    """A range around a random position, clipped to the image, at least one pixel long."""
    middle, half = int(random.integers(size + 1)), int(size * side) // 2
    start, stop = (int(np.clip(index, 0, size - 1)) for index in (middle - half, middle + half))
    return slice(start, max(stop, start + 1))


def _batch(owner: str, values: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Check images [N, H, W, C] or [N, C, H, W] and labels, which become float32."""
    if len(values) != 2:
        raise problem(
            RuntimeError,
            f"{owner}: requires two columns, images and labels",
            got=f"{len(values)} columns",
        )
    images, labels = (np.asarray(value) for value in values)
    if images.ndim != 4:
        raise problem(
            RuntimeError,
            f"{owner}: the images must form a batch",
            got=f"shape {images.shape}",
            expected="[N, H, W, C] or [N, C, H, W]",
            fix=f"call batch(...) before the map with {owner}",
        )
    if labels.ndim not in (2, 3) or not labels.size:
        raise problem(
            RuntimeError,
            f"{owner}: the labels must be one-hot rows",
            got=f"shape {labels.shape}",
            expected="[N, classes] or [N, labels, classes]",
            fix="apply OneHot(...) to the labels before the batch",
        )
    if len(images) != len(labels):
        raise problem(
            RuntimeError,
            f"{owner}: images and labels differ in number",
            got=f"{len(images)} and {len(labels)}",
        )
    return images, labels.astype(np.float32)


def _wrong_channels(owner: str, images: np.ndarray) -> RuntimeError:
    return problem(
        RuntimeError,
        f"{owner}: the images have neither 1 nor 3 channels",
        got=f"shape {images.shape}",
    )


@dataclass(frozen=True, eq=False)
class MixUp(ImageTransform):
    """Blends each image with the next one of its batch, or with the previous batch.

    Each image has a separate weight. With `is_single=False`, the object remembers its last batch,
    so a pipeline is reproducible only with one worker.
    """

    is_random = True
    batch_size: int
    alpha: float
    is_single: bool = True
    _last: _LastBatch = field(default_factory=lambda: _LastBatch(), init=False, repr=False)

    def __post_init__(self) -> None:
        check_int("batch_size", self.batch_size, 1, MOST)
        check_number("alpha", self.alpha, 0, MOST, open_low=True)
        check_bool("is_single", self.is_single)

    def __call__(self, image: Any, label: Any) -> Any:
        return super().__call__(image, label)

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, np.ndarray]:
        images, labels = self._checked_batch(values)
        part = random.beta(self.alpha, self.alpha, self.batch_size)
        if self.is_single:
            others = (np.roll(images, -1, axis=0), np.roll(labels, -1, axis=0))
            return _weighted(part, (images, labels), others)
        return self._last.replaced((images, labels), part)

    def _checked_batch(self, values: tuple[Any, ...]) -> tuple[np.ndarray, np.ndarray]:
        images, labels = (np.asarray(value) for value in values)
        if images.ndim != 4 or labels.ndim != 2 or {len(images), len(labels)} != {self.batch_size}:
            raise problem(
                ValueError,
                "MixUp: requires a batch of images and one-hot labels",
                got=f"images of shape {images.shape}, labels of shape {labels.shape}",
                expected=f"[{self.batch_size}, H, W, C] and [{self.batch_size}, classes]",
                fix="call batch(batch_size, drop_remainder=True) before the map with MixUp",
            )
        return images, labels

    def parameters(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("batch_size", "alpha", "is_single")}


_Batch = tuple[np.ndarray, np.ndarray]


class _LastBatch:
    """The previous batch."""

    def __init__(self) -> None:
        self._batch: _Batch | None = None
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[_LastBatch], tuple[()]]:
        return _LastBatch, ()  # a copy in another process starts without a previous batch

    def replaced(self, batch: _Batch, part: np.ndarray) -> _Batch:
        """Blend the batch with the previous one, and store it as the new previous batch."""
        with self._lock:
            self._batch = _weighted(part, batch, batch if self._batch is None else self._batch)
            return self._batch


def _weighted(part: np.ndarray, batch: _Batch, others: _Batch) -> _Batch:
    images, labels = (
        part.reshape(-1, *[1] * (own.ndim - 1)) * own
        + (1 - part).reshape(-1, *[1] * (own.ndim - 1)) * other
        for own, other in zip(batch, others)
    )
    return images, labels
