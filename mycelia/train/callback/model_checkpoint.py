"""The ModelCheckpoint callback: save checkpoints during training."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.wait_registry import busy
from mycelia._engine.core.warn_once import logger
from mycelia._engine.runtime.distributed.sharded_arrays import gather_from_all
from mycelia.train.background_writer import claim, finish, is_over
from mycelia.train.callback.callback import Callback, step_in_epoch
from mycelia.train.callback.checkpoint_config import CheckpointConfig
from mycelia.train.callback.checkpoint_files import (
    checked_prefix,
    made_directory,
    remove_leftovers,
    remove_saved,
    saved_files,
    unused_prefix,
)
from mycelia.train.callback.run_checkpoint import run_entries
from mycelia.train.checkpoint import saved_file
from mycelia.train.distributed_checkpoint.gathered_save import needs_all_processes
from mycelia.train.distributed_checkpoint.index import home, index_path

_COUNTS = {"epoch_num": "cur_epoch_num", "step_num": "cur_step_num"}


class ModelCheckpoint(Callback):
    """Saves the training network as `directory/prefix-<epoch>_<step in epoch>.ckpt`.

    `config` sets when to save and how many files to keep. If files of an earlier run exist, the
    prefix gets a number. Prefix and directory may be functions of the callback parameters.
    Checkpoints include the state of the run, so that `Model.train(..., resume_from=directory)`
    resumes with the same prefix. If a save fails, training continues with a warning.
    Without `integrated_save`, several devices and processes save shards: the checkpoint is then
    `directory/prefix-<epoch>_<step in epoch>.index.json`, in a directory that all ranks share.
    """

    def __init__(
        self,
        prefix: str | Callable[[Any], str] = "CKP",
        directory: str | Callable[[Any], str] | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:
        super().__init__()
        if config is not None and not isinstance(config, CheckpointConfig):
            raise wrong_type("ModelCheckpoint", "config", config, "CheckpointConfig")
        self._config = config or CheckpointConfig()
        self._prefix_function = prefix if callable(prefix) else None
        self._directory_function = directory if callable(directory) else None
        self._directory = os.getcwd()
        if directory is not None and not callable(directory):
            self._directory = self._made_directory(directory)
        self._original_prefix = self._prefix = "" if callable(prefix) else checked_prefix(prefix)
        if not callable(prefix) and not callable(directory):
            self._prefix = unused_prefix(self._directory, self._prefix)
        self._append_dict = dict(self._config.append_dict or {})
        self._counted_before = {name: self._append_dict.get(name, 0) for name in _COUNTS}
        self._last_step = 0
        self._last_time = self._last_keep = time.time()
        self._latest = self._previous = ""
        self._failure: Exception | None = None  # of the last save
        self._pending: Path | None = None  # a file that is being written in the background
        self._facts: Any = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the latest checkpoint, or an empty string."""
        return self._latest

    def step_end(self, run_context: Any) -> None:
        self._facts = facts = run_context.original_args()
        if self._prefix_function is not None:
            self._prefix = checked_prefix(self._prefix_function(facts))
        if self._directory_function is not None:
            self._directory = self._made_directory(self._directory_function(facts))
        if self._is_due(facts):
            self._save(facts)
        elif self._config.integrated_save and self._pending is not None and is_over(self._pending):
            self._settle()  # reports a failure in the next step

    def on_train_interrupted(self, run_context: Any) -> None:
        self._save_last(run_context.original_args())

    def end(self, run_context: Any) -> None:
        self._save_last(run_context.original_args())
        self._settle()
        if self._failure is not None:
            logger.error("ModelCheckpoint: the last save failed: %s", self._failure)

    def _save_last(self, facts: Any) -> None:
        is_enabled = self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds
        if is_enabled and (facts.cur_step_num != self._last_step or self._failure is not None):
            self._save(facts)

    def __exit__(self, kind: Any = None, *error: Any) -> None:
        """After an error, save a checkpoint if the configuration asks for it."""
        self._settle(together=kind is None)
        if kind is None or not self._config.exception_save or self._facts is None:
            return
        if self._is_collective(self._facts):
            logger.warning(
                "ModelCheckpoint: nothing is saved after an error: other ranks may not take part"
            )
            return
        self._save_as(self._facts, f"{self._numbered(self._facts)}_breakpoint")
        self._settle()

    @property
    def encryption(self) -> tuple[bytes | None, str]:
        """The key and the mode of file encryption."""
        return self._config.enc_key, self._config.enc_mode

    def looks_every(self) -> int:
        steps = self._config.save_checkpoint_steps or 1
        is_plain = self._prefix_function is None and self._directory_function is None
        return steps if is_plain and self._last_step % steps == 0 else 1

    def state(self) -> dict[str, Any]:
        original = {"asked": self._original_prefix}
        names = original | {"prefix": self._prefix, "directory": self._directory}
        return {"last_step": self._last_step, **names}

    def restore(self, state: dict[str, Any]) -> None:
        last, steps = state["last_step"], self._config.save_checkpoint_steps or 1
        self._last_step = last - last % steps  # an interruption may save between two regular saves
        if (state["asked"], state["directory"]) == (self._original_prefix, self._directory):
            self._prefix = state["prefix"]
            remove_leftovers(self._directory, self._prefix)

    def _made_directory(self, path: Any) -> str:
        directory = made_directory("ModelCheckpoint", "directory", path)
        return directory if self._config.integrated_save else str(home(Path(directory)))

    def _is_due(self, facts: Any) -> bool:
        config = self._config
        if config.save_checkpoint_steps:
            return facts.cur_step_num >= self._last_step + config.save_checkpoint_steps
        seconds = config.save_checkpoint_seconds or 0
        is_due = seconds > 0 and time.time() - self._last_time > seconds
        if seconds > 0 and self._is_collective(facts):  # ranks must agree: their clocks differ
            return bool(gather_from_all("ModelCheckpoint", [is_due])[0, 0])
        return is_due

    def _is_collective(self, facts: Any) -> bool:
        """Whether all processes take part in a save."""
        if world().size == 1:
            return False
        parameters = self._network(facts).get_parameters()
        named = [(parameter.name, parameter) for parameter in parameters]
        return not self._config.integrated_save or needs_all_processes(named)

    def _network(self, facts: Any) -> Any:
        saved = self._config.saved_network
        return facts.train_network if saved is None else saved

    def _save(self, facts: Any) -> None:
        self._settle()
        named = self._prefix if self._prefix_function is not None else self._numbered(facts)
        self._last_step = facts.cur_step_num
        self._last_time = time.time()
        if self._save_as(facts, named) and self._pending is None:
            self._remove_old()

    def _save_as(self, facts: Any, name: str) -> bool:
        """Save a file, or start saving it; returns whether that succeeded."""
        self._previous, self._failure = self._latest, None
        try:
            self._latest = self._write(facts, name)
        except OSError as error:
            self._note_failure(error)
        return self._failure is None

    def _settle(self, together: bool = True) -> None:
        """Wait for the file that is written in the background, then remove older ones.

        With shards and `together`, all processes learn whether every shard was written.
        """
        if self._pending is None:
            return
        with busy():  # the wait is bounded: the watchdog should ignore it
            error, self._pending = finish(self._pending), None
        if together and not self._config.integrated_save:
            failed = gather_from_all("ModelCheckpoint", [error is not None])[:, 0]
            if error is None and failed.any():
                error = OSError(f"rank {int(failed.argmax())} could not write its shard")
        if error is None:
            self._remove_old()
        else:
            self._note_failure(error)

    def _note_failure(self, error: Exception) -> None:
        self._failure, self._latest = error, self._previous
        logger.warning(
            "ModelCheckpoint: a checkpoint in %s was not saved: %s. Older ones are kept, training "
            "continues, and the next save tries again: free space, or choose another directory",
            *(self._directory, error),
        )

    def _numbered(self, facts: Any) -> str:
        return f"{self._prefix}-{facts.cur_epoch_num}_{step_in_epoch(facts)}"

    def _write(self, facts: Any, name: str) -> str:
        config = self._config
        for count, fact in _COUNTS.items():
            if count in self._append_dict:
                self._append_dict[count] = self._counted_before[count] + facts[fact]
        path = os.path.join(self._directory, f"{name}.{config.format}")
        file = saved_file(
            self._network(facts),
            path,
            config.integrated_save,
            config.async_save,
            self._append_dict | self._run_entries(facts),
            enc_key=config.enc_key,
            enc_mode=config.enc_mode,
            crc_check=True,
            format=config.format,
        )
        if config.async_save:
            self._pending = file
            claim(file)
        return path if file == Path(path) else str(index_path(Path(path)))

    def _run_entries(self, facts: Any) -> dict[str, Any]:
        """The state of the run, unless another network is saved or the state is unknown."""
        network = self._config.saved_network
        return run_entries(facts) if network is None or network is facts.train_network else {}

    def _remove_old(self) -> None:
        """Remove older checkpoints as configured, after a newer one was saved."""
        config = self._config
        if not config.integrated_save and world().rank > 0:
            return  # the first process does it for all
        older = saved_files(self._directory, self._prefix, config.format)[:-1]
        minutes = config.keep_checkpoint_per_n_minutes
        if config.keep_checkpoint_max:
            for file in older[: max(len(older) + 1 - config.keep_checkpoint_max, 0)]:
                remove_saved(file)
        elif minutes and time.time() - self._last_keep < minutes * 60:
            recent = [f for f in older if time.time() - f.stat().st_mtime < minutes * 60]
            for file in recent[1:]:
                remove_saved(file)
        self._last_keep = time.time()
