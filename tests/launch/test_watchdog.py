"""Who is stuck, judged from reports."""

from __future__ import annotations

from mycelia.launch.heartbeat import HeartbeatReport
from mycelia.launch.watchdog import LastReport, stuck

BOTH = (0, 1)


def seen(*pulses: HeartbeatReport, age: float = 0.1) -> dict[int, LastReport]:
    return {rank: LastReport(pulse, age) for rank, pulse in enumerate(pulses)}


def waiting(number: int, ranks: tuple[int, ...] = BOTH, seconds: float = 40) -> HeartbeatReport:
    return HeartbeatReport("step 7", {ranks: number}, "AllReduce", ranks, number, seconds)


def test_nobody_is_stuck_while_nobody_waits_long():
    assert stuck(seen(waiting(5, seconds=20), HeartbeatReport("step 6", {BOTH: 4})), 30) is None


def test_who_has_not_come_is_named_with_its_step():
    found = stuck(seen(waiting(5), HeartbeatReport("step 6", {BOTH: 4})), 30)
    assert found.ranks == (1,)
    assert "rank 0 has waited in AllReduce for 40 s" in found.text
    assert "rank 1 has not arrived, it is at step 6" in found.text


def test_a_long_meeting_to_which_all_came_is_no_problem():
    assert stuck(seen(waiting(5), waiting(5)), 30) is None


def test_whoever_compiles_is_busy():
    assert stuck(seen(waiting(5), HeartbeatReport("step 6", {BOTH: 4}, is_busy=True)), 30) is None


def test_a_process_that_ended_did_not_come():
    found = stuck(seen(waiting(5), HeartbeatReport("step 6", {BOTH: 4}, ended=True)), 30)
    assert found.ranks == (1,) and "its script has ended" in found.text


def test_the_chain_of_waiting_is_followed_to_its_end():
    first = waiting(5, (0, 1))
    second = HeartbeatReport("step 6", {(0, 1): 4, (1, 2): 3}, "AllReduce", (1, 2), 3, 20)
    third = HeartbeatReport("step 5", {(1, 2): 2})
    assert stuck(seen(first, second, third), 30).ranks == (2,)


def test_processes_that_wait_for_each_other():
    one = HeartbeatReport("step 6", {(0, 1): 5, (0, 1, 2): 1}, "AllReduce", (0, 1), 5, 40)
    other = HeartbeatReport("step 6", {(0, 1): 4, (0, 1, 2): 2}, "AllGather", (0, 1, 2), 2, 40)
    found = stuck(seen(one, other), 30)
    assert found.ranks == (0, 1) and "wait for each other" in found.text


def test_a_message_that_nobody_sends():
    found = stuck(
        seen(HeartbeatReport("step 1", {}, "recv", (1,), 0, 40), HeartbeatReport("step 2")), 30
    )
    assert found.ranks == (1,) and "has waited in recv" in found.text


def test_silence_is_noticed_but_not_while_a_process_starts():
    assert stuck(seen(HeartbeatReport("step 3"), age=31), 30).ranks == (0,)
    assert stuck(seen(HeartbeatReport(is_busy=True), age=31), 30) is None
    assert stuck(seen(HeartbeatReport(is_busy=True), age=130), 30).ranks == (0,)


def test_reports_are_read_as_they_were_written():
    pulse = waiting(5)
    assert HeartbeatReport.read(pulse.line()) == pulse
