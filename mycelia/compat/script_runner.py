"""Runs MindSpore scripts and modules on Mycelia."""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from mycelia.compat.importer import install


def run(script: str, arguments: list[str]) -> None:
    """Run `script` as `python script arguments...` would, with `mindspore` served by Mycelia."""
    path = Path(script)
    if not path.exists():
        raise SystemExit(f"mycelia run: no such file: {script}")
    install()
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(path if path.is_dir() else path.parent))
    runpy.run_path(script, run_name="__main__")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("script", help="a Python file, or a folder with a __main__.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    parser.set_defaults(run=run_command)


def run_command(options: argparse.Namespace) -> int:
    run(options.script, options.arguments)
    return 0


def main() -> int:
    """`python -m mycelia.compat SCRIPT [ARGUMENTS]`."""
    parser = argparse.ArgumentParser(
        prog="python -m mycelia.compat", description="Run a MindSpore script on Mycelia, unchanged."
    )
    add_options(parser)
    return run_command(parser.parse_args())
