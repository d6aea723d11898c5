"""Subscripts of tensors against numpy: random shapes, random subscripts, values and gradients."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia
from mycelia import Tensor, ops
from mycelia.tensor.subscript import get_item, set_item

SHAPES = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)


@st.composite
def subscripts(draw: Any, shape: tuple[int, ...]) -> Any:
    """A subscript that numpy accepts for an array of `shape`, with several arrays of one shape."""
    arrays = draw(st.sampled_from([(), (2,), (2, 3), (3, 1)]))
    parts: list[Any] = []
    axis = 0
    dots = draw(st.integers(0, len(shape)))
    while axis < len(shape) and draw(st.integers(0, 5)):
        kind = draw(st.sampled_from(["int", "slice", "slice", "array", "mask", "new", "true"]))
        size = shape[axis]
        if kind in ("int", "array") and size == 0:
            kind = "slice"
        match kind:
            case "int":
                parts.append(draw(st.integers(-size, size - 1)))
            case "slice":
                ends = st.none() | st.integers(-5, 5)
                step = st.sampled_from([None, 1, 2, -1, -2])
                parts.append(slice(draw(ends), draw(ends), draw(step)))
            case "array":
                numbers = st.lists(st.integers(-size, size - 1), min_size=6, max_size=6).map(
                    np.array
                )
                parts.append(draw(numbers)[: int(np.prod(arrays))].reshape(arrays))
            case "mask":
                if any(isinstance(p, np.ndarray) for p in parts):
                    continue
                flags = draw(st.lists(st.booleans(), min_size=size, max_size=size))
                parts.append(np.array(flags, bool))
                arrays = (int(np.sum(flags)),)
                if arrays == (0,) and size == 0:
                    arrays = ()
            case "new":
                parts.append(None)
                continue
            case _:
                parts.append(True)
                continue
        axis += 1
        if axis == dots:
            parts.append(Ellipsis)
            break
    return tuple(parts)


@st.composite
def cases(draw: Any) -> tuple[np.ndarray, Any]:
    shape = draw(SHAPES)
    index = draw(subscripts(shape))
    array = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    try:
        array[index]
    except IndexError:
        index = ()
    return array, index


def _with_tensors(index: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(Tensor(p) if isinstance(p, np.ndarray) else p for p in index)


@given(cases())
@settings(max_examples=300, deadline=None)
def test_reading_gives_what_numpy_gives(example: tuple[np.ndarray, Any]):
    array, index = example
    for form in (index, _with_tensors(index)):
        found = get_item(Tensor(array), form)
        assert found.shape == array[index].shape
        np.testing.assert_array_equal(np.asarray(found), array[index])


@given(cases())
@settings(max_examples=40, deadline=None)
def test_reading_on_the_device_gives_what_numpy_gives(example: tuple[np.ndarray, Any]):
    array, index = example
    found = get_item(Tensor._wrap(jnp.asarray(array)), _with_tensors(index))
    assert found.shape == array[index].shape
    np.testing.assert_array_equal(np.asarray(found), array[index])


@given(cases(), st.sampled_from(["number", "one", "full", "lead"]))
@settings(max_examples=300, deadline=None)
def test_writing_gives_what_numpy_gives(example: tuple[np.ndarray, Any], form: str):
    array, index = example
    value = _value_for(array, index, form)
    found = set_item(
        Tensor(array), _with_tensors(index), value if form == "number" else Tensor(value)
    )
    np.testing.assert_array_equal(np.asarray(found), _written(array, index, value))


@given(cases(), st.sampled_from(["number", "one", "full", "lead"]))
@settings(max_examples=40, deadline=None)
def test_writing_on_the_device_gives_what_numpy_gives(example: tuple[np.ndarray, Any], form: str):
    array, index = example
    value = _value_for(array, index, form)
    device_value = value if form == "number" else Tensor._wrap(jnp.asarray(value))
    found = set_item(Tensor._wrap(jnp.asarray(array)), _with_tensors(index), device_value)
    np.testing.assert_array_equal(np.asarray(found), _written(array, index, value))


def _written(array: np.ndarray, index: Any, value: Any) -> np.ndarray:
    wanted = array.copy()
    wanted[index if _has_dots(index) else (*index, ...)] = value
    return wanted


def _has_dots(index: tuple[Any, ...]) -> bool:
    return any(part is Ellipsis for part in index)


def _value_for(array: np.ndarray, index: Any, form: str) -> Any:
    """A value for array[index]; elements differ unless places may repeat."""
    if form == "number":
        return 7
    if form == "one":
        return np.asarray(3.0, np.float32)
    shape = array[index].shape
    full = -np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    if any(isinstance(p, np.ndarray) and p.dtype != bool for p in index):
        full = np.full(shape, 5.0, np.float32)
    return full if form == "full" else full[None, None]


@given(cases())
@settings(max_examples=30, deadline=None)
def test_the_gradient_of_reading_adds_up_where_it_was_read(example: tuple[np.ndarray, Any]):
    array, index = example
    weights = np.random.default_rng(0).standard_normal(array[index].shape).astype(np.float32)
    wanted = np.zeros_like(array)
    np.add.at(wanted, index, weights)
    form = _with_tensors(index)
    found = mycelia.grad(lambda x: ops.mul(x[form], Tensor(weights)))(Tensor(array))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6, atol=1e-6)


def test_the_gradient_of_writing_goes_to_the_value_and_not_to_what_it_replaced():
    def f(x: Tensor, v: Tensor) -> Tensor:
        y = ops.mul(x, 2.0)
        y[1:3] = v
        return ops.mul(y, Tensor(np.arange(4, dtype=np.float32)))

    to_x, to_v = mycelia.grad(f, (0, 1))(Tensor(np.ones(4, np.float32)), Tensor(np.float32(3)))
    np.testing.assert_array_equal(np.asarray(to_x), [0, 0, 0, 6])
    np.testing.assert_array_equal(np.asarray(to_v), 3)


def test_a_mask_selects_and_its_gradient_stays_where_it_held():
    def f(x: Tensor) -> Tensor:
        return ops.mul(x[x > 0], 3.0)

    found = mycelia.grad(f)(Tensor(np.array([-1, 2, -3, 4], np.float32)))
    np.testing.assert_array_equal(np.asarray(found), [0, 3, 0, 3])


def test_writing_changes_the_tensor_and_no_copy_read_before():
    x = Tensor(np.zeros((2, 2), np.float32))
    row = x[[0]]
    x[0] = 5.0
    assert np.asarray(x).tolist() == [[5, 5], [0, 0]]
    assert np.asarray(row).tolist() == [[0, 0]]


def test_a_value_takes_the_dtype_of_the_tensor():
    x = Tensor(np.array([1, 2], np.int32))
    x[0] = 3.7
    x[1] = Tensor(np.array([4.2], np.float32))
    assert x.dtype is mycelia.int32
    assert np.asarray(x).tolist() == [3, 4]


def test_one_program_serves_all_ints_and_all_windows_of_one_length(monkeypatch: Any):
    compiled = []
    from mycelia._engine.runtime.eager import dispatch

    real = dispatch.compile
    monkeypatch.setattr(dispatch, "compile", lambda fn: compiled.append(fn) or real(fn))
    x = Tensor._wrap(jnp.arange(30.0).reshape(10, 3))
    for i in (0, 3, -1):
        assert np.asarray(x[i]).tolist() == np.asarray(x)[i].tolist()
    for i in (0, 2, 6):
        assert np.asarray(x[i : i + 4, 1]).tolist() == np.asarray(x)[i : i + 4, 1].tolist()
    assert len(compiled) <= 2


@pytest.mark.parametrize(
    ("index", "error", "text"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension with size 2"),
        (-3, IndexError, "index -3 is out of bounds for dimension with size 2"),
        ((0, 3), IndexError, "index 3 is out of bounds for dimension with size 3"),
        ([0, 9], IndexError, "index 9 is out of bounds for dimension with size 2"),
        (np.array([-5]), IndexError, "index -5 is out of bounds"),
        ((0, 0, 0), IndexError, "too many indices for tensor of dimension 2"),
        ((..., ...), IndexError, "single ellipsis"),
        ([True, False, True], IndexError, "corresponding boolean dimension is 3"),
        (False, IndexError, "False"),
        (1.0, IndexError, "unsupported tensor index"),
        ("a", IndexError, "unsupported tensor index"),
        ({}, IndexError, "unsupported tensor index"),
        ([], IndexError, "empty list"),
        ([1.5], IndexError, "unsupported tensor index"),
        (slice(0, 1.5), TypeError, "slice"),
        (slice(None, None, 0), ValueError, "step"),
    ],
)
def test_a_wrong_subscript_is_explained(index: Any, error: type[Exception], text: str):
    x = Tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(error, match=text):
        x[index]


def test_tuples_and_ranges_inside_a_subscript_are_index_arrays():
    x = np.arange(60).reshape(3, 4, 5)
    t = Tensor(x)
    assert t[1, (2, 1, 3), [3, 2, 1]].asnumpy().tolist() == x[1, (2, 1, 3), [3, 2, 1]].tolist()
    assert t[(1, 0), (2, 1), 1].asnumpy().tolist() == x[(1, 0), (2, 1), 1].tolist()
    assert t[range(2)].asnumpy().tolist() == x[:2].tolist()


def test_a_mask_inside_a_tuple_may_be_shorter_than_its_axis():
    t = Tensor(np.arange(12).reshape(3, 4))
    assert t[:, Tensor([True, False, True])].asnumpy().tolist() == [[0, 2], [4, 6], [8, 10]]
    longer = Tensor([True, False, False, False, False])
    assert t[:, longer].asnumpy().tolist() == [[0], [4], [8]]
    with pytest.raises(IndexError, match="True at index 4"):
        t[:, Tensor([True, False, False, False, True])]
    with pytest.raises(ValueError, match="boolean dimension is 2"):
        t[Tensor([True, False])]


def test_a_scalar_tensor_has_no_elements_to_index():
    with pytest.raises(TypeError, match="scalar tensor"):
        Tensor(1.0)[0]
    assert Tensor(1.0)[...].shape == ()
    assert Tensor(1.0)[None].shape == (1,)


@pytest.mark.parametrize("value", [None, "a", {}])
def test_only_numbers_and_tensors_can_be_assigned(value: Any):
    x = Tensor(np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="assigned"):
        x[0] = value


def test_a_value_that_does_not_fit_is_refused():
    x = Tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(ValueError):
        x[0] = Tensor(np.zeros(2, np.float32))
    y = Tensor._wrap(jnp.zeros((2, 3)))
    with pytest.raises(ValueError):
        y[0] = Tensor(np.zeros(2, np.float32))
