"""The BackupAndRestore callback: back up a training run and resume it after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia.train.callback.callback import Callback
from mycelia.train.callback.checkpoint_files import made_directory, remove_leftovers
from mycelia.train.callback.run_checkpoint import save_run

_OWNER = "BackupAndRestore"


class BackupAndRestore(Callback):
    """Backs up the training run in `backup_dir` every `save_freq` epochs, and resumes from it.

    `save_freq` is a number of epochs or "epoch", for each; `save_steps` additionally saves every
    so many steps. Training resumes at the epoch and batch of the backup. A run that completes
    removes the backup, unless `delete_checkpoint` is False.
    """

    def __init__(
        self,
        backup_dir: str,
        save_freq: str | int = "epoch",
        delete_checkpoint: bool = True,
        save_steps: int | None = None,
    ) -> None:
        super().__init__()
        self.backup_file = Path(made_directory(_OWNER, "backup_dir", backup_dir)) / "backup.ckpt"
        self.save_freq = (
            1 if save_freq == "epoch" else check_positive_int(_OWNER, "save_freq", save_freq)
        )
        self.delete_checkpoint = check_bool(_OWNER, "delete_checkpoint", delete_checkpoint)
        self.save_steps = save_steps and check_positive_int(_OWNER, "save_steps", save_steps)

    def looks_every(self) -> int:
        return self.save_steps or 0

    def resumes_from(self) -> Path | None:
        return self.backup_file if self.backup_file.is_file() else None

    def on_train_begin(self, run_context: Any) -> None:
        self._is_interrupted = False
        remove_leftovers(self.backup_file.parent, self.backup_file.name)

    def on_train_step_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if self.save_steps and facts.cur_step_num % self.save_steps == 0:
            save_run(_OWNER, facts, self.backup_file)

    def on_train_interrupted(self, run_context: Any) -> None:
        self._is_interrupted = save_run(_OWNER, run_context.original_args(), self.backup_file)

    def on_train_epoch_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if facts.cur_epoch_num % self.save_freq == 0 and not self._is_interrupted:
            save_run(_OWNER, facts, self.backup_file)

    def on_train_end(self, run_context: Any) -> None:
        if self.delete_checkpoint:
            self.backup_file.unlink(missing_ok=True)
