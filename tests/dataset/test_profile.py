"""A profile names what is slow, tells how long the consumer waited, and autotune acts on it."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset import transforms
from mycelia.dataset.runtime import autotune, run
from mycelia.dataset.runtime.run_metrics import RunMetrics, StepMeter
from mycelia.dataset.runtime.thread_pool import WorkerPool

pytestmark = pytest.mark.usefixtures("seeded")


def sleepy(x):
    time.sleep(0.004)
    return x


def quick(x):
    return x


def numbers(count: int = 32) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(count)}, shuffle=False)


# Profiles ----------------------------------------------------------------------------------------


def test_a_profile_names_the_slowest_step_and_operation():
    data = numbers().filter(lambda x: True, "x")
    mapped = data.map([quick, sleepy, transforms.TypeCast(np.int32)], "x", num_parallel_workers=2)
    profile = mapped.batch(4).profile()
    assert profile.slowest.name == "map"
    assert max(profile.slowest.operations, key=profile.slowest.operations.get) == "sleepy"
    assert set(profile.slowest.operations) == {"quick", "sleepy", "TypeCast"}
    assert profile.slowest.operations["sleepy"] >= 32 * 0.004
    assert profile.slowest.seconds >= 32 * 0.004
    assert 4 <= profile.slowest.milliseconds_a_row < 40
    assert profile.slowest.busy == profile.slowest.seconds / 2
    assert profile.rows == 8


def test_a_profile_counts_rows_and_workers_of_each_step():
    mapped = numbers().filter(lambda x: x % 2 == 0, "x").map(quick, "x", num_parallel_workers=3)
    profile = mapped.batch(5, num_parallel_workers=2).profile(num_epochs=2)
    steps = {step.name: step for step in profile.steps}
    assert (steps["filter"].rows, steps["filter"].workers) == (64, 1)
    assert (steps["map"].rows, steps["map"].workers) == (32, 3)
    assert profile.rows == 2 * 4
    assert 0 < profile.waited <= profile.seconds


def test_a_slow_filter_and_a_slow_generator_are_named():
    def slow():
        for i in range(20):
            time.sleep(0.002)
            yield (np.array(i),)

    profile = ds.GeneratorDataset(slow, ["x"]).map(quick, "x").profile()
    assert "GeneratorDataset" in profile.slowest.name or profile.slowest.name == "read"
    assert profile.slowest.rows >= 20
    assert numbers().filter(sleepy, "x").profile().slowest.name == "filter"


def test_the_operations_below_a_cache_are_in_its_profile():
    profile = numbers().map(sleepy, "x").cache().profile(num_epochs=2)
    (step,) = [step for step in profile.steps if step.name == "cache"]
    assert step.rows == 32
    assert step.operations["sleepy"] >= 32 * 0.004


def test_the_text_of_a_profile_is_a_table():
    text = str(numbers().map([quick, sleepy], "x", num_parallel_workers=2).batch(4).profile())
    lines = text.splitlines()
    assert lines[0].split() == ["step", "rows", "workers", "ms/row", "busy"]
    (row,) = [line for line in lines if line.startswith("map")]
    assert row.split()[1:3] == ["32", "2"]
    operations = [line.split()[0] for line in lines if line.startswith("  ")]
    assert operations == ["sleepy", "quick"]  # the worst first
    assert lines[-3].startswith("8 rows in ")
    assert lines[-2].startswith("the consumer waited ")
    assert lines[-1].startswith("slowest step: map, mostly sleepy (")


def test_a_profile_of_nothing_is_a_table_too():
    profile = numbers().filter(lambda x: False, "x").project("x").profile()
    assert profile.rows == 0
    assert "0 rows in" in str(profile)


# Who waits ---------------------------------------------------------------------------------------


def taken(data: ds.Dataset, seconds: float) -> float:
    for _ in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        time.sleep(seconds)
    return data.last_profile().idle


def test_a_fast_taker_waits_and_a_slow_one_does_not():
    slow_data = numbers(40).map(sleepy, "x", num_parallel_workers=1)
    assert taken(slow_data, 0) > 0.9
    fast_data = numbers(40).map(quick, "x", num_parallel_workers=1)
    assert taken(fast_data, 0.004) < 0.3


def test_the_last_profile_is_that_of_the_latest_iterator():
    data = numbers().batch(4)
    with pytest.raises(RuntimeError, match="no iterator has run"):
        data.last_profile()
    next(data.create_dict_iterator(num_epochs=1))
    assert data.last_profile().rows == 1
    list(data.create_tuple_iterator(num_epochs=1))
    assert data.last_profile().rows == 8
    data.output_shapes()  # looks at a row for itself
    assert data.last_profile().rows == 8


# Autotune ----------------------------------------------------------------------------------------


@pytest.fixture
def tuned(monkeypatch):
    """Autotune that decides often, on a machine of four processors."""
    monkeypatch.setattr(autotune, "_EVERY", 0.05)
    monkeypatch.setattr(run.os, "cpu_count", lambda: 4)
    ds.config.set_prefetch_size(2)
    ds.config.set_num_parallel_workers(1)
    ds.config.set_enable_autotune(True)


def augmented(count: int) -> ds.Dataset:
    chance = transforms.RandomApply([transforms.Fill(-1)])
    return numbers(count).shuffle(9).map([sleepy, chance], "x").batch(2)


def stream(data: ds.Dataset) -> list:
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    return [x.tolist() for _ in range(2) for (x,) in rows]


def test_a_slow_map_gets_more_workers_and_the_stream_stays(tuned):
    data = augmented(150)
    rows = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    made, workers = [], set()
    for _ in range(2):
        for (x,) in rows:
            made.append(x.tolist())
            workers |= {step.workers for step in rows.meters.steps if step.name == "map"}
    assert 1 < max(workers) <= 4  # on a busy machine a worker may be taken back later
    ds.config.set_enable_autotune(False)
    assert stream(augmented(150)) == made


class Clock:
    """A time that the test moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(autotune, "perf_counter", made)
    return made


