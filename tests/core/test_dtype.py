"""Dtypes: names, and MindSpore's promotion table."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mycelia as ms
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.dtype import promote, promote_number

# Rows as the real MindSpore 2.10 prints them for `Tensor(a) + Tensor(b)`; "-" where it refuses.
COLUMNS = "bool_ int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128"
TABLE = """
bool_    bool_ int8 int16 int32 int64 uint8 float16 bfloat16 float32 float64 complex64 complex128
int8     int8 int8 int16 int32 int64 int16 float16 bfloat16 float32 float64 complex64 complex128
int16    int16 int16 int16 int32 int64 int16 float16 - - float64 complex64 complex128
int32    int32 int32 int32 int32 int64 int32 float16 bfloat16 float32 float64 complex64 complex128
int64    int64 int64 int64 int64 int64 int64 float16 bfloat16 float32 float64 complex64 complex128
uint8    uint8 int16 int16 int32 int64 uint8 float16 - float32 float64 complex64 complex128
float16  - float16 float16 float16 float16 float16 - float32 float32 float64 complex64 complex128
bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 bfloat16 float32 bfloat16 float32 float64 complex64 complex128
float32  float32 float32 float32 float32 float32 float32 - - - float64 complex64 complex128
float64  float64 float64 float64 float64 float64 float64 - float64 float64 float64 complex128 complex128
"""


def test_promotion_is_mindspores():
    columns = COLUMNS.split()
    for line in TABLE.strip().splitlines():
        row, *results = line.split()
        for column, result in zip(columns, results, strict=True):
            if result != "-":
                found = promote(getattr(ms, row), getattr(ms, column))
                assert found is getattr(ms, result), f"{row} + {column}"


@pytest.mark.parametrize(
    ("tensor", "number", "result"),
    [
        ("int32", 1.5, "float32"),
        ("float16", 2.5, "float16"),
        ("int8", 2, "int8"),
        ("uint8", 1.5, "float32"),
        ("bool_", 1, "int64"),
        ("bool_", True, "bool_"),
        ("float64", 1, "float64"),
        ("complex64", 1.5, "complex64"),
        ("float32", 1j, "complex64"),
    ],
)
def test_python_numbers_count_by_their_kind(tensor, number, result):
    assert promote_number(getattr(ms, tensor), type(number)) is getattr(ms, result)


DTYPES = st.sampled_from(dtypes.ALL)


@given(DTYPES, DTYPES)
def test_promotion_is_symmetric_and_never_narrows(a, b):
    found = promote(a, b)
    assert found is promote(b, a)
    assert promote(found, a) is found or a.kind == "uint" or b.kind == "uint"


@given(DTYPES)
def test_one_object_for_each_dtype(dtype):
    assert dtypes.by_name(dtype.name) is dtype
    assert dtypes.by_name(dtype.short) is dtype
    assert dtypes.from_numpy(dtype.numpy) is dtype
    assert copy.deepcopy(dtype) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_what_users_write_for_a_dtype():
    assert dtypes.as_dtype("float32") is ms.float32
    assert dtypes.as_dtype(np.float64) is ms.float64
    assert dtypes.as_dtype(np.dtype("int8")) is ms.int8
    assert dtypes.as_dtype(float) is ms.float32
    assert dtypes.as_dtype(int) is ms.int64
    with pytest.raises(TypeError, match="no dtype called"):
        dtypes.as_dtype("float33")
    with pytest.raises(TypeError, match="not a tensor dtype"):
        dtypes.as_dtype(np.dtype("M8[s]"))


def test_printing():
    assert (str(ms.float32), repr(ms.float32)) == ("Float32", "mycelia.float32")
