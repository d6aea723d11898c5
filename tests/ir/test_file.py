"""Graphs as bytes: what goes in comes out, and what is wrong with a file is said."""

from __future__ import annotations

import hashlib
import json
import random
import struct
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.source_location import Span
from mycelia._engine.ir.analysis import nodes_by_graph, same_graphs
from mycelia._engine.ir.control_flow import CALL, SWITCH, TUPLE, WHILE, Custom, Effect, Item, Vmap
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import GraphConstant
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.program_copy import copy_program
from mycelia._engine.ir.serialization import MAGIC, VERSION, SerializableTypes, pack, unpack
from mycelia._engine.ir.types import parse_type
from mycelia._engine.ir.verifier import verify
from mycelia._engine.operators.operator import Vjp
from mycelia._engine.operators.window import Window

_OPERATORS = (ops.Add, ops.Less, ops.Mul, ops.ReduceSum, Vjp)
WORDS = SerializableTypes(
    {cls.__name__: cls for cls in _OPERATORS}, {"Window": Window}, lambda cls, parts: cls(**parts)
)
F32, PAIR, TRUTH = parse_type("f32[]"), parse_type("f32[2]"), parse_type("bool[]")


def number(value: float) -> GraphConstant:
    return GraphConstant(np.float32(value), type=F32)


def branch(name: str, factor: float) -> Graph:
    graph = Graph(name)
    x = graph.parameter("x", type=F32)
    made = graph.apply(ops.Mul.of(), x, number(factor), type=F32)
    graph.output = graph.apply(TUPLE, made, type=(F32,))
    return graph


def program() -> Graph:
    """One of each: a choice, a loop, a map, a call, a tuple, an item."""
    graph = Graph("program", span=Span("/home/me/model.py", 3, 4, 9, "construct"))
    x, xs = graph.parameter("x", type=F32), graph.parameter("xs", type=PAIR)
    goes_on = Graph("goes_on")
    y = goes_on.parameter("y", type=F32)
    goes_on.output = goes_on.apply(ops.Less.of(), y, number(10), type=TRUTH)
    loop = graph.apply(WHILE, goes_on, branch("step", 2), x, type=(F32,))
    last = graph.apply(Item(0), loop, type=F32, span=Span("/home/me/model.py", 5, 0, 2, "f"))
    test = graph.apply(ops.Less.of(), last, number(1), type=TRUTH)
    chosen = graph.apply(SWITCH, test, branch("no", 3), branch("yes", 4), last, type=(F32,))
    mapped = graph.apply(Vmap((0,), (0,), 2), branch("each", 5), xs, type=(PAIR,))
    called = graph.apply(CALL, branch("again", 6), x, type=(F32,))
    graph.output = graph.apply(TUPLE, chosen, mapped, called, type=((F32,), (PAIR,), (F32,)))
    return graph


def stored(graph: Graph, **about: Any) -> bytes:
    return b"".join(pack(graph, about, WORDS))


def kept(value: Any) -> Any:
    return unpack(stored(branch("g", 1), value=value), WORDS)[1]["value"]


def sealed(text: bytes, arrays: bytes = b"", version: int = VERSION) -> bytes:
    """A file with a right checksum."""
    digest = hashlib.sha256(text + arrays).digest()
    return struct.pack("<8sIQQ32s", MAGIC, version, len(text), len(arrays), digest) + text + arrays


def parts(data: bytes) -> tuple[dict[str, Any], bytes]:
    size = struct.unpack_from("<8sIQQ32s", data)[2]
    head = struct.calcsize("<8sIQQ32s")
    return json.loads(data[head : head + size]), data[head + size :]


# ---- what goes in comes out ---------------------------------------------------------------------


def test_a_program_comes_back():
    graph = program()
    found, about = unpack(stored(graph, note="mine"), WORDS)
    verify(found)
    assert same_graphs(found, graph)
    assert show(found) == show(graph)
    assert about == {"note": "mine"}


def test_control_primitives_come_back_as_the_ones_the_runtime_knows():
    found, _ = unpack(stored(program()), WORDS)
    applied = [n.fn.value for n in nodes_by_graph(found)[found]]
    for one in (WHILE, SWITCH, CALL, TUPLE):
        assert any(op is one for op in applied)


