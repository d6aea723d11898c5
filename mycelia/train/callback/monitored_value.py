"""The base class of callbacks that monitor a metric and count epochs without progress."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_instance, check_non_negative_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.warn_once import logger
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback, loss_of

_UP, _DOWN = 1, -1
_MODES = ("auto", "min", "max")
_BETTER_DOWN = frozenset(
    (
        *("loss", "eval_loss", "perplexity"),
        *("mae", "mse"),
        *("hausdorff_distance", "mean_surface_distance", "root_mean_square_distance"),
    )
)


class MonitorCallback(Callback):
    """A callback that acts when `monitor` has not improved for `patience` epochs.

    `monitor` is "loss", "eval_loss", or the name of a metric; `mode` is "min" or "max" for the
    better direction, or "auto" to derive it from the name. Changes of at most `min_delta` do not
    count as improvement.
    """

    _kept: tuple[str, ...] = ("best", "_seen", "_waits_since")  # stored in checkpoints
    best: float
    _seen: int
    _waits_since: int  # the number of values seen when waiting began

    def __init__(
        self, monitor: str, min_delta: float, patience: int, verbose: bool, mode: str
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.monitor = check_instance(owner, "monitor", monitor, str)
        self.mode = check_instance(owner, "mode", mode, str)
        self._direction = _direction(owner, monitor, mode)
        self.min_delta = abs(check_instance(owner, "min_delta", min_delta, (float, int)))
        self.patience = check_non_negative_int(owner, "patience", patience)
        self.verbose = check_bool(owner, "verbose", verbose)
        self._reset()

    @property
    def wait(self) -> int:
        """The number of epochs in a row without improvement."""
        return max(self._seen - self._waits_since, 0)

    def on_train_begin(self, run_context: Any) -> None:
        self._reset()

    def on_train_epoch_end(self, run_context: Any) -> None:
        value = self._value_in(run_context.original_args())
        if value is None:
            return
        self._seen += 1
        is_best = self._is_better(value, self.best)
        if is_best:
            self.best = value
        self._judge(run_context, value, is_best)

    def state(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._kept}

    def restore(self, state: dict[str, Any]) -> None:
        for name in self._kept:
            setattr(self, name, state[name])

    def _judge(self, run_context: Any, value: float, is_best: bool) -> None:
        """Act on the monitored value of an epoch."""
        raise NotImplementedError

    def _reset(self) -> None:
        """Discard everything seen so far."""
        self.best = -self._direction * np.inf
        self._seen = 0
        self._waits_since = 0

    def _restart_wait(self, rest: int = 0) -> None:
        """Count the epochs without improvement from here, or from `rest` epochs later."""
        self._waits_since = max(self._waits_since, self._seen + rest)

    def _is_better(self, value: float, than: float) -> bool:
        return self._direction * value > self._direction * than + self.min_delta

    def _value_in(self, facts: Any) -> float | None:
        """The value of `monitor` after this epoch, or None if the run does not report it."""
        known = dict(facts.get("eval_results") or {})
        if self.monitor == "loss":
            known["loss"] = loss_of(facts.get("net_outputs"))
        value = known.get(self.monitor)
        owner = type(self).__name__
        if value is None:
            names = ", ".join(sorted({"loss", *known}))
            logger.warning(
                "%s monitors %s, which this run does not report; available: %s",
                *(owner, self.monitor, names),
            )
            return None
        array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
        if array.ndim:
            raise problem(
                ValueError,
                f"{owner}: only a scalar can be monitored",
                got=f"{self.monitor} of shape {array.shape}",
            )
        return float(array)


def _direction(owner: str, monitor: str, mode: str) -> int:
    """The direction of improvement."""
    if mode not in _MODES:
        raise problem(
            ValueError,
            f"{owner}: unknown mode",
            got=repr(mode),
            expected=", ".join(map(repr, _MODES)),
        )
    if mode == "auto":
        return _DOWN if monitor in _BETTER_DOWN else _UP
    return _DOWN if mode == "min" else _UP
