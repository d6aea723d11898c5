"""Internal names of `mindspore.train.callback`: run context, callback lists, checkpoint files."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from mycelia.compat.internal_names.packages import TrainFaultTolerance as TrainFaultTolerance
from mycelia.nn.cell import Cell
from mycelia.train.callback.callback import EVENTS, PLAIN_EVENTS, Callback, CallbackList
from mycelia.train.callback.callback import CallbackParameters as InternalCallbackParam
from mycelia.train.callback.callback import loss_of as _handle_loss
from mycelia.train.callback.checkpoint_files import saved_files
from mycelia.train.callback.checkpoint_files import unused_prefix as _unused_prefix
from mycelia.train.checkpoint import load_param_into_net, save_checkpoint

SAVE_DIR = _cur_dir = os.getcwd()
_InternalCallbackParam = InternalCallbackParam
__all__ = ["CallbackManager", "CheckpointManager", "InternalCallbackParam", "_handle_loss"]


class CallbackManager(Callback):
    """List of callbacks that forwards every event to each of them, in order."""

    def __init__(self, callbacks: Any) -> None:
        self._list = CallbackList(callbacks)

    @property
    def _callbacks(self) -> list[Callback]:
        return self._list.callbacks

    def __enter__(self) -> CallbackManager:
        self._list.__enter__()
        return self

    def __exit__(self, *error: Any) -> Any:
        return self._list.__exit__(*error)


def _forwarding(event: str) -> Any:
    def tell(self: CallbackManager, run_context: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, event)(run_context)

    tell.__name__, tell.__doc__ = event, f"`{event}` of every callback."
    return tell


for _event in (*PLAIN_EVENTS, *EVENTS):
    setattr(CallbackManager, _event, _forwarding(_event))
del _event
_CallbackManager = CallbackManager


class _Current:
    network: Cell | None = None


def set_cur_net(net: Cell) -> None:
    """Set the network that `checkpoint_cb_for_save_op` saves."""
    _Current.network = net


def checkpoint_cb_for_save_op(parameter_list: list[dict[str, Any]]) -> bool:
    """Set the current network from `[{"name": .., "data": ..}]` and save it to `mindspore.ckpt`."""
    if _Current.network is None:
        return False
    load_param_into_net(_Current.network, {one["name"]: one["data"] for one in parameter_list})
    save_checkpoint(_Current.network, os.path.join(SAVE_DIR, "mindspore.ckpt"))
    return True


_set_cur_net, _checkpoint_cb_for_save_op = set_cur_net, checkpoint_cb_for_save_op


def _chg_ckpt_file_name_if_same_exist(directory: str, prefix: str, exception: bool = False) -> str:
    """Prefix that no file in the directory has."""
    return _unused_prefix(directory, prefix)


class CheckpointManager:
    """Checkpoints in a folder, the oldest first."""

    def __init__(self) -> None:
        self._files: list[str] = []

    @property
    def ckpoint_filelist(self) -> list[str]:
        """Paths of the files."""
        return self._files

    @property
    def ckpoint_num(self) -> int:
        """Number of files."""
        return len(self._files)

    def update_ckpoint_filelist(self, directory: str, ckpt_prefix: str) -> None:
        """Update the list from the folder."""
        self._files = [str(path) for path in saved_files(directory, ckpt_prefix, "ckpt")]

    def remove_ckpoint_file(self, file_name: str) -> None:
        """Remove one file, on the disk and in the list."""
        Path(file_name).unlink(missing_ok=True)
        self._files = [name for name in self._files if name != file_name]

    def remove_oldest_ckpoint_file(self) -> None:
        """Remove the oldest file."""
        if self._files:
            self.remove_ckpoint_file(self._files[0])

    def keep_one_ckpoint_per_minutes(self, minutes: float, cur_time: float = 0.0) -> None:
        """Keep the newest of the files written in the last `minutes`."""
        since = (cur_time or time.time()) - 60 * minutes
        young = [name for name in self._files if Path(name).stat().st_mtime > since]
        for name in young[:-1]:
            self.remove_ckpoint_file(name)


_CheckpointManager = CheckpointManager
