"""The data pipeline beside the real MindSpore, grain and torch: rows a second.

`python benchmarks/data.py --peers FOLDER` makes environments for the peers in FOLDER (outside the
repository) if they are not there, writes the data once, runs all frameworks interleaved in one
session, and prints a table of medians and ratios.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

from eager import environment

WORKER = Path(__file__).with_name("data_worker.py")
PEERS = {
    "mindspore": ["mindspore==2.10.0", "numpy==1.26.4"],
    "grain": ["grain", "simplejpeg", "opencv-python-headless"],
    "torch": ["torch==2.13.0", "numpy", "simplejpeg", "opencv-python-headless"],
}
WORKLOADS = {
    "jpeg": ("mycelia", "mindspore", "grain", "torch"),
    "numpy": ("mycelia", "mindspore", "grain", "torch"),
    "mindrecord": ("mycelia", "mindspore"),
    "mindrecord shuffled": ("mycelia", "mindspore"),
    "tfrecord": ("mycelia", "mindspore"),
}


def main() -> None:
    options = arguments()
    folder = Path(options.peers)
    pythons = {"mycelia": Path(sys.executable)}
    for name, packages in PEERS.items():
        pythons[name] = environment(folder / name, packages)
    data = folder / "data"
    if not (data / "done").exists():
        subprocess.run([sys.executable, WORKER, "write", data], check=True)
        (data / "done").touch()
    workers = {name: Worker(name, python, data) for name, python in pythons.items()}
    speeds: dict[str, dict[str, list[float]]] = {
        w: {name: [] for name in names} for w, names in WORKLOADS.items() if w in options.only
    }
    for _ in range(options.rounds):
        for workload, by_name in speeds.items():
            for name, found in by_name.items():
                found.append(workers[name].run(workload))
    for worker in workers.values():
        worker.close()
    print_table(speeds)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", required=True, help="folder for environments and data")
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (5)")
    parser.add_argument("--only", nargs="*", default=list(WORKLOADS), choices=list(WORKLOADS))
    return parser.parse_args()


class Worker:
    """One framework in a process of its own, which runs workloads when asked."""

    def __init__(self, name: str, python: Path, data: Path) -> None:
        self.process = subprocess.Popen(
            [python, WORKER, name, data],
            cwd=data,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def run(self, workload: str) -> float:
        """Rows a second in one epoch."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(workload + "\n")
        self.process.stdin.flush()
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit(f"a worker ended while it ran {workload!r}")
            if line.startswith("{"):
                return json.loads(line)["rows"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def print_table(speeds: dict[str, dict[str, list[float]]]) -> None:
    names = ("mycelia", *PEERS)
    print(f"| rows a second | {' | '.join(names)} | mycelia / best peer |")
    print("|---" * (len(names) + 2) + "|")
    for workload, by_name in speeds.items():
        m = {name: median(values) for name, values in by_name.items()}
        best = max(speed for name, speed in m.items() if name != "mycelia")
        cells = [f"{m[name]:,.0f}" if name in m else "" for name in names]
        print(f"| {workload} | {' | '.join(cells)} | {m['mycelia'] / best:.2f} |")
    if {"mindrecord", "tfrecord"} <= set(speeds):
        ours = median(speeds["mindrecord"]["mycelia"])
        other = max(median(found) for found in speeds["tfrecord"].values())
        print(f"\nMindRecord read by mycelia / TFRecord read by the fastest: {ours / other:.2f}")


if __name__ == "__main__":
    main()
