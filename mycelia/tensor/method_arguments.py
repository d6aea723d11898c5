"""Arguments of overloaded Tensor methods: `to` and `select`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.keyword_suggestions import refuse_others
from mycelia._engine.core.settings import DEVICES, suggested_device
from mycelia._engine.core.shape import normalize_axis
from mycelia.ops.elementwise.where import where

_TO = ("dtype", "device", "other", "non_blocking", "copy")


def asked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """The dtype that a call of `to` requests, or None, and whether it requests a copy."""
    refuse_others("Tensor.to", kwargs, _TO)
    flags = [value for value in args if isinstance(value, bool)]  # non_blocking, copy
    given = [value for value in args if not isinstance(value, bool)]
    wanted = None
    for value in (*given, *[kwargs[name] for name in _TO[:3] if name in kwargs]):
        wanted = _dtype(value) if wanted is None else wanted
    return wanted, bool(kwargs.get("copy", flags[1:2] == [True]))


def _dtype(value: Any) -> Any:
    """The dtype that an argument of `to` means; None for a device."""
    if value is None or isinstance(value, (DType, np.dtype)):
        return value
    if isinstance(value, str):
        if value.lower() not in [device.lower() for device in DEVICES]:
            raise problem(
                ValueError,
                "Tensor.to: unknown device",
                got=repr(value),
                expected=f"one of {', '.join(DEVICES)}, or a dtype such as mycelia.float16",
                fix=suggested_device(value),
            )
        return None
    if not isinstance(dtype := getattr(value, "dtype", None), DType):
        raise problem(
            TypeError,
            "Tensor.to: an argument is neither a dtype, a device, nor a Tensor",
            got=repr(value),
            expected="to(dtype), to(device, dtype) or to(other)",
        )
    return dtype


def select(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    """The slice of a tensor at an index, or its elements where a condition holds."""
    names = ("dim", "index")
    if "condition" in kwargs or "y" in kwargs or (args and not is_int(args[0])):
        names = ("condition", "y")
    given = dict(zip(names, args, strict=False)) | kwargs
    if len(args) > 2 or set(given) != set(names):
        raise problem(
            TypeError,
            "Tensor.select: the arguments match neither form",
            got=f"{len(args)} arguments" + "".join(f", {name}=" for name in kwargs),
            expected="select(dim, index) or select(condition, y)",
        )
    first, second = (given[name] for name in names)
    return (
        where(first, tensor, second) if names[0] == "condition" else _slice(tensor, first, second)
    )


def _slice(tensor: Any, dim: int, index: Any) -> Any:
    axis, place = normalize_axis(dim, tensor.ndim, "select"), index
    size = tensor.shape[axis]
    if is_int(place) and not -size <= place < size:
        raise wrong_value("Tensor.select", "index", place, f"in range of [{-size}, {size})")
    return tensor[(slice(None),) * axis + (place,)]
