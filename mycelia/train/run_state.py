"""The state of a training run, everything needed to resume it exactly."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import json_value, made_of
from mycelia._engine.core.warn_once import warn_once
from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback
from mycelia.train.checkpoint import RUN_ENTRY
from mycelia.train.json_values import pack, unpack

STEP_END, EPOCH_END = "on_train_step_end", "on_train_epoch_end"
_VERSION = 1


@dataclass(frozen=True)
class RunState:
    """The state of a run besides its parameters, after a step or at the end of an epoch.

    `event` is the event that callbacks were receiving; `callbacks` has an entry for each one, with
    its type, its state, and whether it had received the event. The position in the data and the
    random state are included.
    """

    epoch: int  # counted from 1
    initial_epoch: int
    steps: int  # in total
    taken: int  # steps in this epoch
    batches: int  # steps of a whole epoch
    event: str
    stopped: bool  # whether a callback ended the run with this epoch
    data: dict[str, Any]
    on_host: list[str]  # parameters that are not on the device
    random: dict[str, Any]
    loss_scale: dict[str, Any]
    outputs: Any
    results: dict[str, Any]
    callbacks: list[dict[str, Any]]

    def entries(self) -> dict[str, Tensor]:
        """Checkpoint entries: JSON text as bytes, and its large arrays."""
        arrays: list[np.ndarray] = []
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("outputs", "results"):
            known[name] = _packable(name, known[name])
        text = json.dumps({"version": _VERSION, "run": pack(known, arrays)})
        listed = {f"{RUN_ENTRY}.{i}": Tensor(array) for i, array in enumerate(arrays)}
        return {RUN_ENTRY: Tensor(np.frombuffer(text.encode(), np.uint8)), **listed}


def read_state(entries: dict[str, np.ndarray]) -> RunState | None:
    """The run state in a checkpoint, or None."""
    if RUN_ENTRY not in entries:
        return None
    try:
        content = json_value(np.asarray(entries[RUN_ENTRY]).tobytes())
        version = content.get("version") if isinstance(content, dict) else None
        if version != _VERSION:
            raise ValueError(f"it has version {version!r:.80}, expected {_VERSION}")
        arrays = [entries[f"{RUN_ENTRY}.{i}"] for i in range(len(entries) - 1)]
        return made_of(RunState, unpack(content.get("run"), arrays))
    except (ValueError, KeyError) as error:
        raise problem(
            ValueError,
            "the run state cannot be read",
            got=f"it has no {error}" if isinstance(error, KeyError) else str(error),
            fix="use an older checkpoint, or load its parameters: load_checkpoint(file, network)",
        ) from None


def state_of_callbacks(callbacks: Sequence[Callback], heard: int) -> list[dict[str, Any]]:
    """The states of callbacks; the first `heard` of them have received the event.

    `state` is called on the class: users may have set an attribute of this name on the object.
    """
    return [
        {"kind": type(c).__name__, "heard": index < heard, "state": type(c).state(c)}
        for index, c in enumerate(callbacks)
    ]


def matched(
    callbacks: Sequence[Callback], entries: Sequence[dict[str, Any]]
) -> list[tuple[Callback, dict[str, Any] | None]]:
    """Match each callback with its entry: callbacks of one type match in order."""
    left = list(entries)
    pairs: list[tuple[Callback, dict[str, Any] | None]] = []
    for callback in callbacks:
        kind = type(callback).__name__
        index = next((i for i, entry in enumerate(left) if entry["kind"] == kind), None)
        pairs.append((callback, None if index is None else left.pop(index)))
    return pairs


def _packable(name: str, value: Any) -> Any:
    try:
        pack(value, [])
    except TypeError as error:
        warn_once(f"the {name} of the last step are not stored in checkpoints: {error}")
        return {} if isinstance(value, dict) else None
    return value
