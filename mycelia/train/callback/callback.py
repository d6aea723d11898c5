"""The base class of callbacks, and the context that their events receive."""

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
    """Information about a run by name, also as attributes: `parameters.cur_step_num`."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext(CheckedKeywords):
    """What callback events receive: information about the run, and a way to stop it."""

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise problem(
                TypeError,
                "RunContext: original_args must be a dict",
                got=repr(original_args),
            )
        self._original_args = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """Information about the run: `cur_step_num`, `net_outputs`, `train_network`, ..."""
        return self._original_args

    def request_stop(self) -> None:
        """Stop the run after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether a callback asked to stop the run."""
        return self._stop_requested


class Callback(CheckedKeywords):
    """The base class of callbacks. A subclass overrides the events that it handles.

    Each event is a method that receives the RunContext. A run calls `on_train_*` and `on_eval_*`;
    by default these call the event without the prefix, which handles both.
    """

    only_reads_results = False  # its step events use only `net_outputs` and step numbers

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
        """When a run was asked to stop: after the step and before the end of its epoch."""

    def looks_every(self) -> int:
        """Step events inspect the network only every so many steps; 0: never."""
        return 1

    def resumes_from(self) -> Path | None:
        """The checkpoint that training should resume from, if there is one."""
        return None

    def state(self) -> dict[str, Any] | None:
        """The state of this callback to store in a checkpoint, as plain values."""
        return None

    def restore(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; called after `on_train_begin`."""

    def hears(self, *events: str) -> bool:
        """Whether this callback handles one of these events."""
        return any(
            event in vars(self) or getattr(type(self), event) is not getattr(Callback, event)
            for event in events
        )


class CallbackList:
    """The callbacks of a run; sends each event to all of them, in order."""

    def __init__(self, callbacks: Any) -> None:
        self.callbacks = as_list(callbacks)
        self.event = ""  # the last event that was sent
        self.heard = 0  # how many callbacks have received it
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        entered = [self._stack.enter_context(callback) for callback in self.callbacks]
        self.callbacks = [
            result if isinstance(result, Callback) else callback
            for result, callback in zip(entered, self.callbacks, strict=True)
        ]
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._stack.__exit__(*error)

    def tell(self, event: str, run_context: RunContext) -> None:
        """Send an event to all callbacks, as in `tell("on_train_begin", context)`."""
        self.event, self.heard = event, 0
        for callback in self.callbacks:
            self.heard += 1
            getattr(callback, event)(run_context)

    def tell_rest(self, event: str, run_context: RunContext, heard: Sequence[Callback]) -> None:
        """The same, except for callbacks that have already received the event."""
        self.event, self.heard = event, 0
        for callback in self.callbacks:
            self.heard += 1
            if not any(callback is other for other in heard):
                getattr(callback, event)(run_context)


def as_list(callbacks: Any) -> list[Callback]:
    """None, one callback or a list of them, as a list."""
    listed = [] if callbacks is None else callbacks
    listed = listed if isinstance(listed, list) else [listed]
    if not all(isinstance(callback, Callback) for callback in listed):
        raise problem(
            TypeError,
            "callbacks: an element is not a Callback",
            got=", ".join(type(callback).__name__ for callback in listed),
            expected="a Callback, or a list of them",
        )
    return list(listed)


def loss_of(net_outputs: Any) -> Any:
    """The loss in the results of a step: a float, or the first of several results unchanged."""
    if isinstance(net_outputs, (tuple, list)):
        return net_outputs[0] if isinstance(net_outputs[0], Tensor) else net_outputs
    if isinstance(net_outputs, Tensor):
        return float(np.mean(net_outputs.asnumpy()))
    return net_outputs


def step_in_epoch(parameters: Any) -> int:
    """The number of the current step, counted from 1 in its epoch."""
    return int((parameters.cur_step_num - 1) % parameters.batch_num + 1)