def test_places_in_user_code_come_back_without_folders_and_code():
    found, _ = unpack(stored(program()), WORDS)
    assert (found.span.file, found.span.line, found.span.text) == ("model.py", 3, "")
    assert b"/home/me" not in stored(program())
    assert "# model.py:5 " in show(found, lines=True)


def test_a_graph_that_calls_itself_comes_back():
    graph = Graph("again")
    x = graph.parameter("x", type=F32)
    graph.output = graph.apply(CALL, graph, x, type=(F32,))
    found, _ = unpack(stored(graph), WORDS)
    assert found.output.args[0].value is found


def test_an_array_used_twice_is_stored_once():
    array = np.zeros(1000, np.float32)
    once, twice = stored(branch("g", 1), a=array), stored(branch("g", 1), a=array, b=array)
    assert len(twice) - len(once) < 100


VALUES: list[Any] = [
    None, True, 0, -(2**80), "text ü \x00", 1.5, -0.0, float("inf"), float("-inf"), 1 - 2j,
    b"\x00\xff", (), (1, (2,)), [1, [2]], {"a": 1, 2: (3,)}, slice(1, None, -1), range(2, 9, 3),
    ..., dtypes.bfloat16, parse_type("i8[2,0]"), int, float, ops.ReduceSum(keep_dims=True),
    Vjp(ops.ReduceSum(), ((0,),)), Window((2, 2), (1, 1), (1, 1), "valid", ((0, 0), (0, 0)), False),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back(value: Any):
    found = kept(value)
    assert type(found) is type(value)
    assert found == value
    assert str(found) == str(value)  # tells -0.0 from 0.0


def test_nan_comes_back():
    assert np.isnan(kept(float("nan")))


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_arrays_of_every_dtype_come_back(dtype: dtypes.DType):
    array = np.arange(6).reshape(2, 3).astype(dtype.numpy)
    for value in (array, array[:0], array.T, array[1, 2], np.array(array[0, 1])):
        found = kept(value)
        assert (found.dtype, found.shape) == (value.dtype, value.shape)
        assert isinstance(found, np.generic) == isinstance(value, np.generic)
        assert found.tobytes() == value.tobytes()


def test_nan_payloads_and_bfloat16_are_kept_bit_by_bit():
    bits = np.array([0x7FC1, 0x8000, 0xFF80], np.uint16)
    assert kept(bits.view(ml_dtypes.bfloat16)).view(np.uint16).tolist() == bits.tolist()


def test_marks_of_operators_come_back():
    op = ops.Add().add_prim_attr("in_strategy", ((2, 1), (1,)))
    assert kept(op).attrs == {"in_strategy": ((2, 1), (1,))}
    assert kept(ops.Add()).attrs == {}


def test_the_same_graph_gives_the_same_bytes():
    assert stored(program()) == stored(program())


# ---- what cannot be stored ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "op", [Effect(print, "print"), Custom(print, "mine")], ids=lambda op: op.name
)
def test_python_functions_are_refused_with_the_users_line(op: Primitive):
    graph = Graph("g")
    span = Span(__file__, 1, None, None, "construct")
    graph.output = graph.apply(op, graph.parameter("x"), span=span)
    with pytest.raises(RuntimeError, match=f"cannot store the operator {op.name}") as error:
        stored(graph)
    assert "test_file.py:1 in construct" in str(error.value)


def test_operators_of_others_are_refused():
    class Mine(Primitive):
        pass

    graph = Graph("g")
    graph.output = graph.apply(Mine(), graph.parameter("x"))
    with pytest.raises(RuntimeError, match="the operator Mine"):
        stored(graph)


@pytest.mark.parametrize(
    "value", [object(), print, {1}, type], ids=["object", "function", "set", "class"]
)
def test_other_values_are_refused(value: Any):
    with pytest.raises(RuntimeError, match="a value of the type"):
        kept(value)


def test_closures_are_refused():
    outer, inner = Graph("outer"), Graph("inner")
    inner.output = inner.apply(ops.Add.of(), outer.parameter("x"), np.float32(1))
    outer.output = outer.apply(CALL, inner)
    with pytest.raises(RuntimeError, match="a value of outer inside inner"):
        stored(outer)


# ---- what is wrong with a file ------------------------------------------------------------------


