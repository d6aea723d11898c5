"""Arrays that a program may overwrite: the host's own are not held beside those of the device."""

from __future__ import annotations

import gc
import weakref

import jax
import numpy as np

from mycelia import Tensor
from mycelia._engine.runtime.executor import donatable_arrays, state_array
from mycelia._engine.runtime.host_to_device import LARGE


def _tensor(count: int) -> Tensor:
    tensor = Tensor(np.arange(count, dtype=np.float32))
    tensor._data, tensor._shared = np.arange(count, dtype=np.float32), False
    return tensor


def test_a_large_array_of_the_host_is_gone_before_the_run():
    tensor = _tensor(LARGE)
    host = weakref.ref(tensor._data)
    (array,) = donatable_arrays([tensor])
    assert isinstance(array, jax.Array) and tensor._data is array
    array.block_until_ready()
    gc.collect()
    assert host() is None
    np.testing.assert_array_equal(tensor.asnumpy(), np.arange(LARGE))


def test_what_others_look_at_is_copied():
    tensor = _tensor(LARGE)
    seen = tensor._data
    tensor._shared = True
    (array,) = donatable_arrays([tensor])
    assert tensor._data is seen and not np.shares_memory(array, seen)


def test_a_small_array_is_copied():
    tensor = _tensor(4)
    (array,) = donatable_arrays([tensor])
    assert type(array) is np.ndarray and not np.shares_memory(array, tensor._data)


def test_a_small_array_of_the_state_moves_to_the_device_once():
    tensor = _tensor(4)
    array = state_array(tensor)
    assert isinstance(array, jax.Array)
    assert state_array(tensor) is array
