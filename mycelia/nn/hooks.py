"""Hooks of a cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.hook_handle import HookHandle

Hook = tuple[Callable[..., Any], bool]  # the function, and whether it also accepts kwargs


class CellHooks:
    """The hooks of one cell, by kind."""

    def __init__(self) -> None:
        self.forward_pre: list[Hook] = []
        self.forward: list[Hook] = []
        self.backward: list[Hook] = []
        self.backward_pre: list[Hook] = []

    def add(
        self,
        kind: str,
        fn: Callable[..., Any],
        prepend: bool = False,
        with_kwargs: bool = False,
    ) -> HookHandle:
        if not callable(fn):
            raise wrong_type(f"register_{kind}_hook", "hook_fn", fn, "function")
        hooks: list[Hook] = getattr(self, kind)
        hook = (fn, with_kwargs)
        hooks.insert(0 if prepend else len(hooks), hook)
        return HookHandle(hooks, hook)

    def registered(self) -> tuple[tuple[Hook, ...], ...]:
        """All registered hooks."""
        kinds = (self.forward_pre, self.forward, self.backward, self.backward_pre)
        return tuple(map(tuple, kinds))
