"""The subcommand `mycelia launch`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mycelia.communication.environment import DEFAULT_TIMEOUT
from mycelia.launch.job import LaunchJob
from mycelia.launch.supervisor import run

_MORE = """\
examples:
  mycelia launch -n 4 train.py --epochs 3     four processes on this machine
  mycelia launch --virtual 8 train.py         one process with eight virtual CPU devices
  mycelia launch -n 4 --hosts 2 --host-rank 0 --coordinator 10.0.0.1:29500 train.py
                                              eight processes, four of them on this machine

Each process gets its rank from mycelia.communication.init(), and from the variables of MindSpore's
launcher (RANK_ID, RANK_SIZE, DEVICE_ID, MS_WORKER_NUM, ...). The script may import mindspore. If a
process dies or is stuck, all are ended, and the exit code is that of the first one.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _MORE
    parser.add_argument(
        "-n", "--processes", type=int, default=1, help="processes on this machine (default: 1)"
    )
    parser.add_argument(
        "--virtual",
        type=int,
        default=0,
        metavar="DEVICES",
        help="virtual CPU devices per process",
    )
    parser.add_argument(
        "--hosts", type=int, default=1, help="machines with this many processes each (default: 1)"
    )
    parser.add_argument("--host-rank", type=int, default=0, help="the index of this machine")
    parser.add_argument(
        "--coordinator",
        default="",
        metavar="HOST:PORT",
        help="where the processes connect: a free port of the machine with host rank 0",
    )
    parser.add_argument(
        "--log-dir",
        type=Path,
        metavar="FOLDER",
        help="write the output of rank 2 to rank_2.log there, instead of showing it",
    )
    parser.add_argument(
        "--timeout",
        type=int,
        default=DEFAULT_TIMEOUT,
        metavar="SECONDS",
        help="end the job if a process blocks others for longer (default: %(default)s)",
    )
    parser.add_argument(
        "--restarts",
        type=int,
        default=0,
        metavar="TIMES",
        help="restart all processes if one fails; the script resumes from its own checkpoint, "
        "and MYCELIA_RESTART_COUNT is the number of restarts (default: 0)",
    )
    parser.add_argument("script", help="a Python file, or a folder with a __main__.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.set_defaults(run=run_command)


def run_command(options: argparse.Namespace) -> int:
    names = (
        "processes", "virtual", "hosts", "host_rank", "coordinator", "log_dir", "timeout",
        "restarts", "script",
    )  # fmt: skip
    job = LaunchJob(
        arguments=tuple(options.arguments), **{name: getattr(options, name) for name in names}
    )
    try:
        job.check()
    except ValueError as error:
        print(f"mycelia {error}", file=sys.stderr)
        return 2
    return run(job)
