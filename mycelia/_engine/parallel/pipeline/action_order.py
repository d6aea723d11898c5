"""The global order of a pipeline's actions and transfers, which all processes follow.

The results of an action are transferred at the time it ends, if every chunk takes as long as the
schedule assumes. A receiving process has then done all earlier actions that do not need the value,
and a sending process does not wait for later actions of others: they meet when both are ready.
"""

from __future__ import annotations

from dataclasses import dataclass

from mycelia._engine.parallel.pipeline.schedule import PipelineAction, PipelineSchedule, times


@dataclass(frozen=True)
class StageTransfer:
    """The transfer of an action's results to the chunks that need them."""

    action: PipelineAction


def events(schedule: PipelineSchedule) -> list[PipelineAction | StageTransfer]:
    """All actions by start time, and all transfers by the end time of their actions.

    At equal times, transfers come first: an action that starts then may need them.
    """
    found: list[tuple[tuple[float, bool, int, int, bool], PipelineAction | StageTransfer]] = []
    for action, (start, end) in times(schedule).items():
        which = (action.chunk, action.batch, not action.is_forward)
        found.append(((start, True, *which), action))
        found.append(((end, False, *which), StageTransfer(action)))
    return [event for _, event in sorted(found, key=lambda pair: pair[0])]
