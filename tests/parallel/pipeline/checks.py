"""Checks of pipelines on eight virtual devices, each a function of this file.

    python tests/parallel/pipeline/checks.py perceptron ...

runs those whose names begin so, in a process of its own: the number of devices is set when jax
starts. Each prints one line; the tests read them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import numpy as np

import mycelia as ms
from mycelia import nn, ops
from mycelia.transforms.pipeline_report import pipeline_report
from tests.parallel.pipeline.models import (
    Case,
    ClippingStep,
    Normed,
    Perceptron,
    Transformer,
    adam,
    check_equal,
    momentum,
    scaled_step,
    scaling_step,
    texts,
    train,
    vectors,
)
from tests.parallel.pipeline.running import run_here

GPIPE = {"pipeline_config": {"pipeline_interleave": False, "pipeline_scheduler": "gpipe"}}
INTERLEAVED = {
    "pipeline_config": {"pipeline_interleave": True, "pipeline_scheduler": "1f1b"},
    "pipeline_segments": 2,
}
TEXT = Case(Transformer, texts, adam)


def _with(case: Case, **changed) -> Case:
    return Case(**{**case.__dict__, **changed})


# ---- the same numbers as on one device -----------------------------------------------------------


def perceptron_2_stages_by_labels():
    check_equal(Case(labels=(0, 0, 1, 1)))


def perceptron_2_stages_found():
    check_equal(Case(optimizer=adam))


def perceptron_4_stages():
    found = check_equal(Case(stages=4, devices=4, micro=8, labels=(0, 1, 2, 3)))
    assert found.executable.report.measured_live == (4, 3, 2, 1)
    assert [found.devices[f"layers.{i}.weight"] for i in range(3)] == [{0}, {1}, {2}]
    assert found.devices["head.weight"] == {3}


def perceptron_gpipe():
    found = check_equal(Case(labels=(0, 1, 2, 3), stages=4, devices=4, micro=8, settings=GPIPE))
    assert found.executable.report.measured_live == (8, 8, 8, 8)


def perceptron_interleaved():
    check_equal(Case(labels=(0, 1, 0, 1), settings=INTERLEAVED))
    check_equal(Case(labels=(0, 1, 0, 1), optimizer=adam, micro=2, settings=INTERLEAVED))


def perceptron_data_parallel_modes():
    for mode in ("stand_alone", "data_parallel", "auto_parallel"):
        settings = {"parallel_mode": mode}
        check_equal(Case(devices=8, settings=settings, labels=(0, 0, 1, 1)))


def uneven_2_stages_of_3_devices():
    check_equal(Case(devices=6, labels=(0, 0, 1, 1)))


def uneven_3_stages_of_2_devices():
    check_equal(Case(stages=3, devices=6, labels=(0, 1, 2, 2)))


def uneven_7_stages():
    check_equal(_with(TEXT, stages=7, devices=7, size=8, network=lambda: Transformer(3)))


def transformer_2_stages_of_2_devices():
    found = check_equal(_with(TEXT, devices=4, labels=(0, 0, 1, 1)))
    assert found.devices["table"] == {0, 1}  # it lives where it is read first
    assert found.devices["norm.gamma"] == {2, 3}


def transformer_4_stages_of_2_devices():
    check_equal(_with(TEXT, stages=4, devices=8, labels=(0, 1, 2, 3), optimizer=momentum))


def transformer_gpipe():
    check_equal(_with(TEXT, devices=4, settings=GPIPE))


def transformer_interleaved():
    check_equal(_with(TEXT, devices=4, labels=(0, 1, 0, 1), settings=INTERLEAVED))
    check_equal(_with(TEXT, devices=2, settings=INTERLEAVED))


# ---- what else a step may do -----------------------------------------------------------------------


def step_with_dropout():
    case = Case(network=lambda: Perceptron(0.4), devices=4, labels=(0, 0, 1, 1))
    check_equal(case)
    plain = train(_with(case, network=Perceptron), alone=True)
    dropped = train(case)
    assert not np.allclose(plain.losses, dropped.losses, rtol=1e-3)


def step_with_batch_norm():
    check_equal(Case(network=Normed, devices=4, labels=(0, 0, 1, 1)))


def step_with_clipping():
    found = check_equal(Case(step=ClippingStep, devices=4, labels=(0, 0, 1, 1)))
    stages = [part.stage for part in found.executable.step.parts]
    assert stages == [0, 1, 1, 0], stages  # squares on each stage, their sum on the last


def step_with_scaled_loss():
    check_equal(Case(step=scaling_step, labels=(0, 0, 1, 1)))
    check_equal(Case(step=scaled_step, labels=(0, 0, 1, 1)))


def step_with_recompute():
    case = Case(labels=(0, 0, 1, 1))
    kept = check_equal(case).executable.report
    again = check_equal(_with(case, recompute=True)).executable.report
    assert all(a.kept_bytes < k.kept_bytes for a, k in zip(again.stages, kept.stages, strict=True))
    assert again.measured == tuple(s.peak_bytes for s in again.stages)


def step_of_a_function():
    ms.reset_auto_parallel_context()
    ms.set_context(mode=ms.GRAPH_MODE)
    found = []
    for stages in (1, 2):
        if stages > 1:
            ms.set_auto_parallel_context(pipeline_stages=stages)
        ms.set_seed(7)
        network = Perceptron()
        optimizer = momentum(network.trainable_params())
        both = ms.value_and_grad(nn.PipelineCell(network, 4), None, optimizer.parameters)

        @ms.jit
        def step(x, label, both=both, optimizer=optimizer):
            loss, gradients = both(x, label)
            optimizer(ops.clip_by_norm(gradients, 0.5))
            return loss

        batches = [vectors(np.random.default_rng(i), 16) for i in range(3)]
        losses = [float(step(*batch)) for batch in batches]
        gradients = both(*batches[0])[1]
        found.append((losses, [g.asnumpy() for g in gradients]))
    np.testing.assert_allclose(found[1][0], found[0][0], rtol=1e-5)
    for one, other in zip(*(gradients for _, gradients in found), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4, atol=1e-6)


def step_of_a_model():
    ms.reset_auto_parallel_context()
    ms.set_context(mode=ms.GRAPH_MODE)

    def data():
        for number in range(3):
            rng = np.random.default_rng(number)
            yield (
                rng.normal(size=(16, 8)).astype(np.float32),
                rng.integers(0, 4, 16).astype(np.int32),
            )

    finals = []
    for stages in (1, 2):
        ms.set_auto_parallel_context(pipeline_stages=stages)
        ms.set_seed(7)
        network = nn.SequentialCell(nn.Dense(8, 16), nn.Tanh(), nn.Dense(16, 4))
        loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        whole = nn.PipelineCell(
            nn.WithLossCell(network, loss), 4, stage_config={"_backbone.0": 0, "_backbone.2": 1}
        )
        model = ms.Model(whole, optimizer=momentum(network.trainable_params()))
        dataset = ms.dataset.GeneratorDataset(list(data()), ["x", "label"], shuffle=False)
        for sinks in (False, True):
            model.train(1, dataset, dataset_sink_mode=sinks)
        x = ms.Tensor(next(data())[0])
        network.set_train(False)
        after = network(x).asnumpy()
        ms.set_context(mode=ms.PYNATIVE_MODE)
        np.testing.assert_allclose(network(x).asnumpy(), after, rtol=1e-5, atol=1e-6)
        ms.set_context(mode=ms.GRAPH_MODE)
        finals.append(after)
    np.testing.assert_allclose(finals[1], finals[0], rtol=1e-4, atol=1e-6)


def step_keeps_arrays_that_others_hold():
    case = Case(labels=(0, 0, 1, 1))
    found = train(case, steps=1)
    before = [p._data for p in found.network.trainable_params()]
    numbers = [np.array(a) for a in before]
    found.step(*vectors(np.random.default_rng(1), 16))
    for array, wanted in zip(before, numbers, strict=True):
        np.testing.assert_array_equal(np.asarray(array), wanted)
    assert not np.allclose(numbers[0], found.network.trainable_params()[0].asnumpy())


# ---- memory ------------------------------------------------------------------------------------------


def memory_of_schedules():
    case = Case(stages=4, devices=4, micro=8, labels=(0, 1, 2, 3))
    reports = {}
    for name, settings in (("1f1b", {}), ("gpipe", GPIPE)):
        report = train(_with(case, settings=settings), steps=1).executable.report
        assert report.measured == tuple(s.peak_bytes for s in report.stages)
        for number, stage in enumerate(report.stages):
            live = min(4 - number, 8) if name == "1f1b" else 8
            assert report.measured[number] == live * stage.kept_bytes > 0
        reports[name] = report
    assert reports["1f1b"].bubble == reports["gpipe"].bubble == 3 / 11
    whole = train(_with(case, labels=(0, 1, 0, 1), stages=2, devices=2, settings=INTERLEAVED))
    report = whole.executable.report
    assert report.measured == tuple(s.peak_bytes for s in report.stages)
    assert report.bubble == 1 / (2 * 8 + 1)
    shown = pipeline_report(whole.step).show()
    assert "interleaved 1f1b, 8 micro-batches" in shown and str(report.measured[0]) in shown


# ---- what is refused -----------------------------------------------------------------------------------


def refused_in_pynative_mode():
    ms.reset_auto_parallel_context()
    ms.set_context(mode=ms.PYNATIVE_MODE)
    ms.set_auto_parallel_context(pipeline_stages=2)
    network = Perceptron()
    step = nn.TrainOneStepCell(nn.PipelineCell(network, 4), momentum(network.trainable_params()))
    _raises(RuntimeError, "graph mode", lambda: step(*vectors(np.random.default_rng(0), 16)))
    ms.set_context(mode=ms.GRAPH_MODE)
    _raises(
        RuntimeError,
        "called directly",
        lambda: step.network(*vectors(np.random.default_rng(0), 16)),
    )


def refused_labels():
    _raises(
        ValueError, "uses the output of a later stage", lambda: train(Case(labels=(0, 1, 0, 1)))
    )
    _raises(ValueError, "a pipeline stage has no cells", lambda: train(Case(labels=(0, 0, 0, 0))))
    _raises(ValueError, "that is out of range", lambda: train(Case(labels=(0, 1, 2, 2))))


def refused_numbers():
    _raises(RuntimeError, "at least one device per stage", lambda: train(Case(stages=4, devices=3)))
    _raises(ValueError, "must be divided by", lambda: train(Case(micro=3)))
    bad = {"pipeline_config": {"pipeline_interleave": False, "pipeline_scheduler": "seqpipe"}}
    _raises(ValueError, "unknown schedule", lambda: train(Case(settings=bad)))
    _raises(ValueError, "divisible by", lambda: train(Case(micro=1, settings=INTERLEAVED, size=8)))


def _raises(kind: type[Exception], text: str, run: Callable[[], object]) -> None:
    try:
        run()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"nothing was raised; expected {kind.__name__}: {text}")


if __name__ == "__main__":
    run_here(globals())
