"""A bounded queue between two threads that either end can close."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class Closed(Exception):
    """The other end is gone."""


class Channel(Generic[T]):
    """At most `capacity` items wait; closing wakes everyone."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._changed = Condition()
        self._closed = False

    def put(self, item: T) -> None:
        """Add an item once there is room."""
        with self._changed:
            while len(self._items) >= self.capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                raise Closed
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> T:
        """Take the oldest item once there is one."""
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            if self._closed:
                raise Closed
            item = self._items.popleft()
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """Drop what waits; every `put` and `get` raises from now on."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
