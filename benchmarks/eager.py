"""Eager mode beside PyTorch and the real MindSpore: one operator call, a LeNet step, import time.

`python benchmarks/eager.py --peers FOLDER` makes environments for the peers in FOLDER (outside the
repository) if they are not there, runs all frameworks interleaved in one session, and prints a
table of medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import venv
from pathlib import Path
from statistics import median

WORKER = Path(__file__).with_name("eager_worker.py")
PEERS = {
    "torch": ["torch==2.13.0", "numpy"],
    "mindspore": ["mindspore==2.10.0", "numpy==1.26.4"],
}
WORKLOADS = ("add", "add number", "mul", "matmul 4x4", "lenet step")


def main() -> None:
    options = arguments()
    folder = Path(options.peers)
    pythons = {"mycelia": Path(sys.executable)}
    for name, packages in PEERS.items():
        pythons[name] = environment(folder / name, packages)
    workers = {name: Worker(name, python) for name, python in pythons.items()}
    times: dict[str, dict[str, list[float]]] = {
        w: {name: [] for name in workers} for w in WORKLOADS
    }
    for _ in range(options.rounds):
        for workload in WORKLOADS:
            for name, worker in workers.items():
                times[workload][name].append(worker.run(workload))
    for worker in workers.values():
        worker.close()
    print_table(times)
    print_imports(options.rounds)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", required=True, help="folder for the peers' environments")
    parser.add_argument("--rounds", type=int, default=7, help="interleaved rounds (7)")
    return parser.parse_args()


def environment(folder: Path, packages: list[str]) -> Path:
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"installing {' '.join(packages)} ...", flush=True)
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True)
    return python


class Worker:
    """One framework in a process of its own, which runs workloads when asked."""

    def __init__(self, name: str, python: Path) -> None:
        self.process = subprocess.Popen(
            [python, WORKER, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, workload: str) -> float:
        """The median time of `workload`, in microseconds."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(workload + "\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"a worker ended while it ran {workload!r}")
            if line.startswith("{"):
                return json.loads(line)["microseconds"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def print_table(times: dict[str, dict[str, list[float]]]) -> None:
    print("| workload | mycelia us | torch us | mindspore us | / torch | / mindspore |")
    print("|---|---|---|---|---|---|")
    for workload, by_name in times.items():
        m = {name: median(values) for name, values in by_name.items()}
        ours = m["mycelia"]
        print(
            f"| {workload} | {ours:.1f} | {m['torch']:.1f} | {m['mindspore']:.1f} "
            f"| {ours / m['torch']:.2f} | {ours / m['mindspore']:.3f} |"
        )


def print_imports(rounds: int) -> None:
    found: dict[str, list[float]] = {"jax": [], "mycelia": []}
    for _ in range(rounds):
        for module, seconds in found.items():
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", f"import {module}"], check=True)
            seconds.append(time.perf_counter() - started)
    ours, jax = median(found["mycelia"]), median(found["jax"])
    print(f"\nimport mycelia {ours:.2f} s, import jax {jax:.2f} s, ratio {ours / jax:.2f}")


if __name__ == "__main__":
    main()
