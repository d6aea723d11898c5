"""Trainings that began on the real MindSpore 2.10 go on here from its checkpoints."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms

GOLDENS = Path(__file__).parent.parent / "goldens" / "exchange"
sys.path.insert(0, str(GOLDENS))  # its files run on the real MindSpore, outside of this package

from trainings import (  # noqa: E402
    GOLDEN_FORMS,
    NAMED_TRAININGS,
    SMALL_TRAININGS,
    STEPS,
    described,
    file_name,
    run,
    sums,
    train_network,
    values,
)

FOUND = json.loads((GOLDENS / "losses.json").read_text())
NAMES = json.loads((GOLDENS / "names.json").read_text())


SHORT = ["lenet momentum", "gpt adam"]


@pytest.mark.parametrize(
    ("mode", "name"),
    [
        (ms.PYNATIVE_MODE, SHORT[0]),
        *(
            pytest.param(ms.GRAPH_MODE, name, marks=[pytest.mark.slow] * ("adam" in name))
            for name in SMALL_TRAININGS
        ),
    ],
)
def test_a_training_goes_on_as_it_would_have_there(mode, name):
    ms.set_context(mode=mode)
    training = SMALL_TRAININGS[name]
    cell = train_network(ms, training)
    loaded = ms.load_checkpoint(str(GOLDENS / file_name(name)), **GOLDEN_FORMS[name][1])
    assert ms.load_param_into_net(cell, loaded, strict_load=True) == ([], [])
    assert list(described(cell)) == list(FOUND[name]["sums"])
    np.testing.assert_allclose(
        run(ms, cell, training, STEPS), FOUND[name]["after"], rtol=1e-4, atol=0
    )
    ours = sums(cell)
    for parameter, expected in FOUND[name]["sums"].items():
        np.testing.assert_allclose(ours[parameter], expected, 1e-4, 1e-6, err_msg=parameter)


@pytest.mark.parametrize("name", [SHORT[0], pytest.param(SHORT[1], marks=pytest.mark.slow)])
def test_what_is_saved_here_is_what_was_saved_there(name, tmp_path):
    """The same training, saved here: the same parameters with the same numbers."""
    training = SMALL_TRAININGS[name]
    cell = train_network(ms, training)
    np.testing.assert_allclose(run(ms, cell, training, 0), FOUND[name]["before"], rtol=1e-4)
    path = tmp_path / file_name(name)
    to_save, to_load = GOLDEN_FORMS[name]
    ms.save_checkpoint(cell, str(path), **to_save)
    ours = ms.load_checkpoint(str(path), **to_load)
    theirs = ms.load_checkpoint(str(GOLDENS / file_name(name)), **to_load)
    assert set(ours) == set(theirs)
    for parameter, value in theirs.items():
        assert ours[parameter].shape == value.shape and ours[parameter].dtype is value.dtype
        np.testing.assert_allclose(
            ours[parameter].asnumpy(), value.asnumpy(), 1e-3, 2e-6, err_msg=parameter
        )


@pytest.mark.parametrize("name", SHORT)
def test_the_checkpoint_decides(name):
    """A training that starts anew has other losses, so the tests above would see a lost state."""
    training = SMALL_TRAININGS[name]
    anew = run(ms, train_network(ms, training), training, STEPS)
    assert np.abs(np.array(anew) / FOUND[name]["after"] - 1).max() > 1e-3


@pytest.mark.parametrize("name", NAMED_TRAININGS)
def test_parameters_are_called_as_they_are_there(name):
    cell = train_network(ms, NAMED_TRAININGS[name])
    assert list(described(cell).items()) == list(NAMES[name].items())
    assert {n: list(v.shape) for n, v in values(cell).items()} == {
        n: shape for n, (shape, _) in NAMES[name].items()
    }
