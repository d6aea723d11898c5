"""Pipeline reports: predicted and measured costs by stage."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.distributed.plan.plan import Plan


@dataclass(frozen=True)
class StageReport:
    """One stage (a device or a device group), with all its chunks."""

    stage: int
    chunks: int
    devices: int
    cost: float  # FLOPs of the forward pass per microbatch
    parameter_bytes: int
    taken_bytes: int  # received from other stages per microbatch
    given_bytes: int  # sent to other stages per microbatch
    kept_bytes: int  # stored between forward and backward per microbatch, over all chunks
    live: int  # peak number of runs between forward and backward
    peak_bytes: int  # predicted peak of stored bytes
    plans: tuple[Plan, ...] = ()  # of its chunks, if it has several devices

    @property
    def mesh(self) -> str:
        """The device mesh of the stage."""
        return "x".join(map(str, self.plans[0].mesh)) if self.plans else str(self.devices)


@dataclass(frozen=True)
class PipelineReport:
    """A pipeline as planned; `measured` is the peak of stored bytes in the last step, by stage."""

    schedule: str
    micro_batches: int
    bubble: float  # the idle share of time of a device, if all stages take equally long
    stages: tuple[StageReport, ...]
    measured: tuple[int, ...] = ()
    measured_live: tuple[int, ...] = ()

    def show(self) -> str:
        """A table with one line per stage."""
        head = (
            f"{self.schedule}, {self.micro_batches} micro-batches, "
            f"bubble {100 * self.bubble:.1f} %\n"
            "stage devices chunks      cost  parameters     taken      kept  live  peak theory"
            "  peak measured"
        )
        lines = [head]
        for one in self.stages:
            measured = str(self.measured[one.stage]) if self.measured else "-"
            lines.append(
                f"{one.stage:5} {one.mesh:>7} {one.chunks:6} {one.cost:9.3g} "
                f"{one.parameter_bytes:11} {one.taken_bytes:9} {one.kept_bytes:9} "
                f"{one.live:5} {one.peak_bytes:12} {measured:>14}"
            )
        return "\n".join(lines)
