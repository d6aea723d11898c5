"""Checks of settings and of AutoParallel on eight virtual devices, each a function of this file.

Run in a process of its own, it checks those whose names begin as its arguments say: the number of
devices is set when jax starts. Each prints one line; the tests read them.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np

import mycelia as ms
from mycelia import Layout, Parameter, Tensor, nn, ops
from mycelia._engine.distributed.plan.plan import load
from mycelia.parallel import AutoParallel, plans_of
from tests.parallel.words.dense import (
    SIZE,
    Dense,
    Loss,
    close,
    expected,
    fails,
    numbers,
    placed,
    row,
    run,
    spread,
    the_plan,
)

# ---- settings ------------------------------------------------------------------------------------


def setting_of_data_that_comes_cut():
    spread(8, full_batch=False)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    close(net(x), wanted)
    assert placed(the_plan(net), "x0", inputs=False) == ["(abc, -)"]


def setting_of_data_by_strategies():
    for strategies, lies in (
        (((1, 8),), "(-, abc)"),
        ((Layout((2, 4), ("a", "b"))("b", "a"),), "(bc, a)"),
    ):
        spread(8, dataset_strategy=strategies)
        net, x = Dense(), numbers(SIZE, SIZE)
        wanted = expected(x)
        close(net(x), wanted)
        assert placed(the_plan(net), "x0", inputs=False) == [lies]


def setting_of_data_that_cannot_be_cut_so():
    spread(8, dataset_strategy=((8, 1),))
    words = "dataset_strategy: a dimension of size 4 cannot be split into 8 shards"
    fails(ValueError, words, at=lambda: Dense()(numbers(4, SIZE)))


def setting_of_files_keeps_a_plan():
    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/plans.json"
        spread(8, "auto_parallel", strategy_ckpt_save_file=file)
        net, x = Dense(), numbers(SIZE, SIZE)
        net(x)
        (kept,) = load(file)
        number = row(kept, "Tanh").number
        axes = len(row(kept, "Tanh").axes)
        kept.pin(number, [(), tuple(range(len(kept.mesh)))][:axes]).save(file)
        spread(8, "auto_parallel", strategy_ckpt_save_file="", strategy_ckpt_load_file=file)
        wanted = expected(x)
        close(net(x), wanted)
        everywhere = "".join("abc"[: len(kept.mesh)])
        assert placed(the_plan(net), "Tanh") == [f"(-, {everywhere})"]


def setting_back_and_forth_compiles_once():
    net, x = Dense(), numbers(SIZE, SIZE)
    for _ in range(3):
        spread(8)
        net(x)
    assert len(net._compiled().history) == 1
    spread(4)
    net(x)
    assert len(net._compiled().history) == 2


def setting_of_search_uses_all_devices():
    x = numbers(8, 8)
    for wanted in (False, True):
        spread(8, "auto_parallel")
        ms.set_algo_parameters(fully_use_devices=wanted)
        net = ms.jit(lambda x: ops.sum(ops.tanh(x)))
        net(x)
        assert ("abc" in placed(the_plan(net), "Tanh")[0].replace(", ", "")) is wanted


def _step(network: nn.Cell) -> nn.Cell:
    return nn.TrainOneStepCell(Loss(network), nn.Momentum(network.trainable_params(), 0.1, 0.9))


def _cut_state(step: nn.Cell) -> list[str]:
    arrays = {p.name: p._data for p in step.get_parameters()}
    return [name for name, a in arrays.items() if not a.sharding.is_fully_replicated]


def setting_of_shared_optimizers():
    for shared in (True, False):
        spread(8, "data_parallel", enable_parallel_optimizer=True)
        net = Dense()
        net.weight.parallel_optimizer = shared
        step = _step(net)
        step(numbers(SIZE, SIZE))
        assert ("moments.weight" in _cut_state(step)) is shared


def setting_of_shared_optimizers_among_some():
    config = {"optimizer_weight_shard_size": 2}
    spread(8, "data_parallel", enable_parallel_optimizer=True, parallel_optimizer_config=config)
    step = _step(Dense())
    step(numbers(SIZE, SIZE))
    (moment,) = [p for p in step.get_parameters() if p.name == "moments.weight"]
    assert len({str(shard.index) for shard in moment._data.addressable_shards}) == 2


def setting_leaves_gradients_to_the_program():
    spread(8, "data_parallel", gradients_mean=True)
    reducer = nn.DistributedGradReducer([Parameter(numbers(2), name="p")], True, 8)
    found = ms.jit(lambda g: reducer((g,)))(numbers(8, 8))
    close(found[0], numbers(8, 8).asnumpy())


# ---- AutoParallel --------------------------------------------------------------------------------


def _trained(make: Callable[[nn.Cell], Callable[..., Tensor]]) -> tuple[list[float], np.ndarray]:
    net = Dense()
    step = make(_step(net))
    losses = [float(step(numbers(SIZE, SIZE, seed=i)).asnumpy()) for i in range(3)]
    return losses, net.weight.asnumpy()


def auto_parallel_trains_as_one_device():
    ms.set_context(mode=ms.GRAPH_MODE)
    wanted = _trained(lambda step: step)
    for mode in ("semi_auto", "sharding_propagation", "recursive_programming"):
        made = []

        def make(step: nn.Cell, mode: str = mode, made: list[AutoParallel] = made) -> AutoParallel:
            made.append(AutoParallel(step, parallel_mode=mode))
            return made[0]

        losses, weight = _trained(make)
        np.testing.assert_allclose(losses, wanted[0], rtol=1e-4)
        np.testing.assert_allclose(weight, wanted[1], rtol=1e-4, atol=1e-5)
        assert the_plan(made[0]).devices == 8
        assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"
        assert len(made[0]._compiled().history) == 1


def auto_parallel_has_settings_of_its_own():
    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = Dense(), numbers(SIZE, SIZE)
    wanted = expected(x)
    parallel = AutoParallel(net)
    parallel.dataset_strategy(((1, 8),))
    for _ in range(3):
        close(parallel(x), wanted)
        close(net(x), wanted)
    assert len(parallel._compiled().history) == len(net._compiled().history) == 1
    assert placed(the_plan(parallel), "x0", inputs=False) == ["(-, abc)"] and not plans_of(net)
    parallel.dataset_strategy("full_batch")
    close(parallel(x), wanted)
    assert len(parallel._compiled().history) == 2


def auto_parallel_shares_optimizers():
    ms.set_context(mode=ms.GRAPH_MODE)
    step = AutoParallel(_step(Dense()))
    step.hsdp(threshold=0, optimizer_level="level3")
    step(numbers(SIZE, SIZE))
    assert {"weight", "moments.weight"} <= set(_cut_state(step))


def auto_parallel_of_a_function_in_pynative_mode():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    parallel = AutoParallel(lambda x: ops.tanh(x) * 2)
    x = numbers(SIZE, SIZE)
    close(parallel(x), 2 * np.tanh(x.asnumpy()))
    assert the_plan(parallel).devices == 8


def auto_parallel_in_a_model():
    ms.set_context(mode=ms.GRAPH_MODE)
    data = [(numbers(SIZE, SIZE, seed=i), numbers(SIZE, SIZE, seed=9)) for i in range(3)]
    found = []
    for wrap in (lambda net: net, AutoParallel):
        net = Dense()
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        model = ms.Model(wrap(net), nn.MSELoss(), optimizer)
        rows = ms.dataset.GeneratorDataset(
            [tuple(t.asnumpy() for t in pair) for pair in data], ["x", "y"], shuffle=False
        )
        model.train(1, rows, dataset_sink_mode=False)
        found.append(net.weight.asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert the_plan(model.train_network).devices == 8
    close(model.predict(data[0][0]), np.tanh(data[0][0].asnumpy() @ net.weight.asnumpy()))


def auto_parallel_inside_is_refused():
    ms.set_context(mode=ms.GRAPH_MODE)
    step = _step(AutoParallel(Dense()))
    words = "AutoParallel must be the outermost cell", "outermost"
    fails(RuntimeError, *words, at=lambda: step(numbers(SIZE, SIZE)))


if __name__ == "__main__":
    run(dict(globals()), sys.argv[1:])
