"""Events: what happens in one layer, told to whoever listens in a higher one."""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[..., None]

_listeners: dict[str, list[Listener]] = {}


def subscribe(kind: str, listener: Listener) -> Callable[[], None]:
    """Call `listener` with the fields of each event of this kind; returns the way to stop it."""
    _listeners.setdefault(kind, []).append(listener)

    def unsubscribe() -> None:
        if listener in _listeners[kind]:
            _listeners[kind].remove(listener)

    return unsubscribe


def has_listeners(kind: str) -> bool:
    """Whether anybody listens to events of this kind."""
    return bool(_listeners.get(kind))


def publish(kind: str, **fields: object) -> None:
    """Tell the listeners of `kind`, in the order they came."""
    for listener in tuple(_listeners.get(kind, ())):
        listener(**fields)
