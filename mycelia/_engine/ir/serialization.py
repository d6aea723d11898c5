"""Serialization of graphs in a versioned binary format.

A file consists of a head (magic, version, two sizes, a SHA-256 checksum), a JSON text with the
graphs, and the data of all arrays, little-endian. Operators are stored by name and fields, and
created again from a vocabulary that the caller passes: nothing in a file is executed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType, by_name, from_numpy
from mycelia._engine.core.errors import located, problem
from mycelia._engine.core.files.text_files import json_value
from mycelia._engine.core.source_location import Span
from mycelia._engine.core.tracebacks import is_explained
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import (
    CALL,
    SWITCH,
    TUPLE,
    WHILE,
    Custom,
    Item,
    Recompute,
    Scan,
    Vmap,
)
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphConstant, GraphNode, owner
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.types import TensorType, parse_type

MAGIC = b"MYCELIR\n"
VERSION = 1
_HEAD = struct.Struct("<8sIQQ32s")
_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
_PLAIN_PRIMITIVES: dict[str, Primitive] = {p.name: p for p in (TUPLE, SWITCH, WHILE, CALL)}
_PRIMITIVES_WITH_FIELDS: dict[str, type[Primitive]] = {"item": Item, "vmap": Vmap, "scan": Scan}
_CONTROL = {*map(type, _PLAIN_PRIMITIVES.values()), *_PRIMITIVES_WITH_FIELDS.values()}
_WRONG = (TypeError, IndexError, AttributeError, OverflowError, RecursionError)


@dataclass(frozen=True)
class SerializableTypes:
    """The types that a file may name: classes of operators, and of the records among their fields.

    `make` creates an operator of a class with these fields.
    """

    operators: Mapping[str, type[Primitive]]
    records: Mapping[str, type]
    make: Callable[[type, dict[str, Any]], Primitive]


@dataclass(frozen=True)
class StoredSpan(Span):
    """A location in user code that is stored in a file, without the code itself."""

    @property
    def text(self) -> str:
        return ""


def pack(root: Graph, about: Mapping[str, Any], vocabulary: SerializableTypes) -> list[bytes]:
    """Serialize `root`, all graphs it reaches, and further facts about it, in chunks."""
    writer = _GraphSerializer(vocabulary)
    header = {"graphs": writer.graphs(root), "about": writer.value(dict(about), None)}
    header |= {"operators": writer.operators, "places": writer.places}
    arrays = [np.ascontiguousarray(array).tobytes() for array in writer.arrays]
    header["arrays"] = [str(_array_type(array)) for array in writer.arrays]
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    digest = hashlib.sha256(text)
    for array in arrays:
        digest.update(array)
    head = _HEAD.pack(MAGIC, VERSION, len(text), sum(map(len, arrays)), digest.digest())
    return [head, text, *arrays]


def fingerprint(root: Graph, vocabulary: SerializableTypes) -> str:
    """A hash of what `root` computes: the same for equal graphs in every process.

    Source locations do not count. Raises RuntimeError for values that cannot be hashed.
    """
    writer = _FingerprintSerializer(vocabulary)
    text = json.dumps([writer.graphs(root), writer.operators], separators=(",", ":"))
    digest = hashlib.sha256(text.encode())
    for array in writer.arrays:
        digest.update(f"{_array_type(array)}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def unpack(data: bytes, vocabulary: SerializableTypes) -> tuple[Graph, dict[str, Any]]:
    """Deserialize a graph and the facts about it; raises ValueError if the file is invalid."""
    text, arrays = _sections(data)
    return guarded(lambda: _GraphDeserializer(text, arrays, vocabulary).read())


def guarded(read: Callable[[], Any]) -> Any:
    """The result of `read`; errors from unexpected file content become ValueErrors."""
    try:
        return read()
    except ValueError as error:
        if is_explained(error):
            raise
        raise damaged(str(error)) from error
    except KeyError as error:
        raise damaged(f"missing entry {error}") from error
    except _WRONG as error:
        raise damaged(str(error)) from error


def damaged(got: str) -> ValueError:
    """The error for a file with invalid content."""
    return problem(
        ValueError,
        "the file does not contain a valid program",
        got=got,
        fix="export it again",
    )


# ---- serialization -------------------------------------------------------------------------------


class _GraphSerializer:
    """Collects what graphs share: operators, arrays, and source locations, each written once."""

    def __init__(self, vocabulary: SerializableTypes) -> None:
        self.operators: list[Any] = []
        self.arrays: list[Any] = []
        self.places: list[Any] = []
        self._operator_names = {cls: name for name, cls in vocabulary.operators.items()}
        self._record_names = {cls: name for name, cls in vocabulary.records.items()}
        self._operator_numbers: dict[Primitive, int] = {}
        self._array_numbers: dict[int, int] = {}
        self._place_numbers: dict[Span, int] = {}
        self._graph_numbers: dict[Graph, int] = {}

    def graphs(self, root: Graph) -> list[Any]:
        bodies = nodes_by_graph(root)
        self._graph_numbers = {graph: number for number, graph in enumerate(bodies)}
        return [self._graph(graph, nodes) for graph, nodes in bodies.items()]

    def _graph(self, graph: Graph, nodes: list[Apply]) -> Any:
        inner: list[GraphNode] = [*graph.parameters, *nodes]
        numbers = {node: number for number, node in enumerate(inner)}
        return {
            "name": graph.name,
            "at": self._place(graph.span),
            "parameters": [[p.name, _type_text(p.type)] for p in graph.parameters],
            "nodes": [self._apply(node, numbers) for node in nodes],
            "output": self._reference(graph.output, numbers, graph),
        }

    def _apply(self, node: Apply, numbers: dict[GraphNode, int]) -> Any:
        op = node.fn.value if isinstance(node.fn, GraphConstant) else None
        if not isinstance(op, Primitive):
            raise _unstorable("a call of a function that is only known when the program runs", node)
        return {
            "apply": self._operator(op, node),
            "to": [self._reference(a, numbers, node.graph, node) for a in node.args],
            "type": _type_text(node.type),
            "at": self._place(node.span),
        }

    def _reference(
        self,
        node: GraphNode,
        numbers: dict[GraphNode, int],
        graph: Graph,
        user: GraphNode | None = None,
    ) -> Any:
        """The index of a node of the same graph, or a constant."""
        if node in numbers:
            return numbers[node]
        if not isinstance(node, GraphConstant):
            holder = owner(node)
            name = holder.name if holder is not None else "nothing"
            raise _unstorable(f"a value of {name} inside {graph.name}", user or node)
        return {"constant": self.value(node.value, user or node)}

    def _operator(self, op: Primitive, node: GraphNode | None) -> int:
        number = self._operator_numbers.get(op)
        if number is None:
            made = self._made_operator(op, node)
            number = self._operator_numbers[op] = len(self.operators)
            self.operators.append(made)
        return number

    def _made_operator(self, op: Primitive, node: GraphNode | None) -> Any:
        is_control = type(op) in _CONTROL
        name = op.name if is_control else self._operator_names.get(type(op))
        if name is None:
            raise _unstorable(f"the operator {op.name}", node)
        found: dict[str, Any] = {"name": name}
        for part, values in (("fields", op.attributes), ("marks", op.marks)):
            if values:
                found[part] = {k: self.value(v, node) for k, v in values.items()}
        return found

    def _place(self, span: Span | None) -> int | None:
        if span is None:
            return None
        number = self._place_numbers.get(span)
        if number is None:
            number = self._place_numbers[span] = len(self.places)
            name = span.file.replace("\\", "/").rpartition("/")[2]
            self.places.append([name, span.line, span.column, span.end_column, span.function])
        return number

    def value(self, value: Any, node: GraphNode | None) -> Any:
        """A value as JSON: plain ones unchanged, others as an object that names their kind."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is complex:
            return {"complex": [self.value(value.real, node), self.value(value.imag, node)]}
        if type(value) is bytes:
            return {"bytes": base64.b64encode(value).decode()}
        if isinstance(value, np.ndarray | np.generic) or hasattr(value, "sharding"):
            return self._array(value)
        if type(value) in (tuple, list, slice, range, dict):
            return self._container(value, node)
        if isinstance(value, DType):
            return {"dtype": value.name}
        if isinstance(value, TensorType):
            return {"type": str(value)}
        if value is Ellipsis:
            return {"ellipsis": True}
        if isinstance(value, type) and value in _KINDS.values():
            return {"kind": value.__name__}
        if isinstance(value, Graph) and value in self._graph_numbers:
            return {"graph": self._graph_numbers[value]}
        if isinstance(value, Primitive):
            return {"operator": self._operator(value, node)}
        if type(value) in self._record_names and is_dataclass(value):
            parts = {f.name: self.value(getattr(value, f.name), node) for f in fields(value)}
            return {"record": self._record_names[type(value)], "fields": parts}
        raise _unstorable(f"a value of the type {type(value).__name__}", node)

    def _container(self, value: Any, node: GraphNode | None) -> Any:
        if isinstance(value, (slice, range)):
            parts = [self.value(p, node) for p in (value.start, value.stop, value.step)]
        elif isinstance(value, dict):
            parts = [[self.value(k, node), self.value(v, node)] for k, v in value.items()]
        else:
            parts = [self.value(v, node) for v in value]
        return {type(value).__name__: parts}

    def _array(self, value: Any) -> Any:
        number = self._array_numbers.get(id(value))
        if number is None:
            number = self._array_numbers[id(value)] = len(self.arrays)
            self.arrays.append(value)
        return {"number" if isinstance(value, np.generic) else "array": number}


