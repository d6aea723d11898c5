"""Finds the checkpoint to resume from, and checks that it belongs to this training run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.warn_once import logger
from mycelia.nn.cell import Cell
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.train.background_writer import finish
from mycelia.train.callback.callback import Callback
from mycelia.train.callback.model_checkpoint import ModelCheckpoint
from mycelia.train.checkpoint import (
    CKPT,
    SAFETENSORS,
    is_hidden,
    load_param_into_net,
    read_whole,
)
from mycelia.train.dataset_helper import size_of
from mycelia.train.distributed_checkpoint.index import home, is_index
from mycelia.train.run_state import EPOCH_END, RunState, read_state

_SUFFIXES = (f".{CKPT}", f".{SAFETENSORS}")
Key = tuple[bytes | None, str]


@dataclass(frozen=True)
class SavedRun:
    """A complete checkpoint with a run state."""

    path: Path
    parameters: dict[str, Parameter]
    state: RunState


def saved_run(resume_from: Any, callbacks: Sequence[Callback], facts: Any) -> SavedRun | None:
    """The run to resume, from `resume_from` or a callback; None to start from scratch."""
    keys = _keys(callbacks)
    if resume_from is not None:
        saved = _newest(_checked_path(resume_from), keys)
        if saved is not None:
            why = _why_not(saved, facts)
            if why:
                raise problem(
                    ValueError,
                    f"Model: training cannot resume from {saved.path}",
                    got=why,
                    fix="train with the same settings, or load the parameters only: "
                    "load_checkpoint(file, network)",
                )
        return saved
    offered = [path for path in (callback.resumes_from() for callback in callbacks) if path]
    for path in sorted(offered, key=_age):
        content = _whole(path, keys)
        if isinstance(content, SavedRun):
            return content if _is_same_run(content, facts) else None
        if content is not None:
            load_param_into_net(facts.train_network, content)
            return None
    return None


def _is_same_run(saved: SavedRun, facts: Any) -> bool:
    """Whether a checkpoint is of this training run; if not, only its parameters are loaded."""
    why = _why_not(saved, facts)
    if why:
        logger.warning(
            "%s is of another training run (%s): only its parameters are loaded", saved.path, why
        )
        load_param_into_net(facts.train_network, saved.parameters)
    return not why


def _newest(path: Path, keys: Sequence[Key]) -> SavedRun | None:
    """The newest complete checkpoint with a run state in a folder; or the file itself."""
    if path.is_file() or _is_checkpoint(path):
        return _the_file(path, keys)
    for file in _candidates(path):
        content = _whole(file, keys)
        if isinstance(content, SavedRun):
            return content
        if content is not None:
            logger.info("%s contains no run state and is skipped", file)
    return None


def _whole(file: Path, keys: Sequence[Key]) -> SavedRun | dict[str, Parameter] | None:
    """The content of a file, with or without a run state; None if it is damaged."""
    try:
        return _read(file, keys)
    except (ValueError, TypeError, KeyError, OSError) as error:
        what = str(error).splitlines()[0]
        logger.warning("%s is damaged and skipped, an older one is tried: %s", file, what)
        return None


def _the_file(path: Path, keys: Sequence[Key]) -> SavedRun:
    if not path.is_file():
        raise problem(
            ValueError,
            "Model: the checkpoint to resume from does not exist",
            got=f"resume_from={str(path)!r}",
            fix="pass its folder: without checkpoints, training then starts from scratch",
        )
    saved = _read(path, keys)
    if not isinstance(saved, SavedRun):
        raise problem(
            ValueError,
            f"Model: {path} contains parameters, but no run state",
            expected="a file saved by ModelCheckpoint, BackupAndRestore, or OnRequestExit",
            fix="load the parameters into the network: load_checkpoint(file, network)",
        )
    return saved


def _candidates(folder: Path) -> list[Path]:
    """The checkpoints in a folder, newest first."""
    if not folder.is_dir():
        return []
    folders = {folder: None, home(folder): None}
    files = [file for parent in folders for file in parent.iterdir() if file.is_file()]
    return sorted(filter(_is_checkpoint, files), key=_age)


def _is_checkpoint(file: Path) -> bool:
    return file.suffix in _SUFFIXES or is_index(file)


def _age(file: Path) -> tuple[int, str]:
    return -file.stat().st_mtime_ns, file.name


def _read(path: Path, keys: Sequence[Key]) -> SavedRun | dict[str, Parameter]:
    finish(path)
    arrays = _opened(path, keys)
    hidden = {name: array for name, array in arrays.items() if is_hidden(name)}
    parameters = {
        name: Parameter(Tensor(array), name=name)
        for name, array in arrays.items()
        if name not in hidden and not isinstance(array, str)
    }
    state = read_state(hidden)
    return parameters if state is None else SavedRun(path, parameters, state)


def _opened(path: Path, keys: Sequence[Key]) -> dict[str, Any]:
    """The content, decrypted with the first key that fits."""
    *others, last = keys
    for key, mode in others:
        try:
            return read_whole(path, key, mode)
        except ValueError:
            continue
    return read_whole(path, *last)


def _keys(callbacks: Sequence[Callback]) -> list[Key]:
    encryptions = [c.encryption for c in callbacks if isinstance(c, ModelCheckpoint)]
    return [*[key for key in encryptions if key[0] is not None], (None, "")]


def _why_not(saved: SavedRun, facts: Any) -> str:
    """Why a run cannot resume from a checkpoint; empty if it can."""
    state = saved.state
    missing = list(_missing(facts.train_network, saved.parameters))
    if missing:
        return f"{len(missing)} parameters are missing or differ in shape: {missing[0]}, ..."
    if state.epoch > facts.epoch_num:
        return f"it is of epoch {state.epoch}, but training has {facts.epoch_num}"
    size = size_of(facts.train_dataset)
    if state.event != EPOCH_END and state.batches != size:
        return f"it is within an epoch of {state.batches} batches, but now there are {size}"
    return ""


def _missing(network: Cell, parameters: dict[str, Parameter]) -> Iterator[str]:
    for own in network.get_parameters():
        saved = parameters.get(own.name)
        if saved is None or (saved.shape, saved.dtype) != (own.shape, own.dtype):
            yield own.name


def _checked_path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type("Model", "resume_from", path, "a path")
    return Path(path)
