"""Transforms that rescale or normalize pixels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_number, wrong_type
from mycelia.dataset.vision.image import ImageTransform, checked_image


@dataclass(frozen=True, eq=False)
class Rescale(ImageTransform):
    """image * rescale + shift, as float32."""

    takes_many = True
    rescale: float
    shift: float

    def __post_init__(self) -> None:
        for name in ("rescale", "shift"):
            if not is_number(getattr(self, name)):
                raise wrong_type(name, getattr(self, name), "numbers.Number")

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = np.asarray(value)
        made = np.multiply(image, np.float32(self.rescale), dtype=np.float32)
        if self.shift:
            made += np.float32(self.shift)
        return made


@dataclass(frozen=True, eq=False)
class Normalize(ImageTransform):
    """(image - mean) / std per channel of an image or a video, as float32."""

    takes_many = True
    mean: Any
    std: Any
    is_hwc: bool = True

    def __post_init__(self) -> None:
        _check_moments("Normalize", self.mean, self.std)
        check_bool("is_hwc", self.is_hwc)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        return _scaled(self._checked(value), self.mean, self.std, self.is_hwc)

    def _checked(self, value: Any) -> np.ndarray:
        return _checked("Normalize", value, self.mean, self.is_hwc)

    def run_into(
        self, values: tuple[Any, ...], random: Any, outs: list[np.ndarray]
    ) -> tuple[Any, ...] | None:
        if any(out.dtype != np.float32 for out in outs):
            return super().run_into(values, random, outs)
        images = [self._checked(value) for value in values]
        if any(image.shape != out.shape for image, out in zip(images, outs, strict=True)):
            return super().run_into(values, random, outs)
        for image, out in zip(images, outs):
            np.copyto(out, image)
            _scale(out, self.mean, self.std, self.is_hwc or image.ndim == 2)
        return None

    def run_many(self, columns: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...] | None:
        axis = 3 if self.is_hwc else 1
        if any(c.ndim != 4 or len(self.mean) not in (1, c.shape[axis]) for c in columns):
            return None
        return tuple(_scaled(c, self.mean, self.std, self.is_hwc) for c in columns)


@dataclass(frozen=True, eq=False)
class NormalizePad(ImageTransform):
    """(image - mean) / std per channel, plus one channel of zeros."""

    mean: Any
    std: Any
    dtype: str = "float32"
    is_hwc: bool = True

    def __post_init__(self) -> None:
        _check_moments("NormalizePad", self.mean, self.std)
        if not isinstance(self.dtype, str):
            raise wrong_type("dtype", self.dtype, "str")
        if self.dtype not in ("float32", "float16"):
            raise problem(
                ValueError,
                "dtype: unsupported type",
                got=self.dtype,
                expected="float32 or float16",
            )
        check_bool("is_hwc", self.is_hwc)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = _checked("NormalizePad", value, self.mean, self.is_hwc)
        made = _scaled(image, self.mean, self.std, self.is_hwc)
        axis = 2 if self.is_hwc or made.ndim == 2 else 0
        made = made[..., None] if made.ndim == 2 else made
        widths = [(0, int(index == axis)) for index in range(3)]
        return np.pad(made, widths).astype(self.dtype)


def _check_moments(owner: str, mean: Any, std: Any) -> None:
    for name, values in (("mean", mean), ("std", std)):
        if not isinstance(values, (list, tuple)):
            raise wrong_type(name, values, "list or tuple")
    if len(mean) != len(std):
        raise problem(
            ValueError,
            f"{owner}: mean and std have different lengths",
            got=f"{len(mean)} and {len(std)}",
        )
    for index, value in enumerate(mean):
        check_number(f"mean[{index}]", value, 0, 255)
    for index, value in enumerate(std):
        check_number(f"std[{index}]", value, 0, 255, open_low=True)


def _checked(owner: str, value: Any, mean: Any, is_hwc: bool) -> np.ndarray:
    """Check an image (for `Normalize`, or a video) whose channels match the means."""
    image = np.asarray(value)
    if owner != "Normalize" or image.ndim < 4:
        image = checked_image(owner, image)
    channels = 1 if image.ndim == 2 else image.shape[-1 if is_hwc else -3]
    if len(mean) not in (1, channels):
        raise problem(
            RuntimeError,
            f"{owner}: the number of means differs from the number of channels",
            got=f"{len(mean)} means for an image of {list(image.shape)}",
            fix="is_hwc=False if the channels come first",
        )
    return image


def _scaled(images: np.ndarray, mean: Any, std: Any, is_hwc: bool) -> np.ndarray:
    """(images - mean) / std, for one image or several."""
    made = np.array(images, np.float32, order="C")
    _scale(made, mean, std, is_hwc or images.ndim == 2)
    return made


def _scale(made: np.ndarray, mean: Any, std: Any, is_hwc: bool) -> None:
    """Normalize images in place, in loops over contiguous memory."""
    if len(mean) == 1:
        made -= np.float32(mean[0])
        made /= np.float32(std[0])
    elif is_hwc:
        lines = made.reshape(-1, made.shape[-2] * made.shape[-1])
        lines -= np.tile(np.array(mean, np.float32), made.shape[-2])
        lines /= np.tile(np.array(std, np.float32), made.shape[-2])
    else:
        for channel, (middle, width) in enumerate(zip(mean, std)):
            plane = made[..., channel, :, :]
            plane -= np.float32(middle)
            plane /= np.float32(width)
