"""A bounded queue between two threads that either end can close."""

from __future__ import annotations

from collections import deque
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class QueueClosed(Exception):
    """The other end closed the queue."""


_MANY = 8  # from this capacity on, items are small and are taken several at a time


class BoundedQueue(Generic[T]):
    """Holds at most `capacity` items; closing wakes both threads. One thread puts, one gets."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._items: deque[T] = deque()
        self._taken: deque[T] = deque()  # taken by the consumer, returned one by one
        self._changed = Condition()
        self._closed = False

    def put(self, item: T) -> None:
        """Add an item; blocks while the queue is full."""
        with self._changed:
            while len(self._items) >= self.capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                raise QueueClosed
            self._items.append(item)
            self._changed.notify_all()

    def get(self) -> T:
        """Remove the oldest item; blocks while the queue is empty."""
        if self._taken and not self._closed:
            return self._taken.popleft()
        with self._changed:
            while not self._items and not self._closed:
                self._changed.wait()
            if self._closed:
                raise QueueClosed
            item = self._items.popleft()
            if self.capacity >= _MANY:
                self._taken, self._items = self._items, self._taken
            self._changed.notify_all()
            return item

    def close(self) -> None:
        """Drop all items; every `put` and `get` raises from now on."""
        with self._changed:
            self._closed = True
            self._items.clear()
            self._changed.notify_all()
