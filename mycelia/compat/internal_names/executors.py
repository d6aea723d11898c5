"""Internal names of `mindspore.common`: explicit compilation, decorators, shapes."""

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
        """Compile `obj` for these arguments; return the name of the program, and True."""
        compiled_of(obj).entry(args, kwargs)
        name = f"{phase}.{id(obj)}"
        self._last[name] = obj
        return name, True

    def has_compiled(self, phase: str = "predict") -> bool:
        """Whether `compile` returned this name."""
        return phase in self._last

    def run(self, obj: Any, *args: Any, phase: str = "") -> Any:
        """Run a compiled program."""
        return compiled_of(obj)(*args)

    __call__ = run

    def is_init(self) -> bool:
        """Return True: no initialization is necessary."""
        return True

    def del_net_res(self, obj: Any, net_id: Any) -> None:
        """No effect: programs are freed with their networks."""


class _EagerExecutor:
    """MindSpore's eager executor, which scripts call to synchronize."""

    def sync(self) -> None:
        """Wait for all pending computations."""
        synchronize()

    def grad_flag(self) -> bool:
        """Always False: gradients are recorded only on request."""
        return False

    def set_grad_flag(self, flag: bool) -> None:
        """No effect: gradients are recorded only on request."""

    def is_first_cell(self) -> bool:
        """Whether no cell is running."""
        return True


_cell_graph_executor = _executor = _GraphExecutor()
_pynative_executor = _EagerExecutor()


def deprecated(version: str, substitute: str, use_substitute_name: bool = False) -> Any:
    """Decorator that warns that a function is deprecated."""

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
    """Whether a size or the rank of a shape is unknown."""
    return any(size in (-1, -2) for size in shape)


def is_dim_unknown(shape: Any) -> bool:
    """Whether the rank of a shape is unknown."""
    return -2 in shape


class _Registry:
    """Registry of Tensor methods by name."""

    def get(self, name: str) -> Callable[..., Any]:
        """Get the method called `name`."""
        return getattr(Tensor, name)

    def register(self, name: str, function: Callable[..., Any]) -> None:
        """Add a method to Tensor."""
        setattr(Tensor, name, function)


tensor_operator_registry = _Registry()
