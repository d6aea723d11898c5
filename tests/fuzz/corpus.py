"""Cases as JSON files: past failures in `tests/fuzz/corpus/<kind>`, replayed by the tests."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz.kind import Kind

FOLDER = Path(__file__).parent / "corpus"


def dump(case: Any, failure: str = "") -> str:
    """A case as JSON text; `failure` is kept beside it as a comment for the reader."""
    found = {"failure": failure.splitlines()[:1], "case": asdict(case)}
    return json.dumps(found, indent=1) + "\n"


def load(kind: Kind, text: str) -> Any:
    """The case of a JSON text."""
    fields = json.loads(text)["case"]
    return kind.Case(**{name: _frozen(value) for name, value in fields.items()})


def files() -> list[Path]:
    """All files of the corpus; the folder of a file is named after its kind."""
    return sorted(FOLDER.glob("*/*.json"))


def _frozen(value: Any) -> Any:
    """JSON's lists as tuples."""
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return {key: _frozen(item) for key, item in value.items()}
    return value
