"""Dicts of bounded size that drop their least recently used values."""

from __future__ import annotations

import gc
from itertools import islice
from typing import Any, ClassVar
from weakref import WeakValueDictionary

from mycelia._engine.core import settings
from mycelia._engine.core.memory_maps import map_count, map_limit

INTERVAL = 32  # new values between two checks of the process's memory maps
_FEW = 256  # below this size, tracking the order of use is not worth its cost


class LRUDict(dict[Any, Any]):
    """The `max_programs` (see `set_context`) most recently used values, by key.

    The order of use is only tracked when the dict is larger than a small threshold.

    Programs use memory maps, whose number per process is limited. When a process has used a third
    of the limit, all dicts of this kind drop the older half of their values.
    """

    _living: ClassVar[WeakValueDictionary[int, LRUDict]] = WeakValueDictionary()
    _new: ClassVar[int] = 0  # values added since the last check of the maps
    _allowed: ClassVar[int] = 0  # maps, if above the limit: something else uses them

    def __init__(self) -> None:
        super().__init__()
        LRUDict._living[id(self)] = self

    def use(self, key: Any) -> Any:
        """The value of a key, marked as used now, or None."""
        value = self.get(key)
        if value is not None and len(self) > min(_FEW, settings.current().max_programs // 2):
            self.pop(key, None)
            self[key] = value
        return value

    def keep(self, key: Any, value: Any) -> None:
        """Set the value of a key, and drop the oldest values if there are too many."""
        self.pop(key, None)
        while len(self) >= settings.current().max_programs:
            self.pop(next(iter(self), None), None)
        self[key] = value
        LRUDict._new += 1
        if LRUDict._new >= INTERVAL:
            LRUDict._new = 0
            _limit_maps()

    def forget_older_half(self) -> None:
        """Drop the least recently used half."""
        for key in list(islice(self, len(self) // 2)):
            self.pop(key, None)


def _limit_maps() -> None:
    limit = map_limit()
    if map_count() <= max(limit, LRUDict._allowed):
        return
    for lru_dict in list(LRUDict._living.values()):
        lru_dict.forget_older_half()
    gc.collect()  # programs are in reference cycles
    LRUDict._allowed = map_count() + limit // 4
