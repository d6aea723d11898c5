"""Events: one layer publishes them, and higher layers subscribe to them."""

from __future__ import annotations

from collections.abc import Callable

Listener = Callable[..., None]

_listeners: dict[str, list[Listener]] = {}


def subscribe(kind: str, listener: Listener) -> Callable[[], None]:
    """Call `listener` with the fields of each event of this kind; returns a function to stop it."""
    _listeners.setdefault(kind, []).append(listener)

    def unsubscribe() -> None:
        if listener in _listeners[kind]:
            _listeners[kind].remove(listener)

    return unsubscribe


def has_listeners(kind: str) -> bool:
    """Whether events of this kind have listeners."""
    return bool(_listeners.get(kind))


def publish(kind: str, **fields: object) -> None:
    """Call the listeners of `kind`, in the order in which they subscribed."""
    for listener in tuple(_listeners.get(kind, ())):
        listener(**fields)
