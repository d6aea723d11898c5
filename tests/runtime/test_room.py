"""A large block of memory is found where it was, however late it is freed and whatever lies near."""

from __future__ import annotations

import ctypes
import platform
import threading
from time import perf_counter, sleep

import numpy as np
import pytest

import mycelia as ms
from mycelia import Tensor, nn, ops
from mycelia._engine.runtime.memory.allocator import c_library, keeps_memory
from mycelia._engine.runtime.memory.huge_page_pool import HugePagePool
from mycelia._engine.runtime.xla import executable_cache

pytestmark = pytest.mark.skipif(
    not keeps_memory() or platform.machine() != "x86_64", reason="needs glibc that keeps memory"
)
SIZE, LARGER, LARGEST = 300 << 20, 500 << 20, 700 << 20  # too large for what another test left


def aligned(size: int) -> int:
    """A large block, got in the way in which XLA does; nothing is written to it."""
    place = ctypes.c_void_p()
    wanted = ctypes.c_size_t(64), ctypes.c_size_t(size)
    assert c_library().posix_memalign(ctypes.byref(place), *wanted) == 0
    assert place.value is not None
    return place.value


def is_same(one: int, other: int) -> bool:
    return abs(one - other) < SIZE // 2


def test_small_blocks_at_its_end_do_not_move_it() -> None:
    """They take what is left of a large one, stay until the next one is got, and longer."""
    room, kept, places = HugePagePool(SIZE), [], []
    for _ in range(20):
        room.prepare()
        places.append(aligned(SIZE))
        kept += [c_library().malloc(size) for size in range(16, 128, 16)]
        c_library().free(places[-1])
    for block in kept:
        c_library().free(block)
    assert all(is_same(place, places[1]) for place in places[2:])


def test_it_waits_until_the_last_block_is_freed() -> None:
    room = HugePagePool(LARGER)
    room.prepare()
    first = aligned(LARGER)

    def free() -> None:
        sleep(0.008)
        c_library().free(first)

    thread = threading.Thread(target=free)
    thread.start()
    room.prepare()
    second = aligned(LARGER)
    thread.join()
    c_library().free(second)
    assert is_same(first, second)


def test_it_does_not_wait_for_ever() -> None:
    room = HugePagePool(LARGEST)
    room.prepare()
    first = aligned(LARGEST)
    began = perf_counter()
    room.prepare()
    second = aligned(LARGEST)
    assert perf_counter() - began < 5
    assert not is_same(first, second)
    for block in (first, second):
        c_library().free(block)


def test_a_step_that_needs_much_memory_is_run_in_turn(monkeypatch) -> None:
    """With the same losses as one that does not wait."""
    prepared = []
    monkeypatch.setattr(HugePagePool, "prepare", lambda self: prepared.append(self))

    def losses(much: int) -> list[float]:
        monkeypatch.setattr(executable_cache, "_MUCH", much)
        ms.set_seed(1)
        net = nn.Dense(8, 4)

        @ms.jit
        def step(x: Tensor) -> Tensor:
            loss, (gradient, _) = ms.value_and_grad(
                lambda x: (ops.tanh(net(x)) ** 2).sum(), None, net.trainable_params()
            )(x)
            ops.assign(net.weight, net.weight - 0.1 * gradient)
            return loss

        x = Tensor(np.ones((3, 8), np.float32))
        return [float(step(x)) for _ in range(4)]

    alone = losses(1 << 40)
    assert not prepared
    assert losses(0) == alone
    assert len(prepared) == 4
