"""The recorder: times eager operators, programs, and custom ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from threading import get_ident
from time import perf_counter
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.ir.handlers import handlers
from mycelia._engine.runtime.observers import run_observer, wait
from mycelia.tensor.tensor import Tensor

OPERATOR, PROGRAM, STEP, MARK, RANGE = "operator", "program", "step", "mark", "range"


@dataclass(frozen=True)
class ProfileSpan:
    """A timed span; times are seconds since the start of the profile."""

    kind: str
    name: str
    start: float
    end: float
    step: int
    domain: str = ""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Recorder:
    """The measurements so far, of operators called in the thread that started it."""

    spans: list[ProfileSpan] = field(default_factory=list)
    step: int = 0
    _zero: float = 0.0
    _step_began: float = 0.0
    _thread: int | None = None
    _dispatch: Callable[..., Any] | None = None
    _inside: bool = False

    @property
    def running(self) -> bool:
        return self._thread is not None

    def start(self) -> None:
        """Start measuring."""
        if ActiveRecorder.recorder is not None:
            raise problem(
                RuntimeError,
                "another profiler is running",
                fix="stop it first: nested profilers would measure each other",
            )
        now = perf_counter()
        self._zero = self._zero or now
        self._step_began = now
        self._thread = get_ident()
        self._dispatch, handlers.dispatch = handlers.dispatch, self._timed
        run_observer.heard = self._ran
        ActiveRecorder.recorder = self

    def stop(self) -> None:
        """Stop measuring; the open step ends here."""
        if self._thread != get_ident():
            raise problem(RuntimeError, "a profiler must be stopped in the thread that started it")
        assert self._dispatch is not None
        handlers.dispatch, self._dispatch, self._thread = self._dispatch, None, None
        run_observer.heard = None
        ActiveRecorder.recorder = None
        self._end_step()

    def next_step(self) -> None:
        """End a step and begin the next one."""
        self._end_step()
        self.step += 1

    def _end_step(self) -> None:
        now = perf_counter()
        self.add(STEP, f"step {self.step}", self._step_began, now)
        self._step_began = now

    def add(self, kind: str, name: str, began: float, ended: float, domain: str = "") -> None:
        """Add a measurement."""
        start, end = began - self._zero, ended - self._zero
        self.spans.append(ProfileSpan(kind, name, start, end, self.step, domain))

    def _ran(self, name: str, began: float, ended: float) -> None:
        self.add(PROGRAM, name, began, ended)

    def _timed(self, op: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator and wait for its result; nested operators count as part of it."""
        assert self._dispatch is not None
        if self._inside:
            return self._dispatch(op, args, kwargs)
        self._inside = True
        began = perf_counter()
        try:
            result = self._dispatch(op, args, kwargs)
            wait(_arrays(result))
        finally:
            self._inside = False
        self.add(OPERATOR, op.name, began, perf_counter())
        return result


class ActiveRecorder:
    """The active recorder, if any."""

    recorder: Recorder | None = None


def _arrays(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [_arrays(one) for one in result]
    return result._data if isinstance(result, Tensor) else None
