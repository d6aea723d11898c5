"""Training on several devices gives the losses and parameters of training on one."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

from tests.parallel.networks import NETWORKS
from tests.parallel.training import SEARCHES

SCRIPT = Path(__file__).with_name("training.py")
TOLERANCE = 1e-4
LONGEST = 1800  # seconds that a process may take; devices that wait for each other never end

# Some networks and every mode, on a number of devices that divides sizes and on one that does not.
# The slow tests run all of them.
FEW = {
    ("data_parallel", 4): ("mlp",),
    ("data_parallel", 7): ("mlp",),
    ("semi_auto_parallel", 4): ("gpt",),
    ("semi_auto_parallel", 7): ("mlp",),
    ("auto_parallel", 4): ("mlp",),
    ("auto_parallel", 7): ("gpt",),
    ("pipeline", 4): ("recommender",),
    ("pipeline", 7): ("mlp",),
}
ALL_DEVICES = (2, 4, 6, 7, 8)
# What is cheapest is that every device does all of a small network: no cut of it is worth a message.
NOT_WORTH_CUTTING = {("mlp", 7)}
LARGE = {name for name in NETWORKS if "resnet" in name} | {"moe", "bert"}
PLAIN_MODES = ("data_parallel", "semi_auto_parallel", "pipeline")


@functools.cache
def trained(mode: str, devices: int, search: str, nets: tuple[str, ...]) -> dict[str, np.ndarray]:
    """What the networks give, all trained in one process of their own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.npz"
        options = ["--mode", mode, "--devices", str(devices), "--search", search]
        done = subprocess.run(
            [sys.executable, SCRIPT, *options, "--out", out, "--nets", *nets],
            env={k: v for k, v in os.environ.items() if k != "XLA_FLAGS"},
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        with np.load(out) as file:
            return dict(file)


def alone(net: str, mode: str = "stand_alone") -> dict[str, np.ndarray]:
    return trained(mode, 1, SEARCHES[0], (net,))


def check_equal(net: str, mode: str, found: dict[str, np.ndarray]) -> None:
    """Losses agree number by number, parameters up to the size of their largest number.

    A pipeline takes micro-batches; so does the one device it is compared with.
    """
    wanted = alone(net, "in_parts" if mode == "pipeline" else "stand_alone")
    training = NETWORKS[net]
    np.testing.assert_allclose(found[f"{net}/losses"], wanted[f"{net}/losses"], rtol=TOLERANCE)
    names = [name for name in wanted if name.startswith(f"{net}/final/")]
    assert names == [name for name in found if name.startswith(f"{net}/final/")]
    for name in names:
        scale = max(float(np.abs(wanted[name]).max()), training.least_scale)
        np.testing.assert_allclose(
            found[name], wanted[name], rtol=TOLERANCE, atol=2 * TOLERANCE * scale, err_msg=name
        )


def check_spread(net: str, mode: str, devices: int, found: dict[str, np.ndarray]) -> None:
    """All devices took part: they hold parameters, and tell each other what they found.

    Without this, a mode that does nothing would pass, or one in which every device does all. What
    the stages of a pipeline hand on is not in their programs, and one may be without parameters.
    """
    if mode == "pipeline":
        assert found[f"{net}/devices"] > devices / 2
        return
    assert found[f"{net}/devices"] == devices
    assert found[f"{net}/moved"] > 0, "every device does all the work"


@pytest.mark.parametrize(
    ("mode", "devices", "net"),
    [(mode, devices, net) for (mode, devices), nets in FEW.items() for net in nets],
)
def test_a_network_trains_as_on_one_device(mode, devices, net):
    found = trained(mode, devices, SEARCHES[0], FEW[mode, devices])
    check_equal(net, mode, found)
    check_spread(net, mode, devices, found)


@pytest.mark.slow
@pytest.mark.parametrize("net", NETWORKS)
@pytest.mark.parametrize("devices", ALL_DEVICES)
@pytest.mark.parametrize("mode", PLAIN_MODES)
def test_every_network_trains_as_on_one_device(mode, devices, net):
    found = trained(mode, devices, SEARCHES[0], tuple(NETWORKS))
    check_equal(net, mode, found)
    check_spread(net, mode, devices, found)


@pytest.mark.slow
@pytest.mark.parametrize("net", NETWORKS)
@pytest.mark.parametrize("devices", ALL_DEVICES)
@pytest.mark.parametrize("search", SEARCHES)
def test_every_network_trains_as_on_one_device_however_its_layout_is_found(search, devices, net):
    found = trained("auto_parallel", devices, search, tuple(NETWORKS))
    check_equal(net, "auto_parallel", found)
    if (net, devices) not in NOT_WORTH_CUTTING:
        check_spread(net, "auto_parallel", devices, found)


@pytest.mark.parametrize("devices", [4, 7])
def test_data_parallel_moves_each_gradient_once(devices):
    """One sum over all devices of each gradient, and one of the loss."""
    found = trained("data_parallel", devices, SEARCHES[0], FEW["data_parallel", devices])
    sizes = [value.nbytes for name, value in found.items() if name.startswith("mlp/final/")]
    wanted = 2 * (sum(sizes) + 4) * (devices - 1) / devices
    assert found["mlp/moved"] == pytest.approx(wanted, rel=0.001)


def test_hints_for_weights_cut_parameters():
    """Where a hint cuts a weight evenly over devices, no device holds all of it."""
    found = trained("semi_auto_parallel", 4, SEARCHES[0], FEW["semi_auto_parallel", 4])
    assert found["gpt/cut"] > 0


@pytest.mark.parametrize(
    "net", [pytest.param(n, marks=pytest.mark.slow) if n in LARGE else n for n in NETWORKS]
)
def test_on_one_device_everything_moves_and_nothing_is_spread(net):
    found = alone(net)
    assert (found[f"{net}/devices"], found[f"{net}/moved"]) == (1, 0)
    assert np.isfinite(found[f"{net}/losses"]).all()
    names = [name for name in found if name.startswith(f"{net}/initial/")]
    still = [n for n in names if np.array_equal(found[n], found[n.replace("initial", "final", 1)])]
    assert names and not still
