"""The first thing that runs in each process: it ends with its launcher, then runs the script.

It is started as a file, and knows nothing of Mycelia until it is sure to end with its launcher:
`python worker.py LAUNCHER SCRIPT [ARGUMENTS]`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1  # of Linux


def end_with(launcher: int) -> None:
    """Be killed when the launcher ends, however it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != launcher:  # it ended before we asked
        os._exit(1)


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    importlib.import_module("mycelia.launch.script_process").main(sys.argv[2], sys.argv[3:])
