"""What can happen to a network in training: each action, and the states it may leave."""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Tensor
from mycelia import dataset as ds
from mycelia.train import CheckpointConfig, LambdaCallback, ModelCheckpoint
from tests.fuzz.state.reference import Values
from tests.fuzz.state.runs import ROWS, Run, difference, set_mode

KEY = b"0123456789abcdef"
SIZES = (4, 6)
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "checked": {"crc_check": True},
    "async": {"async_save": True},
    "safetensors": {"format": "safetensors", "crc_check": True},
    "encrypted": {"enc_key": KEY},
}
_EVENTS = 200_000  # calls and returns in which an interrupt comes, at most


class WrongState(AssertionError):
    """A state that no completed step leaves."""


class Stopped(Exception):
    """What a callback raises."""


@dataclass
class Sequence:
    """A run, its files, and how it is trained now."""

    run: Run
    folder: Path
    size: int = SIZES[0]
    sinks: bool = False
    files: list[tuple[str, str, Values]] = field(default_factory=list)  # way, path, content
    count: int = 0  # of files and folders

    def path(self, name: str) -> str:
        self.count += 1
        return str(self.folder / f"{name}_{self.count}")

    def data(self) -> Any:
        rows = self.run.x, self.run.y
        return ds.NumpySlicesDataset(rows, shuffle=False).batch(self.size)

    def fit(self, epochs: int, *callbacks: Any) -> None:
        """Train with `Model`, which switches the network to training."""
        model = ms.Model(self.run.cell)
        model.train(epochs, self.data(), list(callbacks), dataset_sink_mode=self.sinks)

    def after(self, state: Values, steps: int, first: int = 0) -> list[Values]:
        """The states after 0, 1, ... steps."""
        found = [state]
        for number in range(first, first + steps):
            found.append(self.run.after(found[-1], number % (ROWS // self.size), self.size))
        return found

    def expect(self, allowed: list[Values], what: str) -> None:
        """The state is one of those, which the reference continues from."""
        state = self.run.state()
        wrong = [difference(state, right) for right in allowed]
        if all(wrong):
            each = "\n".join(f"after {n} steps: {w}" for n, w in enumerate(wrong))
            raise WrongState(f"{what}: the state is not that of completed steps\n{each}")
        self.run.right = state


def draw(rng: random.Random) -> tuple[Any, ...]:
    """A random action: its name, then its numbers."""
    names = [name for name, (weight, *_) in ACTIONS.items() for _ in range(weight)]
    name = rng.choice(names)
    return name, *ACTIONS[name][1](rng)


def perform(sequence: Sequence, action: tuple[Any, ...]) -> None:
    """Do an action and check what it left."""
    name, *given = action
    ACTIONS[name][2](sequence, *given)


# ---- training -----------------------------------------------------------------------------------


def _train(s: Sequence, first: int, steps: int) -> None:
    allowed = s.after(s.run.right, steps, first)
    for number in range(first, first + steps):
        s.run.step(number % (ROWS // s.size), s.size)
    s.expect(allowed[-1:], "train")


def _custom(s: Sequence, first: int, steps: int) -> None:
    """Steps of a loop of the user: gradients, then the optimizer."""
    allowed = s.after(s.run.right, steps, first)
    for number in range(first, first + steps):
        s.run.custom_step(number % (ROWS // s.size), s.size)
    s.expect(allowed[-1:], "a custom loop")


def _fit(s: Sequence, epochs: int) -> None:
    s.run.training = True
    allowed = s.after(s.run.right, epochs * (ROWS // s.size))
    s.fit(epochs)
    s.expect(allowed[-1:], "Model.train")


def _interrupted_train(s: Sequence, steps: int, events: int) -> None:
    allowed = s.after(s.run.right, steps)

    def train() -> None:
        for number in range(steps):
            s.run.step(number % (ROWS // s.size), s.size)

    interrupted(events, train)
    s.expect(allowed, "an interrupted train")
    _use(s)


def _interrupted_fit(s: Sequence, epochs: int, events: int) -> None:
    s.run.training = True
    allowed = s.after(s.run.right, epochs * (ROWS // s.size))
    interrupted(events, lambda: s.fit(epochs))
    s.expect(allowed, "an interrupted Model.train")
    _use(s)


def _failing_callback(s: Sequence, step: int, kind: str) -> None:
    """A callback raises after a step: what was trained until then stays."""
    steps = ROWS // s.size
    step = step % steps + 1
    s.run.training = True
    allowed = s.after(s.run.right, steps)
    allowed = allowed[step:] if s.sinks else allowed[step : step + 1]
    error = {"memory": MemoryError, "error": Stopped, "interrupt": KeyboardInterrupt}[kind]

    def stop(context: Any) -> None:
        if context.original_args().cur_step_num >= step:
            raise error("raised by a callback")

    try:
        s.fit(1, LambdaCallback(on_train_step_end=stop))
    except error:
        s.expect(allowed, "an error in a callback")
    else:
        raise WrongState("an error in a callback: it is lost")
    _use(s)


def _resume(s: Sequence, stop: int, suffix: str) -> None:
    """A run stops in the middle and another one resumes: as if it had not stopped."""
    epochs, each = 2, ROWS // s.size
    total = epochs * each
    stop = stop % total + 1
    folder = s.path("run")
    s.run.training = True
    states = s.after(s.run.right, total)
    saving = CheckpointConfig(save_checkpoint_steps=1, keep_checkpoint_max=2, format=suffix)

    def end(context: Any) -> None:
        if context.original_args().cur_step_num >= stop:
            raise Stopped

    callbacks = [ModelCheckpoint("run", folder, saving), LambdaCallback(on_train_step_end=end)]
    with suppress(Stopped):
        ms.Model(s.run.cell).train(epochs, s.data(), callbacks, dataset_sink_mode=False)
    s.expect([states[stop]], "a run that stops")
    for parameter in s.run.parameters:
        if parameter.name in s.run.trained:
            parameter.set_data(Tensor(np.zeros_like(parameter.asnumpy())))
    ms.Model(s.run.cell).train(
        epochs, s.data(), ModelCheckpoint("run", folder, saving), dataset_sink_mode=False,
        resume_from=folder,
    )  # fmt: skip
    s.expect([states[-1]], "a resumed run")


def interrupted(events: int, action: Callable[[], None]) -> None:
    """Interrupt an action after so many calls and returns of functions.

    For odd numbers by a signal, as Ctrl-C does; for even ones by an exception that is raised there.
    """
    left = events

    def count(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal left
        left -= 1
        if left == 0 and events % 2:
            signal.raise_signal(signal.SIGINT)
        elif left == 0:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    hook, sys.unraisablehook = sys.unraisablehook, _ignore  # one may come while objects are freed
    try:
        sys.setprofile(count)
        action()
        left = -1
    except KeyboardInterrupt:
        left = -1
    except Exception as error:  # code of the engine may take an interrupt for another error
        left = -1
        if not _is_of_engine(error):
            raise
    finally:
        left = -1
        sys.setprofile(None)
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, before)


def _is_of_engine(error: Exception) -> bool:
    """Whether an error comes from jax itself, while something was compiled."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return "jax" in Path(last.filename).parts


def _ignore(unraisable: Any) -> None:
    """Print nothing."""


# ---- files --------------------------------------------------------------------------------------


def _save(s: Sequence, way: str) -> None:
    path = s.path("net") + (".safetensors" if way == "safetensors" else ".ckpt")
    ms.save_checkpoint(s.run.cell, path, **WAYS[way])
    s.files.append((way, path, s.run.right))
    s.expect([s.run.right], "save")


def _interrupted_save(s: Sequence, way: str, events: int) -> None:
    """The file is the one of before, or the new one; there is none if there was none."""
    if not s.files:
        return
    number = events % len(s.files)
    way, path, before = s.files[number]
    interrupted(events, lambda: ms.save_checkpoint(s.run.cell, path, **WAYS[way]))
    found = {name: p.asnumpy() for name, p in _loaded(way, path).items()}
    kept = [one for one in (before, s.run.right) if not difference(found, one)]
    if not kept:
        raise WrongState("an interrupted save: the file is neither the old nor the new one")
    s.files[number] = way, path, kept[-1]
    s.expect([s.run.right], "an interrupted save")


def _load(s: Sequence, number: int) -> None:
    if not s.files:
        return
    way, path, content = s.files[number % len(s.files)]
    loaded = _loaded(way, path)
    missing, unused = ms.load_param_into_net(s.run.cell, loaded, strict_load=True)
    if missing or unused:
        raise WrongState(f"load: {missing} are missing, {unused} are not used")
    s.expect([content], "load")


def _loaded(way: str, path: str) -> dict[str, Any]:
    options: dict[str, Any] = {k: v for k, v in WAYS[way].items() if k in ("format", "crc_check")}
    if "enc_key" in WAYS[way]:
        options["dec_key"] = KEY
    return ms.load_checkpoint(path, **options)


# ---- settings -----------------------------------------------------------------------------------


def _mode(s: Sequence, mode: str) -> None:
    set_mode(mode != "eager")
    s.sinks = mode == "sink"


def _batch(s: Sequence, size: int) -> None:
    s.size = size


def _set_train(s: Sequence, training: bool) -> None:
    s.run.set_train(training)


def _freeze(s: Sequence, number: int, frozen: bool) -> None:
    name = s.run.trained[number % 2]
    s.run.parameter(name).requires_grad = not frozen
    others = [other for other in s.run.frozen if other != name]
    s.run.frozen = [*others, name] if frozen else others


# ---- parameters ---------------------------------------------------------------------------------


def _predict(s: Sequence, number: int) -> None:
    got, wanted = s.run.predicted(number, s.size), s.run.should_predict(number, s.size)
    if not np.allclose(got, wanted, rtol=1e-3, atol=1e-4):
        raise WrongState(f"predict: wrong by {np.abs(got - wanted).max():.3g}")
    s.expect([s.run.right], "predict")


def _set_data(s: Sequence, number: int, seed: int) -> None:
    name = s.run.trained[number % len(s.run.trained)]
    parameter = s.run.parameter(name)
    value = np.random.default_rng(seed).normal(size=parameter.shape).astype(np.float32)
    parameter.set_data(Tensor(value))
    s.expect([s.run.right | {name: value}], "set_data")


def _write(s: Sequence, number: int, row: int, value: float) -> None:
    name = s.run.trained[number % len(s.run.trained)]
    parameter, right = s.run.parameter(name), s.run.right[name].copy()
    row = row % len(right)
    parameter[row] = value
    right[row] = value
    s.expect([s.run.right | {name: right}], "a write to a parameter")


def _use(s: Sequence) -> None:
    """The network predicts, saves, and trains."""
    _predict(s, 1)
    _save(s, "plain")
    _train(s, 0, 1)


# ---- all actions --------------------------------------------------------------------------------


def _events(rng: random.Random) -> int:
    return int(_EVENTS ** rng.random())


Draw = Callable[[random.Random], tuple[Any, ...]]
ACTIONS: dict[str, tuple[int, Draw, Callable[..., None]]] = {
    "train": (4, lambda r: (r.randrange(4), r.randrange(1, 5)), _train),
    "custom": (2, lambda r: (r.randrange(4), r.randrange(1, 4)), _custom),
    "fit": (2, lambda r: (r.randrange(1, 3),), _fit),
    "interrupted train": (3, lambda r: (r.randrange(1, 6), _events(r)), _interrupted_train),
    "interrupted fit": (2, lambda r: (r.randrange(1, 3), _events(r)), _interrupted_fit),
    "failing callback": (
        2,
        lambda r: (r.randrange(8), r.choice(("memory", "error", "interrupt"))),
        _failing_callback,
    ),
    "resume": (1, lambda r: (r.randrange(20), r.choice(("ckpt", "safetensors"))), _resume),
    "save": (3, lambda r: (r.choice(list(WAYS)),), _save),
    "interrupted save": (1, lambda r: (r.choice(list(WAYS)), _events(r)), _interrupted_save),
    "load": (3, lambda r: (r.randrange(8),), _load),
    "mode": (5, lambda r: (r.choice(("eager", "graph", "sink")),), _mode),
    "batch": (1, lambda r: (r.choice(SIZES),), _batch),
    "set_train": (1, lambda r: (r.random() < 0.5,), _set_train),
    "freeze": (1, lambda r: (r.randrange(2), r.random() < 0.5), _freeze),
    "predict": (2, lambda r: (r.randrange(4),), _predict),
    "set_data": (1, lambda r: (r.randrange(6), r.randrange(1000)), _set_data),
    "write": (2, lambda r: (r.randrange(6), r.randrange(6), r.randrange(-3, 4) / 2), _write),
}
"""How often an action is drawn, its numbers, and what it does."""


def run_all(run: Run, actions: tuple[tuple[Any, ...], ...], seed: int) -> str:
    """What is wrong in a sequence of actions, or nothing."""
    with tempfile.TemporaryDirectory() as folder:
        run.begin(seed)
        sequence = Sequence(run, Path(folder))
        _mode(sequence, "eager")
        try:
            for action in actions:
                perform(sequence, action)
            for number in range(len(sequence.files)):
                _load(sequence, number)
        except WrongState as wrong:
            return str(wrong)
        finally:
            set_mode(False)
    return ""
