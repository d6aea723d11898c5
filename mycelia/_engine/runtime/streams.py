"""Streams and events, on a device with a single queue.

All streams share the queue: operators run in the order of submission, whatever the current stream.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

import jax

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.pending_checks import wait_for_checks


class Event(CheckedKeywords):
    """A marker in a stream; with `enable_timing`, it records the time at which it was reached."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        for name, value in (("enable_timing", enable_timing), ("blocking", blocking)):
            if not isinstance(value, bool):
                raise problem(
                    TypeError,
                    f"For 'Event', the '{name}' must be a bool, but got {type(value).__name__}.",
                )
        self._timed, self._blocking = enable_timing, blocking
        self._reached: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Record the event after all operators submitted so far."""
        _check_stream("Event.record", stream)
        synchronize()
        self._reached = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Make later operators of a stream wait for this event; always satisfied, by order."""
        _check_stream("Event.wait", stream)

    def query(self) -> bool:
        """Whether the operators before this event are complete."""
        return True

    def synchronize(self) -> None:
        """Wait for the operators before this event; `record` has already waited."""

    def elapsed_time(self, other_event: Event) -> float:
        """The milliseconds from this event to another one."""
        if not isinstance(other_event, Event):
            raise wrong_type("Event.elapsed_time", "other_event", other_event, "Event")
        for event in (self, other_event):
            if not event._timed or event._reached is None:
                raise problem(
                    RuntimeError,
                    "Event.elapsed_time: an event has no time",
                    fix="create both with enable_timing=True and record them",
                )
        assert self._reached is not None and other_event._reached is not None
        return (other_event._reached - self._reached) * 1000

    def __repr__(self) -> str:
        made = int(self._reached is not None)
        return (
            f"Event(enable_timing={self._timed:d}, blocking:{self._blocking:d}, is_created:{made})"
        )


class Stream:
    """The queue of operators of the device."""

    def __init__(self, priority: int = 0, **kwargs: Any) -> None:
        self.priority = priority
        self.id = kwargs.get("stream_id", 0)

    def record_event(self, event: Event | None = None) -> Event:
        """Record and return an event after all operators submitted so far."""
        event = Event() if event is None else event
        if not isinstance(event, Event):
            raise wrong_type("Stream.record_event", "event", event, "Event")
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """Make later operators wait for an event."""
        if not isinstance(event, Event):
            raise wrong_type("Stream.wait_event", "event", event, "Event")
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        """Make later operators wait for another stream, which is the same queue."""
        _check_stream("Stream.wait_stream", stream, required=True)

    def query(self) -> bool:
        """Whether all operators are complete; waits for them."""
        synchronize()
        return True

    def synchronize(self) -> None:
        """Wait until all operators are complete."""
        synchronize()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        now = settings.current()
        device = f"device_name={now.device_target}, device_id:{now.device_id}"
        return f"Stream({device}, stream id:{self.id})"


class StreamCtx(CheckedKeywords):
    """Context manager that selects the current stream: `with StreamCtx(stream): ...`."""

    def __init__(self, ctx_stream: Stream) -> None:
        _check_stream("StreamCtx", ctx_stream, required=True)
        self.stream = ctx_stream

    def __enter__(self) -> None:
        self._before = current_stream()
        set_cur_stream(self.stream)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        set_cur_stream(self._before)


_DEFAULT = Stream()


class _CurrentStream:
    stream: Stream = _DEFAULT


def current_stream() -> Stream:
    """The current stream."""
    return _CurrentStream.stream


def default_stream() -> Stream:
    """The default stream of the process."""
    return _DEFAULT


def communication_stream() -> Stream:
    """The stream of collective operators: the same queue."""
    return _DEFAULT


def set_cur_stream(stream: Stream | None) -> None:
    """Select `stream` as the current stream."""
    _check_stream("set_cur_stream", stream)
    _CurrentStream.stream = _DEFAULT if stream is None else stream


def synchronize() -> None:
    """Wait until the device has completed all operators; raise if an index was wrong."""
    jax.effects_barrier()
    for array in jax.live_arrays():
        if not array.is_deleted():
            array.block_until_ready()
    wait_for_checks()


def _check_stream(owner: str, stream: Any, required: bool = False) -> None:
    if not isinstance(stream, Stream) and (required or stream is not None):
        raise wrong_type(owner, "stream", stream, "Stream")
