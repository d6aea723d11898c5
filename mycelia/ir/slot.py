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
    - `call` runs a function users wrote, so that its branches and loops are read too,
    - `enclosed` runs a part as a graph of its own, which a given primitive runs,
    - `effect` keeps a Python function to be called with values when the program runs.
    """

    dispatch: Callable[..., Any]
    force: Callable[[Any], Any] | None = None
    before_write: Callable[[Any], None] | None = None
    call: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None
    enclosed: Callable[[Any, Callable[[], Any]], Any] | None = None
    effect: Callable[[Callable[..., None], str, tuple[Any, ...]], None] | None = None


slot = Slot()


def effect(run: Callable[..., None], title: str, *values: Any) -> None:
    """Call `run` with tensors: now, or when the program being read comes to this place."""
    if slot.effect is None:
        run(*values)
    else:
        slot.effect(run, title, values)


def call(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that users may have written: while a program is read, it is read, too."""
    return fn(*args, **kwargs) if slot.call is None else slot.call(fn, args, kwargs)
