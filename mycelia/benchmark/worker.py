"""A framework in a separate process, which runs workloads on request."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from types import TracebackType
from typing import Any

from mycelia.benchmark.workloads import Workload

SCRIPTS = Path(__file__).with_name("workers")
DESCRIPTIONS = "workloads.json"
GRACE = 10.0  # seconds that a worker may take to exit


class WorkerProcess:
    """A worker in a temporary folder, since some frameworks write files to the current folder."""

    def __init__(
        self, command: Sequence[str], workloads: Sequence[Workload], environment: dict[str, str]
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="mycelia-benchmark-"))
        shutil.copytree(SCRIPTS, self.folder / "workers")
        sizes = {w.name: w.sizes for w in workloads}
        (self.folder / DESCRIPTIONS).write_text(json.dumps(sizes))
        self.errors = self.folder / "errors.txt"
        caches = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                cwd=self.folder,
                env=os.environ | caches | environment,
            )
        self.lines: Queue[str] = Queue()
        Thread(target=self._listen, daemon=True).start()

    def ask(self, name: str, seconds: float, patience: float) -> dict[str, Any]:
        """The worker's answer, or {"error": reason}."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(f"{name} {seconds}\n")
            self.process.stdin.flush()
            line = self.lines.get(timeout=patience)
        except (BrokenPipeError, Empty):
            line = ""
        if line:
            return json.loads(line)
        return {"error": self._failure(patience)}

    def close(self) -> None:
        """End the process and remove its folder."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.close()
            self.process.wait(GRACE)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _listen(self) -> None:
        """Forward the worker's output; an empty line at its end."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def _failure(self, patience: float) -> str:
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return f"no answer within {patience:.0f} s"
        lines = self.errors.read_text(errors="replace").strip().splitlines()
        return f"the worker exited with code {code}: {lines[-1] if lines else 'no error message'}"
