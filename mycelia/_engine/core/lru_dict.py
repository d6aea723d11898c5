"""Dicts of bounded size that forget what was not used for the longest time."""

from __future__ import annotations

import gc
from itertools import islice
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from mycelia._engine.core import settings
from mycelia._engine.core.memory_maps import map_count, map_limit

INTERVAL = 32  # new values between two looks at the memory maps of the process
_FEW = 256  # values whose order of use is not worth its cost


class LRUDict(dict[Any, Any]):
    """At most `max_programs` values by key (see `set_context`), the last used ones.

    While there are few of them, the order of use does not matter yet, and is not kept.

    Programs take memory maps, of which a process may have a certain number. Where it has a third
    of them, all dicts of this kind forget the older half of their values.
    """

    _living: ClassVar[WeakValueDictionary[int, LRUDict]] = WeakValueDictionary()
    _new: ClassVar[int] = 0  # values since the last look at the maps
    _allowed: ClassVar[int] = 0  # maps, if they are more than the limit: others have them

    def __init__(self) -> None:
        super().__init__()
        LRUDict._living[id(self)] = self

    def use(self, key: Any) -> Any:
        """The value of a key, which counts as used now, or None."""
        value = self.get(key)
        if value is not None and len(self) > min(_FEW, settings.current().max_programs // 2):
            self.pop(key, None)
            self[key] = value
        return value

    def keep(self, key: Any, value: Any) -> None:
        """Set the value of a key, and forget others if there are too many."""
        self.pop(key, None)
        while len(self) >= settings.current().max_programs:
            self.pop(next(iter(self), None), None)
        self[key] = value
        LRUDict._new += 1
        if LRUDict._new >= INTERVAL:
            LRUDict._new = 0
            _limit_maps()

    def forget_older_half(self) -> None:
        """Forget what was not used for the longest time."""
        for key in list(islice(self, len(self) // 2)):
            self.pop(key, None)


def _limit_maps() -> None:
    limit = map_limit()
    if map_count() <= max(limit, LRUDict._allowed):
        return
    for found in list(LRUDict._living.values()):
        found.forget_older_half()
    gc.collect()  # programs are parts of cycles
    LRUDict._allowed = map_count() + limit // 4
