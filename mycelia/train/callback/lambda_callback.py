"""The LambdaCallback: a callback made of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia.train.callback.callback import EVENTS, Callback

Listener = Callable[[Any], Any]


class LambdaCallback(Callback):
    """Calls functions at the events of the same names, each with the RunContext."""

    def __init__(
        self,
        on_train_epoch_begin: Listener | None = None,
        on_train_epoch_end: Listener | None = None,
        on_train_step_begin: Listener | None = None,
        on_train_step_end: Listener | None = None,
        on_train_begin: Listener | None = None,
        on_train_end: Listener | None = None,
        on_eval_epoch_begin: Listener | None = None,
        on_eval_epoch_end: Listener | None = None,
        on_eval_step_begin: Listener | None = None,
        on_eval_step_end: Listener | None = None,
        on_eval_begin: Listener | None = None,
        on_eval_end: Listener | None = None,
    ) -> None:
        super().__init__()
        functions = dict(locals())
        for event in EVENTS:
            listener = functions[event]
            if listener is None:
                continue
            if not callable(listener):
                raise wrong_type("LambdaCallback", event, listener, "a function")
            setattr(self, event, listener)