class _FingerprintSerializer(_GraphSerializer):
    """Writes what a graph computes, without source locations."""

    def _place(self, span: Span | None) -> int | None:
        return None

    def _made_operator(self, op: Primitive, node: GraphNode | None) -> Any:
        is_transparent = isinstance(op, Recompute | Custom)  # these only affect gradients
        return {"name": op.name} if is_transparent else super()._made_operator(op, node)


def _unstorable(what: str, node: GraphNode | None) -> RuntimeError:
    return located(
        RuntimeError,
        f"cannot store {what} in a file",
        expected="the framework's own operators, with plain values and arrays as their fields",
        fix="leave this out of what is exported, or write it with operators of mycelia.ops",
        span=node.span if node is not None else None,
    )


def _type_text(type_: Any) -> Any:
    return [_type_text(t) for t in type_] if isinstance(type_, tuple) else type_ and str(type_)


def _array_type(array: Any) -> TensorType:
    return TensorType(from_numpy(array.dtype), tuple(array.shape))


# ---- deserialization ---------------------------------------------------------------------------


def _sections(data: bytes) -> tuple[memoryview, memoryview]:
    """The text and array sections of a complete file of a supported version."""
    if data[: len(MAGIC)] != MAGIC:
        raise problem(
            ValueError,
            "this is not a Mycelia MindIR file",
            got=f"the file starts with {data[: len(MAGIC)]!r}",
            expected=f"{MAGIC!r}",
            fix="MindSpore's own files have another format: export the network with mycelia",
        )
    if len(data) < _HEAD.size:
        raise _cut_off(len(data), _HEAD.size)
    _, version, text_size, arrays_size, checksum = _HEAD.unpack_from(data)
    if not 1 <= version <= VERSION:
        raise problem(
            ValueError,
            "this Mycelia does not support the version of the file",
            got=f"version {version}",
            expected=f"at most {VERSION}",
            fix="install a newer Mycelia" if version > VERSION else "export it again",
        )
    expected = _HEAD.size + text_size + arrays_size
    if len(data) != expected:
        raise _cut_off(len(data), expected)
    body = memoryview(data)[_HEAD.size :]
    if hashlib.sha256(body).digest() != checksum:
        raise problem(
            ValueError,
            "the file is damaged: its checksum is wrong",
            fix="copy it again, or export it again",
        )
    return body[:text_size], body[text_size:]


