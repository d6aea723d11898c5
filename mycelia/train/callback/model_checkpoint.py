"""Saving checkpoints while training."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mycelia.core.errors import problem, wrong_type, wrong_value
from mycelia.train.callback.callback import Callback, step_in_epoch
from mycelia.train.callback.checkpoint_config import CheckpointConfig
from mycelia.train.checkpoint import save_checkpoint


class ModelCheckpoint(Callback):
    """Saves the training network as `directory/prefix-<epoch>_<step in epoch>.ckpt`.

    `config` says when, and how many to keep. If files of an earlier run are there, the prefix gets
    a number. Prefix and directory may be functions of the facts of the run.
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
            self._directory = made_directory("ModelCheckpoint", "directory", directory)
        self._prefix = "" if callable(prefix) else _checked_prefix(prefix)
        if not callable(prefix) and not callable(directory):
            self._prefix = _unused_prefix(self._directory, self._prefix)
        self._append_dict = dict(self._config.append_dict or {})
        self._counted_before = {name: self._append_dict.get(name, 0) for name in _COUNTS}
        self._last_step = 0
        self._last_time = self._last_keep = time.time()
        self._latest = ""
        self._facts: Any = None

    @property
    def latest_ckpt_file_name(self) -> str:
        """The path of the checkpoint saved last, or nothing."""
        return self._latest

    def step_end(self, run_context: Any) -> None:
        self._facts = facts = run_context.original_args()
        if self._prefix_function is not None:
            self._prefix = _checked_prefix(self._prefix_function(facts))
        if self._directory_function is not None:
            found = self._directory_function(facts)
            self._directory = made_directory("ModelCheckpoint", "directory", found)
        if self._is_due(facts.cur_step_num):
            self._save(facts)

    def end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        saves_at_all = self._config.save_checkpoint_steps or self._config.save_checkpoint_seconds
        if saves_at_all and facts.cur_step_num != self._last_step:
            self._save(facts)

    def __exit__(self, kind: Any = None, *error: Any) -> None:
        """After an error, save what there is if the configuration asks for it."""
        if kind is not None and self._config.exception_save and self._facts is not None:
            self._write(self._facts, f"{self._numbered(self._facts)}_breakpoint")

    def _is_due(self, step: int) -> bool:
        config = self._config
        if config.save_checkpoint_steps:
            return step >= self._last_step + config.save_checkpoint_steps
        seconds = config.save_checkpoint_seconds or 0
        return seconds > 0 and time.time() - self._last_time > seconds

    def _save(self, facts: Any) -> None:
        self._make_room()
        named = self._prefix if self._prefix_function is not None else self._numbered(facts)
        self._last_step = facts.cur_step_num
        self._last_time = self._last_keep = time.time()
        self._latest = self._write(facts, named)

    def _numbered(self, facts: Any) -> str:
        return f"{self._prefix}-{facts.cur_epoch_num}_{step_in_epoch(facts)}"

    def _write(self, facts: Any, name: str) -> str:
        config = self._config
        for count, fact in _COUNTS.items():
            if count in self._append_dict:
                self._append_dict[count] = self._counted_before[count] + facts[fact]
        path = os.path.join(self._directory, f"{name}.{config.format}")
        network = facts.train_network if config.saved_network is None else config.saved_network
        save_checkpoint(
            network,
            path,
            config.integrated_save,
            bool(config.async_save),
            self._append_dict,
            enc_key=config.enc_key,
            enc_mode=config.enc_mode,
            crc_check=config.crc_check,
            format=config.format,
        )
        return path

    def _make_room(self) -> None:
        """Remove older checkpoints, as the configuration says."""
        config, saved = self._config, self._saved_files()
        minutes = config.keep_checkpoint_per_n_minutes
        if config.keep_checkpoint_max and len(saved) >= config.keep_checkpoint_max:
            saved[0].unlink(missing_ok=True)
        elif minutes and time.time() - self._last_keep < minutes * 60:
            recent = [f for f in saved if time.time() - f.stat().st_mtime < minutes * 60]
            for file in recent[1:]:
                file.unlink(missing_ok=True)

    def _saved_files(self) -> list[Path]:
        """The checkpoints with the current prefix, oldest first."""
        pattern = re.compile(rf"{re.escape(self._prefix)}-[^a-zA-Z]*\.{self._config.format}")
        found = [f for f in Path(self._directory).iterdir() if pattern.fullmatch(f.name)]
        return sorted(found, key=lambda f: (f.stat().st_mtime_ns, f.name))


_COUNTS = {"epoch_num": "cur_epoch_num", "step_num": "cur_step_num"}


def made_directory(owner: str, argument: str, path: Any) -> str:
    """The absolute path of a directory, which is there afterwards."""
    if not isinstance(path, str):
        raise wrong_type(owner, argument, path, "str")
    if not path.strip():
        raise wrong_value(owner, argument, path, "a path, not blank")
    found = os.path.realpath(path)
    os.makedirs(found, exist_ok=True)
    return found


def _checked_prefix(prefix: Any) -> str:
    if not isinstance(prefix, str) or "/" in prefix:
        raise problem(
            ValueError,
            "ModelCheckpoint: prefix cannot begin the name of a file",
            got=repr(prefix),
            expected="a str without '/', or a function that gives one",
        )
    return prefix


def _unused_prefix(directory: str, prefix: str) -> str:
    """The prefix, with a number if files of earlier runs begin with it."""
    pattern = re.compile(rf"{re.escape(prefix)}(?:_(\d+))?-\d+_\d+.*\.(?:ckpt|safetensors)")
    used = [pattern.fullmatch(name) for name in os.listdir(directory)]
    numbers = [int(found[1] or 0) for found in used if found is not None]
    return f"{prefix}_{max(numbers) + 1}" if numbers else prefix
