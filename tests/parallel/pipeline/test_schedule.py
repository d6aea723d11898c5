"""Schedules of pipelines: complete, without deadlocks, with the idle times and lives of theory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mycelia._engine.parallel.pipeline.schedule import (
    PipelineAction,
    PipelineSchedule,
    check_schedule,
    dispatch_order,
    gpipe,
    idle_share,
    interleaved,
    needed_before,
    one_forward_one_backward,
)

DEVICES, BATCHES, CHUNKS = st.integers(1, 7), st.integers(1, 17), st.integers(2, 4)


@given(DEVICES, BATCHES)
def test_gpipe_keeps_all_micro_batches(devices: int, batches: int) -> None:
    schedule = gpipe(devices, batches)
    check_schedule(schedule)
    assert schedule.live() == (batches,) * devices
    assert idle_share(schedule) == pytest.approx((devices - 1) / (batches + devices - 1))
    assert schedule.bubble() == pytest.approx(idle_share(schedule))


@given(DEVICES, BATCHES)
def test_1f1b_keeps_few_micro_batches(devices: int, batches: int) -> None:
    schedule = one_forward_one_backward(devices, batches)
    check_schedule(schedule)
    assert schedule.live() == tuple(min(devices - s, batches) for s in range(devices))
    assert idle_share(schedule) == pytest.approx((devices - 1) / (batches + devices - 1))


@given(st.integers(2, 6), st.integers(1, 4), CHUNKS)
def test_interleaved_waits_less(devices: int, rounds: int, chunks: int) -> None:
    batches = devices * rounds
    schedule = interleaved(devices, batches, chunks)
    check_schedule(schedule)
    expected = (devices - 1) / (batches * chunks + devices - 1)
    assert schedule.bubble() == pytest.approx(expected)
    assert idle_share(schedule) == pytest.approx(expected)
    assert expected < one_forward_one_backward(devices, batches).bubble()


@given(DEVICES, BATCHES)
def test_actions_are_dispatched_after_what_they_need(devices: int, batches: int) -> None:
    schedule = one_forward_one_backward(devices, batches)
    order = dispatch_order(schedule)
    places = {action: place for place, action in enumerate(order)}
    for action in order:
        for needed in needed_before(action, schedule.chunks):
            assert places[needed] < places[action]
    for actions in schedule.actions:
        assert [places[a] for a in actions] == sorted(places[a] for a in actions)


def test_peaks_count_what_chunks_keep() -> None:
    schedule = one_forward_one_backward(2, 4)
    assert schedule.peaks([10, 3]) == (20, 3)


def test_one_chunk_is_plain_1f1b() -> None:
    assert interleaved(3, 5, 1) == one_forward_one_backward(3, 5)


def test_interleaved_takes_rounds_of_micro_batches() -> None:
    with pytest.raises(ValueError, match="rounds"):
        interleaved(4, 6, 2)


def test_an_incomplete_schedule_is_found() -> None:
    whole = gpipe(2, 2)
    with pytest.raises(RuntimeError, match="not complete"):
        check_schedule(
            PipelineSchedule("short", 2, 2, 2, (whole.actions[0][:-1], whole.actions[1]))
        )


def test_a_deadlock_is_found() -> None:
    first = (PipelineAction(0, 0, False), PipelineAction(0, 0, True))
    second = (PipelineAction(1, 0, True), PipelineAction(1, 0, False))
    with pytest.raises(RuntimeError, match="deadlocks"):
        check_schedule(PipelineSchedule("stuck", 2, 2, 1, (first, second)))
