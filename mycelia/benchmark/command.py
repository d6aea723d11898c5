"""The subcommand `mycelia benchmark`: its options, checked and turned into a plan."""

from __future__ import annotations

import argparse
from pathlib import Path

from mycelia.benchmark.columns import COLUMNS, OURS, PEERS
from mycelia.benchmark.interleave import Effort
from mycelia.benchmark.session import SessionPlan, run
from mycelia.benchmark.workloads import SUITES, Workload


def add_options(parser: argparse.ArgumentParser) -> None:
    """Describe the options of the subcommand."""
    parser.add_argument("--suite", choices=sorted(SUITES), default="cpu", help="what to run (cpu)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these workloads only")
    parser.add_argument(
        "--peers",
        type=_peers,
        default=PEERS,
        metavar="A,B",
        help=f"peers beside Mycelia, or none ({','.join(PEERS)})",
    )
    parser.add_argument("--rounds", type=_count, default=5, help="interleaved rounds (5)")
    parser.add_argument("--seconds", type=float, default=2.0, help="of a column in a round (2)")
    parser.add_argument(
        "--out", type=Path, default=Path("benchmark-output"), help="folder (benchmark-output)"
    )
    parser.add_argument("--list", action="store_true", help="show workloads and columns, and end")
    parser.add_argument("--resume", action="store_true", help="keep rows measured before")
    parser.set_defaults(run=benchmark)


def benchmark(options: argparse.Namespace) -> int:
    """Run the subcommand; gives the exit code."""
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
    """Print what can be measured."""
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
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return int(text)
