"""The training loop: epochs, steps, callback events, and resuming."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd
from typing import Any

from mycelia._engine.core import seed, settings
from mycelia._engine.core.pending_checks import wait_for_checks
from mycelia._engine.core.wait_registry import note_step
from mycelia._engine.core.warn_once import logger
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.background_writer import raise_failed
from mycelia.train.callback.callback import (
    Callback,
    CallbackList,
    CallbackParameters,
    RunContext,
)
from mycelia.train.checkpoint import load_param_into_net
from mycelia.train.dataset_helper import DatasetHelper, size_of
from mycelia.train.evaluation_loop import set_training
from mycelia.train.parameter_device import move_to_device, on_host
from mycelia.train.preflight_checks import kinds_of
from mycelia.train.run_state import EPOCH_END, STEP_END, RunState, matched, state_of_callbacks
from mycelia.transforms.jit import compiled_of
from mycelia.transforms.sink import run_steps

_MOST_JOINED = 64  # steps that run as one program
_MOST_BYTES = 64 * 2**20  # of the batches of such steps
_STEP_EVENTS = ("step_begin", "step_end", "on_train_step_begin", "on_train_step_end")


class TrainingLoop:
    """Trains from the epoch after `first`.

    `end_epoch` is called between the last step of an epoch and its end event. All batches are
    passed to `check`, and the first one to `check_first`.
    """

    def __init__(
        self,
        facts: CallbackParameters,
        callbacks: CallbackList,
        first: int,
        check: Callable[[list[Any]], None],
        check_first: Callable[[list[Any]], None],
        end_epoch: Callable[[int], None],
    ) -> None:
        self._facts, self._callbacks, self._first = facts, callbacks, first
        self._check, self._check_first, self._end_epoch = check, check_first, end_epoch
        self._has_checked = False
        self._network = facts.train_network
        self._context = RunContext(facts)
        self._joined = _steps_joined(facts, callbacks.callbacks)
        self._are_steps_heard = any(c.hears(*_STEP_EVENTS) for c in callbacks.callbacks)
        self._batches = DatasetHelper(facts.train_dataset, False, -1, facts.epoch_num - first)
        self._size = size_of(facts.train_dataset)
        self._steps = 0  # in total
        self._taken = 0  # in this epoch
        self._interruption: RunState | None = None
        facts.run_state = self.state

    def run(self, resumed: tuple[RunState, dict[str, Parameter]] | None = None) -> None:
        """Run all epochs, or those that remain after the resumed state."""
        if resumed is not None:
            self._facts.cur_step_num = self._facts.initial_step = resumed[0].steps
        self._callbacks.tell("on_train_begin", self._context)
        first = self._first if resumed is None else self._resume(*resumed)
        for number in range(first + 1, self._facts.epoch_num + 1):
            if self._context.get_stop_requested():
                break
            self._begin(number)
            self._run_epoch()
            self._end()
        wait_for_checks()  # index checks of the last steps
        self._callbacks.tell("on_train_end", self._context)

    def _begin(self, number: int) -> None:
        self._facts.cur_epoch_num, self._taken = number, 0
        self._facts.pop("metrics", None)
        self._facts.pop("eval_results", None)
        set_training(self._network, True)
        self._callbacks.tell("on_train_epoch_begin", self._context)

    def _run_epoch(self) -> None:
        """Run the steps of an epoch, or those that remain."""
        for group in _groups(self._batches, self._joined, self._size):
            self._check_group(group)
            self._run(group)
            if self._context.get_stop_requested():
                self._interrupt()
                break

    def _check_group(self, group: list[list[Any]]) -> None:
        for inputs in group:
            self._check(inputs)
        if not self._has_checked:
            self._has_checked = True
            self._check_first(group[0])

    def _run(self, group: list[list[Any]]) -> None:
        """Run a group of steps, as one program if there are several."""
        facts = self._facts
        results: Sequence[Any] = ()
        if not self._are_steps_heard and len(group) > 1:
            facts.cur_step_num += len(group)
            facts.train_dataset_element = group[-1]
            facts.net_outputs = self._results(group)[-1]
            return
        for index, inputs in enumerate(group):
            facts.cur_step_num += 1
            facts.train_dataset_element = inputs
            self._callbacks.tell("on_train_step_begin", self._context)
            results = results or self._results(group)
            facts.net_outputs = results[index]
            self._callbacks.tell(STEP_END, self._context)

    def _results(self, group: list[list[Any]]) -> Sequence[Any]:
        results: Sequence[Any]
        raise_failed()  # for background saves
        note_step(self._steps + 1)
        try:
            if len(group) == 1:
                results = [self._network(*group[0])]
            else:
                results = run_steps(compiled_of(self._network), [tuple(batch) for batch in group])
        except Exception as error:
            error.add_note(f"  in step {self._steps + 1}, on a batch of {kinds_of(group[0])}")
            raise
        self._steps += len(group)
        self._taken += len(group)
        return results

    def _interrupt(self) -> None:
        """Let callbacks save now: later events belong to an epoch that has not ended."""
        self._interruption = self.state()
        self._callbacks.tell("on_train_interrupted", self._context)

    def _end(self) -> None:
        self._end_epoch(self._facts.cur_epoch_num)
        self._callbacks.tell(EPOCH_END, self._context)

    # ---- saving and resuming ----------------------------------------------------------------

    def state(self) -> RunState | None:
        """The current run state, for callbacks that save; None before the first epoch."""
        facts, callbacks = self._facts, self._callbacks
        if self._interruption is not None or "cur_epoch_num" not in facts:
            return self._interruption
        is_over = callbacks.event in (EPOCH_END, "on_train_end")
        is_inside = callbacks.event in (STEP_END, EPOCH_END)
        heard = callbacks.heard if is_inside else len(callbacks.callbacks)
        return RunState(
            epoch=facts.cur_epoch_num,
            initial_epoch=self._first,
            steps=self._steps,
            taken=self._taken,
            batches=self._size,
            event=EPOCH_END if is_over else STEP_END,
            stopped=is_over and self._context.get_stop_requested(),
            data=self._batches.state(0 if is_over else self._taken),
            on_host=on_host(self._network),
            random=seed.state(),
            loss_scale=_counters_of(facts.loss_scale_mananger),
            outputs=facts.get("net_outputs"),
            results={name: facts[name] for name in _RESULTS if name in facts},
            callbacks=state_of_callbacks(callbacks.callbacks, heard),
        )

    def _resume(self, state: RunState, parameters: dict[str, Parameter]) -> int:
        """Restore a saved run, and complete the epoch that it was in."""
        pairs = matched(self._callbacks.callbacks, state.callbacks)
        heard = [callback for callback, entry in pairs if entry is None or entry["heard"]]
        is_over = state.event == EPOCH_END
        if not is_over or len(heard) < len(pairs):
            self._begin(state.epoch)
        self._restore(state, parameters, pairs)
        self._callbacks.tell_rest(state.event, self._context, heard)
        if state.stopped:
            self._context.request_stop()
        if not is_over:
            self._complete_epoch()
        return state.epoch

    def _complete_epoch(self) -> None:
        if self._context.get_stop_requested():
            self._interrupt()
        else:
            self._run_epoch()
        self._end()

    def _restore(self, state: RunState, parameters: dict[str, Parameter], pairs: Any) -> None:
        facts = self._facts
        facts.cur_epoch_num = state.epoch
        self._steps, self._taken = state.steps, state.taken
        facts.net_outputs = state.outputs
        facts.update(state.results)
        load_param_into_net(self._network, parameters, strict_load=True)
        move_to_device(self._network, set(state.on_host))
        self._batches.restore(state.data)
        if facts.loss_scale_mananger is not None:
            vars(facts.loss_scale_mananger).update(state.loss_scale)
        for callback, entry in pairs:
            if entry is not None and entry["state"] is not None:
                type(callback).restore(callback, entry["state"])
        seed.restore(state.random)
        logger.info("training resumes in epoch %d, after %d of its steps", state.epoch, state.taken)


_RESULTS = ("metrics", "eval_results")


def _counters_of(manager: Any) -> dict[str, Any]:
    """The Python numbers in the state of a loss scale manager."""
    kinds = (bool, int, float)
    return {} if manager is None else {k: v for k, v in vars(manager).items() if type(v) in kinds}


def _steps_joined(facts: CallbackParameters, callbacks: list[Callback]) -> int:
    """How many steps may run as one program: a common divisor of the callbacks' intervals."""
    if not facts.dataset_sink_mode or settings.current().mode != settings.GRAPH_MODE:
        return 1
    size = size_of(facts.train_dataset)
    together = facts.batch_num if facts.batch_num != size else 0  # an explicit sink_size
    for callback in callbacks:
        own = vars(type(callback))
        if not own.get("only_reads_results", False) and callback.hears(*_STEP_EVENTS):
            steps = callback.looks_every() if "looks_every" in own else 1
            together = gcd(together, steps, size) if steps else together
    return together or size


def _groups(items: Any, joined: int, size: int) -> Iterator[list[Any]]:
    """The batches of an epoch of `size`, in groups that run as one program."""
    group: list[Any] = []
    wanted = 0
    for item in items:
        wanted = wanted or _group_size(item, joined, size)
        group.append(item)
        if len(group) == wanted:
            yield group
            group = []
    if group:
        yield group


def _group_size(batch: list[Any], joined: int, size: int) -> int:
    """As many as fit in memory; fewer if that avoids a remainder with a separate program."""
    limit = max(1, min(joined, _MOST_JOINED, _MOST_BYTES // max(1, _bytes_of(batch))))
    if joined < size:
        return max(n for n in range(1, limit + 1) if joined % n == 0)
    return next((n for n in range(limit, limit // 2, -1) if size % n == 0), limit)


def _bytes_of(batch: list[Any]) -> int:
    return sum(column.nbytes for column in batch if isinstance(column, Tensor))
