"""The eighteen events of a Callback: each is heard where it belongs, in order."""

from __future__ import annotations

import pytest

from mycelia import train
from tests.train.model_doubles import dense_model, rows


class OfBothPhases(train.Callback):
    """Hears the events of training and of evaluation apart."""

    def __init__(self):
        self.heard = []

    def _hear(self, event, run_context):
        self.heard.append((event, run_context.original_args().cur_step_num))

    def on_train_begin(self, run_context):
        self._hear("on_train_begin", run_context)

    def on_train_epoch_begin(self, run_context):
        self._hear("on_train_epoch_begin", run_context)

    def on_train_step_begin(self, run_context):
        self._hear("on_train_step_begin", run_context)

    def on_train_step_end(self, run_context):
        self._hear("on_train_step_end", run_context)

    def on_train_epoch_end(self, run_context):
        self._hear("on_train_epoch_end", run_context)

    def on_train_end(self, run_context):
        self._hear("on_train_end", run_context)

    def on_eval_begin(self, run_context):
        self._hear("on_eval_begin", run_context)

    def on_eval_epoch_begin(self, run_context):
        self._hear("on_eval_epoch_begin", run_context)

    def on_eval_step_begin(self, run_context):
        self._hear("on_eval_step_begin", run_context)

    def on_eval_step_end(self, run_context):
        self._hear("on_eval_step_end", run_context)

    def on_eval_epoch_end(self, run_context):
        self._hear("on_eval_epoch_end", run_context)

    def on_eval_end(self, run_context):
        self._hear("on_eval_end", run_context)


class OfEither(train.Callback):
    """Hears the events of whatever runs."""

    def __init__(self):
        self.heard = []

    def begin(self, run_context):
        self.heard.append("begin")

    def epoch_begin(self, run_context):
        self.heard.append("epoch_begin")

    def step_begin(self, run_context):
        self.heard.append("step_begin")

    def step_end(self, run_context):
        self.heard.append("step_end")

    def epoch_end(self, run_context):
        self.heard.append("epoch_end")

    def end(self, run_context):
        self.heard.append("end")


def epoch(phase: str) -> list[str]:
    steps = [f"on_{phase}_step_begin", f"on_{phase}_step_end"] * 2
    return [f"on_{phase}_epoch_begin", *steps, f"on_{phase}_epoch_end"]


@pytest.mark.parametrize("sink", [False, True], ids=["fed", "sunk"])
def test_fit_tells_the_events_of_both_phases(sink: bool):
    callback = OfBothPhases()
    dense_model({"acc"}).fit(2, rows(8), rows(8), callbacks=callback, dataset_sink_mode=sink)
    training = [event for event, _ in callback.heard if "train" in event]
    assert [training[0], training[-1]] == ["on_train_begin", "on_train_end"]
    evaluation = [event for event, _ in callback.heard if "eval" in event]
    assert evaluation == ["on_eval_begin", *epoch("eval"), "on_eval_end"] * 2
    assert training[1:-1] == epoch("train") * 2
    assert {event for event, _ in callback.heard} == {
        f"on_{phase}_{event}"
        for phase in ("train", "eval")
        for event in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
    }


def test_evaluation_comes_before_the_end_of_its_epoch_and_steps_are_counted():
    callback = OfBothPhases()
    dense_model({"acc"}).fit(1, rows(8), rows(8), callbacks=[callback])
    events = [event for event, _ in callback.heard]
    assert events.index("on_train_step_end") < events.index("on_eval_begin")
    assert events.index("on_eval_end") < events.index("on_train_end")
    ends = [step for event, step in callback.heard if event == "on_train_step_end"]
    assert ends == [1, 2]


PLAIN = ["begin", "epoch_begin", *["step_begin", "step_end"] * 2, "epoch_end", "end"]


def test_plain_events_are_heard_in_training_and_in_evaluation():
    model = dense_model({"acc"})
    callback = OfEither()
    model.train(1, rows(8), callback)
    assert callback.heard == PLAIN
    callback.heard.clear()
    model.eval(rows(8), callback)
    assert callback.heard == PLAIN


def test_the_events_of_a_phase_go_to_the_plain_ones_unless_defined():
    callback = OfEither()
    callback.on_train_begin(None)
    callback.on_train_epoch_begin(None)
    callback.on_train_step_begin(None)
    callback.on_eval_step_end(None)
    callback.on_eval_epoch_end(None)
    callback.on_eval_end(None)
    assert callback.heard == [
        "begin",
        "epoch_begin",
        "step_begin",
        "step_end",
        "epoch_end",
        "end",
    ]
