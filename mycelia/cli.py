"""The command-line interface: `mycelia info`, `benchmark`, `run`, `launch`, and `check`."""

from __future__ import annotations

import argparse
import platform
from importlib.metadata import version

from mycelia._engine.runtime import devices
from mycelia.benchmark import command as benchmark
from mycelia.compat import check, script_runner
from mycelia.launch import command as launch


def main(arguments: list[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    parser = argparse.ArgumentParser(prog="mycelia", description="The Mycelia framework.")
    parser.add_argument("--version", action="version", version=f"mycelia {version('mycelia')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    info = commands.add_parser("info", help="show versions and available devices")
    info.set_defaults(run=show_info)
    measure = commands.add_parser("benchmark", help="compare with other frameworks on this machine")
    benchmark.add_options(measure)
    script = commands.add_parser("run", help="run an unmodified MindSpore script on Mycelia")
    script_runner.add_options(script)
    several = commands.add_parser("launch", help="start a script in several processes")
    launch.add_options(several)
    names = commands.add_parser("check", help="list which MindSpore names in scripts are supported")
    check.add_options(names)
    options = parser.parse_args(arguments)
    result: int = options.run(options)
    return result


def show_info(options: argparse.Namespace) -> int:
    """Print the versions and the available devices."""
    print(f"mycelia {version('mycelia')} on Python {platform.python_version()}")
    print(f"engine: jax {version('jax')}")
    print(f"available device targets, best first: {', '.join(devices.available())}")
    return 0
