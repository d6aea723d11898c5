"""Workers that only pretend to measure, in place of the real ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mycelia.benchmark import processor, worker

FAKE = """
import json, os, sys

print("noise that a framework prints", file=sys.stderr)
for request in sys.stdin:
    name, seconds = request.split()
    behaviour = os.environ.get("FAKE_" + os.path.basename(__file__)[:-3].upper(), "")
    if behaviour == "die":
        print("out of memory", file=sys.stderr)
        os._exit(7)
    if behaviour == "refuse":
        print(json.dumps({"error": "RuntimeError: no such kernel\\nfor this device"}), flush=True)
        continue
    time = {"cell_nets": 2.0, "torch_nets": 4.0, "jax_nets": 8.0}[os.path.basename(__file__)[:-3]]
    print(json.dumps({
        "minimum": time / 2, "median": time, "runs": 3, "seconds": float(seconds),
        "processor": 0.0, "first_call": 0.5, "memory": 100.0,
        "values": [2.5 if behaviour == "differ" else 1.0, 0.9],
        "parameters": 11 if behaviour == "count" else 10,
        "malloc": "default", "version": "fake 1.0",
    }), flush=True)
"""


@pytest.fixture
def fake_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """All workers pretend; FAKE_CELL_NETS=die (refuse, differ, count) makes one misbehave."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    (scripts / "__init__.py").touch()
    for name in ("cell_nets", "torch_nets", "jax_nets"):
        (scripts / f"{name}.py").write_text(FAKE)
    monkeypatch.setattr(worker, "SCRIPTS", scripts)
    monkeypatch.setattr(processor, "STATISTICS", tmp_path / "no statistics")
    for peer in ("TORCH", "MINDSPORE"):
        monkeypatch.setenv(f"MYCELIA_PEER_{peer}", sys.executable)
    return monkeypatch
