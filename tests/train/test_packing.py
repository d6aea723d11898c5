"""Values as JSON and back, with large arrays beside the text."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Parameter, Tensor
from mycelia.train.json_values import pack, unpack

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.tuples(st.integers()), inner, max_size=3)
    ),
    max_leaves=8,
)


def there_and_back(value):
    arrays: list[np.ndarray] = []
    return unpack(json.loads(json.dumps(pack(value, arrays))), arrays)


@given(values)
@settings(max_examples=50, deadline=None)
def test_plain_values(value):
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64", "int8", "uint32", "bool"])
@pytest.mark.parametrize("size", [3, 1000])
def test_arrays(kind, size):
    array = np.arange(size).reshape(1, size).astype(kind)
    found = there_and_back([array, array[0, 0]])
    np.testing.assert_array_equal(found[0], array)
    assert found[0].dtype == array.dtype and found[0].flags.writeable
    assert type(found[1]) is type(array[0, 0]) and found[1] == array[0, 0]


def test_tensors_and_parameters():
    tensor = Tensor(np.arange(6).reshape(2, 3), ms.bfloat16)
    found = there_and_back((tensor, Parameter(Tensor(np.ones(400)), name="w"), float("inf")))
    assert found[0].dtype is ms.bfloat16 and found[0].tolist() == tensor.tolist()
    assert isinstance(found[1], Parameter) and found[1].name == "w" and found[1].shape == (400,)
    assert found[2] == float("inf") and type(found) is tuple


def test_large_arrays_stand_beside_the_text():
    arrays: list[np.ndarray] = []
    text = json.dumps(pack({"small": np.zeros(2), "large": np.zeros(200)}, arrays))
    assert len(arrays) == 1 and arrays[0].shape == (200,) and len(text) < 200


def test_other_values_are_refused():
    with pytest.raises(TypeError, match="a checkpoint cannot store"):
        pack({"a": [object()]}, [])
