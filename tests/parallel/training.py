"""Train the networks for a few steps in a parallel mode and write what came out to a file.

    python tests/parallel/training.py --nets bert --mode data_parallel --devices 4 --out file.npz

The file holds, for each network, `<net>/losses`, `<net>/initial/<parameter>`,
`<net>/final/<parameter>`, `<net>/devices` (the devices that hold parameters),
`<net>/cut` (the parameters of which no device holds all), `<net>/moved` (the bytes that a device
sends in one run of the programs compiled for the network) and `<net>/seconds` (the first step).
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import jax

import mycelia as ms
from mycelia import nn
from mycelia._engine.runtime.xla.collective_traffic import moved_bytes
from tests.parallel.networks import NETWORKS, Training

MODES = (
    "stand_alone",
    "in_parts",  # on one device, the batch in micro-batches as in a pipeline
    "data_parallel",
    "semi_auto_parallel",
    "auto_parallel",
    "pipeline",
)
SEARCHES = ("recursive_programming", "dynamic_programming", "sharding_propagation")
MICRO_BATCHES = 4


@dataclass(frozen=True)
class Result:
    """What a training gave."""

    losses: np.ndarray
    initial: dict[str, np.ndarray]
    final: dict[str, np.ndarray]
    devices: int
    cut: int
    seconds: float


def run(net_name: str, steps: int = 5, mode: str = "stand_alone", devices: int = 1) -> Result:
    """Train a network in graph mode, as the settings of parallel training are now."""
    ms.set_context(mode=ms.GRAPH_MODE)
    training = NETWORKS[net_name]
    network = training.network()
    if mode == "semi_auto_parallel":
        training.annotate(network, devices)
    initial = _values(network)
    step = _training_step(training, network, mode).set_train()
    losses, seconds = [], []
    for number in range(steps):
        start = time.perf_counter()
        losses.append(float(step(*training.batch(number)).asnumpy()))
        seconds.append(time.perf_counter() - start)
    arrays = [parameter._data for parameter in network.get_parameters()]
    final = _values(network)
    return Result(np.array(losses), initial, final, _spread(arrays), _cut(arrays), seconds[0])


def _training_step(training: Training, network: nn.Cell, mode: str) -> nn.Cell:
    optimizer = training.optimizer(network)
    if mode in ("pipeline", "in_parts"):
        network = nn.PipelineCell(network, MICRO_BATCHES)
    return nn.TrainOneStepCell(network, optimizer)


def _values(network: nn.Cell) -> dict[str, np.ndarray]:
    return {p.name: np.array(p.asnumpy()) for p in network.get_parameters()}


def _spread(arrays: list[Any]) -> int:
    """How many devices hold one of the arrays, or a part of it."""
    sets = [array.sharding.device_set for array in arrays if isinstance(array, jax.Array)]
    return len(set().union(*sets)) or 1


def _cut(arrays: list[Any]) -> int:
    """How many arrays no device holds whole."""
    return sum(isinstance(a, jax.Array) and not a.sharding.is_fully_replicated for a in arrays)


def set_up(mode: str, devices: int, search: str, dump: Path) -> None:
    """Make the devices, and set how training is spread over them. Before anything else runs.

    XLA writes the text of every program it compiles into the folder `dump`.
    """
    os.environ["XLA_FLAGS"] = (
        f"--xla_force_host_platform_device_count={devices}"
        f" --xla_dump_to={dump} --xla_dump_hlo_as_text"
    )
    if len(jax.devices()) != devices:
        raise SystemExit(f"there are {len(jax.devices())} devices, not {devices}")
    if mode in ("stand_alone", "in_parts"):
        return
    settings = {"device_num": devices, "gradients_mean": True, "full_batch": True}
    if mode == "pipeline":
        settings |= {"parallel_mode": "semi_auto_parallel", "pipeline_stages": stages(devices)}
    else:
        settings |= {"parallel_mode": mode, "search_mode": search}
    ms.set_auto_parallel_context(**settings)


def stages(devices: int) -> int:
    """Stages of several devices each, where there are enough: 7 devices are 4 and 3."""
    return 4 if devices == 8 else 2


def moved_since(dump: Path) -> float:
    """The bytes that a device sends in the programs compiled since this was last asked."""
    moved = 0.0
    for path in dump.glob("*after_optimizations.txt"):
        moved += moved_bytes(path.read_text())
        path.unlink()
    return moved


def entries(name: str, result: Result, moved: float) -> dict[str, Any]:
    """A result as arrays for a file."""
    found = {"losses": result.losses, "devices": result.devices, "cut": result.cut}
    found |= {"moved": moved, "seconds": result.seconds}
    found |= {f"initial/{key}": value for key, value in result.initial.items()}
    found |= {f"final/{key}": value for key, value in result.final.items()}
    return {f"{name}/{key}": value for key, value in found.items()}


def train_all(names: list[str], arguments: argparse.Namespace, dump: Path) -> dict[str, Any]:
    """What all networks gave, as arrays for a file."""
    set_up(arguments.mode, arguments.devices, arguments.search, dump)
    file: dict[str, Any] = {}
    for name in names:
        result = run(name, arguments.steps, arguments.mode, arguments.devices)
        moved = moved_since(dump)
        file |= entries(name, result, moved)
        print(
            f"{name:13} first step {result.seconds:5.1f} s, on {result.devices} devices,"
            f" {result.cut} parameters cut, {moved:.0f} bytes moved,"
            f" losses {np.round(result.losses, 4)}",
            flush=True,
        )
    return file


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nets", "--net", nargs="+", default=["all"], help="names, or all")
    parser.add_argument("--mode", choices=MODES, default="stand_alone")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--search", choices=SEARCHES, default=SEARCHES[0])
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    names = list(NETWORKS) if arguments.nets == ["all"] else arguments.nets
    if unknown := set(names) - set(NETWORKS):
        parser.error(f"no such networks: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory() as folder:
        np.savez(arguments.out, **train_all(names, arguments, Path(folder)))


if __name__ == "__main__":
    main()
