"""Ways from one placement to another, checked by moving numbers about."""

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mycelia._engine.distributed.mesh import Mesh, Placement, finest_mesh, meshes, prime_factors
from mycelia._engine.distributed.redistribution import redistribution, route

MESH = Mesh((2, 3, 2))
SHAPE = (24, 24)


@st.composite
def placements(draw):
    axes = draw(st.permutations(range(3)))
    kept = draw(st.integers(0, 3))
    dims = [[], []]
    for axis in axes[:kept]:
        dims[draw(st.integers(0, 1))].append(axis)
    return Placement(tuple(tuple(sorted(dim)) for dim in dims))


def parts(placement):
    """For each device, the rows and columns it holds."""
    found = {}
    for device in np.ndindex(*MESH.sizes):
        spans = []
        for size, dim in zip(SHAPE, placement.dims):
            number, count = 0, 1
            for axis in dim:
                number, count = number * MESH.sizes[axis] + device[axis], count * MESH.sizes[axis]
            spans.append((number * size // count, (number + 1) * size // count))
        found[device] = spans
    return found


def inside(inner, outer):
    return all(o[0] <= i[0] and i[1] <= o[1] for i, o in zip(inner, outer))


@settings(max_examples=300, deadline=None)
@given(placements(), placements())
def test_every_step_can_be_done_with_its_collective(old, new):
    steps = route(SHAPE, 4, old, new, MESH)
    before = old
    for step in steps:
        here, there = parts(before), parts(step.placement)
        for device, wanted in there.items():
            if step.transfer is None:
                assert inside(wanted, here[device])  # it has it already
                continue
            group = [d for d in here if _same_but(d, device, step.transfer.axes)]
            rows = {(r, c) for d in group for r in range(*here[d][0]) for c in range(*here[d][1])}
            needed = {(r, c) for r in range(*wanted[0]) for c in range(*wanted[1])}
            assert needed <= rows  # the members of the group have it together
        before = step.placement
    assert before == new


def _same_but(one, other, axes):
    return all(a == b for i, (a, b) in enumerate(zip(one, other)) if i not in axes)


@settings(max_examples=100, deadline=None)
@given(placements())
def test_nothing_moves_to_where_it_is_and_cutting_is_free(placement):
    assert redistribution(SHAPE, 4, placement, placement, MESH) == ()
    assert redistribution(SHAPE, 4, Placement(((), ())), placement, MESH) == ()


def test_known_moves_have_known_bytes():
    rows, columns = Placement(((0,), ())), Placement(((), (0,)))
    (gather,) = redistribution((8, 6), 4, rows, Placement(((), ())), Mesh((2,)))
    assert (gather.kind, gather.bytes, gather.moved(Mesh((2,)))) == ("all-gather", 192, 96)
    (exchange,) = redistribution((8, 6), 4, rows, columns, Mesh((2,)))
    assert (exchange.kind, exchange.bytes, exchange.moved(Mesh((2,)))) == ("all-to-all", 96, 48)


def test_meshes_of_any_number_of_devices():
    assert prime_factors(12) == (3, 2, 2)
    assert finest_mesh(7).sizes == (7,)
    assert finest_mesh(1).sizes == (1,)
    assert [m.sizes for m in meshes(6)] == [(6,), (3, 2), (2, 3)]
    assert {p for n in (2, 6, 7, 8) for p in permutations(prime_factors(n))}
