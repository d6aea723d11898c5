"""Freed memory stays in the process, in large pages where the system has them."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
FAULTS = """
import resource
{setup}
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    b'x' * (1 << 26)  # 64 MB: 16,384 small pages, 32 large ones
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults(), faults())
"""
KEEP = "from mycelia._engine.runtime.memory.allocator import keep_memory; keep_memory()"
LIMIT = "resource.setrlimit(resource.RLIMIT_AS, (1 << 36, resource.RLIM_INFINITY))\n"

pytestmark = pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc is glibc's here")


def page_faults(setup: str, **environment: str) -> list[int]:
    """Of writing 64 MB for the first and the second time in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", FAULTS.format(setup=setup)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [int(word) for word in done.stdout.split()]


def test_what_was_freed_is_used_again():
    assert page_faults(KEEP)[1] < 100


def test_a_variable_leaves_the_library_as_it_is():
    assert page_faults(KEEP, MYCELIA_KEEP_MEMORY="0")[1] > 10 * page_faults(KEEP)[1]


@pytest.mark.skipif(
    not PAGES.exists() or "[never]" in PAGES.read_text(), reason="this system has no large pages"
)
@pytest.mark.parametrize(
    "then",
    ["", "; from mycelia._engine.runtime.memory.allocator import release_free_memory as g; g()"],
)
def test_memory_is_taken_in_large_pages(then):
    assert page_faults(KEEP + then)[0] < 4000


def test_with_few_addresses_none_are_reserved():
    first, again = page_faults(LIMIT + KEEP)
    assert first > 16000 and again < 100
