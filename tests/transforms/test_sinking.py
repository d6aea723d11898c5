"""Several steps as one program: the same numbers as step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia.transforms.sink import run_steps

pytestmark = pytest.mark.usefixtures("graph_mode")


def batches(count: int, size: int = 4) -> list[tuple[Tensor, Tensor]]:
    random = np.random.RandomState(1)
    found = []
    for _ in range(count):
        x = random.standard_normal((size, 3)).astype(np.float32)
        found.append((Tensor(x), Tensor(x.sum(1, keepdims=True))))
    return found


def step(dropout: float = 0.0) -> nn.Cell:
    ms.set_seed(5)
    layers = [nn.Dense(3, 8), nn.ReLU(), nn.BatchNorm1d(8), nn.Dense(8, 1)]
    if dropout:
        layers.insert(2, nn.Dropout(p=dropout))
    net = nn.SequentialCell(*layers)
    optimizer = nn.Adam(net.trainable_params(), nn.exponential_decay_lr(0.1, 0.9, 60, 2, 1))
    return nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer).set_train()


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_steps_in_one_program_are_the_steps_one_by_one(dropout: float) -> None:
    data = batches(6)
    one = step(dropout)
    wanted = [float(one(*batch).asnumpy()) for batch in data]
    after = ms.get_seed(), float(ops.standard_normal((1,)).asnumpy()[0])
    many = step(dropout)
    compiled = many._compiled()
    found = [float(r.asnumpy()) for r in run_steps(compiled, data[:4])]
    found += [float(r.asnumpy()) for r in run_steps(compiled, data[4:])]
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    for a, b in zip(one.get_parameters(), many.get_parameters(), strict=True):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=a.name)
    assert (ms.get_seed(), float(ops.standard_normal((1,)).asnumpy()[0])) == after
    (entry,) = compiled.entries.values()
    assert entry.sunk is not None and entry.runs == 6


def test_batches_of_different_kinds_run_one_by_one() -> None:
    data = [*batches(2), *batches(1, size=3)]
    one, many = step(), step()
    wanted = [float(one(*batch).asnumpy()) for batch in data]
    found = [float(r.asnumpy()) for r in run_steps(many._compiled(), data)]
    assert found == wanted


def test_a_step_that_prints_runs_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    @ms.jit
    def told(x: Any) -> Any:
        print("got", x)
        return x * 2

    found = run_steps(told.compiled, [(Tensor(1.0),), (Tensor(2.0),)])
    assert [float(f.asnumpy()) for f in found] == [2.0, 4.0]
    assert capsys.readouterr().out.count("got") == 2


def test_data_sink_goes_through_the_data_again_and_again() -> None:
    data = batches(3)
    train = step()
    sink = ms.data_sink(train, [(x.asnumpy(), y.asnumpy()) for x, y in data], sink_size=2)
    losses = [float(sink().asnumpy()) for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]
    other = step()
    order = [data[i % 3] for i in range(60)]
    expected = [float(other(*batch).asnumpy()) for batch in order][1::2]
    np.testing.assert_allclose(losses, expected, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [((step, 5), TypeError), ((step, [], 0), ValueError)],
)
def test_wrong_arguments(arguments: tuple[Any, ...], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        make, *rest = arguments
        ms.data_sink(make(), *rest)()


def test_an_empty_dataset_is_an_error() -> None:
    with pytest.raises(ValueError, match="no \\(more\\) batches"):
        ms.data_sink(step(), [])()
