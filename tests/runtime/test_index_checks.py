"""Indices out of range in programs: an error with the user's line once numbers are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.core.errors import IndexOutOfRangeError
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.runtime.value_ranges import interval
from mycelia.transforms.sink import run_steps

TABLE = np.arange(8, dtype=np.float32).reshape(4, 2)


def table() -> Tensor:
    return Tensor(TABLE)


def index(*numbers: int) -> Tensor:
    return Tensor(np.array(numbers, np.int32))


def refused(owner: str, number: int, line: str) -> Any:
    """Expect the error of an operator for a number, at a line of the user's."""
    text = rf"^{owner}: .* is out of range\n.* = {number} for (.*\n)*.*{line}"
    return pytest.raises(IndexOutOfRangeError, match=text)


def test_the_error_is_one_of_the_types_that_mindspore_raises() -> None:
    for kind in (IndexError, ValueError, RuntimeError):
        assert issubclass(IndexOutOfRangeError, kind)


def test_reading_the_result_raises_and_the_call_does_not_wait() -> None:
    @ms.jit
    def rows(x: Any, i: Any) -> Any:
        return ops.gather(x, i, 0) * 2

    found = rows(table(), index(0, 4))
    with refused("Gather", 4, r"ops.gather\(x, i, 0\)"):
        found.asnumpy()
    assert rows(table(), index(0, -4)).asnumpy().tolist() == [[0, 2], [0, 2]]


@pytest.mark.parametrize(
    "read",
    [float, int, bool, str, repr, Tensor.item, Tensor.asnumpy, Tensor.tolist, np.asarray],
    ids=lambda read: read.__name__,
)
def test_every_way_of_reading_a_number_raises(read: Callable[[Any], Any]) -> None:
    @ms.jit
    def one(x: Any, i: Any) -> Any:
        return x[i].sum()

    found = one(table(), Tensor(4))
    with refused("Subscript", 4, r"x\[i\]"):
        read(found)


def test_a_later_call_synchronize_and_a_checkpoint_raise(tmp_path: Any) -> None:
    @ms.jit
    def one(x: Any, i: Any) -> Any:
        return x[i]

    parameter = Parameter(table(), name="table")
    for later in (
        ms.hal.synchronize,
        lambda: ms.save_checkpoint(
            [{"name": "table", "data": parameter}], str(tmp_path / "a.ckpt")
        ),
        lambda: one(table(), Tensor(1)).asnumpy(),
    ):
        one(table(), Tensor(-5))
        with refused("Subscript", -5, r"x\[i\]"):
            later()


def test_subscript_writes_do_not_reach_the_last_row() -> None:
    @ms.jit
    def written(x: Any, i: Any) -> Any:
        y = x * 1
        y[i] = 9.0
        return y

    with refused("SubscriptAssign", 4, r"y\[i\] = 9.0"):
        written(table(), Tensor(4)).asnumpy()
    assert written(table(), Tensor(-1)).asnumpy()[3].tolist() == [9, 9]


def test_only_the_side_of_a_branch_that_runs_is_checked() -> None:
    @ms.jit
    def chosen(x: Any, i: Any, wanted: Any) -> Any:
        if wanted > 0:
            y = x[i].sum()
        else:
            y = x.sum()
        return y

    assert float(chosen(table(), Tensor(9), Tensor(-1))) == 28
    with refused("Subscript", 9, r"y = x\[i\]"):
        float(chosen(table(), Tensor(9), Tensor(1)))


def test_known_indices_of_a_branch_that_does_not_run_are_no_error() -> None:
    @ms.jit
    def chosen(x: Any, wanted: Any) -> Any:
        y = x.sum()
        if wanted > 0:
            y = ops.gather(x, Tensor([7]), 0).sum()
        return y

    assert float(chosen(table(), Tensor(-1))) == 28
    with refused("Gather", 7, r"y = ops.gather"):
        float(chosen(table(), Tensor(1)))


def test_known_indices_are_checked_when_the_program_is_made() -> None:
    @ms.jit
    def known(x: Any) -> Any:
        return ops.gather(x, Tensor([0, 5]), 0)

    with pytest.raises(IndexOutOfRangeError, match=r"input_indices\[1\] = 5 for"):
        known(table())


def test_loops_say_where_they_went_too_far() -> None:
    @ms.jit
    def total(x: Any, count: Any) -> Any:
        k = 0
        y = x.sum() * 0
        while k < count:
            y = y + x[k].sum()
            k = k + 1
        return y

    assert float(total(table(), Tensor(4))) == 28
    with refused("Subscript", 4, r"y = y \+ x\[k\]"):
        float(total(table(), Tensor(1000)))


def test_a_condition_that_reads_beyond_the_end_ends_its_loop() -> None:
    @ms.jit
    def first_negative(x: Any, k: Any) -> Any:
        while x[k, 0] >= 0:
            k = k + 1
        return k

    with refused("Subscript", 4, r"while x\[k, 0\]"):
        int(first_negative(table(), Tensor(0)))


