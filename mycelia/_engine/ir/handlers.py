"""Handlers through which lower layers call the active frontend or runtime: a set per thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Handlers(threading.local):
    """Operator calls go through `dispatch`: by default eager mode, set once for all threads.

    While a function is traced into a graph, its thread has other handlers here:

    - `force` returns the values behind a node, or raises if they are not known yet,
    - `before_write` is called before a tensor gets another array,
    - `replacement` returns the array for a tensor whose gradients must flow as before,
    - `call` runs a function that users wrote, so that its branches and loops are traced, too,
    - `enclosed` traces a function as a separate graph, which a given primitive runs,
    - `when` runs a function only if a condition of the program holds,
    - `effect` records a Python function to be called with values when the program runs,
    - `rely` is called with every external fact that the program treats as constant,
    - `hook` lets a function see the gradient of a tensor of the program.
    """

    dispatch: Callable[..., Any]
    gather: Callable[[Any], Any]  # the elements of an array with shards on other processes
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
    """Set the handlers of operator calls and sharded arrays, in all threads, outside tracing."""
    Handlers.dispatch, Handlers.gather = staticmethod(dispatch), staticmethod(gather)


def run_effect(run: Callable[..., None], title: str, *values: Any) -> None:
    """Call `run` with tensors: immediately, or when the traced program reaches this point."""
    if handlers.effect is None:
        run(*values)
    else:
        handlers.effect(run, title, values)


def guarded_fact(fact: Callable[..., bool], *args: Any) -> bool:
    """The current value of `fact`; a program that relies on it is retraced when it changes."""
    value = fact(*args)
    if handlers.rely is not None:
        handlers.rely(fact, args, value)
    return value


def run_if(condition: Any, part: Callable[[], None]) -> None:
    """Run `part` if the condition holds: immediately, or as a branch of the traced program."""
    if handlers.when is not None:
        handlers.when(condition, part)
    elif bool(condition):
        part()


def call_user_function(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function that users may have written: while a program is traced, it is traced, too."""
    return fn(*args, **kwargs) if handlers.call is None else handlers.call(fn, args, kwargs)
