"""The profile of a run: what each step cost, which is the slowest, how long the taker waited."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia.dataset.runtime.run_metrics import RunMetrics


@dataclass(frozen=True)
class StepProfile:
    """The work of one step: `seconds` over all its workers, and those of its operations."""

    name: str
    rows: int
    workers: int
    seconds: float
    operations: dict[str, float]

    @property
    def milliseconds_a_row(self) -> float:
        """The work on one row, by one worker."""
        return 1e3 * self.seconds / max(self.rows, 1)

    @property
    def busy(self) -> float:
        """Seconds that each worker worked: what bounds the speed of the pipeline."""
        return self.seconds / self.workers


@dataclass(frozen=True)
class Profile:
    """What a run cost; as text, a table."""

    steps: tuple[StepProfile, ...]
    rows: int
    seconds: float
    waited: float

    @property
    def slowest(self) -> StepProfile | None:
        """The step whose workers had the least rest."""
        return max(self.steps, key=lambda step: step.busy, default=None)

    @property
    def idle(self) -> float:
        """The share of the time that whoever took the rows waited for them."""
        return self.waited / self.seconds if self.seconds else 0.0

    def __str__(self) -> str:
        lines = [f"{'step':<32}{'rows':>10}{'workers':>9}{'ms a row':>10}{'busy':>7}"]
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
        lines.append(f"{self.rows} rows in {self.seconds:.2f} s ({speed:.0f} a second)")
        lines.append(f"the taker waited for data {self.waited:.2f} s ({self.idle:.1%} of the time)")
        if self.slowest is not None:
            lines.append(f"slowest step: {self.slowest.name}{_worst_operation(self.slowest)}")
        return "\n".join(lines)


def _worst_operation(step: StepProfile) -> str:
    if not step.operations:
        return ""
    name, seconds = max(step.operations.items(), key=lambda item: item[1])
    return f", most of it {name} ({seconds / sum(step.operations.values()):.0%} of its operations)"


def profile_of(meters: RunMetrics) -> Profile:
    """The profile of what a run has counted so far."""
    steps = tuple(
        StepProfile(m.name, m.rows, m.workers, m.seconds, dict(m.parts))
        for m in meters.steps
        if m.rows
    )
    return Profile(steps, meters.rows, meters.ended - meters.began, meters.waited)
