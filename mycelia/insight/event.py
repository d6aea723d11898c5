"""Events: the records of an event file."""

from __future__ import annotations

from mycelia.core import wire

_VERSION = "brain.Event:2"  # what TensorBoard expects a file to begin with


def version_event(time: float) -> bytes:
    """The first event of a file."""
    return wire.double_field(1, time) + wire.text_field(3, _VERSION)


def graph_event(time: float, graph: bytes) -> bytes:
    """The graph of a network."""
    return wire.double_field(1, time) + wire.bytes_field(4, graph)


def summary_event(time: float, step: int, summary: bytes) -> bytes:
    """The values of a step."""
    head = wire.double_field(1, time) + wire.number_field(2, step)
    return head + wire.bytes_field(5, summary)
