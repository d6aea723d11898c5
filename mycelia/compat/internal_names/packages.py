"""Internal names of `mindspore` itself and of `mindspore._extends`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from mycelia._engine.core.dtype import float8_e4m3fn as float8_e4m3fn
from mycelia._engine.core.dtype import float8_e5m2 as float8_e5m2
from mycelia._engine.core.errors import problem
from mycelia._engine.core.warn_once import logger
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.train.callback.callback import Callback

float8_e4m3 = float8_e4m3fn  # its name in MindSpore 2.3


def cell_attr_register(fn: Any = None, attrs: Any = None) -> Any:
    """Decorator of `Cell.__init__` that stores its arguments in `cell_init_args`."""

    def wrap(function: Callable[..., None]) -> Callable[..., None]:
        wanted = signature(function)

        @wraps(function)
        def run(self: Cell, *args: Any, **kwargs: Any) -> None:
            arguments = dict(wanted.bind(self, *args, **kwargs).arguments)
            arguments.pop("self", None)
            names = arguments if attrs is None else ([attrs] if isinstance(attrs, str) else attrs)
            stored = [(name, arguments.get(name)) for name in names]
            object.__setattr__(self, "cell_init_args", f"{type(self).__name__}{stored}")
            function(self, *args, **kwargs)

        return run

    return wrap if fn is None else wrap(fn)


def set_dump(target: Any, enabled: bool = True) -> None:
    """Select a cell or operator for dumping. Has no effect on CPU except a warning."""
    if not isinstance(target, (Cell, Primitive)):
        raise problem(
            ValueError,
            'The "target" parameter must be an instance of Cell or Primitive',
            got=type(target).__name__,
        )
    if not isinstance(enabled, bool):
        raise problem(ValueError, 'The "enabled" parameter must be a bool', got=repr(enabled))
    logger.warning("set_dump has no effect on CPU: print values in construct, or use a callback")


class TrainFaultTolerance(Callback):
    """Checkpoints on failures of Ascend devices; creating one raises an error on CPU."""

    def __init__(self, ckpt_save_path: str | None = None, **kwargs: Any) -> None:
        if ckpt_save_path is None and kwargs.get("ckpt_save_fn") is None:
            raise problem(
                ValueError,
                "TrainFaultTolerance construct need to set ckpt_save_fn or ckpt_save_path!",
            )
        raise problem(
            ValueError,
            "TrainFaultTolerance watches Ascend devices, and this machine has none",
            fix="train with ModelCheckpoint and model.fit(..., resume_from=folder)",
        )
