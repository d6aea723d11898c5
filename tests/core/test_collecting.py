"""The garbage collector, stopped for a while."""

import gc

import pytest

from mycelia._engine.core.gc_pause import gc_paused


def test_it_goes_on_afterwards_even_after_an_error():
    with pytest.raises(KeyError), gc_paused():
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_it_stays_off_if_it_was_off():
    gc.disable()
    try:
        with gc_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    finally:
        gc.enable()