def test_another_file_is_told_apart():
    for data in (b"", b"\x08\x01", b"MYCEL", b"PK\x03\x04" + bytes(100)):
        with pytest.raises(ValueError, match="not a Mycelia MindIR file"):
            unpack(data, WORDS)


def test_a_newer_version_is_told():
    with pytest.raises(ValueError, match="version 9"):
        unpack(sealed(b"{}", version=9), WORDS)


def test_every_cut_is_found():
    data = stored(program())
    for size in range(len(data)):
        with pytest.raises(ValueError):
            unpack(data[:size], WORDS)
    with pytest.raises(ValueError, match="incomplete"):
        unpack(data + b"x", WORDS)


def test_every_flipped_bit_is_found():
    data = stored(program())
    for place in range(len(data)):
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        with pytest.raises(ValueError):
            unpack(bytes(flipped), WORDS)


def test_an_unknown_operator_is_named():
    fewer = replace(WORDS, operators={"Mul": ops.Mul})
    with pytest.raises(ValueError, match="does not have: Less"):
        unpack(stored(program()), fewer)


def test_numbers_out_of_range_are_found():
    header, arrays = parts(stored(program()))
    header["graphs"][0]["output"] = -1
    with pytest.raises(ValueError, match="index -1 is out of range"):
        unpack(sealed(json.dumps(header).encode(), arrays), WORDS)


def test_nodes_cannot_use_later_ones():
    header, arrays = parts(stored(program()))
    header["graphs"][0]["nodes"][0]["to"][-1] = 5
    with pytest.raises(ValueError, match="index 5 is out of range"):
        unpack(sealed(json.dumps(header).encode(), arrays), WORDS)


def test_arrays_must_fill_the_file():
    header, arrays = parts(stored(program()))
    text = json.dumps(header).encode()
    for other in (arrays[:-1], arrays + b"1234"):
        with pytest.raises(ValueError, match="too few elements|not belong to an array"):
            unpack(sealed(text, other), WORDS)
    header["arrays"][0] = "f32[9999999999,9999999999]"
    with pytest.raises(ValueError, match="too few elements"):
        unpack(sealed(json.dumps(header).encode(), arrays), WORDS)


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"arrays": 1}', b"null"], ids=len
)
def test_texts_that_hold_no_program_are_told(text: bytes):
    with pytest.raises(ValueError):
        unpack(sealed(text), WORDS)


OTHERS = [None, True, -1, 0, 7, 1e300, "", "tuple", "f32[2]", [], [[]], {}, {"graph": 0}, {"x": 1}]


@pytest.mark.parametrize("seed", range(300))
def test_files_changed_on_purpose_load_or_are_refused(seed: int):
    header, arrays = parts(stored(program(), value=VALUES[:-3]))
    choose = random.Random(seed)
    for _ in range(choose.randint(1, 3)):
        holder, key = choose.choice(list(_places(header)))
        holder[key] = choose.choice(OTHERS)
    try:
        unpack(sealed(json.dumps(header).encode(), arrays), WORDS)
    except (ValueError, RuntimeError) as error:
        assert str(error)


def _places(tree: Any) -> list[tuple[Any, Any]]:
    keys = list(tree) if isinstance(tree, dict) else range(len(tree))
    own = [(tree, key) for key in keys]
    inner = [tree[key] for key in keys if isinstance(tree[key], (dict, list))]
    return own + [place for part in inner for place in _places(part)]


# ---- copies -------------------------------------------------------------------------------------


def test_a_snapshot_keeps_what_the_graph_was():
    graph = program()
    before = show(graph)
    copy = copy_program(graph)
    for inner in nodes_by_graph(graph):
        inner.output = inner.parameters[0]
    assert show(copy) == before
    verify(copy)


def test_a_snapshot_of_a_closure_and_of_recursion():
    outer, inner = Graph("outer"), Graph("inner")
    x = outer.parameter("x")
    inner.output = inner.apply(inner, inner.apply(ops.Add.of(), x, inner.parameter("y")))
    outer.output = outer.apply(inner, x)
    copy = copy_program(outer)
    assert show(copy) == show(outer)
    assert not set(nodes_by_graph(copy)) & set(nodes_by_graph(outer))
    verify(copy)
