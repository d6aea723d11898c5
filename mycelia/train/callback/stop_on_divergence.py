"""Ending a training whose loss is not finite, with the step, the layer and the last good state."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core import seed
from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.warn_once import logger
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback, step_in_epoch
from mycelia.train.callback.checkpoint_files import made_directory
from mycelia.train.callback.divergence_diagnosis import all_finite, first_non_finite
from mycelia.train.checkpoint import save_checkpoint
from mycelia.train.parameter_device import move_to_device, on_host

_OWNER = "StopOnDivergence"


@dataclass(frozen=True)
class _CompletedStep:
    """A step that was made: where, and on which batch."""

    epoch: int
    in_epoch: int
    inputs: list[Any]


class StopOnDivergence(Callback):
    """Ends a training whose loss is nan or infinite, and says which step and layer made it so.

    The loss is looked at every `check_every` steps. Every `keep_every` steps the parameters are
    copied, and batches are kept since: from there the training is repeated to the first step that
    went wrong. The network then has the parameters from before that step; with `directory` they
    are saved there. The end is an error, or with `raises=False` a stop and a line in the log.

    `LossMonitor` ends such a training too, so it comes after this in the list of callbacks.
    """

    def __init__(
        self,
        directory: str | None = None,
        check_every: int = 1,
        keep_every: int = 50,
        raises: bool = True,
    ) -> None:
        super().__init__()
        self._directory = (
            None if directory is None else made_directory(_OWNER, "directory", directory)
        )
        self._check_every = check_positive_int(_OWNER, "check_every", check_every)
        self._keep_every = check_positive_int(_OWNER, "keep_every", keep_every)
        self._raises = check_bool(_OWNER, "raises", raises)
        self._copy: dict[str, np.ndarray] = {}
        self._steps: list[_CompletedStep] = []  # made since then

    def looks_every(self) -> int:
        return self._keep_every

    def on_train_begin(self, run_context: Any) -> None:
        self._copy, self._steps = {}, []

    def on_train_step_begin(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if not self._copy or (facts.cur_step_num - 1) % self._keep_every == 0:
            self._copy, self._random = _copies(facts.train_network), seed.state()
            self._on_host = on_host(facts.train_network)
            self._steps = []

    def on_train_step_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        step = _CompletedStep(
            facts.cur_epoch_num, step_in_epoch(facts), facts.train_dataset_element
        )
        self._steps.append(step)
        is_due = facts.cur_step_num % self._check_every == 0
        if is_due and not all_finite([_loss(facts.net_outputs)]):
            self._end(run_context)

    def on_train_end(self, run_context: Any) -> None:
        self._copy, self._steps = {}, []

    def _end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        loss = float(np.mean(_loss(facts.net_outputs)))
        bad = self._first_bad(facts.train_network)
        self._go_to(facts.train_network, bad)
        step = self._steps[bad]
        why = first_non_finite(facts, step.inputs)
        self._go_to(facts.train_network, bad)
        where = f"epoch {step.epoch}, step {step.in_epoch}"
        error = problem(
            ValueError,
            f"{_OWNER}: the training diverged in {where}",
            got=f"a loss of {loss}: {why}",
            expected="a finite loss",
            fix=f"lower the learning rate or clip the gradients; {self._save(facts, step)}",
        )
        if self._raises:
            raise error
        logger.error("%s", error)
        run_context.request_stop()

    def _first_bad(self, network: Any) -> int:
        """Repeat the steps since the copy: the place of the first that gives bad numbers."""
        self._go_to(network, 0)
        for place, step in enumerate(self._steps):
            outputs = network(*step.inputs)
            if not all_finite([_loss(outputs), *network.trainable_params()]):
                return place
        return len(self._steps) - 1

    def _go_to(self, network: Any, place: int) -> None:
        """Be where the training was before the step at this place."""
        seed.restore(self._random)
        for parameter in network.get_parameters():
            parameter.set_data(Tensor(self._copy[parameter.name].copy()))
        move_to_device(network, self._on_host)
        for step in self._steps[:place]:
            network(*step.inputs)

    def _save(self, facts: Any, step: _CompletedStep) -> str:
        """Save the parameters from before the step, and say so."""
        if self._directory is None:
            return "the network has the parameters from before that step"
        path = Path(self._directory) / f"before_divergence-{step.epoch}_{step.in_epoch}.ckpt"
        try:
            save_checkpoint(facts.train_network, str(path), crc_check=True)
        except OSError as error:
            return f"the parameters from before that step could not be saved: {error}"
        return f"the parameters from before that step are in {path}"


def _copies(network: Any) -> dict[str, np.ndarray]:
    return {p.name: np.array(p.asnumpy(), copy=True) for p in network.get_parameters()}


def _loss(outputs: Any) -> Any:
    """The loss among the results of a step, as an array."""
    found = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    return found.asnumpy() if isinstance(found, Tensor) else np.asarray(found)
