"""`mycelia check`: the MindSpore names that scripts use, and which of them are supported."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mycelia.compat.coverage_report import is_there
from mycelia.compat.importer import nearest
from mycelia.compat.scan import found_in, python_files

GOOD, MISSING, UNREADABLE = 0, 1, 2


@dataclass
class Report:
    """Names that a set of files uses: the locations of each path, and unreadable files."""

    files: int
    places: dict[str, list[str]]
    unreadable: list[str]
    unknown_methods: int = 0
    unknown_names: dict[str, list[str]] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        return sorted(path for path in self.places if not is_there(path))

    @property
    def served(self) -> list[str]:
        return sorted(path for path in self.places if is_there(path))

    @property
    def exit_code(self) -> int:
        if self.unreadable:
            return UNREADABLE
        return MISSING if self.missing or self.unknown_names else GOOD

    def as_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "served": {path: self.places[path] for path in self.served},
            "missing": {path: self.places[path] for path in self.missing},
            "unreadable": self.unreadable,
            "unknown_methods": self.unknown_methods,
            "unknown_names": self.unknown_names,
        }


def report(paths: list[str]) -> Report:
    """Analyze files and folders without running anything."""
    result = Report(0, {}, [])
    for path in python_files(paths):
        result.files += 1
        try:
            used = found_in(path.read_text(encoding="utf-8"), str(path))
        except (OSError, SyntaxError, UnicodeDecodeError) as error:
            result.unreadable.append(f"{path}: {error}")
            continue
        result.unknown_methods += used.unknown_methods
        for name, lines in used.unknown_names.items():
            result.unknown_names.setdefault(name, []).extend(f"{path}:{line}" for line in lines)
        for name, lines in used.uses.items():
            result.places.setdefault(name, []).extend(f"{path}:{line}" for line in lines)
    return result


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="scripts, or folders of scripts")
    parser.add_argument("--all", action="store_true", help="list the served names, too")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the report. Exit code: 0 all served, 1 names missing, 2 files unreadable."""
    absent = [path for path in options.paths if not Path(path).exists()]
    if absent:
        print(f"mycelia check: no such file or folder: {', '.join(absent)}", file=sys.stderr)
        return UNREADABLE
    result = report(options.paths)
    if options.json:
        print(json.dumps(result.as_json(), indent=2))
    else:
        print("\n".join(_lines(result, options.all)))
    return result.exit_code


def _lines(result: Report, everything: bool) -> list[str]:
    lines = [f"unreadable  {text}" for text in result.unreadable]
    for path in result.missing:
        lines.append(f"missing     {path}  {_places(result.places[path])}")
        module, _, name = path.rpartition(".")
        lines += [f"            {hint}" for hint in nearest(module, name)]
    if everything:
        lines += [f"served      {p}  {_places(result.places[p])}" for p in result.served]
    for name, places in sorted(result.unknown_names.items()):
        lines.append(f"unknown     {name}  {_places(places)}: bound only by `import *`, if at all")
    if result.unknown_methods:
        lines.append(
            f"not checked: {result.unknown_methods} method calls on objects of unknown class"
        )
    count = len(result.places)
    lines.append(f"{result.files} file(s), {count} names used, {len(result.served)} served")
    return lines


def _places(places: list[str], most: int = 5) -> str:
    more = f" and {len(places) - most} more" if len(places) > most else ""
    return ", ".join(places[:most]) + more
