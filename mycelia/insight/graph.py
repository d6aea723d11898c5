"""Network graphs in TensorBoard's format, `GraphDef`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mycelia._engine.core.files import protobuf
from mycelia.insight.summary import shape

_PRODUCER = 22  # the version of the format


@dataclass(frozen=True)
class EventGraphNode:
    """A node of the graph. Slashes in names separate scopes; inputs are names of other nodes."""

    name: str
    operator: str
    inputs: tuple[str, ...] = ()
    shape: tuple[int, ...] | None = None
    notes: tuple[tuple[str, str], ...] = ()


def graph_def(nodes: Iterable[EventGraphNode]) -> bytes:
    """Encode a whole graph."""
    boxes = b"".join(protobuf.bytes_field(1, _node(node)) for node in nodes)
    return boxes + protobuf.bytes_field(4, protobuf.number_field(1, _PRODUCER))


def _node(node: EventGraphNode) -> bytes:
    message = protobuf.text_field(1, node.name) + protobuf.text_field(2, node.operator)
    message += b"".join(protobuf.text_field(3, name) for name in node.inputs)
    for name, text in node.notes:
        message += _attribute(name, protobuf.text_field(2, text))
    if node.shape is not None:
        shapes = protobuf.bytes_field(7, shape(node.shape))
        message += _attribute("_output_shapes", protobuf.bytes_field(1, shapes))
    return message


def _attribute(name: str, value: bytes) -> bytes:
    return protobuf.bytes_field(5, protobuf.text_field(1, name) + protobuf.bytes_field(2, value))
