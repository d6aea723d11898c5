"""The transforms that change the values of pixels: scale, mean, colours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia.core.checks import is_number
from mycelia.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_number, check_range, wrong_type
from mycelia.dataset.vision import pillow as P
from mycelia.dataset.vision.image import ImageTransform, checked_image

_LUMA = np.array([0.299, 0.587, 0.114], np.float32)


@dataclass(frozen=True, eq=False)
class Rescale(ImageTransform):
    """image * rescale + shift, as float32."""

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
    """(image - mean) / std for each channel, as float32."""

    mean: Any
    std: Any
    is_hwc: bool = True

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            if not isinstance(getattr(self, name), (list, tuple)):
                raise wrong_type(name, getattr(self, name), "list or tuple")
        if len(self.mean) != len(self.std):
            raise problem(
                ValueError,
                "Normalize: mean and std have different lengths",
                got=f"{len(self.mean)} and {len(self.std)}",
            )
        for place, value in enumerate(self.mean):
            check_number(f"mean[{place}]", value, 0, 255)
        for place, value in enumerate(self.std):
            check_number(f"std[{place}]", value, 0, 255, open_low=True)
        check_bool("is_hwc", self.is_hwc)

    def apply(self, value: Any, random: Any) -> np.ndarray:
        image = checked_image("Normalize", np.asarray(value))
        channels = 1 if image.ndim == 2 else image.shape[2 if self.is_hwc else 0]
        if len(self.mean) not in (1, channels):
            raise problem(
                RuntimeError,
                "Normalize: the number of means differs from the number of channels",
                got=f"{len(self.mean)} means for an image of {list(image.shape)}",
                fix="is_hwc=False if the channels come first",
            )
        made = image.astype(np.float32)
        shaped, repeats = made, 1
        if image.ndim == 3 and not self.is_hwc:
            shaped = made.reshape(image.shape[0], -1).T
        elif image.ndim == 3 and made.flags.c_contiguous:
            shaped, repeats = made.reshape(image.shape[0], -1), image.shape[1]  # long inner loops
            repeats *= channels // len(self.mean)
        shaped -= np.tile(np.array(self.mean, np.float32), repeats)
        shaped /= np.tile(np.array(self.std, np.float32), repeats)
        return made


@dataclass(frozen=True, eq=False)
class Grayscale(ImageTransform):
    """Pillow's image without colours, in one channel or three."""

    num_output_channels: int = 1

    def __post_init__(self) -> None:
        if self.num_output_channels not in (1, 3):
            raise problem(
                ValueError,
                "Grayscale: an image has not so many channels",
                got=f"num_output_channels={self.num_output_channels}",
                expected="1 or 3",
            )

    def apply(self, value: Any, random: Any) -> Any:
        if not P.is_pillow(value):
            raise problem(
                TypeError,
                "Grayscale: takes a Pillow image",
                got=type(value).__name__,
                fix="Decode(to_pil=True) for encoded data, ToPIL() for arrays",
            )
        gray = value.convert("L")
        return gray if self.num_output_channels == 1 else gray.convert("RGB")


@dataclass(frozen=True, eq=False)
class Invert(ImageTransform):
    """The negative of an image of bytes."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        return 255 - image


@dataclass(frozen=True, eq=False)
class Equalize(ImageTransform):
    """Each channel with its brightness spread evenly."""

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if image.ndim == 2:
            return _equalized(image)
        return np.stack([_equalized(channel) for channel in np.moveaxis(image, 2, 0)], axis=2)


def _equalized(channel: np.ndarray) -> np.ndarray:
    counts = np.bincount(channel.ravel(), minlength=256)
    darkest = counts[np.flatnonzero(counts)[0]]
    if darkest == channel.size:
        return channel.copy()
    above = np.clip(np.cumsum(counts) - darkest, 0, None)
    scale = np.float32(255) / np.float32(channel.size - darkest)
    return np.rint(above.astype(np.float32) * scale).astype(np.uint8)[channel]


@dataclass(frozen=True, eq=False)
class RandomColorAdjust(ImageTransform):
    """Brightness, contrast, saturation and hue changed by random amounts, in a random order."""

    is_random = True
    brightness: Any = (1, 1)
    contrast: Any = (1, 1)
    saturation: Any = (1, 1)
    hue: Any = (0, 0)

    def __post_init__(self) -> None:
        for name in ("brightness", "contrast", "saturation", "hue"):
            self._range(name)

    def _range(self, name: str) -> tuple[float, float]:
        value = getattr(self, name)
        is_hue = name == "hue"
        if is_number(value):
            high = check_number(name, value, 0, 0.5 if is_hue else float("inf"))
            return (-high, high) if is_hue else (max(0.0, 1 - high), 1 + high)
        return check_range(name, value, -0.5 if is_hue else 0, 0.5 if is_hue else float("inf"))

    def change(self, image: np.ndarray, random: Any) -> np.ndarray:
        if image.ndim != 3 or image.shape[2] != 3:
            raise problem(
                RuntimeError,
                "RandomColorAdjust: needs an image of three colours",
                got=f"shape {image.shape}",
            )
        drawn = {name: float(random.uniform(*self._range(name))) for name in _ADJUST}
        for place in random.permutation(len(_ADJUST)):
            name = list(_ADJUST)[place]
            if drawn[name] != (0 if name == "hue" else 1):
                image = _in_bytes(_ADJUST[name](image.astype(np.float32), drawn[name]), image.dtype)
        return image


def _gray(image: np.ndarray) -> np.ndarray:
    return np.rint(image @ _LUMA)


def _brighter(image: np.ndarray, factor: float) -> np.ndarray:
    return image * factor


def _contrasted(image: np.ndarray, factor: float) -> np.ndarray:
    return image * factor + (1 - factor) * int(_gray(image).mean() + 0.5)


def _saturated(image: np.ndarray, factor: float) -> np.ndarray:
    return image * factor + (1 - factor) * _gray(image)[..., None]


def _turned_hue(image: np.ndarray, turn: float) -> np.ndarray:
    """The colours turned on the wheel of hues by a part of the circle."""
    top, low = image.max(axis=2), image.min(axis=2)
    span = top - low
    safe = np.where(span == 0, 1, span)
    red, green, blue = np.moveaxis(image, 2, 0)
    hue = np.where(
        top == red,
        (green - blue) / safe,
        np.where(top == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = (hue / 6 + turn) % 1 * 6
    offsets = (hue[..., None] + np.array([5, 3, 1], np.float32)) % 6
    strength = np.clip(np.minimum(offsets, 4 - offsets), 0, 1)
    return top[..., None] - span[..., None] * strength


_ADJUST = {
    "brightness": _brighter,
    "contrast": _contrasted,
    "saturation": _saturated,
    "hue": _turned_hue,
}


def _in_bytes(image: np.ndarray, kind: np.dtype[Any]) -> np.ndarray:
    return np.clip(np.rint(image), 0, 255).astype(kind) if kind.kind in "iu" else image.astype(kind)