def pass_time(clock: Clock, meters: RunMetrics, rows: int, waited: float = 0.5) -> None:
    """One second in which `rows` rows were worked on, all by the busiest step."""
    clock.now += 1
    meters.rows += rows
    meters.waited += waited
    meters.steps[0].add(rows, 0.1)
    meters.steps[1].add(rows, 0.9)


def test_a_worker_that_does_not_help_is_taken_back(clock: Clock):
    meters = RunMetrics()
    other, slow = meters.step("read"), meters.step("map")
    tuner = autotune.Autotuner(meters, most=3)
    pass_time(clock, meters, 10)
    tuner.look()
    assert (other.workers, slow.workers) == (1, 2)
    pass_time(clock, meters, 20)  # twice as fast: one more
    tuner.look()
    assert slow.workers == 3
    pass_time(clock, meters, 20)  # no faster: back, and another step is tried
    tuner.look()
    assert (other.workers, slow.workers) == (2, 2)
    pass_time(clock, meters, 20)
    tuner.look()
    assert (other.workers, slow.workers) == (1, 2)
    for _ in range(3):  # both have their number now
        pass_time(clock, meters, 20)
        tuner.look()
    assert (other.workers, slow.workers) == (1, 2)


def test_a_pipeline_that_is_fast_enough_is_left_alone(clock: Clock):
    meters = RunMetrics()
    meters.step("read"), meters.step("map")
    tuner = autotune.Autotuner(meters, most=8)
    for _ in range(3):
        pass_time(clock, meters, 10, waited=0.001)
        tuner.look()
    assert [step.workers for step in meters.steps] == [1, 1]
    clock.now += 0.1  # too soon to decide
    meters.waited += 0.1
    tuner.look()
    assert [step.workers for step in meters.steps] == [1, 1]


def test_workers_come_and_go_while_they_work():
    meter = StepMeter("changing", workers=4)
    working: set[str] = set()

    def work(number: int) -> int:
        working.add(threading.current_thread().name + str(threading.get_ident()))
        time.sleep(0.002)
        return number

    def seen() -> int:
        return sum(t.name == "dataset changing" for t in threading.enumerate())

    results = WorkerPool(work, meter, 4).ordered(range(200))
    got = [next(results) for _ in range(40)]
    assert seen() == 4
    meter.workers = 1
    got += [next(results) for _ in range(40)]
    assert seen() == 1
    meter.workers = 3
    got += [next(results) for _ in range(40)]
    assert seen() == 3
    assert got + list(results) == list(range(200))
    deadline = time.monotonic() + 5
    while seen() and time.monotonic() < deadline:
        time.sleep(0.005)
    assert seen() == 0
    assert meter.rows == 200
