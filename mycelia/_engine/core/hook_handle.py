"""The handle that registering a hook returns."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.network_version import note_network_change


class HookHandle:
    """A registered hook; `remove` unregisters it."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks, self._hook = hooks, hook

    def remove(self) -> None:
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)
            note_network_change()
