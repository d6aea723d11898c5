"""The Python environments of peers, created once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mycelia.benchmark.columns import OURS

PACKAGES = {
    "torch": ("torch==2.13.0", "numpy"),
    "mindspore": ("mindspore==2.10.0", "numpy==1.26.4"),
}
INDEXES = {"torch": "https://download.pytorch.org/whl/cpu"}  # wheels without GPU libraries
SHARED = (OURS, "jax")  # jax comes with Mycelia, so its version is the same by construction

Say = Callable[[str], None]


@dataclass(frozen=True)
class MissingPeer:
    """A peer that cannot run, and how to fix that."""

    why: str


def find(peer: str, say: Say) -> Path | MissingPeer:
    """The Python of a peer: from an environment variable, or a cached or new environment."""
    if peer in SHARED:
        return Path(sys.executable)
    named = os.environ.get(variable(peer))
    if named is None:
        return _environment(peer, say)
    if shutil.which(named) is None:
        return MissingPeer(f"{variable(peer)}={named} is not a program; set it to a Python")
    return Path(named)


def variable(peer: str) -> str:
    """The environment variable with the path of a peer's Python."""
    return f"MYCELIA_PEER_{peer.upper()}"


def folder() -> Path:
    """The folder of peer environments."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "mycelia" / "peers"


def _environment(peer: str, say: Say) -> Path | MissingPeer:
    packages = PACKAGES[peer]
    place = folder() / packages[0].replace("==", "-")
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    complete = place / "complete"
    if complete.exists() and python.exists():
        return python
    say(f"installing {' '.join(packages)} into {place} (once; this can take minutes)")
    index = ["--extra-index-url", INDEXES[peer]] if peer in INDEXES else []
    try:
        venv.create(place, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", *index, *packages], check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return MissingPeer(
            f"{' '.join(packages)} could not be installed ({error}). "
            f"Set {variable(peer)} to a Python that has it, or leave it out with --peers"
        )
    complete.touch()
    return python
