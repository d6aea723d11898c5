"""ProgressBar: what it shows, where, and how often."""

from __future__ import annotations

import io
import re

import pytest

from mycelia import train
from mycelia.train.callback import status_line
from tests.train.model_doubles import dense_model, losses_by_hand, rows


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_lines_after_epochs():
    file = io.StringIO()
    dense_model({"acc"}).fit(2, rows(), rows(), callbacks=train.ProgressBar(file=file))
    first, second = file.getvalue().splitlines()
    loss = losses_by_hand(6)[5]
    assert first.startswith(f"epoch 1/2 | step 6/6 | loss {loss:.4g} | ")
    assert re.search(r"\| [\d,.]+ steps/s \| 0:\d\d left \| acc \S+ \| eval_loss \S+$", first)
    assert second.startswith("epoch 2/2 | step 6/6 | ") and "| 0:00 left |" in second


def test_lines_in_between():
    file = io.StringIO()
    dense_model().train(1, rows(), train.ProgressBar(1e9, 1e-9, "samples", file))
    lines = file.getvalue().splitlines()
    assert [line.split(" | ")[1] for line in lines] == [
        *[f"step {n}/6" for n in range(1, 7)],
        "step 6/6",
    ]
    assert re.search(r"\| [\d,]+ samples/s \|", lines[2])


def test_it_speaks_seldom():
    file = io.StringIO()
    dense_model().train(1, rows(), train.ProgressBar(per_second=0.001, every=1e-9, file=file))
    assert len(file.getvalue().splitlines()) == 1


@pytest.mark.parametrize("has_rich", [True, False])
def test_a_terminal(monkeypatch, has_rich):
    if has_rich:
        pytest.importorskip("rich")
    else:
        monkeypatch.setattr(status_line, "rich_progress", None)
    file = Terminal()
    dense_model().train(1, rows(), train.ProgressBar(per_second=1e9, file=file))
    text = file.getvalue()
    assert "step 3/6" in text and text.count("step 6/6") >= 2
    assert ("━" in text) is has_rich and text.endswith("\n")


def test_epochs_count_down():
    texts = []

    class Shown(train.ProgressBar):
        def _text(self, facts):
            texts.append(super()._text(facts))
            return texts[-1]

    dense_model().train(3, rows(8), Shown(per_second=1e9, file=io.StringIO()), initial_epoch=1)
    assert texts[0].startswith("epoch 2/3 | step 1/2") and texts[-1].startswith("epoch 3/3")


@pytest.mark.parametrize(
    ("kind", "options"),
    [(ValueError, {"per_second": 0}), (ValueError, {"every": -1}), (ValueError, {"unit": "cats"})],
)
def test_bad_arguments(kind, options):
    with pytest.raises(kind):
        train.ProgressBar(**options)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "0:00"), (61, "1:01"), (3600, "1:00:00"), (90061, "25:01:01")]
)
def test_durations(seconds, text):
    assert train.callback.progress_bar._duration(seconds) == text
