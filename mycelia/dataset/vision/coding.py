"""The transforms between files, pixels, tensors and Pillow's images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.core import dtype as dtypes
from mycelia.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool
from mycelia.dataset.vision import pillow as P
from mycelia.dataset.vision.geometry import RandomResizedCrop
from mycelia.dataset.vision.image import ImageTransform, checked_image, size_pair
from mycelia.dataset.vision.resampling import resized


@dataclass(frozen=True, eq=False)
class Decode(ImageTransform):
    """The pixels (RGB) of the bytes of an image file."""

    to_pil: bool = False

    def __post_init__(self) -> None:
        check_bool("to_pil", self.to_pil)

    def apply(self, value: Any, random: Any) -> Any:
        image = P.decoded("Decode", _encoded(value))
        return image if self.to_pil else np.array(image)

    def checked(self, value: Any) -> Any:
        return super().checked(_as_bytes(value))


def _as_bytes(value: Any) -> Any:
    return np.frombuffer(value, np.uint8) if isinstance(value, bytes) else value


def _encoded(value: Any) -> np.ndarray:
    data = np.asarray(value)
    if data.ndim != 1:
        raise problem(
            TypeError,
            "Decode: an encoded image is a row of bytes",
            got=f"an array of {data.ndim} axes",
            fix="leave Decode out: the image is decoded already",
        )
    return data


@dataclass(frozen=True, eq=False)
class RandomCropDecodeResize(RandomResizedCrop):
    """A random part of an image file, in a fixed size."""

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = P.decoded("RandomCropDecodeResize", _encoded(value))
        top, left, height, width = self.box(image.height, image.width, random)
        part = np.asarray(image.crop((left, top, left + width, top + height)))
        return np.array(resized(part, size_pair(self.size), self.interpolation))

    def checked(self, value: Any) -> Any:
        return super().checked(_as_bytes(value))


@dataclass(frozen=True, eq=False)
class HWC2CHW(ImageTransform):
    """The channels first."""

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = checked_image("HWC2CHW", np.asarray(value))
        return image if image.ndim == 2 else np.ascontiguousarray(image.transpose(2, 0, 1))


@dataclass(frozen=True, eq=False)
class ToTensor(ImageTransform):
    """The channels first, and bytes as numbers from 0 to 1."""

    output_type: Any = np.float32

    def __post_init__(self) -> None:
        self._kind()

    def _kind(self) -> Any:
        kind = self.output_type
        return kind.numpy if isinstance(kind, dtypes.DType) else np.dtype(kind)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = checked_image("ToTensor", np.asarray(value))
        moved = image[None] if image.ndim == 2 else image.transpose(2, 0, 1)
        scaled = np.multiply(np.ascontiguousarray(moved), np.float32(1 / 255), dtype=np.float32)
        return scaled.astype(self._kind(), copy=False)


@dataclass(frozen=True, eq=False)
class ToPIL(ImageTransform):
    """Pillow's image of an array."""

    def apply(self, value: Any, random: Any) -> Any:
        return value if P.is_pillow(value) else P.to_pillow("ToPIL", checked_image("ToPIL", value))


@dataclass(frozen=True, eq=False)
class ToNumpy(ImageTransform):
    """The array of one of Pillow's images."""

    def apply(self, value: Any, random: Any) -> np.ndarray:
        return np.array(value)
