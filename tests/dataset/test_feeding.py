"""What goes on beside the rows: callbacks, gates, hooks, the queue to the device, drawings."""

from __future__ import annotations

import gc
import threading
import time
from xml.etree import ElementTree

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia._engine.runtime.host_to_device import LARGE, is_in_place
from mycelia.dataset import debug, transforms

pytestmark = pytest.mark.usefixtures("seeded")


def numbers(count: int) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.arange(count)}, shuffle=False)


def wait_for(holds, seconds: float = 5) -> bool:
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        gc.collect()
        time.sleep(0.005)
    return bool(holds())


def no_threads() -> bool:
    return not any(thread.name.startswith("dataset") for thread in threading.enumerate())


# Callbacks ---------------------------------------------------------------------------------------


class Written(ds.DSCallback):
    """Writes down what it is told: the event, and the three numbers of the context."""

    def __init__(self, step_size: int = 1) -> None:
        super().__init__(step_size)
        self.told: list[tuple[str, int, int, int]] = []

    def _tell(self, event: str, context) -> None:
        numbers = context.cur_epoch_num, context.cur_step_num_in_epoch, context.cur_step_num
        self.told.append((event, *numbers))

    def ds_begin(self, ds_run_context):
        self._tell("begin", ds_run_context)

    def ds_epoch_begin(self, ds_run_context):
        self._tell("epoch begin", ds_run_context)

    def ds_epoch_end(self, ds_run_context):
        self._tell("epoch end", ds_run_context)

    def ds_step_begin(self, ds_run_context):
        self._tell("step begin", ds_run_context)

    def ds_step_end(self, ds_run_context):
        self._tell("step end", ds_run_context)

    def of(self, event: str) -> list[tuple[int, int, int]]:
        return [tuple(numbers) for name, *numbers in self.told if name == event]


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize(
    ("step_size", "steps"),
    [
        (1, [(1, n, n) for n in range(1, 6)] + [(2, n, n + 5) for n in range(1, 6)]),
        (2, [(1, 1, 1), (1, 3, 3), (1, 5, 5), (2, 1, 6), (2, 3, 8), (2, 5, 10)]),
        (3, [(1, 1, 1), (1, 4, 4), (2, 1, 6), (2, 4, 9)]),
    ],
)
def test_callbacks_are_told_as_by_mindspore(workers: int, step_size: int, steps):
    """The numbers are those of MindSpore 2.10."""
    callback = Written(step_size)
    data = numbers(5).map(lambda x: x + 1, "x", num_parallel_workers=workers, callbacks=[callback])
    iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [[int(x) for (x,) in iterator] for _ in range(2)] == [[1, 2, 3, 4, 5]] * 2
    assert callback.told[:2] == [("begin", 0, 0, 0), ("epoch begin", 1, 0, 0)]
    assert callback.of("epoch begin") == [(1, 0, 0), (2, 0, 5)]
    assert callback.of("epoch end") == [(1, 5, 5), (2, 5, 10)]
    assert callback.of("step begin") == callback.of("step end") == steps
    assert callback.told[-1] == ("epoch end", 2, 5, 10)
    for step in steps:
        begun = callback.told.index(("step begin", *step))
        assert begun < callback.told.index(("step end", *step))


def test_several_callbacks_of_several_maps_hear_of_all_rows():
    one, two = Written(), Written(4)
    data = numbers(9).map(lambda x: x, "x", callbacks=one).map(lambda x: x, "x", callbacks=[two])
    assert len(list(data.batch(2).create_tuple_iterator(num_epochs=1))) == 5
    assert len(one.of("step end")) == 9
    assert two.of("step end") == [(1, 1, 1), (1, 5, 5), (1, 9, 9)]
    assert one.of("epoch end") == two.of("epoch end") == [(1, 9, 9)]


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: ds.DSCallback(0), ValueError, "step_size"),
        (lambda: ds.DSCallback("a"), TypeError, "step_size"),
        (lambda: numbers(1).map(len, callbacks=[3]), TypeError, "callbacks"),
    ],
)
def test_bad_callbacks_are_named(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


# Gates -------------------------------------------------------------------------------------------


class Taker:
    """A thread that takes all rows it can get."""

    def __init__(self, data: ds.Dataset, epochs: int = 1) -> None:
        self.got: list[list[int]] = []
        self.iterator = data.create_tuple_iterator(num_epochs=epochs, output_numpy=True)
        self._epochs = epochs
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        for _ in range(self._epochs):
            for (x,) in self.iterator:
                self.got.append(x.tolist())

    def has(self, rows: list) -> bool:
        """Whether just these rows come, and no more."""
        return wait_for(lambda: self.got == rows) and not wait_for(lambda: self.got != rows, 0.05)

    def is_over(self) -> bool:
        self._thread.join(5)
        return not self._thread.is_alive()


@pytest.mark.slow
def test_a_gate_lets_as_many_rows_through_as_it_is_told():
    told = []
    data = numbers(12).sync_wait("gate", num_batch=2, callback=told.append)
    taker = Taker(data)
    assert taker.has([0, 1])
    data.sync_update("gate", data={"loss": 3})
    assert taker.has([0, 1, 2, 3])
    data.sync_update("gate", num_batch=3)
    assert taker.has([*range(7)])
    data.disable_sync()
    assert taker.is_over()
    assert taker.got == [*range(12)]
    assert told == [{"loss": 3}, None]


@pytest.mark.parametrize("between", [lambda d: d, lambda d: d.map(lambda x: x, "x")])
def test_a_gate_below_a_batch_counts_batches(between):
    data = between(numbers(16).sync_wait("gate")).batch(4)
    seen = []
    for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        seen.append(x.tolist())
        data.sync_update("gate")
    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [12, 13, 14, 15]]
    twice = numbers(40).sync_wait("gate", num_batch=2).batch(4).batch(2)
    taker = Taker(twice)
    assert wait_for(lambda: len(taker.got) == 2)
    twice.disable_sync()
    assert taker.is_over()
    assert len(taker.got) == 5


