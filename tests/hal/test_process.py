"""Random states, logging, names of types, and the check of an installation."""

from __future__ import annotations

import logging

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, log
from mycelia._engine.core import type_names
from mycelia._engine.core.type_names import QuantDtype
from mycelia._engine.runtime.installation import run_check
from mycelia.tensor import generator
from mycelia.tensor.symbol import Symbol


def _draw() -> np.ndarray:
    return ms.ops.standard_normal((3,)).asnumpy()


def test_a_random_state_is_taken_and_put_back():
    generator.manual_seed(3)
    assert generator.initial_seed() == 3
    state = generator.get_rng_state()
    assert (state.shape, state.dtype) == ((16,), ms.uint8)
    assert state.tolist() == [3] + [0] * 15
    first, second = _draw(), _draw()
    assert not np.array_equal(first, second)
    generator.set_rng_state(state)
    np.testing.assert_array_equal(_draw(), first)
    np.testing.assert_array_equal(_draw(), second)


def test_a_seed_nobody_chose():
    chosen = generator.seed()
    assert generator.initial_seed() == chosen
    first = _draw()
    generator.manual_seed(chosen)
    np.testing.assert_array_equal(_draw(), first)


def test_generators_of_their_own():
    one = generator.Generator()
    assert one.initial_seed() == 0
    assert one.manual_seed(5) is one
    assert one.get_state().tolist() == [5] + [0] * 15
    first = one.next_key()
    other = generator.Generator()
    other.set_state(one.get_state())
    np.testing.assert_array_equal(other.next_key(), one.next_key())
    assert not np.array_equal(first, one.next_key())
    assert one.seed() == one.initial_seed()
    assert generator.default_generator.initial_seed() == generator.initial_seed()
    with pytest.raises(TypeError, match="Seed must be an integer"):
        one.manual_seed("a")
    with pytest.raises(RuntimeError, match="State"):
        one.set_state(3)


def test_messages_pass_from_a_level_on(caplog, monkeypatch):
    monkeypatch.setenv("GLOG_v", "1")
    assert log.get_level() == "1"
    assert log.get_log_config() == {"GLOG_v": "1", "GLOG_logtostderr": "1"}
    with caplog.at_level(logging.DEBUG, logger="mycelia"):
        log.debug("hidden")
        log.info("seen %d", 1)
        log.warning("seen 2")
        log.error("seen 3")
        log.critical("seen 4")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", "seen 1"),
        ("WARNING", "seen 2"),
        ("ERROR", "seen 3"),
        ("CRITICAL", "seen 4"),
    ]
    monkeypatch.delenv("GLOG_v")
    assert log.get_level() == "2"
    logging.getLogger("mycelia").setLevel(logging.NOTSET)


def test_an_installation_that_works(capsys):
    run_check()
    said = capsys.readouterr().out
    assert "version" in said
    assert "works on platform [CPU]" in said


def test_names_of_dtypes():
    assert type_names.ubyte is ms.uint8
    assert type_names.ushort is ms.uint16
    assert type_names.uintc is ms.uint32
    assert type_names.uint is type_names.uintp is ms.uint64
    assert type_names.intp is ms.int64
    assert type_names.single is ms.float32
    assert type_names.cfloat is ms.complex64
    assert type_names.cdouble is ms.complex128


def test_types_of_python_values():
    found = [type_names.get_py_obj_dtype(one) for one in (1, 1.5, True, None, "a", (1,), [1], int)]
    assert found == [
        ms.int64,
        ms.float64,
        ms.bool_,
        type_names.type_none,
        type_names.string,
        type_names.tuple_,
        type_names.list_,
        ms.int64,
    ]
    assert type_names.get_py_obj_dtype(Tensor(1)) is type_names.tensor_type
    assert repr(type_names.number) == "mycelia.number"
    with pytest.raises(NotImplementedError):
        type_names.get_py_obj_dtype(object())


def test_quantized_types():
    assert str(QuantDtype.INT8) == "INT8"
    assert QuantDtype.INT8.value() == 7
    assert QuantDtype.UINT16.value() == 115
    assert len(QuantDtype) == 32


def test_symbols_are_unknown_sizes():
    size = Symbol(max=16, divisor=8)
    described = Tensor(shape=(size, 3), dtype=ms.float32)
    assert described.shape == (-1, 3)
    net = ms.nn.ReLU()
    net.set_inputs(described)
    assert net(Tensor(np.ones((8, 3), np.float32))).shape == (8, 3)
    assert size.to_dict() == {"max": 16, "divisor": 8}
    assert Symbol().to_dict() == {}
    assert Symbol(min=5).to_dict() == {"min": 5}
    assert Symbol(divisor=8, remainder=1).to_dict() == {"divisor": 8, "remainder": 1}
    with pytest.raises(ValueError, match="'min' value should be positive"):
        Symbol(min=0)
    with pytest.raises(ValueError, match="remainder"):
        Symbol(divisor=2, remainder=3)
    with pytest.raises(TypeError):
        Symbol(max="a")
    with pytest.raises(TypeError):
        Symbol(unique=1)
