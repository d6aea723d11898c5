"""Jobs for tests: a launcher with real processes, and what is left of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

MYCELIA = Path(sys.executable).with_name("mycelia")
TOKEN = "MYCELIA_TEST_TOKEN"


class Running:
    """A launcher under way. All its processes and theirs carry a token in their environment."""

    def __init__(self, folder: Path, options: list[str], script: str, *arguments: str) -> None:
        self.folder, self.token = folder, uuid.uuid4().hex
        (folder / "script.py").write_text(script)
        self.process = subprocess.Popen(
            [MYCELIA, "launch", *options, str(folder / "script.py"), *arguments],
            cwd=folder,
            env={**os.environ, TOKEN: self.token},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def end(self, seconds: float = 150) -> tuple[int, str, str]:
        """The exit code, the output and the errors of the launcher."""
        try:
            output, errors = self.process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            for pid in self.left():
                os.kill(pid, 9)
            output, errors = self.process.communicate()
            raise AssertionError(f"the job did not end:\n{output}\n{errors}") from None
        return self.process.returncode, output, errors

    def left(self) -> list[int]:
        """The processes of the job that are still there."""
        mark = f"{TOKEN}={self.token}".encode()
        return [
            int(folder.name)
            for folder in Path("/proc").iterdir()
            if folder.name.isdigit() and mark in _read(folder / "environ").split(b"\0")
        ]

    def ranks(self) -> list[int]:
        """The processes with a rank, in their order."""
        found = {}
        for pid in self.left():
            if b"worker.py" in _read(Path(f"/proc/{pid}/cmdline")):
                variables = _read(Path(f"/proc/{pid}/environ")).split(b"\0")
                named = dict(v.split(b"=", 1) for v in variables if b"=" in v)
                if b"MYCELIA_RANK" in named:
                    found[int(named[b"MYCELIA_RANK"])] = pid
        return [found[rank] for rank in sorted(found)]

    def wait_for(self, what: Callable[[], bool], seconds: float = 100) -> None:
        until = time.monotonic() + seconds
        while not what():
            assert time.monotonic() < until, f"waited {seconds} s in vain; left: {self.left()}"
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.05)

    def wait_for_file(self, name: str) -> None:
        self.wait_for((self.folder / name).exists)


def launch(folder: Path, options: list[str], script: str, *arguments: str) -> tuple[int, str, str]:
    """Run a job to its end; nothing of it may be left."""
    job = Running(folder, options, script, *arguments)
    found = job.end()
    assert job.left() == []
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:  # it has just ended
        return b""
