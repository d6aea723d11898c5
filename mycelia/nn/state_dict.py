"""Saving and loading the state of a cell as a dict: parameters, buffers, and extra state."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Self

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.hook_handle import HookHandle
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.runtime import devices
from mycelia.nn.cell_tree import CellTree
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.tensor import Tensor

EXTRA_STATE = "_extra_state"
_BUFFER_HOOKS: list[Callable[..., Any]] = []


class IncompatibleKeys(NamedTuple):
    """Names that the cell has and the dict lacks, and names that only the dict has."""

    missing_keys: list[str]
    unexpected_keys: list[str]


class CellState(CellTree):
    """The state of a Cell beyond its parameters: buffers, extra state, dtype."""

    # ---- buffers ----------------------------------------------------------------------------

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that optimizers do not update; if persistent, it is part of the state."""
        if not isinstance(name, str):
            raise problem(TypeError, "buffer name should be a string.", got=type(name).__name__)
        if not name or "." in name:
            raise problem(
                KeyError, "a buffer's name must be non-empty and contain no dots", got=repr(name)
            )
        if hasattr(self, name) and name not in self._buffers:
            raise problem(KeyError, f"attribute '{name}' already exists")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise problem(
                TypeError,
                f"cannot assign '{type(tensor).__name__}' object to buffer '{name}'",
                expected="a Tensor or None",
            )
        for hook in _BUFFER_HOOKS:
            changed = hook(self, name, tensor)
            tensor = tensor if changed is None else changed
        note_network_change()
        object.__setattr__(self, name, tensor)
        self._buffers[name] = persistent

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """All buffers with their dotted attribute paths."""
        seen: set[int] = set()
        for path, cell in self._parts(prefix, recurse):
            for name in cell._buffers:
                tensor = getattr(cell, name)
                if tensor is None or (remove_duplicate and id(tensor) in seen):
                    continue
                seen.add(id(tensor))
                yield _joined(path, name), tensor

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        for _, tensor in self.named_buffers(recurse=recurse):
            yield tensor

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path."""
        path, _, name = target.rpartition(".")
        owner = self.get_sub_cell(path)
        if name not in owner._buffers:
            raise problem(
                AttributeError,
                f"{type(owner).__name__} has no attribute `{name}`",
                expected=f"one of the buffers {', '.join(owner._buffers) or '(none)'}",
            )
        return getattr(owner, name)

    # ---- state dict -------------------------------------------------------------------------

    def get_extra_state(self) -> Any:
        """State that is not a tensor; a subclass defines this and set_extra_state."""
        raise problem(
            RuntimeError, f"{type(self).__name__} has no extra state", fix="define get_extra_state"
        )

    def set_extra_state(self, state: Any) -> None:
        """Restore the result of get_extra_state."""
        raise problem(
            RuntimeError, f"{type(self).__name__} has no extra state", fix="define set_extra_state"
        )

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Parameters, persistent buffers, and extra state by attribute path."""
        result: OrderedDict[str, Any] = OrderedDict() if destination is None else destination
        for path, cell in self._parts(prefix.rstrip("."), recurse=True):
            start = path + "." if path else ""
            for hook in cell._state_hooks("state_dict_pre"):
                hook(cell, start, keep_vars)
            own = [(n, p) for n, p in cell._params.items() if p is not None]
            own += [(n, getattr(cell, n)) for n, persists in cell._buffers.items() if persists]
            result.update((start + n, value) for n, value in own if value is not None)
            if type(cell).get_extra_state is not CellState.get_extra_state:
                result[start + EXTRA_STATE] = cell.get_extra_state()
            for hook in cell._state_hooks("state_dict_post"):
                hook(cell, result, start, {})
        return result

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> IncompatibleKeys:
        """Load the state by attribute path; returns the missing and the unexpected names."""
        loaded = OrderedDict(state_dict)
        missing: list[str] = []
        unknown: list[str] = []
        for path, cell in self._parts("", recurse=True):
            start = path + "." if path else ""
            for hook in cell._state_hooks("load_state_dict_pre"):
                hook(cell, loaded, start, {}, strict, missing, unknown, [])
        own = self.state_dict()
        missing += [name for name in own if name not in loaded]
        unknown += [name for name in loaded if name not in own]
        if strict and (missing or unknown):
            raise problem(
                RuntimeError,
                "load_state_dict: the names do not match",
                got=f"missing {missing}, unknown {unknown}",
                fix="pass strict=False to load what matches",
            )
        for name in own:
            if name in loaded:
                self._load_one(name, loaded[name])
        keys = IncompatibleKeys(missing, unknown)
        for _, cell in self._parts("", recurse=True):
            for hook in cell._state_hooks("load_state_dict_post"):
                hook(cell, keys)
        return keys

    def _load_one(self, target: str, value: Any) -> None:
        path, _, name = target.rpartition(".")
        owner = self.get_sub_cell(path)
        if name == EXTRA_STATE:
            owner.set_extra_state(value)
        elif name in owner._buffers:
            note_network_change()
            object.__setattr__(owner, name, value.copy())
        else:
            owner._params[name].set_data(value)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, prefix, keep_vars)` before the state of this cell is read."""
        return self._add_state_hook("state_dict_pre", hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, state_dict, prefix, metadata)` after the state of this cell is read."""
        return self._add_state_hook("state_dict_post", hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, state_dict, prefix, metadata, strict, missing, unexpected, errors)`."""
        return self._add_state_hook("load_state_dict_pre", hook)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> HookHandle:
        """Call `hook(cell, incompatible_keys)` when a state was loaded."""
        return self._add_state_hook("load_state_dict_post", hook)

    def _add_state_hook(self, kind: str, hook: Callable[..., Any]) -> HookHandle:
        if not callable(hook):
            raise wrong_type(f"register_{kind}_hook", "hook", hook, "function")
        hooks = self.__dict__.setdefault("_hooks_of_state", {}).setdefault(kind, [])
        hooks.append(hook)
        return HookHandle(hooks, hook)

    def _state_hooks(self, kind: str) -> list[Callable[..., Any]]:
        return self.__dict__.get("_hooks_of_state", {}).get(kind, [])

    # ---- dtypes and devices -----------------------------------------------------------------

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast floating-point parameters and buffers to another dtype, in place.

        `to(dtype)`, `to(tensor)`, `to(device)`, or `to(device=None, dtype=None)`.
        """
        device, dtype = _device_and_dtype(args, kwargs)
        if device is not None and device not in devices.available():
            raise problem(
                RuntimeError,
                f"Cell.to: device {device!r} is not available",
                expected=f"one of {', '.join(devices.available())}",
            )
        if dtype is None:
            return self
        note_network_change()
        for tensor in (*self.get_parameters(), *self.buffers()):
            if tensor.dtype.is_float:
                tensor._replace(cast(tensor, dtype)._data)
        return self

    def to_empty(self, *, device: str | None = None, recurse: bool = True) -> Self:
        """Move to a device without preserving values; here they are preserved."""
        return self.to(device=device)

    def _parts(self, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        if recurse:
            yield from self.cells_and_names(name_prefix=prefix)
        else:
            yield prefix, self


def register_cell_buffer_registration_hook(hook: Callable[..., Any]) -> HookHandle:
    """Call `hook(cell, name, tensor)` for every new buffer; its result replaces the tensor."""
    if not callable(hook):
        raise wrong_type("register_cell_buffer_registration_hook", "hook", hook, "function")
    _BUFFER_HOOKS.append(hook)
    return HookHandle(_BUFFER_HOOKS, hook)


def _device_and_dtype(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    unknown = set(kwargs) - {"device", "dtype", "non_blocking"}
    for arg in args:
        if isinstance(arg, Tensor):
            dtype = arg.dtype
        elif isinstance(arg, DType):
            dtype = arg
        elif isinstance(arg, str):
            device = arg
        elif not (arg is None or isinstance(arg, bool)):
            unknown.add(type(arg).__name__)
    if unknown or (device is not None and not isinstance(device, str)):
        raise problem(
            TypeError,
            "Cell.to: wrong arguments",
            got=f"{args}, {kwargs}",
            expected="to(dtype), to(tensor), or to(device=None, dtype=None, non_blocking=False)",
        )
    if dtype is not None and not dtypes.as_dtype(dtype).is_inexact:
        raise problem(
            TypeError,
            "Cell.to: the dtype must be floating-point or complex",
            got=str(dtypes.as_dtype(dtype)),
        )
    return device, None if dtype is None else dtypes.as_dtype(dtype)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
