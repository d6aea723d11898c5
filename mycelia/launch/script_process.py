"""Running the script in one of the processes, and ending at once if it fails.

Processes that end well wait for each other. One that fails must not: the others may wait for it.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from types import TracebackType

from mycelia._engine.runtime.distributed.multiprocess_jit import LostProcess
from mycelia.communication.environment import WATCHED
from mycelia.compat import script_runner
from mycelia.launch.heartbeat import HeartbeatSender


def main(script: str, arguments: list[str]) -> None:
    """Run `script`; this process ends with its exit code."""
    heart = HeartbeatSender(int(os.environ[WATCHED]))
    heart.start()
    try:
        script_runner.run(script, arguments)
    except SystemExit as end:
        code = _code(end)
        heart.end(f"it left with {end.code!r}" if code else "")
        if code:
            _leave(code)
    except LostProcess as error:
        print(error, file=sys.stderr)  # the launcher tells whose fault it is
        heart.end("another process was lost", follows=True)
        _leave(1)
    except BaseException as error:
        traceback.print_exception(
            type(error), error, _from_script(error.__traceback__, script), file=sys.stderr
        )
        said = (str(error).splitlines() or [""])[0]
        heart.end(f"{type(error).__name__}: {said}")
        _leave(130 if isinstance(error, KeyboardInterrupt) else 1)
    else:
        heart.end()


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 255
    print(end.code, file=sys.stderr)
    return 1


def _leave(code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _from_script(frames: TracebackType | None, script: str) -> TracebackType | None:
    """The frames from the script on; those before are ours."""
    found = frames
    while found is not None:
        if Path(found.tb_frame.f_code.co_filename) == Path(script):
            return found
        found = found.tb_next
    return frames