def test_a_function_above_a_gate_sees_what_the_taker_told():
    class Scale:
        factor = 1

        def update(self, data):
            self.factor = data["factor"]

        def __call__(self, x):
            return x * self.factor

    scale = Scale()
    data = (
        numbers(4).sync_wait("gate", callback=scale.update).map(scale, "x", num_parallel_workers=1)
    )
    got = []
    for step, (x,) in enumerate(data.create_tuple_iterator(num_epochs=1, output_numpy=True), 1):
        got.append(int(x))
        data.sync_update("gate", data={"factor": 10**step})
    assert got == [0, 10, 200, 3000]


def test_each_epoch_begins_with_a_closed_gate():
    data = numbers(3).sync_wait("gate")
    taker = Taker(data, epochs=2)
    assert taker.has([0])
    data.sync_update("gate", num_batch=7)
    assert taker.has([0, 1, 2, 0])  # what was left over is forgotten
    data.disable_sync()
    assert taker.is_over()


@pytest.mark.parametrize("wait", [True, False])
def test_a_blocked_pipeline_ends_on_release(wait: bool):
    """Also one that has not come to the gate yet."""
    for _ in range(1 if wait else 20):
        data = numbers(100).sync_wait("gate").map(lambda x: x, "x", num_parallel_workers=2)
        iterator = data.create_tuple_iterator(num_epochs=1)
        next(iterator)
        if wait:
            time.sleep(0.1)
        iterator.release()
    assert wait_for(no_threads)


def test_a_blocked_pipeline_ends_when_it_is_dropped():
    data = numbers(100).sync_wait("gate").batch(3)
    iterator = data.create_tuple_iterator()
    next(iterator)
    del iterator
    assert wait_for(no_threads)
    next(data.create_tuple_iterator())  # the gate itself works on
    assert wait_for(no_threads)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda d: d.sync_update("other"), RuntimeError, "no sync_wait has this name"),
        (lambda d: d.sync_update("gate", num_batch=0), RuntimeError, "num_batch"),
        (lambda d: d.sync_wait("gate"), RuntimeError, "the name is already in use"),
        (lambda d: d.sync_wait("z", num_batch=0), ValueError, "num_batch"),
        (lambda d: d.sync_wait(3), TypeError, "condition_name"),
    ],
)
def test_bad_gates_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call(numbers(3).sync_wait("gate"))


# Hooks -------------------------------------------------------------------------------------------


