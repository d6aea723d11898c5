"""Steps with an index out of range write nothing: the state is that after the last whole step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.core import pending_checks
from mycelia._engine.core.errors import IndexOutOfRangeError
from mycelia.transforms.sink import run_steps


def index(*numbers: int) -> Tensor:
    return Tensor(np.array(numbers, np.int32))


GOOD = (index(1, 2, 9), index(0, 1, 4))
BAD = (index(1, 2, 10), index(0, 1, 4))
BAD_LABEL = (index(1, 2, 9), index(0, 1, 5))


class Words(nn.Cell):
    """An embedding, a normalization with moving statistics and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.norm = nn.BatchNorm1d(4)
        self.head = nn.Dense(4, 5)

    def construct(self, words: Any) -> Any:
        return self.head(self.norm(self.table(words)))


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "sgd": lambda params: nn.SGD(params, 0.1),
    "momentum": lambda params: nn.Momentum(params, 0.1, 0.9),
    "adam": lambda params: nn.Adam(params, 0.1),
    "adamw": lambda params: nn.AdamWeightDecay(params, 0.1),
    "lamb": lambda params: nn.Lamb(params, 0.1),
    "lazy adam": lambda params: nn.LazyAdam(params, 0.1),
    "decaying": lambda params: nn.Adam(params, nn.ExponentialDecayLR(0.1, 0.9, 2)),
}


def step_of(name: str) -> nn.Cell:
    ms.set_seed(3)
    net = Words()
    optimizer = OPTIMIZERS[name](net.trainable_params())
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return nn.TrainOneStepCell(loss, optimizer).set_train()


def state_of(*cells: nn.Cell) -> dict[str, np.ndarray]:
    """All parameters of cells, as they are now."""
    return {p.name: p.asnumpy().copy() for cell in cells for p in cell.get_parameters()}


