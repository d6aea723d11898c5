"""The doors through which the lower layers reach whoever runs them: one set for each thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Handlers(threading.local):
    """Calling an operator goes through `dispatch`: by default eager mode, set once for all threads.

    While a function is read into a graph, its thread has other doors here:

    - `force` gives the numbers behind a node, or says that they are not known yet,
    - `before_write` hears of every tensor that is about to get another array,
    - `replacement` gives the array that a tensor gets where gradients shall flow as before,
    - `call_user_function` runs a function users wrote, so that its branches and loops are read too,
    - `enclosed` runs a part as a graph of its own, which a given primitive runs,
    - `run_if` runs a part only where a condition of the program holds,
    - `run_effect` keeps a Python function to be called with values when the program runs,
    - `rely` hears of a fact outside that the program takes for constant,
    - `hook` lets a function see the gradient of a tensor of the program.
    """

    dispatch: Callable[..., Any]
    gather: Callable[[Any], Any]  # the numbers of an array that other processes hold parts of
    force: Callable[[Any], Any] | None = None
    before_write: Callable[[Any], None] | None = None
    replacement: Callable[[Any, Any], Any] | None = None
    call: Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any] | None = None
    enclosed: Callable[[Any, Callable[[], Any]], Any] | None = None
    when: Callable[[Any, Callable[[], None]], None] | None = None
    effect: Callable[[Callable[..., None], str, tuple[Any, ...]], None] | None = None
    rely: Callable[[Callable[..., bool], tuple[Any, ...], bool], None] | None = None
    hook: Callable[[Any, Callable[[Any], Any]], Any] | None = None


handlers = Handlers()


def install(*, dispatch: Callable[..., Any], gather: Callable[[Any], Any]) -> None:
    """Set what handles operator calls and sharded arrays, in all threads, outside of tracing."""
    Handlers.dispatch, Handlers.gather = staticmethod(dispatch), staticmethod(gather)


def run_effect(run: Callable[..., None], title: str, *values: Any) -> None:
    """Call `run` with tensors: now, or when the program being read comes to this place."""
    if handlers.effect is None:
        run(*values)
    else:
        handlers.effect(run, title, values)


def guarded_fact(fact: Callable[..., bool], *args: Any) -> bool:
    """What `fact` says now; a program being read is read again once it says something else."""
    found = fact(*args)
    if handlers.rely is not None:
        handlers.rely(fact, args, found)
    return found


def run_if(condition: Any, part: Callable[[], None]) -> None:
    """Run `part` if the condition holds: now, or as a branch of the program being read."""
    if handlers.when is not None:
        handlers.when(condition, part)
    elif bool(condition):
        part()


def call_user_function(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that users may have written: while a program is read, it is read, too."""
    return fn(*args, **kwargs) if handlers.call is None else handlers.call(fn, args, kwargs)
