"""Sliding windows (kernel, stride, dilation, padding) of convolutions and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from mycelia._engine.core.checks import check_non_negative_int, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape

Pads = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Window:
    """A window that slides over the spatial axes of an array.

    `pad_mode` 'same' yields ceil(size / stride) positions, 'valid' only whole windows, and 'pad'
    adds `pads` first. With `ceil`, a last window that starts inside the input counts too.
    """

    kernel: Shape
    strides: Shape
    dilation: Shape
    pad_mode: str = "valid"
    pads: Pads = ()
    ceil: bool = False

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def reach(self) -> Shape:
        """The extent of the window along each axis, including the gaps of the dilation."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation, strict=True))

    def along(self, axis: int) -> Window:
        """The window that slides along one axis and is a single point on the others."""

        def only_axis(sizes: Shape) -> Shape:
            return tuple(n if i == axis else 1 for i, n in enumerate(sizes))

        pads = tuple(p if i == axis else (0, 0) for i, p in enumerate(self.pads))
        kernel, strides, dilation = map(only_axis, (self.kernel, self.strides, self.dilation))
        return Window(kernel, strides, dilation, self.pad_mode, pads, self.ceil)

    def over_channels(self) -> Window:
        """The same window for arrays (batch, *spatial, channels): a point on the channels."""
        pads = (*self.pads, (0, 0)) if self.pads else self.pads
        kernel, strides, dilation = (*self.kernel, 1), (*self.strides, 1), (*self.dilation, 1)
        return Window(kernel, strides, dilation, self.pad_mode, pads, self.ceil)

    def output(self, sizes: Shape) -> Shape:
        """The number of window positions along each axis of an array of `sizes`."""
        return tuple(self.output_of(axis, size) for axis, size in enumerate(sizes))

    def padding(self, sizes: Shape) -> Pads:
        """The padding before and after each axis that makes all windows whole."""
        return tuple(self.padding_of(axis, size) for axis, size in enumerate(sizes))

    def output_of(self, axis: int, size: int) -> int:
        """The number of window positions along one axis."""
        stride = self.strides[axis]
        if self.pad_mode == "same":
            return -(-size // stride)
        low, high = self._explicit_pads(axis)
        space = size + low + high - self.reach[axis]
        if not self.ceil:
            return space // stride + 1
        count = -(-space // stride) + 1
        return count - 1 if (count - 1) * stride >= size + low else count

    def padding_of(self, axis: int, size: int) -> tuple[int, int]:
        """The padding before and after one axis."""
        needed = (self.output_of(axis, size) - 1) * self.strides[axis] + self.reach[axis] - size
        if self.pad_mode == "same":
            low = max(needed, 0) // 2
            return low, max(needed, 0) - low
        low, high = self._explicit_pads(axis)
        return low, max(high, needed - low)

    def is_a_point(self, sizes: Shape) -> bool:
        """Whether the window is a single element and touches no padding."""
        return prod(self.kernel) == 1 and not any(map(any, self.padding(sizes)))

    def _explicit_pads(self, axis: int) -> tuple[int, int]:
        return self.pads[axis] if self.pad_mode == "pad" else (0, 0)

    def check_fits(self, owner: str, shape: Shape, sizes: Shape) -> Shape:
        """The output sizes; raises ValueError if the window is larger than the array."""
        output = self.output(sizes)
        if any(n <= 0 for n in output):
            raise problem(
                ValueError,
                f"{owner}: the kernel is larger than the padded input",
                got=f"input {list(shape)}, kernel {self.kernel}, dilation {self.dilation}",
                expected=f"spatial sizes of at least {self.reach} after padding",
                fix="use a smaller kernel, or pad_mode='same'",
            )
        return output


def read_window(
    owner: str,
    rank: int,
    kernel: Any,
    strides: Any,
    dilation: Any = 1,
    pad_mode: str = "valid",
    pads: Any = 0,
    ceil: bool = False,
) -> Window:
    """A window from user arguments: ints or tuples, any case for the padding mode."""
    mode = pad_mode.lower()
    return Window(
        positive_sizes(owner, "kernel_size", kernel, rank),
        positive_sizes(owner, "stride", strides, rank, with_batch=True),
        positive_sizes(owner, "dilation", dilation, rank, with_batch=True),
        mode,
        _pads(owner, pads, rank, mode),
        ceil,
    )


def positive_sizes(
    owner: str, argument: str, value: Any, rank: int, *, with_batch: bool = False
) -> Shape:
    """A positive int for all axes or one per axis; `with_batch` allows a prefix of (1, 1)."""
    if not is_int(value) and not isinstance(value, (tuple, list)):
        raise wrong_type(owner, argument, value, f"int or tuple of {rank} ints")
    numbers = (value,) * rank if is_int(value) else tuple(value)
    if with_batch and len(numbers) == rank + 2 and numbers[:2] == (1, 1):
        numbers = numbers[2:]
    if len(numbers) != rank or not all(is_int(n) and n > 0 for n in numbers):
        raise wrong_value(owner, argument, value, f"a positive int or {rank} positive ints")
    return tuple(int(n) for n in numbers)


def _pads(owner: str, value: Any, rank: int, mode: str) -> Pads:
    if not is_int(value) and not isinstance(value, (tuple, list)):
        raise wrong_type(owner, "pad", value, f"int or tuple of {2 * rank} ints")
    numbers = (value,) * (2 * rank) if is_int(value) else tuple(value)
    if len(numbers) != 2 * rank:
        raise wrong_value(owner, "pad", value, f"an int or a tuple of {2 * rank} ints")
    checked = [check_non_negative_int(owner, "pad item", n) for n in numbers]
    if mode != "pad" and any(checked):
        raise problem(
            ValueError,
            f"{owner}: 'pad' must be 0 unless pad_mode is 'pad'",
            got=f"pad={value} and pad_mode={mode!r}",
        )
    return tuple((checked[2 * i], checked[2 * i + 1]) for i in range(rank))
