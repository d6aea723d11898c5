"""The doors through which the lower layers reach whoever runs them: one set for each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Slot(threading.local):
    """Calling an operator goes through `dispatch`: by default eager mode, set once for all threads.

    While a function is read into a graph, its thread has other doors here:

    - `force` gives the numbers behind a node, or says that they are not known yet,
    - `before_write` hears of every tensor that is about to get another array,
    - `call` runs a function users wrote, so that its branches and loops are read too.
    """

    dispatch: Callable[..., Any]
    force: Callable[[Any], Any] | None = None
    before_write: Callable[[Any], None] | None = None
    call: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None


slot = Slot()


def call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that users may have written: while a program is read, it is read, too."""
    return fn(*args, **kwargs) if slot.call is None else slot.call(fn, args, kwargs)
