"""Running the script in one of the processes, and exiting immediately if it fails.

Processes that succeed wait for each other. One that fails must not, since others may wait for it.
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
    """Run `script`; this process exits with its exit code."""
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
        print(error, file=sys.stderr)  # the launcher reports which process failed
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
    """The frames from the script on, without those of the launcher."""
    frame = frames
    while frame is not None:
        if Path(frame.tb_frame.f_code.co_filename) == Path(script):
            return frame
        frame = frame.tb_next
    return frames