def _cut_off(got: int, expected: int) -> ValueError:
    return problem(
        ValueError,
        "the file is incomplete",
        got=f"{got} bytes",
        expected=f"{expected} bytes",
        fix="copy it again, or export it again",
    )


class _GraphDeserializer:
    """Builds graphs from the JSON text and the array data."""

    def __init__(self, text: memoryview, data: memoryview, vocabulary: SerializableTypes) -> None:
        try:
            self._header = json_value(text)
        except ValueError as error:
            raise damaged(str(error)) from None
        self._vocabulary = vocabulary
        self._arrays = _read_arrays(_a(list, self._header["arrays"]), data)
        self._places = [
            StoredSpan(_a(str, file), _a(int, line), column, end, _a(str, function))
            for file, line, column, end, function in _a(list, self._header["places"])
        ]
        self._operators: list[Primitive] = []
        self._graphs: list[Graph] = []

    def read(self) -> tuple[Graph, dict[str, Any]]:
        header = self._header
        for given in _a(list, header["operators"]):  # one may refer to those before it
            self._operators.append(self._operator(given))
        stored = _a(list, header["graphs"])
        self._graphs = [Graph(_a(str, g["name"]), span=self._place(g["at"])) for g in stored]
        for graph, given in zip(self._graphs, stored, strict=True):
            self._fill(graph, given)
        return _at(self._graphs, 0), _a(dict, self.value(header["about"]))

    def _fill(self, graph: Graph, given: Any) -> None:
        known: list[GraphNode] = []
        for name, type_ in _a(list, given["parameters"]):
            known.append(graph.parameter(_a(str, name), type=_read_type(type_)))
        if len({p.name for p in graph.parameters}) < len(known):
            raise damaged(f"two parameters of {graph.name} have the same name")
        for one in _a(list, given["nodes"]):
            op = GraphConstant(_at(self._operators, one["apply"]))
            args = tuple([self._reference(a, known) for a in _a(list, one["to"])])
            type_, span = _read_type(one["type"]), self._place(one["at"])
            known.append(Apply(op, args, graph, type=type_, span=span))
        graph.output = self._reference(given["output"], known)

    def _reference(self, given: Any, known: list[GraphNode]) -> GraphNode:
        """An earlier node, or a constant."""
        if not isinstance(given, dict):
            return _at(known, given)
        value = self.value(given["constant"])
        is_array = isinstance(value, np.ndarray | np.generic)
        return GraphConstant(value, type=_array_type(value) if is_array else None)

    def _operator(self, given: Any) -> Primitive:
        name = _a(str, given["name"])
        attributes = {k: self.value(v) for k, v in given.get("fields", {}).items()}
        if name in _PLAIN_PRIMITIVES:
            return _PLAIN_PRIMITIVES[name]
        if name in _PRIMITIVES_WITH_FIELDS:
            return _made(name, lambda: _PRIMITIVES_WITH_FIELDS[name](**attributes))
        cls = self._vocabulary.operators.get(name)
        if cls is None:
            raise problem(
                ValueError,
                f"the file uses an operator that this Mycelia does not have: {name}",
                fix="install a newer Mycelia, or export the network again with this one",
            )
        op = _made(name, lambda: self._vocabulary.make(cls, attributes))
        for mark, value in given.get("marks", {}).items():
            op.add_prim_attr(mark, self.value(value))
        return op

    def _place(self, number: Any) -> Span | None:
        return None if number is None else _at(self._places, number)

    def value(self, given: Any) -> Any:
        """A value from its JSON form."""
        if not isinstance(given, dict):
            if isinstance(given, list):
                raise damaged("expected a value, got a JSON list")
            return given
        if "record" in given:
            name = _a(str, given["record"])
            parts = {k: self.value(v) for k, v in given["fields"].items()}
            return _made(name, lambda: self._vocabulary.records[name](**parts))
        if len(given) != 1:
            raise damaged(f"expected a value of one kind, got {list(given)!r:.60}")
        ((kind, inside),) = given.items()
        if kind in _LEAVES:
            return _LEAVES[kind](inside)
        if kind == "dict":
            return {self.value(k): self.value(v) for k, v in inside}
        if kind in _CONTAINERS:
            return _CONTAINERS[kind]([self.value(v) for v in _a(list, inside)])
        if kind == "graph":
            return _at(self._graphs, inside)
        if kind == "operator":
            return _at(self._operators, inside)
        if kind in ("array", "number"):
            array = _at(self._arrays, inside)
            return array if kind == "array" else array[()]
        raise damaged(f"unknown kind of value {kind!r}")


