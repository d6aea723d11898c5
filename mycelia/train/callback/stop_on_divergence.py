"""The StopOnDivergence callback: stop on a non-finite loss and report the step and layer."""

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
    """A completed step: its number and its batch."""

    epoch: int
    in_epoch: int
    inputs: list[Any]


class StopOnDivergence(Callback):
    """Stops training when the loss is not finite, and reports the step and layer that caused it.

    It checks the loss every `check_every` steps. Every `keep_every` steps it copies the parameters;
    it also stores the batches since then, and repeats these steps to locate the first bad one. The
    network is then restored to the parameters before that step; with `directory` they are also
    saved there. The callback raises an error, or with `raises=False` stops training and logs it.
    `LossMonitor` stops on such losses too, so list it after this callback.
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
        self._steps: list[_CompletedStep] = []  # since the copy

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
        bad = self._find_bad_step(facts.train_network)
        self._replay(facts.train_network, bad)
        step = self._steps[bad]
        why = first_non_finite(facts, step.inputs)
        self._replay(facts.train_network, bad)
        where = f"epoch {step.epoch}, step {step.in_epoch}"
        error = problem(
            ValueError,
            f"{_OWNER}: training diverged in {where}",
            got=f"a loss of {loss}: {why}",
            expected="a finite loss",
            fix=f"lower the learning rate or clip the gradients; {self._save(facts, step)}",
        )
        if self._raises:
            raise error
        logger.error("%s", error)
        run_context.request_stop()

    def _find_bad_step(self, network: Any) -> int:
        """Repeat the steps since the copy; returns the index of the first non-finite one."""
        self._replay(network, 0)
        for index, step in enumerate(self._steps):
            outputs = network(*step.inputs)
            if not all_finite([_loss(outputs), *network.trainable_params()]):
                return index
        return len(self._steps) - 1

    def _replay(self, network: Any, index: int) -> None:
        """Restore the state of training before the step with this index."""
        seed.restore(self._random)
        for parameter in network.get_parameters():
            parameter.set_data(Tensor(self._copy[parameter.name].copy()))
        move_to_device(network, self._on_host)
        for step in self._steps[:index]:
            network(*step.inputs)

    def _save(self, facts: Any, step: _CompletedStep) -> str:
        """Save the parameters from before the step; returns a message about it."""
        if self._directory is None:
            return "the network has been restored to the parameters before that step"
        path = Path(self._directory) / f"before_divergence-{step.epoch}_{step.in_epoch}.ckpt"
        try:
            save_checkpoint(facts.train_network, str(path), crc_check=True)
        except OSError as error:
            return f"the parameters before that step could not be saved: {error}"
        return f"the parameters before that step are in {path}"


def _copies(network: Any) -> dict[str, np.ndarray]:
    return {p.name: np.array(p.asnumpy(), copy=True) for p in network.get_parameters()}


def _loss(outputs: Any) -> Any:
    """The loss in the results of a step, as an array."""
    loss = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    return loss.asnumpy() if isinstance(loss, Tensor) else np.asarray(loss)
