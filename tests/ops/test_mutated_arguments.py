"""Every operator with other arguments than its examples': errors are ours, types are right."""

from __future__ import annotations

import random

import pytest

from tests.fuzz.kinds.arguments import check, of_operator, operators

CASES = 16


@pytest.mark.parametrize("name", operators())
def test_types_are_inferred_as_the_kernel_gives_them(name: str):
    rng = random.Random(name)
    faults = [fault for _ in range(CASES) if (fault := check(of_operator(name, rng)))]
    assert not faults, faults[0]
