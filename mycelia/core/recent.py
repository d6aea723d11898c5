"""Dicts of bounded size that forget what was not used for the longest time."""

from __future__ import annotations

from typing import Any

from mycelia.core import settings


class Recent(dict[Any, Any]):
    """At most `max_programs` values by key (see `set_context`), the last used ones.

    While it is less than half full, the order of use does not matter yet, and is not kept.
    """

    def use(self, key: Any) -> Any:
        """The value of a key, which counts as used now, or None."""
        value = self.get(key)
        if value is not None and 2 * len(self) > settings.current().max_programs:
            self.pop(key, None)
            self[key] = value
        return value

    def keep(self, key: Any, value: Any) -> None:
        """Set the value of a key, and forget others if there are too many."""
        self.pop(key, None)
        while len(self) >= settings.current().max_programs:
            self.pop(next(iter(self), None), None)
        self[key] = value
