"""SummaryRecord: writes summaries of a training run to a file for TensorBoard."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self
from urllib.parse import quote

import numpy as np

from mycelia import log
from mycelia._engine.core import settings
from mycelia._engine.core.checks import check_bool, check_instance, check_int, check_positive_int
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.events import subscribe
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.runtime.streams import synchronize
from mycelia.insight.event import graph_event, summary_event
from mycelia.insight.event_file import EventFile
from mycelia.insight.summary import summary
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor
from mycelia.train.summary.network_graph import network_graph
from mycelia.train.summary.options import TENSOR_FORMAT, checked_directory, checked_export
from mycelia.train.summary.summary_values import GRAPH, OWNER, TENSOR_PLUGINS, encoded, taken

_NAME_PART = re.compile(r"\w[\w.]*", re.ASCII)
_MODES = ("train", "eval")


class SummaryRecord(CheckedKeywords):
    """Writes summaries to a file in `log_dir`: values by step, which TensorBoard shows.

    Values come from `add_value` and from summary operators of networks that run while the record
    is open; `record` writes the newest value of each name. One record can be open at a time. The
    file is named `<file_prefix>.out.tfevents.summary.<seconds>.<device>.<host><file_suffix>`:
    MindSpore's name, with the `tfevents` that TensorBoard looks for. Events that would exceed
    `max_file_size` bytes are dropped. `network` is written as a graph. Write errors are logged, or
    raised with `raise_exception`. `export_options={"tensor_format": "npy"}` additionally writes
    tensors to separate files. The training process writes the file itself, so `num_process` has no
    effect.
    """

    count: ClassVar[int] = 0  # open records

    def __init__(
        self,
        log_dir: str,
        file_prefix: str = "events",
        file_suffix: str = "_MS",
        num_process: int = 32,
        network: Cell | None = None,
        max_file_size: int | None = None,
        raise_exception: bool = False,
        export_options: dict[str, str] | None = None,
    ) -> None:
        _check_alone()
        for argument, part in (("file_prefix", file_prefix), ("file_suffix", file_suffix)):
            _check_name_part(argument, part)
        check_positive_int(OWNER, "num_process", num_process)
        self._network = check_instance(OWNER, "network", network, (Cell, type(None)))
        self._raises = check_bool(OWNER, "raise_exception", raise_exception)
        self._exports_tensors = TENSOR_FORMAT in checked_export(OWNER, export_options)
        limit = _limit(max_file_size)
        self._directory = Path(checked_directory(OWNER, "log_dir", log_dir))
        self._seconds = int(time.time())
        name = _file_name(file_prefix, file_suffix, self._seconds)
        self._file = EventFile(self._directory / name, limit)
        self._values: dict[tuple[str, str], Any] = {}
        self._mode = _MODES[0]
        self._is_closed = False
        self._has_graph = False
        self._unsubscribe = [subscribe(p, partial(self._receive, p)) for p in TENSOR_PLUGINS]
        SummaryRecord.count += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The path of the file."""
        return str(self._file.path)

    def set_mode(self, mode: str) -> None:
        """Set whether values belong to training ("train") or evaluation ("eval").

        The graph of the network is written in training mode.
        """
        if mode not in _MODES:
            raise wrong_value(OWNER, "mode", mode, f"in {list(_MODES)}")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Store a value until `record` writes it.

        The plugins "scalar", "image" (of shape (N, C, H, W)), "histogram", and "tensor" accept
        tensors; "graph" accepts the bytes of a GraphDef, "train_lineage" a RunStart or RunEnd,
        "eval_lineage", "custom_lineage_data", and "dataset_graph" accept dicts.
        """
        checked = taken(plugin, name, value)
        if (plugin, name) in self._values:
            log.warning(
                "SummaryRecord: %r was added twice for %s; the newest is used", name, plugin
            )
        self._values[plugin, name] = checked

    def record(
        self,
        step: int,
        train_network: Cell | None = None,
        plugin_filter: Callable[[str], bool] | None = None,
    ) -> bool:
        """Write the values since the last call, for `step`; returns whether that succeeded.

        Values are dropped if `plugin_filter` returns False for their plugin.
        """
        check_int(OWNER, "step", step)
        check_instance(OWNER, "train_network", train_network, (Cell, type(None)))
        if plugin_filter is not None and not callable(plugin_filter):
            raise wrong_type(OWNER, "plugin_filter", plugin_filter, "a function of a plugin")
        if self._is_closed:
            log.error("SummaryRecord: the record is closed, step %d is not written", step)
            return False
        synchronize()  # operators of a compiled program may still be publishing values
        values, self._values = self._values, {}
        wanted = {
            key: value
            for key, value in values.items()
            if plugin_filter is None or plugin_filter(key[0])
        }
        try:
            self._write_network(train_network or self._network)
            self._write(int(step), wanted)
        except OSError as error:
            if self._raises:
                raise
            log.error("SummaryRecord: step %d was not written: %s", step, error)
            return False
        return True

    def flush(self) -> None:
        """Flush the file, so that readers see all values."""
        if self._is_closed:
            log.error("SummaryRecord: the record is closed, there is nothing to flush")
        else:
            self._file.flush()

    def close(self) -> None:
        """Close the file, so that another record can be opened."""
        if self._is_closed:
            return
        self._is_closed = True
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        SummaryRecord.count -= 1
        self._file.close()

    def _receive(self, plugin: str, name: str, value: Tensor) -> None:
        self._values[plugin, name] = taken(plugin, name, value)

    def _write_network(self, network: Cell | None) -> None:
        if network is None or self._has_graph or self._mode != _MODES[0]:
            return
        self._has_graph = True
        self._file.write(graph_event(time.time(), network_graph(network)))

    def _write(self, step: int, values: dict[tuple[str, str], Any]) -> None:
        messages = []
        for (plugin, name), value in values.items():
            if plugin == GRAPH:
                self._has_graph = True
                self._file.write(graph_event(time.time(), value))
            else:
                messages += self._messages(plugin, name, value)
            if plugin == "tensor" and self._exports_tensors:
                self._export(name, step, value)
        if messages:
            self._file.write(summary_event(time.time(), step, summary(messages)))

    def _messages(self, plugin: str, name: str, value: Any) -> list[bytes]:
        try:
            return encoded(plugin, name, value)
        except ValueError as error:
            if self._raises:
                raise
            log.error("%s", error)
            return []

    def _export(self, name: str, step: int, value: np.ndarray) -> None:
        folder = self._directory / f"export_{self._seconds}" / "tensor"
        folder.mkdir(parents=True, exist_ok=True)
        np.save(folder / f"{quote(name, safe='')}_{step}.npy", value)


def _file_name(prefix: str, suffix: str, seconds: int) -> str:
    device = settings.current().device_id
    return f"{prefix}.out.tfevents.summary.{seconds}.{device}.{socket.gethostname()}{suffix}"


def _limit(max_file_size: Any) -> int | None:
    """The size limit of the file; negative values mean no limit."""
    if max_file_size is None:
        return None
    limit = check_int(OWNER, "max_file_size", max_file_size)
    if limit >= 0:
        return limit
    log.warning("SummaryRecord: max_file_size is %d, so the file has no limit", limit)
    return None


def _check_name_part(argument: str, part: Any) -> None:
    check_instance(OWNER, argument, part, str)
    if not _NAME_PART.fullmatch(part):
        raise wrong_value(OWNER, argument, part, "letters, digits, underscores and dots")


def _check_alone() -> None:
    if SummaryRecord.count > 0:
        raise problem(
            RuntimeError,
            "SummaryRecord: another record is open in this process",
            fix="close it first, or open it in a with statement",
        )
