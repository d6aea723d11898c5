"""Hyper-parameters of a run, for the "hparams" plugin of TensorBoard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from mycelia._engine.core.files import protobuf
from mycelia.insight.summary import plugin_value

Value = bool | int | float | str

_PLUGIN = "hparams"
_STRING, _BOOL, _NUMBER = 1, 2, 3  # kinds of hyper-parameters


class RunOutcome(Enum):
    """How a run ended."""

    SUCCESS = 1
    FAILURE = 2


@dataclass(frozen=True)
class RunStart:
    """The start of a run, with hyper-parameters by name."""

    values: Mapping[str, Value]


@dataclass(frozen=True)
class RunEnd:
    """The end of a run; `metrics` are the tags of its quality metrics."""

    outcome: RunOutcome
    values: Mapping[str, Value]
    metrics: tuple[str, ...]


def run_values(run: RunStart | RunEnd, time: float) -> list[bytes]:
    """Encode the start or the end of a run."""
    if isinstance(run, RunStart):
        return [_session_start(run.values, time)]
    return [_experiment(run.values, run.metrics, time), _session_end(run.outcome, time)]


def _session_start(values: Mapping[str, Value], time: float) -> bytes:
    entries = (
        protobuf.text_field(1, name) + protobuf.bytes_field(2, _any(value))
        for name, value in values.items()
    )
    message = b"".join(protobuf.bytes_field(1, entry) for entry in entries)
    message += protobuf.double_field(5, time)
    return _value("_hparams_/session_start_info", protobuf.bytes_field(3, message))


def _session_end(outcome: RunOutcome, time: float) -> bytes:
    message = protobuf.number_field(1, outcome.value) + protobuf.double_field(2, time)
    return _value("_hparams_/session_end_info", protobuf.bytes_field(4, message))


def _experiment(values: Mapping[str, Value], metrics: tuple[str, ...], time: float) -> bytes:
    """The hyper-parameters and metrics for comparing runs."""
    message = protobuf.double_field(3, time)
    for name, value in values.items():
        info = protobuf.text_field(1, name) + protobuf.number_field(4, _kind(value))
        message += protobuf.bytes_field(4, info)
    for tag in metrics:
        message += protobuf.bytes_field(5, protobuf.bytes_field(1, protobuf.text_field(2, tag)))
    return _value("_hparams_/experiment", protobuf.bytes_field(2, message))


def _value(tag: str, message: bytes) -> bytes:
    return plugin_value(tag, _PLUGIN, message)


def _kind(value: Value) -> int:
    if isinstance(value, str):
        return _STRING
    return _BOOL if isinstance(value, bool) else _NUMBER


def _any(value: Value) -> bytes:
    if isinstance(value, str):
        return protobuf.text_field(3, value)
    if isinstance(value, bool):
        return protobuf.number_field(4, value)
    return protobuf.double_field(2, value)
