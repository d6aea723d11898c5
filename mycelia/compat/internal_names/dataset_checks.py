"""`mindspore.dataset.core.validator_helpers`: argument checks of data transforms."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from inspect import signature
from typing import Any

from mycelia._engine.core.errors import problem

UINT8_MIN, UINT8_MAX = 0, 2**8 - 1
UINT32_MIN, UINT32_MAX = 0, 2**32 - 1
UINT64_MIN, UINT64_MAX = 0, 2**64 - 1
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
POS_INT_MIN = 1
FLOAT_MIN_INTEGER, FLOAT_MAX_INTEGER = -16777216, 16777216
DOUBLE_MIN_INTEGER, DOUBLE_MAX_INTEGER = -9007199254740992, 9007199254740992


def is_iterable(obj: Any) -> bool:
    """Whether an object can be iterated over."""
    return isinstance(obj, Iterable)


def pad_arg_name(arg_name: str) -> str:
    """The name followed by a space, or an empty string."""
    return f"{arg_name} " if arg_name else ""


def check_value(
    value: Any,
    valid_range: Sequence[Any],
    arg_name: str = "",
    left_open_interval: bool = False,
    right_open_interval: bool = False,
) -> None:
    """Raise unless a value is within a range."""
    low, high = valid_range
    above = value > low if left_open_interval else value >= low
    below = value < high if right_open_interval else value <= high
    if not (above and below):
        left, right = "(" if left_open_interval else "[", ")" if right_open_interval else "]"
        raise problem(
            ValueError,
            f"Input {pad_arg_name(arg_name)}is not within the required interval of "
            f"{left}{low}, {high}{right}.",
            got=repr(value),
        )


def check_range(values: Sequence[Any], valid_range: Sequence[Any], arg_name: str = "") -> None:
    """Raise unless a pair is ordered and within a range."""
    if not valid_range[0] <= values[0] <= values[1] <= valid_range[1]:
        raise problem(
            ValueError,
            f"Input {pad_arg_name(arg_name)}is not an interval within {tuple(valid_range)}.",
            got=repr(values),
        )


def check_positive(value: Any, arg_name: str = "") -> None:
    """Raise unless a value is positive."""
    if value <= 0:
        raise problem(
            ValueError,
            f"Input {pad_arg_name(arg_name)}must be greater than 0.",
            got=repr(value),
        )


def _check_int_within(low: int, high: int) -> Callable[..., None]:
    def check(value: Any, arg_name: str = "") -> None:
        type_check(value, (int,), arg_name)
        check_value(value, (low, high), arg_name)

    return check


def _check_float_within(low: float, high: float, is_open: bool = False) -> Callable[..., None]:
    def check(value: Any, arg_name: str = "") -> None:
        type_check(value, (float, int), arg_name)
        check_value(value, (low, high), arg_name, left_open_interval=is_open)

    return check


check_uint8 = _check_int_within(UINT8_MIN, UINT8_MAX)
check_int32 = _check_int_within(INT32_MIN, INT32_MAX)
check_uint32 = _check_int_within(UINT32_MIN, UINT32_MAX)
check_uint64 = _check_int_within(UINT64_MIN, UINT64_MAX)
check_pos_int32 = _check_int_within(POS_INT_MIN, INT32_MAX)
check_pos_uint32 = _check_int_within(POS_INT_MIN, UINT32_MAX)
check_pos_int64 = _check_int_within(POS_INT_MIN, INT64_MAX)
check_non_negative_int32 = _check_int_within(0, INT32_MAX)
check_float32 = _check_float_within(FLOAT_MIN_INTEGER, FLOAT_MAX_INTEGER)
check_float64 = _check_float_within(DOUBLE_MIN_INTEGER, DOUBLE_MAX_INTEGER)
check_pos_float32 = _check_float_within(0, FLOAT_MAX_INTEGER, True)
check_pos_float64 = _check_float_within(0, DOUBLE_MAX_INTEGER, True)
check_non_negative_float32 = _check_float_within(0, FLOAT_MAX_INTEGER)
check_non_negative_float64 = _check_float_within(0, DOUBLE_MAX_INTEGER)


def check_2tuple(value: Any, arg_name: str = "") -> None:
    """Raise unless a value is a tuple of two."""
    if not (isinstance(value, tuple) and len(value) == 2):
        raise problem(
            ValueError,
            f"Value {pad_arg_name(arg_name)}needs to be a 2-tuple.",
            got=repr(value),
        )


def check_odd(value: int, arg_name: str = "") -> None:
    """Raise unless a number is odd."""
    if value % 2 != 1:
        raise problem(ValueError, f"Input {pad_arg_name(arg_name)}is not an odd value.")


def type_check(arg: Any, types: tuple[type, ...], arg_name: str) -> None:
    """Raise unless a value has one of the types; a bool counts as an int only if bool is listed."""
    is_hidden_bool = isinstance(arg, bool) and bool not in types
    if is_hidden_bool or not isinstance(arg, types):
        raise problem(
            TypeError,
            f"Argument {arg_name} with value {arg!r} is not of type "
            f"{[kind.__name__ for kind in types]}, but got {type(arg)}.",
        )


def type_check_list(args: Sequence[Any], types: tuple[type, ...], arg_names: Any) -> None:
    """Apply `type_check` to every element of a list."""
    names = arg_names
    if isinstance(arg_names, str):
        names = [f"{arg_names}[{number}]" for number in range(len(args))]
    for arg, name in zip(args, names, strict=True):
        type_check(arg, types, name)


def parse_user_args(method: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[list[Any], Any]:
    """Values of all arguments of a method, including defaults, and the binding."""
    wanted = signature(method)
    if next(iter(wanted.parameters), "") in ("self", "cls"):
        bound = wanted.bind(None, *args, **kwargs)
    else:
        bound = wanted.bind(*args, **kwargs)
    bound.apply_defaults()
    arguments = {
        name: value for name, value in bound.arguments.items() if name not in ("self", "cls")
    }
    return list(arguments.values()), bound


def check_filename(path: Any) -> None:
    """Raise unless a path is a valid file name."""
    type_check(path, (str,), "path")
    name = os.path.basename(path)
    if not name or any(sign in name for sign in '|*?<>"\n\t:'):
        raise problem(ValueError, f"filename is invalid, got {path!r}")


def check_dir(dataset_dir: Any) -> None:
    """Raise unless a path is a readable directory."""
    if not os.path.isdir(dataset_dir) or not os.access(dataset_dir, os.R_OK):
        raise problem(ValueError, f"The folder {dataset_dir} does not exist or is not a directory.")


def check_file(dataset_file: Any) -> None:
    """Raise unless a path is a readable file."""
    if not os.path.isfile(dataset_file) or not os.access(dataset_file, os.R_OK):
        raise problem(ValueError, f"The file {dataset_file} does not exist or cannot be read.")


def check_valid_str(value: Any, valid_strings: Sequence[str], arg_name: str = "") -> None:
    """Raise unless a string is in a set of valid strings."""
    type_check(value, (str,), arg_name)
    if value not in valid_strings:
        raise problem(
            ValueError,
            f"Input {pad_arg_name(arg_name)}is not within the valid set of {list(valid_strings)}.",
            got=repr(value),
        )


def replace_none(value: Any, default: Any) -> Any:
    """Replace None by the default."""
    return default if value is None else value


def check_columns(columns: Any, name: str) -> None:
    """Raise unless the value names columns."""
    type_check(columns, (str, list), name)
    listed = [columns] if isinstance(columns, str) else columns
    if not listed or any(not isinstance(one, str) or not one for one in listed):
        raise problem(ValueError, f"{name} should not be empty, nor hold anything but names")
    if len(set(listed)) != len(listed):
        raise problem(ValueError, f"Every column name should be unique with {name}.")
