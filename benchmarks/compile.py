"""How long training steps take to compile, beside `jax.jit` of the same nets in plain jax.

`python benchmarks/compile.py` compiles each net in processes of their own, interleaved, and prints
a table of medians and ratios. `--cache` also shows what the programs kept on disk save the next
process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from compile_nets import NETS

WORKER = Path(__file__).with_name("compile_nets.py")
WAYS = ("jax", "mycelia")

Times = dict[str, float]  # seconds by part, of one process


def main() -> None:
    options = arguments()
    table: dict[str, dict[str, list[Times]]] = {net: {w: [] for w in WAYS} for net in options.nets}
    for _ in range(options.rounds):
        for net, row in table.items():
            for way, found in row.items():
                found.append(run(way, net))
            check_same_size(net, row)
    print_table({net: {w: medians(t) for w, t in row.items()} for net, row in table.items()})
    if options.cache:
        pairs = {net: [start_twice(net) for _ in range(options.rounds)] for net in options.nets}
        print_cache(pairs)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="interleaved rounds (3)")
    parser.add_argument("--nets", nargs="+", choices=NETS, default=NETS, help="nets (all)")
    parser.add_argument("--cache", action="store_true", help="also start twice with a disk cache")
    return parser.parse_args()


def run(way: str, net: str, *cache: str) -> Times:
    """What one new process measures."""
    command = [sys.executable, str(WORKER), way, net, *cache]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"the worker {way} {net} ended with {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def check_same_size(net: str, row: dict[str, list[Times]]) -> None:
    sizes = {way: found[-1]["parameters"] for way, found in row.items()}
    if len(set(sizes.values())) != 1:
        raise SystemExit(f"{net} is not the same net everywhere: parameters {sizes}")


def start_twice(net: str) -> tuple[Times, Times]:
    """Two processes, one after the other, that share a folder of programs, empty at first."""
    with tempfile.TemporaryDirectory() as folder:
        return run("mycelia", net, folder), run("mycelia", net, folder)


def medians(found: list[Times]) -> Times:
    return {part: median(times[part] for times in found) for part in found[0]}


def print_table(table: dict[str, dict[str, Times]]) -> None:
    print("| seconds to compile | jax | trace | XLA | mycelia | read | trace | XLA | ratio |")
    print("|---" * 9 + "|")
    for net, row in table.items():
        theirs, ours = row["jax"], row["mycelia"]
        seconds = [theirs[p] for p in ("total", "trace", "xla")]
        seconds += [ours[p] for p in ("total", "read", "trace", "xla")]
        cells = [f"{s:.2f}" for s in (*seconds, ours["total"] / theirs["total"])]
        print(f"| {net} | {' | '.join(cells)} |")


def print_cache(pairs: dict[str, list[tuple[Times, Times]]]) -> None:
    print("\n| seconds | import | build | compile, first process | second process | factor |")
    print("|---" * 6 + "|")
    for net, found in pairs.items():
        first, second = medians([a for a, _ in found]), medians([b for _, b in found])
        seconds = [second["import"], second["build"], first["total"], second["total"]]
        cells = [f"{s:.2f}" for s in (*seconds, first["total"] / second["total"])]
        print(f"| {net} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
