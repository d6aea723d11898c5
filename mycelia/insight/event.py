"""Events: the records of an event file."""

from __future__ import annotations

from mycelia._engine.core.files import protobuf

_VERSION = "brain.Event:2"  # the file version that TensorBoard expects


def version_event(time: float) -> bytes:
    """The first event of a file."""
    return protobuf.double_field(1, time) + protobuf.text_field(3, _VERSION)


def graph_event(time: float, graph: bytes) -> bytes:
    """The graph of a network."""
    return protobuf.double_field(1, time) + protobuf.bytes_field(4, graph)


def summary_event(time: float, step: int, summary: bytes) -> bytes:
    """The values of a step."""
    head = protobuf.double_field(1, time) + protobuf.number_field(2, step)
    return head + protobuf.bytes_field(5, summary)
