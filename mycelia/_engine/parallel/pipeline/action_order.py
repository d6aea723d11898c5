"""The one order in which all processes go through a pipeline: its actions, and what follows them.

What an action gave is handed over at the time it ends, if every chunk takes as long as the schedule
supposes. A process that receives has then done what it could do before without it, and one that
sends does not wait for work of others that comes later: they meet when both are ready.
"""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.parallel.pipeline.schedule import PipelineAction, PipelineSchedule, times


@dataclass(frozen=True)
class StageTransfer:
    """What an action gave for other chunks goes to where they are."""

    action: PipelineAction


def events(schedule: PipelineSchedule) -> list[PipelineAction | StageTransfer]:
    """All actions by when they start, and the handovers by when their actions end.

    At one time handovers come first: whoever starts then may need them.
    """
    found: list[tuple[tuple[float, bool, int, int, bool], PipelineAction | StageTransfer]] = []
    for action, (start, end) in times(schedule).items():
        which = (action.chunk, action.batch, not action.is_forward)
        found.append(((start, True, *which), action))
        found.append(((end, False, *which), StageTransfer(action)))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]
