"""Branches and loops inside one another: numpy, eager mode and compiled programs agree."""

from __future__ import annotations

import pytest

from tests.compiler.nesting import BLOCKS, EXITS, STATES, Nest, nests
from tests.compiler.three_ways import examine

NESTS = nests()


@pytest.mark.parametrize(
    "nest",
    [
        pytest.param(nest, id=nest.name, marks=[pytest.mark.slow] * (place % 5 > 0))
        for place, nest in enumerate(NESTS)
    ],
)
def test_all_three_ways_agree(nest: Nest):
    place = NESTS.index(nest)
    report = examine(
        nest.source,
        nest.name,
        gradient=nest.state != "number" and place % 2 == 0,
        numeric=place % 4 == 0,
    )
    assert report.disagreement is None, f"{nest.source}\n{report.disagreement}"
    assert report.runs >= 2


def test_every_pair_of_blocks_is_nested_with_every_way_out():
    assert len(NESTS) >= 300
    assert {nest.blocks for nest in NESTS if len(nest.blocks) == 2} == {
        (outer, inner) for outer in BLOCKS for inner in BLOCKS
    }
    assert {nest.exit for nest in NESTS} == set(EXITS)
    assert {nest.state for nest in NESTS if len(nest.blocks) == 3} == set(STATES)


def test_the_names_of_the_programs_differ():
    assert len({nest.name for nest in NESTS}) == len(NESTS)
