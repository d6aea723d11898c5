"""The metrics of a run: rows, busy time, waiting time, and failed rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter


@dataclass
class StepMeter:
    """The rows and busy time of one step."""

    name: str
    workers: int = 1
    numbers: tuple[int, ...] = ()  # the nodes that this step runs
    rows: int = 0
    seconds: float = 0.0  # busy time, over all workers
    parts: dict[str, float] = field(default_factory=dict)  # seconds by operation
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, rows: int, seconds: float) -> None:
        """Count processed rows; any thread may call this."""
        with self._lock:
            self.rows += rows
            self.seconds += seconds

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Time the processing of one row."""
        began = perf_counter()
        yield
        self.add(1, perf_counter() - began)


@dataclass
class Failures:
    """Rows that failed and were skipped or replaced."""

    count: int = 0
    first: str = ""

    def add(self, error: BaseException) -> None:
        """Count one failed row."""
        self.count += 1
        self.first = self.first or str(error).partition("\n")[0]


class RunMetrics:
    """The meters of a run, in the order of its steps."""

    def __init__(self, *, operations: bool = False) -> None:
        self.operations = operations  # whether to time each operation of a map as well
        self.steps: list[StepMeter] = []
        self.failures = Failures()
        self.waited = 0.0  # seconds that the consumer waited
        self.rows = 0
        self.began = 0.0  # when the first row was requested, and when the last one arrived
        self.ended = 0.0
        self._lock = Lock()

    def step(self, name: str, workers: int = 1, numbers: tuple[int, ...] = ()) -> StepMeter:
        """Add a meter for another step."""
        with self._lock:
            self.steps.append(StepMeter(name, workers, numbers))
            return self.steps[-1]

    def taken(self, asked: float, came: float, *, is_row: bool) -> None:
        """Count a row that was requested and delivered, or the end of an epoch."""
        self.began = self.began or asked
        self.ended = came
        self.waited += came - asked
        self.rows += is_row

    def part(self, meter: StepMeter, name: str, seconds: float) -> None:
        """Add time of one operation; any thread may call this."""
        with self._lock:
            meter.parts[name] = meter.parts.get(name, 0.0) + seconds