_LEAVES: dict[str, Callable[[Any], Any]] = {
    "float": lambda text: float(_a(str, text)),
    "bytes": lambda text: base64.b64decode(_a(str, text), validate=True),
    "dtype": lambda name: by_name(_a(str, name)),
    "type": lambda text: parse_type(_a(str, text)),
    "ellipsis": lambda _: Ellipsis,
    "kind": lambda name: _KINDS[name],
}

_CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "tuple": tuple,
    "list": list,
    "slice": lambda parts: slice(*parts),
    "range": lambda parts: range(*parts),
    "complex": lambda parts: complex(*parts),
}


def _made(name: str, make: Callable[[], Any]) -> Any:
    """Create an operator or record; errors of its own checks become a ValueError."""
    try:
        return make()
    except Exception as error:
        raise damaged(f"invalid fields of {name}: {error}") from error


def _read_arrays(types: list[Any], numbers: memoryview) -> list[np.ndarray]:
    found, start = [], 0
    for text in types:
        type_ = parse_type(_a(str, text))
        size = math.prod(type_.shape) * type_.dtype.numpy.itemsize
        if size > len(numbers) - start:
            raise damaged(f"too few elements for an array {text}")
        flat = np.frombuffer(numbers[start : start + size], type_.dtype.numpy)
        found.append(flat.reshape(type_.shape).copy())
        start += size
    if start != len(numbers):
        raise damaged(f"{len(numbers) - start} bytes that do not belong to an array")
    return found


def _read_type(given: Any) -> Any:
    if given is None:
        return None
    if isinstance(given, list):
        return tuple([_read_type(t) for t in given])
    return parse_type(_a(str, given))


def _a(kind: type, value: Any) -> Any:
    """`value`, checked to be of this kind."""
    if type(value) is not kind:
        raise damaged(f"expected {kind.__name__}, got {value!r:.60}")
    return value


def _at(table: list[Any], number: Any) -> Any:
    """An element of a table, with a checked index."""
    if type(number) is not int or not 0 <= number < len(table):
        raise damaged(f"index {number!r:.60} is out of range for {len(table)} entries")
    return table[number]
