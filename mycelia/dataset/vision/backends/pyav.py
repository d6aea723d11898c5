"""PyAV, if it is installed: the decoding of videos."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import optional_module

av = optional_module("av")


def opened(owner: str, source: Any) -> Any:
    """The container of a video: a file by its name, or bytes that can be read."""
    if av is None:
        raise problem(
            ImportError,
            f"{owner}: needs PyAV, which is not installed",
            fix="pip install 'mycelia[video]'",
        )
    try:
        container = av.open(source)
    except (av.FFmpegError, ValueError) as error:
        raise problem(
            RuntimeError, f"{owner}: this is no video that can be opened", got=str(error)
        ) from error
    if not container.streams.video:
        container.close()
        raise problem(RuntimeError, f"{owner}: there are no pictures in it")
    return container


def decoded(owner: str, container: Any, *streams: Any) -> Iterator[Any]:
    """The frames of some streams of a container."""
    try:
        yield from container.decode(*streams)
    except av.FFmpegError as error:
        raise problem(
            RuntimeError, f"{owner}: a part of the video cannot be decoded", got=str(error)
        ) from error
