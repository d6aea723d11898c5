"""Checkpoints that go from Mycelia to the real MindSpore and back in the middle of a training.

`python benchmarks/exchange_checkpoints.py --peers FOLDER` makes MindSpore's environment in FOLDER
(outside the repository) if it is not there; MYCELIA_PEER_MINDSPORE names a Python that has it. Each
framework trains some steps, saves its network with the optimizer's state in every form of file, and
goes on. The other loads the files, must find every parameter and no other, and goes on as well. A
table shows how far losses and parameters are from those of the framework that went on alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from eager import PEERS, environment

from mycelia.benchmark.peers import variable

WORKER = Path(__file__).with_name("exchange_worker.py")
NAMES = (
    "lenet momentum",
    "lenet adam",
    "lenet adam_weight_decay",
    "resnet50 slow_momentum",
    "encoder adam",
    "encoder adam_weight_decay",
    "gpt momentum",
    "gpt adam_weight_decay",
)
FRAMEWORKS = ("mycelia", "mindspore")
ALLOWED = (1e-4, 1e-4, 1e-4)  # relative differences of losses, parameters, optimizer's state
# One ReLU of fifty layers that rounding moves over its edge shows in the gradients of a channel.
ALLOWED_DEEP = (1e-3, 1e-3, 1e-2)
STATE = ("moments.", "moment1.", "moment2.", "adam_m.", "adam_v.")


def main() -> None:
    options = arguments()
    pythons = commands(options.peers)
    failures = 0
    print("| training | from | to | losses differ by | parameters by | moments by | |")
    print("|---|---|---|---|---|---|---|")
    for name in options.only or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            failures += exchange(name, pythons, Path(folder), options.mode)
    raise SystemExit(1 if failures else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", help="folder for the peer's environment")
    parser.add_argument("--only", nargs="*", choices=NAMES, help="some of the trainings")
    parser.add_argument("--mode", choices=("pynative", "graph"), default="pynative")
    return parser.parse_args()


def commands(peers: str | None) -> dict[str, list[str]]:
    """How each framework runs a script that says `import mindspore`."""
    peer = os.environ.get(variable("mindspore"))
    if peer is None and peers is None:
        raise SystemExit(f"give --peers FOLDER, or set {variable('mindspore')} to a Python")
    if peer is None:
        peer = str(environment(Path(peers or ""), PEERS["mindspore"]))
    return {"mycelia": [sys.executable, "-m", "mycelia.compat"], "mindspore": [peer]}


def exchange(name: str, pythons: dict[str, list[str]], folder: Path, mode: str) -> int:
    """Train, save and load both ways, and print what differs; gives the number of failures."""
    folders = {framework: folder / framework for framework in FRAMEWORKS}
    saved = {}
    for framework, place in folders.items():
        place.mkdir()
        saved[framework] = ask(pythons[framework], name, "save", place, mode)
    failures = 0
    for writer, reader in (FRAMEWORKS, FRAMEWORKS[::-1]):
        found = ask(pythons[reader], name, "load", folders[reader], mode, folders[writer])
        numbers = [
            np.load(folders[writer] / f"{name}.npz"),
            np.load(folders[reader] / f"{name}.continued.npz"),
        ]
        far = (loss_distance(saved[writer]["after"], found["after"]), *distances(*numbers))
        allowed = ALLOWED_DEEP if name.startswith("resnet50") else ALLOWED
        near = all(one <= most for one, most in zip(far, allowed, strict=True))
        good = near and not found["problems"]
        failures += not good
        verdict = "ok" if good else "; ".join(["FAILED", *found["problems"][:3]])
        shown = " | ".join(f"{one:.1e}" for one in far)
        print(f"| {name} | {writer} | {reader} | {shown} | {verdict} |")
        sys.stdout.flush()
    return failures


def ask(python: list[str], name: str, task: str, folder: Path, mode: str, *others: Path) -> Any:
    """What a worker found."""
    done = subprocess.run(
        [*python, WORKER, task, folder, mode, *others],
        input=name + "\n",
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    answers = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not answers:
        raise SystemExit(f"{' '.join(python)} could not {task} {name!r}:\n{done.stderr[-2000:]}")
    return json.loads(answers[-1])


def loss_distance(theirs: list[float], ours: list[float]) -> float:
    """The largest relative difference."""
    return float(np.max(np.abs(np.array(ours) / np.array(theirs) - 1)))


def distances(theirs: Any, ours: Any) -> tuple[float, float]:
    """The largest relative distance of a parameter, and of the state of an optimizer."""
    if set(theirs) != set(ours):
        return float("inf"), float("inf")
    state = {name for name in theirs if name.startswith(STATE)}
    far = {name: distance(theirs[name], ours[name]) for name in theirs}
    return max(far[n] for n in far if n not in state), max(far[n] for n in state)


def distance(theirs: np.ndarray, ours: np.ndarray) -> float:
    """The length of the difference of two arrays, relative to the first; of tiny ones to 1e-3."""
    return float(np.linalg.norm(theirs - ours) / max(float(np.linalg.norm(theirs)), 1e-3))


if __name__ == "__main__":
    main()
