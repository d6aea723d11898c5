"""Checks of sizes, strides, paddings, and ranks in the arguments of layers."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_non_negative_int, check_positive_int, is_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value


def positive_pair(owner: str, argument: str, value: Any) -> tuple[int, int]:
    """Check a positive int, which is used twice, or a tuple of two."""
    if is_int(value):
        value = (value, value)
    if not isinstance(value, tuple) or len(value) != 2 or not all(map(is_int, value)):
        raise wrong_type(owner, argument, value, "an int or a tuple of 2 ints")
    for number in value:
        check_positive_int(owner, f"{argument} item", number)
    return value


def positive_tuple(owner: str, argument: str, value: Any, length: int) -> tuple[int, ...]:
    """Check a positive int, which is repeated, or a tuple of `length` positive ints."""
    if not is_int(value) and not isinstance(value, tuple):
        raise wrong_type(owner, argument, value, f"a positive int or a tuple of {length}")
    numbers = value if isinstance(value, tuple) else (value,) * length
    if len(numbers) != length or not all(is_int(n) and n > 0 for n in numbers):
        raise wrong_value(owner, argument, value, f"a positive int or a tuple of {length}")
    return numbers


def pooling_size(owner: str, argument: str, value: Any) -> Any:
    """Check a kernel size or stride of a pooling layer: an int or a tuple, as it prints."""
    if not is_int(value) and not isinstance(value, tuple):
        raise wrong_type(owner, argument, value, "int or tuple")
    numbers = value if isinstance(value, tuple) else (value,)
    if not numbers or not all(is_int(n) and n > 0 for n in numbers):
        raise wrong_value(owner, argument, value, "a positive int or a tuple of them")
    return value if len(numbers) > 1 else numbers[0]


def paddings(owner: str, value: Any, length: int) -> tuple[int, ...]:
    """Check one non-negative int for all sides, or a tuple of `length` of them."""
    if is_int(value):
        check_non_negative_int(owner, "padding", value)
        return (value,) * length
    if not isinstance(value, tuple):
        raise wrong_type(owner, "padding", value, "an int or a tuple of ints")
    for number in value:
        check_non_negative_int(owner, "padding item", number)
    if len(value) != length:
        raise wrong_value(owner, "padding", value, f"an int or a tuple of {length} ints")
    return value


def check_pad_mode(owner: str, pad_mode: Any) -> str:
    """Check the padding mode of a convolution: 'valid', 'same', or 'pad'."""
    if not isinstance(pad_mode, str):
        raise wrong_type(owner, "pad_mode", pad_mode, "str")
    if pad_mode not in ("valid", "same", "pad"):
        raise wrong_value(owner, "pad_mode", pad_mode, "str and must be in 'valid', 'same', 'pad'")
    return pad_mode


def check_no_padding(owner: str, sides: tuple[int, ...], pad_mode: str) -> None:
    """Check that explicit paddings are used with pad_mode='pad' only."""
    if pad_mode != "pad" and any(sides):
        raise problem(
            ValueError,
            f"{owner}: the 'padding' must be zero when 'pad_mode' is not 'pad'",
            got=f"padding {sides} and pad_mode {pad_mode!r}",
            fix="use pad_mode='pad'",
        )


def check_rank(owner: str, x: Any, *ranks: int) -> None:
    """Check that the number of dimensions of a layer's input is one of `ranks`."""
    if len(x.shape) not in ranks:
        raise problem(
            ValueError,
            f"{owner}: the input must have {' or '.join(map(str, ranks))} dimensions",
            got=f"shape {x.shape}",
        )


def check_axis(
    owner: str, argument: str, wanted: int, x: Any, axis: int, kind: type[Exception] = ValueError
) -> None:
    """Check that the size of an axis of the input matches the layer's argument."""
    shape = getattr(x, "shape", None)
    if shape is None:
        raise wrong_type(owner, "x", x, "Tensor")
    if -len(shape) <= axis < len(shape) and shape[axis] != wanted:
        where = "the last axis" if axis == -1 else f"axis {axis}"
        raise problem(
            kind,
            f"{owner}: the input does not fit {argument}={wanted}",
            got=f"an input of shape {tuple(shape)}, with {shape[axis]} along {where}",
            expected=f"{wanted} along {where}",
            fix=f"create the layer with {argument}={shape[axis]}, or change the input",
        )