def assert_same(found: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> None:
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("batch", [BAD, BAD_LABEL], ids=["word", "label"])
def test_a_failed_step_writes_nothing(name: str, batch: Any) -> None:
    step = step_of(name)
    step(*GOOD)
    before = state_of(step)
    with pytest.raises(IndexOutOfRangeError):
        step(*batch).asnumpy()
    assert_same(state_of(step), before)
    step(*GOOD).asnumpy()
    assert any((a != before[n]).any() for n, a in state_of(step).items())


@pytest.mark.usefixtures("graph_mode")
def test_steps_that_start_before_the_error_is_raised_write_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = step_of("adam")
    step(*GOOD)
    before = state_of(step)
    monkeypatch.setattr(
        "mycelia._engine.runtime.executor.poll_checks", lambda: None
    )  # as if none was ready
    for batch in (BAD, GOOD, BAD_LABEL, GOOD):
        step(*batch)
    with pytest.raises(IndexOutOfRangeError, match=r"= 10 for"):
        pending_checks.wait_for_checks()
    assert_same(state_of(step), before)
    step(*GOOD).asnumpy()
    assert float(step.optimizer.global_step.asnumpy()[0]) == 2


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("bad", [0, 2, 3])
def test_joined_steps_end_with_the_one_before_the_wrong_one(bad: int) -> None:
    ms.set_seed(1)
    one, other = step_of("adam"), step_of("adam")
    batches = [GOOD, (index(4, 4, 3), index(2, 1, 4))] * 2
    for batch in batches[:bad]:
        one(*batch)
    expected = state_of(one)
    batches[bad] = BAD_LABEL
    results = run_steps(other._compiled(), batches)
    with pytest.raises(IndexOutOfRangeError, match=rf"step {bad + 1} of the 4"):
        float(results[0])
    assert_same(state_of(other), expected)
    results = run_steps(other._compiled(), [GOOD] * 4)
    assert float(results[3]) < float(results[0])


@pytest.mark.usefixtures("graph_mode")
def test_joined_steps_after_a_failed_program_write_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = step_of("adam")
    step(*GOOD)
    before = state_of(step)
    monkeypatch.setattr("mycelia._engine.runtime.executor.poll_checks", lambda: None)
    monkeypatch.setattr("mycelia._engine.runtime.multi_step.poll_checks", lambda: None)
    step(*BAD)
    run_steps(step._compiled(), [GOOD] * 3)
    step(*GOOD)
    with pytest.raises(IndexOutOfRangeError, match=r"= 10 for"):
        pending_checks.wait_for_checks()
    assert_same(state_of(step), before)


@pytest.mark.usefixtures("graph_mode")
@pytest.mark.parametrize("sink", [False, True])
def test_a_failed_training_run_keeps_what_the_steps_before_learned(sink: bool) -> None:
    def rows(labels: list[int]) -> Any:
        for label in labels:
            yield np.array([1, 2, 3], np.int32), np.array([0, 1, label], np.int32)

    def trained(labels: list[int]) -> dict[str, np.ndarray]:
        ms.set_seed(3)
        net = Words()
        optimizer = nn.Adam(net.trainable_params(), 0.1)
        model = ms.Model(net, nn.CrossEntropyLoss(), optimizer)
        data = ms.dataset.GeneratorDataset(lambda: rows(labels), ["x", "y"], shuffle=False)
        try:
            model.train(1, data, dataset_sink_mode=sink)
        except IndexOutOfRangeError:
            assert 9 in labels
        return {p.name: p.asnumpy().copy() for p in [*net.get_parameters(), *optimizer.parameters]}

    assert_same(trained([1, 2, 9, 3, 1]), trained([1, 2]))


def test_functions_with_gradients_and_an_optimizer_write_nothing() -> None:
    ms.set_seed(3)
    net = Words().set_train()
    optimizer = nn.Adam(net.trainable_params(), 0.1)
    grad = ms.value_and_grad(lambda x, y: ops.cross_entropy(net(x), y), None, optimizer.parameters)

    @ms.jit
    def whole(x: Any, y: Any) -> Any:
        loss, gradients = grad(x, y)
        optimizer(gradients)
        return loss

    compiled_grad = ms.jit(grad)

    def halves(x: Any, y: Any) -> Any:
        loss, gradients = compiled_grad(x, y)
        optimizer(gradients)
        return loss

    for step in (whole, halves):
        step(*GOOD)
        before = state_of(net, optimizer)
        with pytest.raises(IndexOutOfRangeError):
            float(step(*BAD))
        assert_same(state_of(net, optimizer), before)
        float(step(*GOOD))


def test_values_that_are_assigned_without_being_read_keep_the_old_one() -> None:
    last = Parameter(np.full(3, 7, np.float32), name="last")
    table = Tensor(np.arange(8, dtype=np.float32))

    @ms.jit
    def note(i: Any) -> Any:
        ops.assign(last, ops.gather(table, i, 0))
        return i + 1

    note(index(1, 2, 3)).asnumpy()
    assert last.asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(IndexOutOfRangeError):
        note(index(1, 2, 8)).asnumpy()
    assert last.asnumpy().tolist() == [1, 2, 3]


def test_arguments_that_are_written_keep_the_old_values() -> None:
    @ms.jit
    def put(x: Any, i: Any) -> Any:
        x[0] = 5.0
        x[i] = 9.0
        return x.sum()

    x = Tensor(np.arange(4, dtype=np.float32))
    with pytest.raises(IndexOutOfRangeError):
        float(put(x, Tensor(4)))
    assert x.asnumpy().tolist() == [0, 1, 2, 3]
    assert float(put(x, Tensor(3))) == 17


def test_attributes_keep_the_old_values() -> None:
    class Remembering(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.table = Tensor(np.arange(8, dtype=np.float32))
            self.seen = Tensor(np.zeros(2, np.float32))
            self.count = 0
            self.all: list[Any] = []

        @ms.jit
        def construct(self, i: Any) -> Any:
            self.seen = self.seen + ops.gather(self.table, i, 0)
            self.count += 1
            self.all.append(self.seen)
            return self.seen * 2

    net = Remembering()
    net(index(1, 2)).asnumpy()
    with pytest.raises(IndexOutOfRangeError):
        net(index(1, 9)).asnumpy()
    assert net.seen.asnumpy().tolist() == [1, 2]
    assert net.count == 1 and len(net.all) == 1
    assert net(index(1, 1)).asnumpy().tolist() == [4, 6]


def test_an_eager_write_of_a_program_s_result_raises_first() -> None:
    state = Parameter(np.zeros(2, np.float32), name="state")

    @ms.jit
    def rows(i: Any) -> Any:
        return ops.gather(Tensor(np.arange(4, dtype=np.float32)), i, 0)

    for write in (
        lambda new: ops.assign(state, new),
        lambda new: ops.assign_add(state, new),
        state.set_data,
        lambda new: state.__setitem__(0, new[0]),
        state.add_,
        state.copy_,
    ):
        with pytest.raises(IndexOutOfRangeError):
            write(rows(index(1, 4)))
        assert state.asnumpy().tolist() == [0, 0]


def test_the_vm_writes_nothing_after_a_wrong_index() -> None:
    state = Parameter(np.zeros(2, np.float32), name="state")
    table = Tensor(np.arange(4, dtype=np.float32))

    @ms.jit
    def decided(i: Any) -> Any:
        if float(i.asnumpy().sum()) < 100:
            ops.assign(state, ops.gather(table, i, 0))
        return i

    with pytest.raises(IndexOutOfRangeError):
        decided(index(1, 4)).asnumpy()
    assert state.asnumpy().tolist() == [0, 0]
    decided(index(1, 3)).asnumpy()
    assert state.asnumpy().tolist() == [1, 3]


def test_rows_that_a_program_writes_in_place_are_restored() -> None:
    cache = Parameter(np.zeros((6, 3), np.float32), name="cache")

    @ms.jit
    def put(i: Any, rows: Any, j: Any) -> Any:
        cache[i] = rows
        ops.scatter_add(cache, i, rows)
        return cache[j].sum()

    rows = Tensor(np.ones((2, 3), np.float32))
    assert float(put(index(1, 1), rows, Tensor(1))) == 9
    before = cache.asnumpy().copy()
    with pytest.raises(IndexOutOfRangeError):
        float(put(index(0, 1), rows, Tensor(6)))
    assert cache.asnumpy().tolist() == before.tolist()
    with pytest.raises(IndexOutOfRangeError):
        float(put(index(0, 6), rows, Tensor(1)))
    assert cache.asnumpy().tolist() == before.tolist()


@pytest.mark.usefixtures("graph_mode")
def test_convolutions_are_ready_for_the_fast_kernel_though_labels_are_checked() -> None:
    """XLA on CPU rearranges them outside of branches only; as they are, they take 60 times longer."""
    layers = nn.Conv2d(16, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.Flatten()
    net = nn.SequentialCell(*layers, nn.Dense(32 * 64, 4))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    step = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
    x, y = Tensor(np.ones((8, 16, 8, 8), np.float32)), index(*[0, 1, 2, 3] * 2)
    step(x, y)
    before = state_of(step)
    (entry,) = step._compiled().entries.values()
    text = entry.executable._lowered_for([x, y]).compile().as_text()
    lines = [line for line in text.splitlines() if " convolution(" in line]
    assert lines and all("dim_labels=b01f_01io->b01f" in line for line in lines)
    with pytest.raises(IndexOutOfRangeError):
        step(x, index(*[4] * 8)).asnumpy()
    assert_same(state_of(step), before)


@pytest.mark.usefixtures("graph_mode")
def test_a_guarded_program_needs_no_more_memory() -> None:
    step = step_of("adam")
    step(*GOOD)
    (entry,) = step._compiled().entries.values()
    memory = entry.executable.memory(GOOD)
    assert entry.executable._lowered.guarded
    donated = sum(a.nbytes for p in step.get_parameters() if (a := p.asnumpy()) is not None)
    assert memory.alias_size_in_bytes >= donated - 64


def test_checks_inside_of_loops_and_branches_guard_too() -> None:
    table = Tensor(np.arange(8, dtype=np.float32))
    total = Parameter(np.zeros((), np.float32), name="total")

    @ms.jit
    def add_up(count: Any, wanted: Any) -> Any:
        k = 0
        while k < count:
            ops.assign_add(total, table[k])
            k = k + 1
        if wanted > 0:
            ops.assign_add(total, table[wanted])
        return total * 1

    assert float(add_up(Tensor(3), Tensor(-1))) == 3
    for count, wanted in ((9, -1), (2, 8), (9, 8)):
        with pytest.raises(IndexOutOfRangeError):
            float(add_up(Tensor(count), Tensor(wanted)))
        assert float(total.asnumpy()) == 3
    assert float(add_up(Tensor(2), Tensor(7))) == 11


def test_indices_that_a_program_computes_guard_what_it_wrote_before() -> None:
    table = Tensor(np.arange(8, dtype=np.float32))
    cache = Parameter(np.zeros(4, np.float32), name="cache")

    @ms.jit
    def look_up(i: Any, x: Any) -> Any:
        cache[i] = x
        return table[ops.cast(cache.sum(), ms.int32)]

    assert float(look_up(Tensor(1), Tensor(5.0))) == 5
    with pytest.raises(IndexOutOfRangeError, match="= 8 for"):
        float(look_up(Tensor(2), Tensor(3.0)))
    assert cache.asnumpy().tolist() == [0, 5, 0, 0]


def test_parameters_that_get_another_shape_keep_the_old_one() -> None:
    table = Tensor(np.arange(8, dtype=np.float32))
    last = Parameter(np.zeros(1, np.float32), name="last")

    @ms.jit
    def note(i: Any) -> Any:
        last.set_data(table[i], slice_shape=True)
        return i

    note(index(1, 2)).asnumpy()
    with pytest.raises(IndexOutOfRangeError):
        note(index(1, 2, 8)).asnumpy()
    assert last.asnumpy().tolist() == [1, 2]
