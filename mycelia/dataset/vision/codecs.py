"""Conversions between encoded images, arrays, tensors, and PIL images."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.transforms.checks import check_bool
from mycelia.dataset.vision.backends import pillow as P
from mycelia.dataset.vision.backends.opencv import cv2
from mycelia.dataset.vision.decode import EncodedImage, encoded_bytes, pixels
from mycelia.dataset.vision.geometry import RandomResizedCrop
from mycelia.dataset.vision.image import ImageTransform, checked_image, size_pair
from mycelia.dataset.vision.normalize import Normalize, Rescale
from mycelia.dataset.vision.resample import resized

_MOST_CHANNELS = 4


@dataclass(frozen=True, eq=False)
class Decode(ImageTransform):
    """Decodes an encoded image to RGB pixels."""

    to_pil: bool = False

    def __post_init__(self) -> None:
        check_bool("to_pil", self.to_pil)

    def apply(self, value: Any, random: Any) -> Any:
        if self.to_pil:
            return P.decoded("Decode", encoded_bytes("Decode", value))
        return pixels("Decode", value)

    def checked(self, value: Any) -> Any:
        return super().checked(_as_bytes(value))


def _as_bytes(value: Any) -> Any:
    return np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value


@dataclass(frozen=True, eq=False)
class RandomCropDecodeResize(RandomResizedCrop):
    """Decodes a random crop of an encoded image and resizes it to a fixed size."""

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = EncodedImage("RandomCropDecodeResize", value)
        top, left, height, width = self.box(*image.size(), random)
        part = image.upper(top + height)[top : top + height, left : left + width]
        return np.ascontiguousarray(resized(part, size_pair(self.size), self.interpolation))

    def checked(self, value: Any) -> Any:
        return super().checked(_as_bytes(value))


@dataclass(frozen=True, eq=False)
class HWC2CHW(ImageTransform):
    """Moves the channel axis to the front."""

    takes_many = True

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = checked_image("HWC2CHW", np.asarray(value))
        return image if image.ndim == 2 else channels_first(image)

    def exchanged(self, before: Operation) -> tuple[Operation, Operation] | None:
        """Transpose before a rescale, because bytes move faster than its floats."""
        if isinstance(before, Rescale):
            return self, before
        if isinstance(before, Normalize) and before.is_hwc:
            return self, replace(before, is_hwc=False)
        return None

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        if any(column.ndim != 4 for column in columns):
            return None
        return tuple(np.ascontiguousarray(column.transpose(0, 3, 1, 2)) for column in columns)


def channels_first(image: np.ndarray) -> np.ndarray:
    """Transpose [H, W, C] to [C, H, W]."""
    if cv2 is None or image.dtype.kind not in "uf" or not 1 < image.shape[2] <= _MOST_CHANNELS:
        return np.ascontiguousarray(image.transpose(2, 0, 1))
    planes = np.empty((image.shape[2], *image.shape[:2]), image.dtype)
    cv2.split(np.ascontiguousarray(image), list(planes))
    return planes


@dataclass(frozen=True, eq=False)
class ToTensor(ImageTransform):
    """Moves the channel axis to the front, and scales bytes to [0, 1]."""

    takes_many = True
    output_type: Any = np.float32

    def __post_init__(self) -> None:
        self._kind()

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        if any(column.ndim != 4 for column in columns):
            return None
        moved = (np.ascontiguousarray(column.transpose(0, 3, 1, 2)) for column in columns)
        return tuple(self._scaled(column) for column in moved)

    def _kind(self) -> Any:
        kind = self.output_type
        return kind.numpy if isinstance(kind, dtypes.DType) else np.dtype(kind)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = checked_image("ToTensor", np.asarray(value))
        moved = image[None] if image.ndim == 2 else channels_first(image)
        return self._scaled(moved)

    def _scaled(self, image: np.ndarray) -> np.ndarray:
        scaled = np.multiply(image, np.float32(1 / 255), dtype=np.float32)
        return scaled.astype(self._kind(), copy=False)


@dataclass(frozen=True, eq=False)
class ToPIL(ImageTransform):
    """Converts an array to a PIL image."""

    def apply(self, value: Any, random: Any) -> Any:
        return value if P.is_pillow(value) else P.to_pillow("ToPIL", checked_image("ToPIL", value))


@dataclass(frozen=True, eq=False)
class ToNumpy(ImageTransform):
    """Converts a PIL image to an array."""

    def apply(self, value: Any, random: Any) -> np.ndarray:
        return np.array(value)
