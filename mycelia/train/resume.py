"""Finding the checkpoint that a training goes on from, and whether it is one of this training."""

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
    """A whole checkpoint with the state of its run."""

    path: Path
    parameters: dict[str, Parameter]
    state: RunState


def saved_run(resume_from: Any, callbacks: Sequence[Callback], facts: Any) -> SavedRun | None:
    """What `resume_from` or a callback has kept of this training, or None to begin anew."""
    keys = _keys(callbacks)
    if resume_from is not None:
        found = _newest(_checked_path(resume_from), keys)
        if found is not None:
            why = _why_not(found, facts)
            if why:
                raise problem(
                    ValueError,
                    f"Model: the training cannot go on from {found.path}",
                    got=why,
                    fix="train as before, or load its parameters: load_checkpoint(file, network)",
                )
        return found
    offered = [path for path in (callback.resumes_from() for callback in callbacks) if path]
    for path in sorted(offered, key=_age):
        held = _whole(path, keys)
        if isinstance(held, SavedRun):
            return held if _is_same_run(held, facts) else None
        if held is not None:
            load_param_into_net(facts.train_network, held)
            return None
    return None


def _is_same_run(found: SavedRun, facts: Any) -> bool:
    """Whether the training is the one that was saved; another begins with its parameters only."""
    why = _why_not(found, facts)
    if why:
        logger.warning("%s is of another training (%s): the parameters are taken", found.path, why)
        load_param_into_net(facts.train_network, found.parameters)
    return not why


def _newest(path: Path, keys: Sequence[Key]) -> SavedRun | None:
    """The newest whole checkpoint with the state of a run, in a folder; or the file itself."""
    if path.is_file() or _is_checkpoint(path):
        return _the_file(path, keys)
    for file in _candidates(path):
        found = _whole(file, keys)
        if isinstance(found, SavedRun):
            return found
        if found is not None:
            logger.info("%s holds no state of a run and is left out", file)
    return None


def _whole(file: Path, keys: Sequence[Key]) -> SavedRun | dict[str, Parameter] | None:
    """What a file holds: with or without the state of a run; None if it is damaged."""
    try:
        return _read(file, keys)
    except (ValueError, TypeError, KeyError, OSError) as error:
        what = str(error).splitlines()[0]
        logger.warning("%s is damaged and left out, an older one is tried: %s", file, what)
        return None


def _the_file(path: Path, keys: Sequence[Key]) -> SavedRun:
    if not path.is_file():
        raise problem(
            ValueError,
            "Model: there is no such checkpoint to go on from",
            got=f"resume_from={str(path)!r}",
            fix="give its folder: then a training without checkpoints begins anew",
        )
    found = _read(path, keys)
    if not isinstance(found, SavedRun):
        raise problem(
            ValueError,
            f"Model: {path} holds parameters, but no state of a run",
            expected="a file that ModelCheckpoint, BackupAndRestore or OnRequestExit saved",
            fix="load the parameters into the network: load_checkpoint(file, network)",
        )
    return found


def _candidates(folder: Path) -> list[Path]:
    """The checkpoints in a folder, the newest first."""
    if not folder.is_dir():
        return []
    found = {folder: None, home(folder): None}
    files = [file for place in found for file in place.iterdir() if file.is_file()]
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
    """The content, with the first key that opens it."""
    *others, last = keys
    for key, mode in others:
        try:
            return read_whole(path, key, mode)
        except ValueError:
            continue
    return read_whole(path, *last)


def _keys(callbacks: Sequence[Callback]) -> list[Key]:
    given = [c.encryption for c in callbacks if isinstance(c, ModelCheckpoint)]
    return [*[key for key in given if key[0] is not None], (None, "")]


def _why_not(found: SavedRun, facts: Any) -> str:
    """Why a run cannot go on from there, or nothing."""
    state = found.state
    missing = list(_missing(facts.train_network, found.parameters))
    if missing:
        return f"{len(missing)} parameters are not in it or of another shape: {missing[0]}, ..."
    if state.epoch > facts.epoch_num:
        return f"it is of epoch {state.epoch}, the training has {facts.epoch_num}"
    size = size_of(facts.train_dataset)
    if state.event != EPOCH_END and state.batches != size:
        return f"it is in the middle of an epoch of {state.batches} batches, now there are {size}"
    return ""


def _missing(network: Cell, parameters: dict[str, Parameter]) -> Iterator[str]:
    for own in network.get_parameters():
        given = parameters.get(own.name)
        if given is None or (given.shape, given.dtype) != (own.shape, own.dtype):
            yield own.name


def _checked_path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        raise wrong_type("Model", "resume_from", path, "a path")
    return Path(path)
