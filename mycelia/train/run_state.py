"""The state of a training run: all that another run needs to go on as if nothing had happened."""

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
    """Where a run stands besides its parameters: after a step, or after the end of an epoch.

    `event` says which of the two callbacks were hearing of; `callbacks` has an entry for each, with
    its kind, its state, and whether it had heard. The data and the random state are there as well.
    """

    epoch: int  # counted from 1
    initial_epoch: int
    steps: int  # made in all
    taken: int  # steps made in this epoch
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
        """This as entries of a checkpoint: a text in JSON as bytes, and the large arrays of it."""
        arrays: list[np.ndarray] = []
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("outputs", "results"):
            known[name] = _what_can_be_kept(name, known[name])
        text = json.dumps({"version": _VERSION, "run": pack(known, arrays)})
        listed = {f"{RUN_ENTRY}.{i}": Tensor(array) for i, array in enumerate(arrays)}
        return {RUN_ENTRY: Tensor(np.frombuffer(text.encode(), np.uint8)), **listed}


def read_state(entries: dict[str, np.ndarray]) -> RunState | None:
    """The state that a checkpoint holds, or None."""
    if RUN_ENTRY not in entries:
        return None
    try:
        found = json_value(np.asarray(entries[RUN_ENTRY]).tobytes())
        version = found.get("version") if isinstance(found, dict) else None
        if version != _VERSION:
            raise ValueError(f"it is of version {version!r:.80}, this is version {_VERSION}")
        arrays = [entries[f"{RUN_ENTRY}.{i}"] for i in range(len(entries) - 1)]
        return made_of(RunState, unpack(found.get("run"), arrays))
    except (ValueError, KeyError) as error:
        raise problem(
            ValueError,
            "the state of the run cannot be read",
            got=f"it has no {error}" if isinstance(error, KeyError) else str(error),
            fix="use an older checkpoint, or load its parameters: load_checkpoint(file, network)",
        ) from None


def state_of_callbacks(callbacks: Sequence[Callback], heard: int) -> list[dict[str, Any]]:
    """What callbacks keep; the first `heard` of them have heard of the event, or are hearing.

    The method is that of the class: users may have put something else of this name on the object.
    """
    return [
        {"kind": type(one).__name__, "heard": place < heard, "state": type(one).state(one)}
        for place, one in enumerate(callbacks)
    ]


def matched(
    callbacks: Sequence[Callback], entries: Sequence[dict[str, Any]]
) -> list[tuple[Callback, dict[str, Any] | None]]:
    """Each callback with its entry: of those of one kind, the first with the first, and so on."""
    left = list(entries)
    pairs: list[tuple[Callback, dict[str, Any] | None]] = []
    for callback in callbacks:
        kind = type(callback).__name__
        place = next((i for i, entry in enumerate(left) if entry["kind"] == kind), None)
        pairs.append((callback, None if place is None else left.pop(place)))
    return pairs


def _what_can_be_kept(name: str, value: Any) -> Any:
    try:
        pack(value, [])
    except TypeError as error:
        warn_once(f"the {name} of the last step are not kept in checkpoints: {error}")
        return {} if isinstance(value, dict) else None
    return value
