"""The subcommand `mycelia benchmark`: its options and their checks."""

from __future__ import annotations

import argparse
from pathlib import Path

from mycelia.benchmark.columns import COLUMNS, OURS, PEERS
from mycelia.benchmark.interleave import Effort
from mycelia.benchmark.session import SessionPlan, run
from mycelia.benchmark.workloads import SUITES, Workload


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the subcommand."""
    parser.add_argument("--suite", choices=sorted(SUITES), default="cpu", help="what to run (cpu)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run only these workloads")
    parser.add_argument(
        "--peers",
        type=_peers,
        default=PEERS,
        metavar="A,B",
        help=f"peers to compare with, or none ({','.join(PEERS)})",
    )
    parser.add_argument("--rounds", type=_count, default=5, help="interleaved rounds (5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="per column and round (2)")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchmark-output"),
        help="output folder (benchmark-output)",
    )
    parser.add_argument("--list", action="store_true", help="list the workloads")
    parser.add_argument("--resume", action="store_true", help="reuse rows of an earlier run")
    parser.set_defaults(run=benchmark)


def benchmark(options: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    suite = SUITES[options.suite]
    if options.list:
        return show(suite)
    known = {w.name: w for w in suite}
    unknown = [name for name in options.only or () if name not in known]
    if unknown:
        print(f"no such workload: {', '.join(unknown)}\n  known: {', '.join(known)}")
        return 2
    plan = SessionPlan(
        workloads=[known[name] for name in options.only or known],
        columns=[c for c in COLUMNS if c.peer in (OURS, *options.peers)],
        effort=Effort(options.rounds, options.seconds),
        folder=options.out,
        suite=options.suite,
        resume=options.resume,
    )
    return run(plan, lambda text: print(text, flush=True))


def show(suite: tuple[Workload, ...]) -> int:
    """List workloads and columns."""
    print("workloads:")
    for workload in suite:
        print(f"  {workload.name:<15} {workload.title} ({workload.run})")
    print("columns:")
    for column in COLUMNS:
        print(f"  {column.name:<23} {column.about}")
    return 0


def _peers(text: str) -> tuple[str, ...]:
    names = () if text == "none" else tuple(text.split(","))
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(
            f"no such peer: {', '.join(unknown)}; known: {', '.join(PEERS)}"
        )
    return names


def _count(text: str) -> int:
    if not text.isdigit() or text == "0":
        raise argparse.ArgumentTypeError("must be a positive integer")
    return int(text)
