"""What hears of the course of a training: the base class, and what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.tensor.tensor import Tensor

PLAIN_EVENTS = ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
EVENTS = tuple(f"on_{phase}_{event}" for phase in ("train", "eval") for event in PLAIN_EVENTS)


class CallbackParameters(dict[str, Any]):
    """The facts of a run by name, also as attributes: `parameters.cur_step_num`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext(CheckedKeywords):
    """What a callback is given: the facts of the run, and the way to end it."""

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise problem(
                TypeError,
                "RunContext: the facts of a run are no dict",
                got=repr(original_args),
            )
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The facts of the run: `cur_step_num`, `net_outputs`, `train_network`, ..."""
        return self._original_args

    def request_stop(self) -> None:
        """Ask for the run to end after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether somebody asked for the run to end."""
        return self._stop_requested


class Callback(CheckedKeywords):
    """The base class: a subclass defines the events it wants to hear of.

    Each event is a method that takes the RunContext. `on_train_*` and `on_eval_*` are what a run
    calls; unless defined, they go to the plain names, which stand for both.
    """

    only_reads_results = False  # in its step events it looks at `net_outputs` and numbers only

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> Any:
        return None

    def begin(self, run_context: Any) -> None:
        """Before the run."""

    def epoch_begin(self, run_context: Any) -> None:
        """Before each epoch."""

    def epoch_end(self, run_context: Any) -> None:
        """After each epoch."""

    def step_begin(self, run_context: Any) -> None:
        """Before each step."""

    def step_end(self, run_context: Any) -> None:
        """After each step."""

    def end(self, run_context: Any) -> None:
        """After the run."""

    def on_train_begin(self, run_context: Any) -> None:
        """Before training."""
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """Before each epoch of training."""
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """After each epoch of training."""
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: Any) -> None:
        """Before each step of training."""
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """After each step of training."""
        self.step_end(run_context)

    def on_train_end(self, run_context: Any) -> None:
        """After training."""
        self.end(run_context)

    def on_eval_begin(self, run_context: Any) -> None:
        """Before evaluation."""
        self.begin(run_context)

    def on_eval_epoch_begin(self, run_context: Any) -> None:
        """Before the data of an evaluation."""
        self.epoch_begin(run_context)

    def on_eval_epoch_end(self, run_context: Any) -> None:
        """After the data of an evaluation."""
        self.epoch_end(run_context)

    def on_eval_step_begin(self, run_context: Any) -> None:
        """Before each step of evaluation."""
        self.step_begin(run_context)

    def on_eval_step_end(self, run_context: Any) -> None:
        """After each step of evaluation."""
        self.step_end(run_context)

    def on_eval_end(self, run_context: Any) -> None:
        """After evaluation."""
        self.end(run_context)

    def on_train_interrupted(self, run_context: Any) -> None:
        """When somebody asked for the end of training: between a step and the end of its epoch."""

    def looks_every(self) -> int:
        """In its step events it looks at the network after each so many steps only; 0: never."""
        return 1

    def resumes_from(self) -> Path | None:
        """A checkpoint that the training is to go on from, if there is one."""
        return None

    def state(self) -> dict[str, Any] | None:
        """What a checkpoint must keep of this object, for a run that goes on: plain values."""
        return None

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from what `state` gave; this comes after `on_train_begin`."""

    def hears(self, *events: str) -> bool:
        """Whether this object does something at one of these events."""
        return any(
            event in vars(self) or getattr(type(self), event) is not getattr(Callback, event)
            for event in events
        )


class CallbackList:
    """The callbacks of a run: an event goes to each, in order."""

    def __init__(self, callbacks: Any) -> None:
        self.callbacks = as_list(callbacks)
        self.event = ""  # the last one that was told
        self.heard = 0  # how many callbacks have heard of it, or are hearing
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        entered = [self._stack.enter_context(callback) for callback in self.callbacks]
        self.callbacks = [
            found if isinstance(found, Callback) else callback
            for found, callback in zip(entered, self.callbacks, strict=True)
        ]
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._stack.__exit__(*error)

    def tell(self, event: str, run_context: RunContext) -> None:
        """Let all callbacks hear of an event, as `tell("on_train_begin", context)`."""
        self.event, self.heard = event, 0
        for callback in self.callbacks:
            self.heard += 1
            getattr(callback, event)(run_context)

    def tell_rest(self, event: str, run_context: RunContext, heard: Sequence[Callback]) -> None:
        """The same, for an event that some have heard of already."""
        self.event, self.heard = event, 0
        for callback in self.callbacks:
            self.heard += 1
            if not any(callback is one for one in heard):
                getattr(callback, event)(run_context)


def as_list(callbacks: Any) -> list[Callback]:
    """None, one callback or a list of them, as a list."""
    listed = [] if callbacks is None else callbacks
    listed = listed if isinstance(listed, list) else [listed]
    if not all(isinstance(callback, Callback) for callback in listed):
        raise problem(
            TypeError,
            "callbacks: one of them is no Callback",
            got=", ".join(type(callback).__name__ for callback in listed),
            expected="a Callback, or a list of them",
        )
    return list(listed)


def loss_of(net_outputs: Any) -> Any:
    """The loss among the results of a step: a float, or the first of several as it is."""
    if isinstance(net_outputs, (tuple, list)):
        return net_outputs[0] if isinstance(net_outputs[0], Tensor) else net_outputs
    if isinstance(net_outputs, Tensor):
        return float(np.mean(net_outputs.asnumpy()))
    return net_outputs


def step_in_epoch(parameters: Any) -> int:
    """The number of the current step, counted from 1 in its epoch."""
    return int((parameters.cur_step_num - 1) % parameters.batch_num + 1)


def plain_events_of(callback: Callback) -> Sequence[str]:
    """The events without `on_train_` or `on_eval_` that a callback defines."""
    return [event for event in PLAIN_EVENTS if callback.hears(event)]
