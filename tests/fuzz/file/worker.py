"""A process that reads changed files: it may crash or hang without taking the tester with it.

`python -m tests.fuzz.file.worker` answers each line of JSON with one: what is wrong, or nothing.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[3]
_STARTING = 120.0


class Worker:
    """The process of a command; it is started at the first case, and after every crash."""

    def __init__(self, command: list[str] | None = None) -> None:
        self._command = command or [sys.executable, "-m", "tests.fuzz.file.worker"]
        self._process: subprocess.Popen[bytes] | None = None

    def verdict(self, case: dict[str, Any], seconds: float) -> str:
        """What is wrong about a case."""
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(case).encode() + b"\n")
        process.stdin.flush()
        ready = select.select([process.stdout], [], [], seconds)[0]
        if not ready:
            self.stop()
            return f"reading takes more than {seconds:.0f} s"
        line = process.stdout.readline()
        if not line:
            code = process.wait()
            self.stop()
            return f"the process ends with code {code}"
        return json.loads(line)

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = os.environ | {"MALLOC_ARENA_MAX": "2", "OPENBLAS_NUM_THREADS": "1"}
            self._process = subprocess.Popen(
                self._command,
                cwd=_ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            atexit.register(self.stop)
            ready = select.select([self._process.stdout], [], [], _STARTING)[0]
            assert ready and self._process.stdout is not None, "the process does not start"
            self._process.stdout.readline()
        return self._process


def main() -> None:
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what libraries print is no answer
    from tests.fuzz.file.judge import verdict
    from tests.fuzz.file.registry import FORMATS

    answers.write(b"ready\n")
    for line in sys.stdin:
        case = json.loads(line)
        changes = [tuple(edit) for edit in case["edits"]]
        found = verdict(FORMATS[case["format"]], case["file"], changes, case["reseal"])
        answers.write(json.dumps(found).encode() + b"\n")


if __name__ == "__main__":
    main()
