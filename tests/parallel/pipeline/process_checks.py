"""Checks of pipelines over several processes, each a function of this file.

    mycelia launch -n 2 tests/parallel/pipeline/process_checks.py STAGES DEVICES NAME ...

runs those with these names in all processes; each process prints one line for each.
"""

from __future__ import annotations

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from mycelia._engine.distributed.mesh import Placement
from mycelia._engine.parallel.pipeline.devices import StageDevices, stage_devices
from mycelia._engine.runtime.distributed.stage_transfer import replicate_everywhere
from mycelia.communication import get_group_size, get_rank, init
from tests.parallel.pipeline.models import (
    Case,
    ClippingStep,
    Normed,
    Perceptron,
    Trained,
    Transformer,
    adam,
    momentum,
    scaling_step,
    texts,
    train,
    vectors,
)

ROWS = 48  # in micro-batches of 12, which stages of 1, 2, 3 and 4 devices cut evenly
WHOLE = {"full_batch": True, "parallel_mode": "data_parallel"}
GPIPE = {"pipeline_config": {"pipeline_interleave": False, "pipeline_scheduler": "gpipe"}}
INTERLEAVED = {
    "pipeline_config": {"pipeline_interleave": True, "pipeline_scheduler": "1f1b"},
    "pipeline_segments": 2,
}
STAGES, DEVICES = (int(word) for word in sys.argv[1:3])
LABELS = {2: (0, 0, 1, 1), 3: (0, 1, 2, 2), 4: (0, 1, 2, 3)}  # so that all stages have weights
MLP = Case(stages=STAGES, devices=DEVICES, size=ROWS, settings=WHOLE, labels=LABELS[STAGES])
GPT = replace(MLP, network=Transformer, batch=texts, optimizer=adam)


def equal(case: Case, least: float = 1e-9) -> Trained:
    """Raise unless all processes together give the numbers that each of them finds alone.

    Differences of `least` do not count.
    """
    alone, found = train(case, alone=True, steps=3), train(case, steps=3)
    np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-5)
    assert found.parameters.keys() == alone.parameters.keys()
    for name, wanted in alone.parameters.items():
        scale = float(np.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(
            found.parameters[name], wanted, rtol=1e-5, atol=1e-5 * scale + least, err_msg=name
        )
    if case.size == ROWS and case.settings["parallel_mode"] == "data_parallel":
        _is_cut(found)
    return found


def _is_cut(found: Trained) -> None:
    """Raise unless stages of several devices share their work: copies of it are always equal."""
    for stage in found.executable.step.pipeline.stages:
        cut = any(placement.axes for placement in stage.placements)
        assert cut or stage.mesh.devices == 1, (stage.number, stage.placements)


def mlp() -> None:
    _is_everywhere(equal(MLP))


def _is_everywhere(found: Trained) -> None:
    """Raise unless parameters lie on all devices, those of a stage on its own."""
    places = {frozenset(devices) for devices in found.devices.values()}
    assert len(places) == STAGES, places
    assert len(frozenset().union(*places)) == DEVICES, places


def mlp_gpipe() -> None:
    equal(replace(MLP, settings=WHOLE | GPIPE))


def mlp_of_rows() -> None:
    """Rows are cut over the devices of a stage, evenly in all stages or only in some."""
    for size in (16, ROWS):
        _is_everywhere(equal(replace(MLP, size=size)))


def mlp_searched() -> None:
    """Layouts as the search finds them; at this size it may copy everything."""
    equal(replace(MLP, settings=WHOLE | {"parallel_mode": "semi_auto_parallel"}))


def mlp_interleaved() -> None:
    equal(replace(MLP, settings=WHOLE | INTERLEAVED, labels=(0, 1, 0, 1)))


def gpt() -> None:
    equal(GPT)


def gpt_gpipe() -> None:
    equal(replace(GPT, settings=WHOLE | GPIPE))


def dropout() -> None:
    equal(replace(MLP, network=lambda: Perceptron(0.4)))


def batch_norm() -> None:
    """Biases in front of a normalisation have no gradients but rounding."""
    equal(replace(MLP, network=Normed, labels=()), least=1e-6)


def clipping() -> None:
    equal(replace(MLP, step=ClippingStep))


def scaling() -> None:
    equal(replace(MLP, step=scaling_step))


def rows_of_each_process() -> None:
    """Without full_batch each process brings its rows, as in the other modes."""
    alone = train(MLP, alone=True, steps=3)

    def part(rng, size):
        rows = size // get_group_size()
        first = get_rank() * rows
        return tuple(ms.Tensor(t.asnumpy()[first : first + rows]) for t in vectors(rng, size))

    found = train(replace(MLP, batch=part, settings=WHOLE | {"full_batch": False}), steps=3)
    np.testing.assert_allclose(found.losses, alone.losses, rtol=1e-5)


def gradients() -> None:
    """Gradients that a step gives are whole in every process."""
    ms.reset_auto_parallel_context()
    ms.set_context(mode=ms.GRAPH_MODE)
    found = []
    for stages in (1, STAGES):
        ms.set_auto_parallel_context(pipeline_stages=stages)
        ms.set_seed(7)
        network = Perceptron()
        both = ms.value_and_grad(nn.PipelineCell(network, 4), None, network.trainable_params())
        compiled = ms.jit(lambda x, label, both=both: both(x, label))
        loss, gradients = compiled(*vectors(np.random.default_rng(0), 16))
        found.append([loss.asnumpy(), *(g.asnumpy() for g in gradients)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-6)


def reading_parameters() -> None:
    """Parameters are read, computed with, saved, loaded and trained on wherever they live."""
    alone, found = train(MLP, alone=True, steps=2), train(MLP, steps=2)
    x = ms.Tensor(np.ones((3, 16), np.float32))
    for one in (alone, found):
        head = one.network.head
        ms.set_context(mode=ms.PYNATIVE_MODE)
        eager = (head.weight.sum() + ops.matmul(x, head.weight.swapaxes(0, 1)).sum()).asnumpy()
        ms.set_context(mode=ms.GRAPH_MODE)
        compiled = ms.jit(lambda x, head=head: head(x))(x).asnumpy()
        if one is alone:
            wanted = eager, compiled
    np.testing.assert_allclose(eager, wanted[0], rtol=1e-4)
    np.testing.assert_allclose(compiled, wanted[1], rtol=1e-4, atol=1e-6)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, f"of_{get_rank()}.ckpt"))
        ms.save_checkpoint(found.network, path)
        loaded = ms.load_checkpoint(path)
    for name, parameter in loaded.items():
        np.testing.assert_allclose(parameter.asnumpy(), found.parameters[name], rtol=1e-6)
    ms.load_param_into_net(found.network, loaded)
    batch = vectors(np.random.default_rng(2), ROWS)
    ms.reset_auto_parallel_context()
    after = float(alone.step(*batch))
    ms.set_auto_parallel_context(pipeline_stages=STAGES, device_num=DEVICES, **WHOLE)
    np.testing.assert_allclose(float(found.step(*batch)), after, rtol=1e-5)


