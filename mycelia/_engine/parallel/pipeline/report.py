"""What a pipeline costs: its stages one by one, as predicted and as it was measured."""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.distributed.plan.plan import Plan


@dataclass(frozen=True)
class StageReport:
    """One stage (a device, or a group of them), all its chunks together."""

    stage: int
    chunks: int
    devices: int
    cost: float  # operations of the forward pass of one micro-batch
    parameter_bytes: int
    taken_bytes: int  # of values from other stages, for one micro-batch
    given_bytes: int  # of values for other stages, for one micro-batch
    kept_bytes: int  # between forward and backward, for one micro-batch and all chunks
    live: int  # the most runs of its chunks between forward and backward
    peak_bytes: int  # kept at most, by theory
    plans: tuple[Plan, ...] = ()  # of its chunks, if it has several devices

    @property
    def mesh(self) -> str:
        """The grid of its devices."""
        return "x".join(map(str, self.plans[0].mesh)) if self.plans else str(self.devices)


@dataclass(frozen=True)
class PipelineReport:
    """A pipeline as planned; `measured` are bytes kept at most in the last step, by stage."""

    schedule: str
    micro_batches: int
    bubble: float  # the share of time a device waits, if all stages take equally long
    stages: tuple[StageReport, ...]
    measured: tuple[int, ...] = ()
    measured_live: tuple[int, ...] = ()

    def show(self) -> str:
        """A table, one line for each stage."""
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
