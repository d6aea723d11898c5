"""Graph mode beside eager mode and plain jax, and beside PyTorch and the real MindSpore if asked.

`python benchmarks/graph.py` times training steps interleaved in one session and prints a table of
medians and ratios. `--peers FOLDER` adds the peers, whose environments are made in FOLDER (outside
the repository) if they are not there.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from eager import PEERS, environment
from graph_worker import SIZES

WORKER = Path(__file__).with_name("graph_worker.py")
OURS = ("eager", "graph", "jax")
OF_PEER = {"torch": ("torch", "torch-compile"), "mindspore": ("mindspore",)}
BUSY = 0.15  # cores others may use while a time counts
PATIENCE = 5.0  # seconds to wait for an idle machine


def main() -> None:
    options = arguments()
    workers = dict.fromkeys(OURS, Worker(Path(sys.executable)))
    if options.peers:
        for name, packages in PEERS.items():
            worker = Worker(environment(Path(options.peers) / name, packages))
            workers |= dict.fromkeys(OF_PEER[name], worker)
    table = {w: {way: Times() for way in workers} for w in SIZES}
    for _ in range(options.rounds):
        for workload, row in table.items():
            for way, times in row.items():
                times.add(*workers[way].run(way, workload))
    for worker in set(workers.values()):
        worker.close()
    print_table(table, tuple(workers))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--peers", help="folder for the peers' environments")
    parser.add_argument("--rounds", type=int, default=9, help="interleaved rounds (9)")
    return parser.parse_args()


class Times:
    """Times of one way to run a workload; those of a busy machine count if there are no others."""

    def __init__(self) -> None:
        self.quiet: list[float] = []
        self.noisy: list[float] = []

    def add(self, milliseconds: float, others: float) -> None:
        (self.quiet if others <= BUSY else self.noisy).append(milliseconds)

    @property
    def median(self) -> float:
        return median(self.quiet or self.noisy)


class Worker:
    """A process that trains when asked."""

    def __init__(self, python: Path) -> None:
        self.process = subprocess.Popen(
            [python, WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.warm: set[str] = set()

    def run(self, way: str, workload: str) -> tuple[float, float]:
        """Milliseconds a step, and the cores that other processes used meanwhile."""
        line = f"{way} {workload}\n"
        if line not in self.warm:
            self.ask(line)
            self.warm.add(line)
        wait_until_idle()
        before = busy_seconds()
        found = self.ask(line)
        others = busy_seconds() - before - found["used"]
        return found["milliseconds"], others / found["seconds"]

    def ask(self, line: str) -> dict[str, float]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()
        while True:
            answer = self.process.stdout.readline()
            if not answer:
                raise SystemExit(f"a worker ended while it ran {line.strip()!r}")
            if answer.startswith("{"):
                return json.loads(answer)

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def busy_seconds() -> float:
    """Processor seconds the whole machine has used, as Linux counts them; 0 elsewhere."""
    counters = Path("/proc/stat")
    if not counters.exists():
        return 0.0
    numbers = [int(n) for n in counters.read_text().split("\n", 1)[0].split()[1:]]
    return (sum(numbers) - numbers[3] - numbers[4]) / 100


def wait_until_idle() -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        before = busy_seconds()
        time.sleep(0.2)
        if (busy_seconds() - before) / 0.2 <= BUSY:
            return


def print_table(table: dict[str, dict[str, Times]], ways: tuple[str, ...]) -> None:
    print(f"| batch 32, ms a step | {' | '.join(ways)} | eager / graph | jax / graph |")
    print("|---" * (len(ways) + 3) + "|")
    for workload, row in table.items():
        found = {way: times.median for way, times in row.items()}
        ratios = (found["eager"] / found["graph"], found["jax"] / found["graph"])
        cells = [f"{found[way]:.3f}" for way in ways] + [f"{ratio:.2f}" for ratio in ratios]
        print(f"| {workload} | {' | '.join(cells)} |")
    everything = [times for row in table.values() for times in row.values()]
    quiet = sum(len(times.quiet) for times in everything)
    total = quiet + sum(len(times.noisy) for times in everything)
    print(f"\n{quiet} of {total} times were taken while the machine was otherwise idle")


if __name__ == "__main__":
    main()
