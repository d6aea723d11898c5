"""Autotune: adjusts the number of workers of each step while the pipeline runs."""

from __future__ import annotations

from time import perf_counter

from mycelia.dataset.runtime.run_metrics import RunMetrics, StepMeter

_EVERY = 0.5  # seconds between two decisions
_WORTH = 1.03  # speedup that justifies another worker
_HUNGRY = 0.02  # fraction of time that the consumer may wait


class Autotuner:
    """Adds a worker to the busiest step, and removes it if throughput did not improve.

    It acts only while the consumer waits for rows, so a fast enough pipeline stays unchanged.
    """

    def __init__(self, meters: RunMetrics, most: int) -> None:
        self._meters = meters
        self._most = most
        self._tried: StepMeter | None = None
        self._settled: set[int] = set()
        self._speed = 0.0
        self._mark()

    def _mark(self) -> None:
        self._since = perf_counter()
        self._rows, self._waited = self._meters.rows, self._meters.waited
        self._work = {id(step): step.seconds for step in self._meters.steps}

    def look(self) -> None:
        """Make a decision if enough time has passed."""
        elapsed = perf_counter() - self._since
        if elapsed < _EVERY:
            return
        speed = (self._meters.rows - self._rows) / elapsed
        is_hungry = self._meters.waited - self._waited > _HUNGRY * elapsed
        if self._tried is not None and speed < self._speed * _WORTH:
            self._tried.workers -= 1
            self._settled.add(id(self._tried))
        self._tried = self._busiest() if is_hungry else None
        if self._tried is not None:
            self._tried.workers += 1
        self._speed = speed
        self._mark()

    def _busiest(self) -> StepMeter | None:
        """The step with the busiest workers, if it may have another worker."""
        steps = [
            step
            for step in self._meters.steps
            if id(step) not in self._settled and step.workers < self._most and step.rows
        ]
        done = {id(step): step.seconds - self._work.get(id(step), 0.0) for step in steps}
        return max(steps, key=lambda step: done[id(step)] / step.workers, default=None)