class Seen(debug.DebugHook):
    """Keeps what it is shown, and gives something else back."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[str | None, list]] = []

    def compute(self, *args):
        (values,) = args
        self.shown.append((self.prev_op_name, [np.asarray(v).tolist() for v in values]))
        return "ignored"


def added(x, y):
    return x + 1, y


def chosen(x, y):
    return x


def test_hooks_see_the_input_of_a_map_and_what_each_operation_gives():
    """As MindSpore shows them: one tuple of columns at a time, and what a hook returns is lost."""
    hook = Seen()
    ds.config.set_debug_mode(True, [hook])
    data = ds.NumpySlicesDataset({"a": np.arange(2.0), "b": np.arange(2)}, shuffle=False)
    mapped = data.map([added, chosen], ["a", "b"], ["a"])
    rows = [x.tolist() for (x,) in mapped.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows == [1.0, 2.0]
    assert hook.shown == [
        ("added", [0.0, 0]),
        ("added", [1.0, 0]),
        ("chosen", [1.0]),
        ("added", [1.0, 1]),
        ("added", [2.0, 1]),
        ("chosen", [2.0]),
    ]


def test_hooks_see_maps_that_were_made_one_as_two():
    hook = Seen()
    ds.config.set_debug_mode(True, [hook])
    data = numbers(1).map(transforms.TypeCast(np.float32), "x").map(transforms.Fill(7), "x")
    assert [float(x) for (x,) in data.create_tuple_iterator(num_epochs=1)] == [7.0]
    names = ["TypeCast", "TypeCast", "Fill", "Fill"]
    assert hook.shown == list(zip(names, [[0], [0.0], [0.0], [7.0]]))


def test_printing_hooks_print(capsys):
    ds.config.set_debug_mode(True, [debug.PrintMetaDataHook(), debug.PrintDataHook()])
    data = numbers(1).map([lambda x: float(x), transforms.TypeCast(np.int8)], "x")
    list(data.create_tuple_iterator(num_epochs=1))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "at <lambda>, column 0: int64[]",
        "at <lambda>, column 0: 0",
        "at <lambda>, column 0: float[]",
        "at <lambda>, column 0: 0.0",
        "at TypeCast, column 0: int8[]",
        "at TypeCast, column 0: 0",
    ]


def test_an_error_in_the_debug_mode_comes_again():
    ds.config.set_debug_mode(True)
    iterator = numbers(3).map(lambda x: 1 // int(x), "x").create_tuple_iterator(num_epochs=1)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            next(iterator)


# The queue to the device -------------------------------------------------------------------------


def test_a_queue_sends_batches_epoch_by_epoch():
    data = numbers(6).batch(2)
    queue = data.device_que()
    assert isinstance(queue, ds.Dataset)
    with pytest.raises(RuntimeError, match="(?s)sending has not started.*call `send`"):
        queue.get_next()
    queue.send(num_epochs=2)
    for _ in range(2):
        got = [queue.get_next() for _ in range(4)]
        assert [x.asnumpy().tolist() for (x,) in got[:3]] == [[0, 1], [2, 3], [4, 5]]
        assert isinstance(got[0][0], ms.Tensor)
        assert got[3] is None  # the end of an epoch
    with pytest.raises(RuntimeError, match="all epochs"):
        queue.get_next()
    queue.send()
    assert queue.get_next()[0].asnumpy().tolist() == [0, 1]
    queue.release()
    assert wait_for(no_threads)


def test_a_stopped_queue_goes_on_where_it_was():
    queue = numbers(20).shuffle(20).batch(2).device_que(queue_name="train")
    assert queue.queue_name == "train"
    whole = [x.asnumpy().tolist() for (x,) in queue.create_tuple_iterator(num_epochs=1)]
    queue.send(1)
    got = [queue.get_next()[0].asnumpy().tolist() for _ in range(3)]
    queue.stop_send()
    assert wait_for(no_threads)
    with pytest.raises(RuntimeError, match="(?s)is stopped.*continue_send"):
        queue.get_next()
    queue.continue_send()
    queue.continue_send()  # nothing is stopped
    while (batch := queue.get_next()) is not None:
        got.append(batch[0].asnumpy().tolist())
    assert got == whole
    queue.release()


def test_a_queue_knows_types_and_shapes():
    data = ds.NumpySlicesDataset((np.zeros((6, 3), np.float32), np.arange(6)), shuffle=False)
    queue = data.batch(2).device_que()
    assert queue.get_type_shapes() == ([np.float32, np.int64], [[2, 3], [2]])
    assert queue.get_dataset_size() == 3


@pytest.mark.parametrize("bad", [{"send_epoch_end": 1}, {"queue_name": 3}])
def test_bad_arguments_of_a_queue_are_named(bad):
    with pytest.raises(TypeError, match=next(iter(bad))):
        numbers(2).device_que(**bad)


# Memory ------------------------------------------------------------------------------------------


def images(count: int) -> ds.Dataset:
    return ds.NumpySlicesDataset({"x": np.ones((count, 64, 64), np.float32)}, shuffle=False)


def through_maps(data: ds.Dataset) -> ds.Dataset:
    return data.map([transforms.TypeCast(np.float32), lambda x: x + 1], "x")


@pytest.mark.parametrize("steps", [lambda d: d, through_maps])
@pytest.mark.parametrize("workers", [1, 4])
def test_large_batches_are_read_where_they_lie(steps, workers: int):
    ds.config.set_num_parallel_workers(workers)
    for (batch,) in steps(images(16)).batch(8).create_tuple_iterator(num_epochs=1):
        assert batch.size >= LARGE
        assert isinstance(batch._data, np.ndarray)
        assert is_in_place(batch._data)
        assert batch.asnumpy().shape == (8, 64, 64)


@pytest.mark.parametrize("size", [4, LARGE + 5])
def test_rows_of_a_generator_are_copied(size: int):
    own = [np.full(size, float(number)) for number in range(3)]
    for source in (own, lambda: iter([(value,) for value in own])):
        rows = ds.GeneratorDataset(source, ["x"], shuffle=None)
        made = [x for (x,) in rows.create_tuple_iterator(num_epochs=1)]
        for value in own:
            value += 100
        assert sorted(float(x.asnumpy()[-1]) for x in made) == [0.0, 1.0, 2.0]
        for value in own:
            value -= 100


def test_a_generator_may_use_its_array_again():
    def reusing():
        buffer = np.zeros(3)
        for number in range(6):
            buffer[:] = number
            yield (buffer,)

    data = ds.GeneratorDataset(reusing, ["x"]).map(lambda x: x + 0, "x").batch(3)
    got = [x[:, 0].tolist() for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("size", [4, LARGE + 5])
def test_what_a_function_keeps_is_not_shared_with_tensors(size: int):
    kept = np.zeros(size)
    data = numbers(2).map(lambda x: kept, "x")
    made = [x for (x,) in data.create_tuple_iterator(num_epochs=1)]
    kept += 1
    assert [float(x.asnumpy().max()) for x in made] == [0.0, 0.0]


@pytest.mark.parametrize("value", [np.float32(1), "text"])
def test_rows_of_different_shapes_make_no_batch(value):
    data = numbers(4).map(lambda x: np.full(int(x) // 2 + 1, value), "x").batch(3)
    with pytest.raises(RuntimeError, match="(?s)different shapes .*row 0 .*row 2 .*padded_batch"):
        list(data.create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_numpys_ints_are_batch_sizes():
    data = numbers(3).batch(np.int64(2))
    got = [x.tolist() for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == [[0, 1], [2]]
    padded = numbers(3).padded_batch(np.int32(2), pad_info={})
    assert padded.get_batch_size() == 2


def test_texts_of_different_lengths_make_a_batch():
    data = numbers(3).map(lambda x: np.array("a" * int(x)), "x").batch(3)
    ((texts,),) = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert texts.tolist() == ["", "a", "aa"]


# Drawings ----------------------------------------------------------------------------------------


def tree() -> ds.Dataset:
    def predicate(x):
        return x > 1

    one = numbers(9).map([transforms.TypeCast(np.int32), predicate], "x").filter(predicate, "x")
    two = ds.GeneratorDataset(lambda: iter([(1,)]), ["<y> & 'z'"]).repeat(3).shuffle(4)
    both = ds.zip((one.rename("x", "a"), two)).project(["a"]).sync_wait("gate")
    return (
        both.concat(numbers(2).rename("x", "a").cache())
        .skip(0)
        .take(5)
        .padded_batch(2, pad_info={})
    )


STEPS = {
    "NumpySlicesDataset": 2, "GeneratorDataset": 1, "Map": 1, "Filter": 1, "Rename": 2,
    "Repeat": 1, "Shuffle": 1, "Zip": 1, "Project": 1, "SyncWait": 1, "Cache": 1, "Concat": 1,
    "Skip": 1, "Take": 1, "Batch": 1,
}  # fmt: skip


def test_a_drawing_is_xml_with_a_box_for_each_step():
    root = ElementTree.fromstring(tree().to_svg())
    name = "{http://www.w3.org/2000/svg}"
    titles = [t.text for t in root.iter(f"{name}text") if t.get("font-weight") == "bold"]
    assert {title: titles.count(title) for title in titles} == STEPS
    assert len(list(root.iter(f"{name}rect"))) == sum(STEPS.values())
    assert len(list(root.iter(f"{name}line"))) == sum(STEPS.values()) - 1  # each but the last
    width, height = float(root.get("width")), float(root.get("height"))
    corners = set()
    for box in root.iter(f"{name}rect"):
        x, y = float(box.get("x")), float(box.get("y"))
        corners.add((x, y))
        assert 0 <= x <= width - float(box.get("width"))
        assert 0 <= y <= height - float(box.get("height"))
    assert len(corners) == sum(STEPS.values())  # no box lies on another
    assert tree()._repr_svg_() == tree().to_svg()
    assert "<y> & 'z'" in "".join(root.itertext())


def test_the_text_of_a_dataset_has_a_line_for_each_step():
    lines = str(tree()).splitlines()
    words = [line.split()[0] for line in lines]
    assert {word: words.count(word) for word in words} == STEPS
    assert lines[0].startswith("Batch (batch_size=2")
    assert lines[1] == "  Take (count=5)"
    (mapped,) = [line for line in lines if "Map" in line]
    assert "TypeCast, predicate" in mapped