def moving() -> None:
    """Values of several types get from every way to lie on one stage to every way on another."""
    first, second = (StageDevices(own) for own in stage_devices(2, DEVICES, alone=False))
    ways = [Placement(dims) for dims in (((), ()), ((0,), ()), ((), (0,)))]
    for dtype in (np.float32, np.int32, np.bool_, np.float16):
        numbers = (np.arange(12 * 24).reshape(12, 24) % 7).astype(dtype)
        for there in ways:
            for back in ways:
                value = first.put(numbers, first.sharding(there))
                value = second.put(value, second.sharding(back))
                assert value.devices() == set(second.devices)
                np.testing.assert_array_equal(replicate_everywhere(value), numbers)
                value = first.put(value, first.sharding(there))
                np.testing.assert_array_equal(replicate_everywhere(value), numbers)
    scalar = second.whole(first.whole(np.float32(3.0)))
    assert replicate_everywhere(scalar) == 3.0


def model() -> None:
    """`Model.train`, and a prediction with the parameters it left on the stages."""
    found = []
    for stages in (1, STAGES):
        ms.reset_auto_parallel_context()
        ms.set_context(mode=ms.GRAPH_MODE)
        ms.set_auto_parallel_context(pipeline_stages=stages)
        ms.set_seed(7)
        network = nn.SequentialCell(nn.Dense(8, 16), nn.Tanh(), nn.Dense(16, 4))
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        whole = nn.PipelineCell(nn.WithLossCell(network, loss), 4)
        trained = ms.Model(whole, optimizer=momentum(network.trainable_params()))
        batches = [vectors(np.random.default_rng(number), 16) for number in range(3)]
        rows = [tuple(t.asnumpy() for t in batch) for batch in batches]
        dataset = ms.dataset.GeneratorDataset(rows, ["x", "label"], shuffle=False)
        trained.train(1, dataset, dataset_sink_mode=False)
        network.set_train(False)
        found.append(network(ms.Tensor(rows[0][0])).asnumpy())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5, atol=1e-6)


def forever() -> None:
    """A training that somebody has to end."""
    case = replace(MLP, optimizer=momentum)
    train(case, steps=1)
    print("started", flush=True)
    train(case, steps=1_000_000)


def one_sleeps() -> None:
    """The last process stops to train; the others wait for it."""
    found = train(MLP, steps=1)
    if get_rank() == get_group_size() - 1:
        time.sleep(600)
    found.step(*vectors(np.random.default_rng(1), ROWS))


if __name__ == "__main__":
    init()
    for name in sys.argv[3:]:
        globals()[name]()
        print(f"passed {name}", flush=True)
