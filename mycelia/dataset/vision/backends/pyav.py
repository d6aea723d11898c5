"""Optional import of PyAV, for video decoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module

av = optional_module("av")


def opened(owner: str, source: Any) -> Any:
    """Open the container of a video, from a file name or from bytes."""
    if av is None:
        raise problem(
            ImportError,
            f"{owner}: requires PyAV, which is not installed",
            fix="pip install 'mycelia[video]'",
        )
    try:
        container = av.open(source)
    except (av.FFmpegError, ValueError) as error:
        raise problem(
            RuntimeError, f"{owner}: the video cannot be opened", got=str(error)
        ) from error
    if not container.streams.video:
        container.close()
        raise problem(RuntimeError, f"{owner}: the file has no video stream")
    return container


def decoded(owner: str, container: Any, *streams: Any) -> Iterator[Any]:
    """The frames of some streams of a container."""
    try:
        yield from container.decode(*streams)
    except av.FFmpegError as error:
        raise problem(
            RuntimeError, f"{owner}: the video cannot be decoded completely", got=str(error)
        ) from error
