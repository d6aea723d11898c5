"""Observers of program runs, which profilers install."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax


class RunObserver:
    """`heard` receives the program name, the start time, and the end time of each run."""

    heard: Callable[[str, float, float], None] | None = None


run_observer = RunObserver()


def observed(name: str, program: Callable[..., Any], inputs: Sequence[Any] = ()) -> Any:
    """Call `program`; if there is an observer, wait for the results and report the run."""
    if run_observer.heard is None:
        return program(*inputs)
    began = perf_counter()
    results = program(*inputs)
    wait(results)
    run_observer.heard(name, began, perf_counter())
    return results


def wait(results: Any) -> None:
    """Wait until the arrays in `results` are computed."""
    jax.block_until_ready(results)