def test_gradients_are_checked_even_where_the_value_is_not_needed() -> None:
    @ms.jit
    def slope(x: Any, i: Any) -> Any:
        return ms.grad(lambda x: ops.gather(x, i, 0).sum())(x)

    assert slope(table(), index(1)).asnumpy()[1].tolist() == [1, 1]
    with refused("Gather", 7, r"ops.gather\(x, i, 0\)"):
        slope(table(), index(7)).asnumpy()


@pytest.mark.parametrize("kind", ["nll_loss", "cross_entropy", "multi_margin_loss"])
def test_gradients_of_losses_are_checked(kind: str) -> None:
    @ms.jit
    def slope(x: Any, y: Any) -> Any:
        return ms.grad(lambda x: getattr(ops, kind)(x, y))(x)

    x, y = Tensor(np.ones((2, 3), np.float32)), np.array([0, 3], np.int64)
    with pytest.raises(IndexOutOfRangeError, match="target = 3 for 3 classes"):
        slope(x, Tensor(y)).asnumpy()
    assert np.isfinite(slope(x, Tensor(y - 1 + (y == 0))).asnumpy()).all()


def test_compiled_functions_inside_eager_gradients_are_checked() -> None:
    @ms.jit
    def rows(x: Any, i: Any) -> Any:
        return ops.gather(x, i, 0)

    with refused("Gather", 5, r"ops.gather\(x, i, 0\)"):
        ms.grad(lambda x, i: rows(x, i).sum())(table(), index(5)).asnumpy()


def test_each_part_of_a_mapped_function_is_checked() -> None:
    @ms.jit
    def each(x: Any, i: Any) -> Any:
        return ms.vmap(lambda one: x[one])(i)

    assert each(table(), index(1, 2)).shape == (2, 2)
    with refused("Subscript", 8, r"x\[one\]"):
        each(table(), index(1, 8, 2)).asnumpy()


def test_the_vm_names_the_line_that_indexed() -> None:
    @ms.jit
    def decided(x: Any, i: Any) -> Any:
        y = ops.gather(x, i, 0)
        return y + 1 if y.asnumpy().sum() > 3 else y

    with refused("Gather", 4, r"y = ops.gather"):
        decided(table(), index(1, 4))


class Words(nn.Cell):
    """An embedding and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.head = nn.Dense(4, 5)

    def construct(self, words: Any) -> Any:
        return self.head(self.table(words))


def training_step() -> nn.Cell:
    net = Words()
    optimizer = nn.Adam(net.trainable_params(), 1e-2)
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer).set_train()


@pytest.mark.usefixtures("graph_mode")
def test_a_training_step_gives_its_parameters_away_and_trains_on_after_an_error() -> None:
    step = training_step()
    before = float(step(index(1, 2, 9), index(0, 1, 4)))
    with refused("Gather", 10, r"self.table\(words\)"):
        float(step(index(1, 2, 10), index(0, 1, 4)))
    with refused("CrossEntropy", 5, ""):
        float(step(index(1, 2, 9), index(0, 1, 5)))
    assert float(step(index(1, 2, 9), index(0, 1, 4))) < before
    (entry,) = step._compiled().entries.values()
    assert entry.executable._donated


@pytest.mark.usefixtures("graph_mode")
def test_several_steps_in_one_program_say_which_label_was_wrong() -> None:
    step = training_step()
    batches = [(index(1, 2), index(0, label)) for label in (1, 6, 7, 2)]
    results = run_steps(step._compiled(), batches)
    with refused("CrossEntropy", 6, ""):
        float(results[0])
    assert len(run_steps(step._compiled(), batches[:1] * 4)) == 4


def test_checks_can_be_switched_off() -> None:
    @ms.jit
    def rows(x: Any, i: Any) -> Any:
        return ops.gather(x, i, 0)

    ms.set_context(check_indices=False)
    assert rows(table(), index(9)).asnumpy().tolist() == [[6, 7]]
    ms.set_context(check_indices=True)
    with refused("Gather", 9, r"ops.gather"):
        rows(table(), index(9)).asnumpy()


@pytest.mark.parametrize(
    ("made", "ends"),
    [
        (lambda x: ops.argmax(x, 1), (0, 1)),
        (lambda x: ops.clamp(ops.cast(x, ms.int32), 0, 3), (0, 3)),
        (lambda x: ops.cast(x, ms.int32) % 7, (0, 6)),
        (lambda x: ops.topk(x, 1)[1] * 2 + 1, (1, 3)),
        (lambda x: ops.sort(x)[1].astype(ms.int64).reshape(-1), (0, 1)),
        (lambda x: ops.cast(x, ms.int32), None),
    ],
)
def test_what_operators_say_of_their_results_needs_no_check(made: Any, ends: Any) -> None:
    compiled = ms.jit(made).compiled
    compiled(table())
    (entry,) = compiled.entries.values()
    graph = entry.read.program.graph
    assert interval(graph.output.args[0]) == ends and ordered(graph)
