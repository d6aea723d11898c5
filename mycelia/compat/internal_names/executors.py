"""Internal names of `mindspore.common`: compilation by hand, decorators, shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any

from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.runtime.streams import synchronize
from mycelia.compat.internal_names.packages import set_dump as set_dump
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import compiled_of


class _GraphExecutor:
    """Compiles cells and functions without running them."""

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def compile(
        self,
        obj: Any,
        *args: Any,
        phase: str = "predict",
        do_convert: bool = True,
        jit_config_dict: Any = None,
        **kwargs: Any,
    ) -> tuple[str, bool]:
        """Compile `obj` for these arguments; gives the name of the result, and True."""
        compiled_of(obj).entry(args, kwargs)
        name = f"{phase}.{id(obj)}"
        self._last[name] = obj
        return name, True

    def has_compiled(self, phase: str = "predict") -> bool:
        """Whether `compile` gave this name."""
        return phase in self._last

    def run(self, obj: Any, *args: Any, phase: str = "") -> Any:
        """Run what was compiled."""
        return compiled_of(obj)(*args)

    __call__ = run

    def is_init(self) -> bool:
        """There is nothing to be initialised."""
        return True

    def del_net_res(self, obj: Any, net_id: Any) -> None:
        """Programs leave with their networks."""


class _EagerExecutor:
    """The eager mode, where MindSpore has an object that scripts ask to finish its work."""

    def sync(self) -> None:
        """Wait for everything that was begun."""
        synchronize()

    def grad_flag(self) -> bool:
        """Gradients are recorded only where they are asked for."""
        return False

    def set_grad_flag(self, flag: bool) -> None:
        """Gradients are recorded where they are asked for, so this has no effect."""

    def is_first_cell(self) -> bool:
        """Whether no cell is running."""
        return True


_cell_graph_executor = _executor = _GraphExecutor()
_pynative_executor = _EagerExecutor()


def deprecated(version: str, substitute: str, use_substitute_name: bool = False) -> Any:
    """A decorator that warns of a function that is going to be removed."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(
                f"{function.__name__} is deprecated from version {version}: use {substitute}",
                DeprecationWarning,
                stacklevel=2,
            )
            return call_user_function(function, *args, **kwargs)

        return run

    return decorate


def is_shape_unknown(shape: Any) -> bool:
    """Whether a size or the rank of a shape is not known."""
    return any(size in (-1, -2) for size in shape)


def is_dim_unknown(shape: Any) -> bool:
    """Whether the rank of a shape is not known."""
    return -2 in shape


class _Registry:
    """The methods of Tensor by name."""

    def get(self, name: str) -> Callable[..., Any]:
        """The method called `name`."""
        return getattr(Tensor, name)

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Give Tensor one more method."""
        setattr(Tensor, name, function)


tensor_operator_registry = _Registry()
