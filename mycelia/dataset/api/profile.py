"""The profile of a run: the cost of each step, the slowest step, and the consumer's wait."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia.dataset.runtime.run_metrics import RunMetrics


@dataclass(frozen=True)
class StepProfile:
    """The cost of one step: `seconds` over all workers, and those of its operations."""

    name: str
    rows: int
    workers: int
    seconds: float
    operations: dict[str, float]

    @property
    def milliseconds_a_row(self) -> float:
        """Processing time per row in one worker."""
        return 1e3 * self.seconds / max(self.rows, 1)

    @property
    def busy(self) -> float:
        """Busy seconds per worker, which bound the throughput of the pipeline."""
        return self.seconds / self.workers


@dataclass(frozen=True)
class Profile:
    """The cost of a run; printed as a table."""

    steps: tuple[StepProfile, ...]
    rows: int
    seconds: float
    waited: float

    @property
    def slowest(self) -> StepProfile | None:
        """The step with the busiest workers."""
        return max(self.steps, key=lambda step: step.busy, default=None)

    @property
    def idle(self) -> float:
        """The fraction of the time that the consumer waited for rows."""
        return self.waited / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        lines = [f"{'step':<32}{'rows':>10}{'workers':>9}{'ms/row':>10}{'busy':>7}"]
        for step in self.steps:
            busy = step.busy / self.seconds if self.seconds else 0.0
            lines.append(
                f"{step.name:<32}{step.rows:>10}{step.workers:>9}"
                f"{step.milliseconds_a_row:>10.3f}{busy:>7.0%}"
            )
            for name, seconds in sorted(step.operations.items(), key=lambda item: -item[1]):
                each = 1e3 * seconds / max(step.rows, 1)
                lines.append(f"  {name:<30}{'':>10}{'':>9}{each:>10.3f}")
        speed = self.rows / self.seconds if self.seconds else 0.0
        lines.append(f"{self.rows} rows in {self.seconds:.2f} s ({speed:.0f} rows/s)")
        lines.append(
            f"the consumer waited {self.waited:.2f} s for data ({self.idle:.1%} of the time)"
        )
        if self.slowest is not None:
            lines.append(f"slowest step: {self.slowest.name}{_worst_operation(self.slowest)}")
        return "\n".join(lines)


def _worst_operation(step: StepProfile) -> str:
    if not step.operations:
        return ""
    name, seconds = max(step.operations.items(), key=lambda item: item[1])
    return f", mostly {name} ({seconds / sum(step.operations.values()):.0%} of its operations)"


def profile_of(meters: RunMetrics) -> Profile:
    """The profile of what a run has measured so far."""
    steps = tuple(
        StepProfile(m.name, m.rows, m.workers, m.seconds, dict(m.parts))
        for m in meters.steps
        if m.rows
    )
    return Profile(steps, meters.rows, meters.ended - meters.began, meters.waited)
