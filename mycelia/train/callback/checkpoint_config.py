"""CheckpointConfig: when ModelCheckpoint saves, and how many files it keeps."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_bool, check_non_negative_int, check_string
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor
from mycelia.train.checkpoint import CKPT, SAFETENSORS, check_async_save

_COUNTED = ("epoch_num", "step_num")
_APPENDABLE = (int, float, bool, str, Tensor)


class CheckpointConfig:
    """Configures when `ModelCheckpoint` saves and how many files it keeps.

    It saves every `save_checkpoint_steps` steps or, if that is 0, every `save_checkpoint_seconds`.
    It keeps the newest `keep_checkpoint_max` files or, if that is 0, one for each
    `keep_checkpoint_per_n_minutes`. `append_info` lists what to save in addition: "epoch_num",
    "step_num", and a dict. With `exception_save`, an error during training saves a final
    checkpoint. `integrated_save`, `async_save`, `enc_key`, `enc_mode`, and `format` are those of
    `save_checkpoint`; files always have a checksum.
    """

    def __init__(
        self,
        save_checkpoint_steps: int | None = 1,
        save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True,
        async_save: bool | str = False,
        saved_network: Cell | None = None,
        append_info: list[Any] | None = None,
        enc_key: bytes | None = None,
        enc_mode: str = "AES-GCM",
        exception_save: bool = False,
        crc_check: bool = False,
        remove_redundancy: bool = False,
        format: str = CKPT,
        **kwargs: Any,
    ) -> None:
        owner = "CheckpointConfig"
        self._save_steps = _count("save_checkpoint_steps", save_checkpoint_steps)
        self._save_seconds = _count("save_checkpoint_seconds", save_checkpoint_seconds)
        self._keep_max = _count("keep_checkpoint_max", keep_checkpoint_max)
        self._keep_minutes = _count("keep_checkpoint_per_n_minutes", keep_checkpoint_per_n_minutes)
        self._choose_one_rule()
        if saved_network is not None and not isinstance(saved_network, Cell):
            raise wrong_type(owner, "saved_network", saved_network, "None or Cell")
        check_async_save(owner, async_save)
        self.integrated_save = check_bool(owner, "integrated_save", integrated_save)
        _check_options(crc_check, remove_redundancy, format, integrated_save)
        self.exception_save = check_bool(owner, "exception_save", exception_save)
        self.async_save = async_save
        self.saved_network = saved_network
        self.enc_key = enc_key
        self.enc_mode = enc_mode
        self.crc_check = crc_check
        self.format = format
        self.append_dict = _appended(append_info)

    @property
    def save_checkpoint_steps(self) -> int | None:
        """Save after this many steps."""
        return self._save_steps

    @property
    def save_checkpoint_seconds(self) -> int | None:
        """Save after this many seconds; None if `save_checkpoint_steps` decides."""
        return self._save_seconds

    @property
    def keep_checkpoint_max(self) -> int | None:
        """Keep at most this many files."""
        return self._keep_max

    @property
    def keep_checkpoint_per_n_minutes(self) -> int | None:
        """Keep one file per this many minutes; None if `keep_checkpoint_max` decides."""
        return self._keep_minutes

    def get_checkpoint_policy(self) -> dict[str, Any]:
        """The settings by name."""
        return {
            "save_checkpoint_steps": self._save_steps,
            "save_checkpoint_seconds": self._save_seconds,
            "keep_checkpoint_max": self._keep_max,
            "keep_checkpoint_per_n_minutes": self._keep_minutes,
            "saved_network": self.saved_network,
        }

    def _choose_one_rule(self) -> None:
        """Steps take precedence over seconds, and a number of files over minutes."""
        settings = (self._save_steps, self._save_seconds, self._keep_max, self._keep_minutes)
        if not any(settings):
            raise problem(
                ValueError,
                "CheckpointConfig: no setting says when to save or what to keep",
                fix="set save_checkpoint_steps or keep_checkpoint_max, for instance",
            )
        if self._save_steps:
            self._save_seconds = None
        if self._keep_max:
            self._keep_minutes = None
        elif not self._keep_minutes:
            self._keep_max = 1


def _count(argument: str, value: Any) -> int | None:
    return None if value is None else check_non_negative_int("CheckpointConfig", argument, value)


def _check_options(
    crc_check: Any, remove_redundancy: Any, format: Any, integrated_save: bool
) -> None:
    for argument, value in (("crc_check", crc_check), ("remove_redundancy", remove_redundancy)):
        if not isinstance(value, bool):
            raise wrong_value("CheckpointConfig", argument, value, "a bool")
    check_string("CheckpointConfig", "format", format, (CKPT, SAFETENSORS))
    if remove_redundancy and integrated_save:
        raise problem(
            TypeError,
            "CheckpointConfig: remove_redundancy needs sharded checkpoints",
            fix="set integrated_save=False, which writes each shard once; or leave it out",
        )


def _appended(append_info: Any) -> dict[str, Any] | None:
    """The values to save in addition, by name."""
    if append_info is None or append_info == []:
        return None
    if not isinstance(append_info, list):
        raise wrong_type("CheckpointConfig", "append_info", append_info, "list")
    entries: dict[str, Any] = {}
    for item in append_info:
        if isinstance(item, dict):
            entries |= item
        elif not isinstance(item, str):
            raise wrong_type("CheckpointConfig", "append_info", item, "a list of str or dict")
        elif item not in _COUNTED:
            raise wrong_value("CheckpointConfig", "append_info", item, f"in {list(_COUNTED)}")
        else:
            entries.setdefault(item, 0)
    if sum(isinstance(item, dict) for item in append_info) > 1:
        raise wrong_type("CheckpointConfig", "append_info", append_info, "a list with one dict")
    for name, value in entries.items():
        if not isinstance(name, str) or not isinstance(value, _APPENDABLE):
            raise wrong_type("CheckpointConfig", "append_info", value, "numbers, str or tensors")
    return entries
