"""The entry point of each process: ties it to the launcher, then runs the script.

It runs as a file and imports Mycelia only after it is certain to end with its launcher:
`python worker.py LAUNCHER SCRIPT [ARGUMENTS]`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # a Linux constant


def end_with(launcher: int) -> None:
    """Let the kernel kill this process when the launcher ends for any reason."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:  # it ended before the call
        os._exit(1)


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    importlib.import_module("mycelia.launch.script_process").main(sys.argv[2], sys.argv[3:])
