"""Markers for the compiler: `mutable`, `constexpr`, `jit_class`, `lazy_inline`, `JitConfig`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import update_wrapper, wraps
from typing import Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.argument_signature import MutableFloat, MutableInt

_VARIABLE = (int, float, tuple, list, dict, Tensor)


def mutable(input_data: Any, dynamic_len: bool = False) -> Any:
    """Mark a value as variable, so that compiled functions do not treat it as a constant.

    Numbers and tensors, also nested in tuples, lists, and dicts, are variable by default. This
    function checks that the value can be; in `set_inputs`, a mutable number stands for every
    number of its type.
    """
    if isinstance(input_data, bool) or not isinstance(input_data, _VARIABLE):
        raise wrong_type("mutable", "input_data", input_data, "int, float, Tensor, tuple or dict")
    if dynamic_len and not isinstance(input_data, (tuple, list)):
        raise problem(
            TypeError,
            "mutable: only a tuple or a list can have a dynamic length",
            got=type(input_data).__name__,
        )
    return _MUTABLE[type(input_data)](input_data) if type(input_data) in _MUTABLE else input_data


_MUTABLE: dict[type, Callable[[Any], Any]] = {int: MutableInt, float: MutableFloat}


def constexpr(
    fn: Callable[..., Any] | None = None,
    get_instance: bool = True,
    name: str | None = None,
    reuse_result: bool = True,
    check: bool = True,
) -> Any:
    """Mark a function that runs at compile time, on compile-time constants."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return update_wrapper(run, function, updated=())

    return decorate if fn is None else decorate(fn)


def jit_class(cls: type) -> type:
    """Mark a class for use in compiled functions; ordinary classes work without the mark."""
    if not isinstance(cls, type):
        raise wrong_type("jit_class", "cls", cls, "a class")
    if hasattr(cls, "construct"):
        raise problem(
            TypeError,
            f"Decorator jit_class is used for user-defined classes and cannot be used for {cls}.",
            fix="remove the decorator: a Cell does not need it",
        )
    return cls


def lazy_inline(fn: Any = None, attrs: Any = None, policy: Any = None) -> Any:
    """Mark a cell as a repeated block of a network; decorates its `__init__`.

    A chain of blocks with the same structure is compiled once and runs as a loop over their
    weights, so compile time does not grow with the depth of the network. `attrs` and `policy` are
    accepted for compatibility and ignored.
    """

    def decorate(init: Callable[..., None]) -> Callable[..., None]:
        if not callable(init) or isinstance(init, type):
            raise problem(
                TypeError,
                "lazy_inline decorates the __init__ of a cell",
                got=repr(init),
                fix="write @lazy_inline above def __init__",
            )

        @wraps(init)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)
            self.add_flags(lazy_inline=True)

        return run

    return decorate if fn is None else decorate(fn)


@dataclass
class JitConfig:
    """Compilation options for `net.set_jit_config`."""

    jit_level: str = ""
    exc_mode: str = "auto"
    jit_syntax_level: str = ""
    debug_level: str = "RELEASE"
    infer_boost: str = "off"
    jit_config_dict: dict[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        jit_level: str = "",
        exc_mode: str = "auto",
        jit_syntax_level: str = "",
        debug_level: str = "RELEASE",
        infer_boost: str = "off",
        **kwargs: Any,
    ) -> None:
        if jit_level not in ("", "O0", "O1", "O2"):
            raise problem(
                ValueError,
                "For 'jit_level' the value must be one of O0, O1, O2",
                got=repr(jit_level),
            )
        self.jit_level = jit_level
        self.exc_mode = exc_mode
        self.jit_syntax_level = jit_syntax_level
        self.debug_level = debug_level
        self.infer_boost = infer_boost
        self.jit_config_dict = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            "debug_level": debug_level,
            "infer_boost": infer_boost,
            **kwargs,
        }
