"""Pipeline schedules: the order of forward and backward actions on each device.

GPipe (Huang et al., 2019) runs all forward passes, then all backward passes. 1F1B (Narayanan et
al., 2019) runs each backward pass as early as possible, which keeps few microbatches alive.
Interleaved 1F1B (Narayanan et al., 2021) assigns several smaller chunks of the network to each
device, which shortens idle times.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from mycelia._engine.core.errors import problem


@dataclass(frozen=True, order=True)
class PipelineAction:
    """One run of a chunk, forward or backward, for one microbatch.

    Chunks are numbered in network order: chunk c runs on device c modulo the number of devices.
    """

    chunk: int
    batch: int
    is_forward: bool


@dataclass(frozen=True)
class PipelineSchedule:
    """The actions of each device, in order."""

    name: str
    devices: int
    chunks: int  # over all devices
    batches: int
    actions: tuple[tuple[PipelineAction, ...], ...]  # for each device

    @property
    def chunks_each(self) -> int:
        return self.chunks // self.devices

    def live(self) -> tuple[int, ...]:
        """For each device, the peak number of microbatches (of one chunk) that await backward."""
        return self.peaks([1] * self.chunks)

    def peaks(self, kept: Sequence[int]) -> tuple[int, ...]:
        """For each device, the peak of stored bytes, if each run of a chunk stores `kept` bytes."""
        found = []
        for actions in self.actions:
            now = most = 0
            for action in actions:
                now += kept[action.chunk] if action.is_forward else -kept[action.chunk]
                most = max(most, now)
            found.append(most)
        return tuple(found)

    def bubble(self) -> float:
        """The idle share of a device's time, if all chunks take equally long."""
        busy = self.chunks_each * self.batches
        return (self.devices - 1) / (busy + self.devices - 1)


def gpipe(devices: int, batches: int) -> PipelineSchedule:
    """GPipe: all microbatches forward, then all backward."""
    _check(devices, batches)
    actions = []
    for device in range(devices):
        forward = [PipelineAction(device, batch, True) for batch in range(batches)]
        backward = [PipelineAction(device, batch, False) for batch in range(batches)]
        actions.append((*forward, *backward))
    return PipelineSchedule("gpipe", devices, devices, batches, tuple(actions))


def one_forward_one_backward(devices: int, batches: int) -> PipelineSchedule:
    """1F1B: after a warm-up of forward passes, forward and backward passes alternate."""
    _check(devices, batches)
    actions = []
    for device in range(devices):
        ahead = min(devices - device - 1, batches)
        forward = [PipelineAction(device, batch, True) for batch in range(batches)]
        backward = [PipelineAction(device, batch, False) for batch in range(batches)]
        actions.append(_alternated(forward, backward, ahead))
    return PipelineSchedule("1f1b", devices, devices, batches, tuple(actions))


def interleaved(devices: int, batches: int, chunks_each: int) -> PipelineSchedule:
    """Interleaved 1F1B, with several chunks per device."""
    _check(devices, batches)
    if chunks_each == 1:
        return one_forward_one_backward(devices, batches)
    if batches % devices:
        raise problem(
            ValueError,
            "the number of micro-batches must be divisible by the number of stages",
            got=f"{batches} micro-batches for {devices} stages",
            expected="a multiple of the number of stages",
            fix="choose another micro_size, or pipeline_interleave=False",
        )
    actions = []
    total = batches * chunks_each
    for device in range(devices):
        forward, backward = [], []
        for place in range(total):
            round_, inside = divmod(place, devices * chunks_each)
            chunk, batch = divmod(inside, devices)
            batch += round_ * devices
            forward.append(PipelineAction(chunk * devices + device, batch, True))
            back = chunks_each - 1 - chunk
            backward.append(PipelineAction(back * devices + device, batch, False))
        ahead = (devices - device - 1) * 2 + (chunks_each - 1) * devices
        ahead = total if batches == devices else min(ahead, total)
        actions.append(_alternated(forward, backward, ahead))
    chunks = devices * chunks_each
    return PipelineSchedule("interleaved 1f1b", devices, chunks, batches, tuple(actions))


def _alternated(
    forward: Sequence[PipelineAction], backward: Sequence[PipelineAction], ahead: int
) -> tuple[PipelineAction, ...]:
    """`ahead` forward actions, then forward and backward in turn, then the rest."""
    found = list(forward[:ahead])
    for place, action in enumerate(forward[ahead:]):
        found += [action, backward[place]]
    return (*found, *backward[len(forward) - ahead :])


def needed_before(action: PipelineAction, chunks: int) -> list[PipelineAction]:
    """The actions on other devices or chunks that an action depends on."""
    if action.is_forward:
        return [PipelineAction(action.chunk - 1, action.batch, True)] if action.chunk else []
    found = [PipelineAction(action.chunk, action.batch, True)]
    if action.chunk + 1 < chunks:
        found.append(PipelineAction(action.chunk + 1, action.batch, False))
    return found


def check_schedule(schedule: PipelineSchedule) -> None:
    """Raise unless each chunk runs each microbatch forward and backward without deadlock."""
    wanted = {
        PipelineAction(chunk, batch, is_forward)
        for chunk in range(schedule.chunks)
        for batch in range(schedule.batches)
        for is_forward in (True, False)
    }
    found = Counter(action for actions in schedule.actions for action in actions)
    misplaced = [
        action
        for device, actions in enumerate(schedule.actions)
        for action in actions
        if action.chunk % schedule.devices != device
    ]
    if set(found) != wanted or set(found.values()) != {1} or misplaced:
        raise problem(RuntimeError, f"the schedule {schedule.name} is not complete")
    times(schedule)


def times(
    schedule: PipelineSchedule, forward: float = 1.0, backward: float = 2.0
) -> dict[PipelineAction, tuple[float, float]]:
    """The start and end of each action, for equal chunks and without transfer times."""
    found: dict[PipelineAction, tuple[float, float]] = {}
    places = [0] * schedule.devices
    clocks = [0.0] * schedule.devices
    total = sum(map(len, schedule.actions))
    while len(found) < total:
        before = len(found)
        for device, actions in enumerate(schedule.actions):
            while places[device] < len(actions):
                action = actions[places[device]]
                needed = needed_before(action, schedule.chunks)
                if not all(n in found for n in needed):
                    break
                start = max([clocks[device], *(found[n][1] for n in needed)])
                clocks[device] = start + (forward if action.is_forward else backward)
                found[action] = (start, clocks[device])
                places[device] += 1
        if len(found) == before:
            raise problem(RuntimeError, f"the schedule {schedule.name} deadlocks")
    return found


def dispatch_order(schedule: PipelineSchedule) -> list[PipelineAction]:
    """All actions in order of their start times."""
    started = times(schedule)
    return sorted(started, key=lambda a: (started[a][0], a.chunk, a.batch, not a.is_forward))


def idle_share(schedule: PipelineSchedule, forward: float = 1.0, backward: float = 2.0) -> float:
    """The idle share of the time of all devices, from the times of the actions."""
    found = times(schedule, forward, backward)
    end = max(stop for _, stop in found.values())
    busy = sum(stop - start for start, stop in found.values())
    return 1.0 - busy / (end * schedule.devices)


def _check(devices: int, batches: int) -> None:
    if devices < 1 or batches < 1:
        raise problem(
            ValueError,
            "a pipeline needs at least one stage and one micro-batch",
            got=f"{devices} stages, {batches} micro-batches",
        )
