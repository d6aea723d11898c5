"""Keeping a copy of the parameters, to go on with after a crash."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia.core.checks import check_bool, check_positive_int
from mycelia.train.callback.callback import Callback
from mycelia.train.callback.model_checkpoint import made_directory
from mycelia.train.checkpoint import load_checkpoint, save_checkpoint


class BackupAndRestore(Callback):
    """Saves the parameters in `backup_dir` every `save_freq` epochs, and begins with those there.

    `save_freq` is a number or "epoch", for each. A training that reaches its end leaves nothing
    there, unless `delete_checkpoint` is False.
    """

    def __init__(
        self, backup_dir: str, save_freq: str | int = "epoch", delete_checkpoint: bool = True
    ) -> None:
        super().__init__()
        owner = "BackupAndRestore"
        self.backup_file = Path(made_directory(owner, "backup_dir", backup_dir)) / "backup.ckpt"
        self.save_freq = (
            1 if save_freq == "epoch" else check_positive_int(owner, "save_freq", save_freq)
        )
        self.delete_checkpoint = check_bool(owner, "delete_checkpoint", delete_checkpoint)

    def on_train_begin(self, run_context: Any) -> None:
        if self.backup_file.is_file():
            load_checkpoint(str(self.backup_file), run_context.original_args().train_network)

    def on_train_epoch_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        if facts.cur_epoch_num % self.save_freq == 0:
            save_checkpoint(facts.train_network, str(self.backup_file))

    def on_train_end(self, run_context: Any) -> None:
        if self.delete_checkpoint:
            self.backup_file.unlink(missing_ok=True)
