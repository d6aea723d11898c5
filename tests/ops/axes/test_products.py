"""The axes of products, convolutions and attention: exactly those, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from mycelia import ops
from mycelia.ops.attention.attention import Attention
from mycelia.ops.convolution.convolution import Conv2DBackpropFilter, Conv2DBackpropInput
from mycelia.ops.linalg.matmul import Dense
from tests.ops.axes.reading import axes, axis, inner_axis

LEFT = {False: ((0, 0), (0, 1)), True: ((0, 1), (0, 0))}  # places of m and k
RIGHT = {False: ((1, 0), (1, 1)), True: ((1, 1), (1, 0))}  # places of k and n


@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
def test_a_product_is_cut_along_rows_columns_and_the_summed_axis(
    transpose_a: bool, transpose_b: bool
):
    x = "f32[16,8]" if transpose_a else "f32[8,16]"
    y = "f32[32,16]" if transpose_b else "f32[16,32]"
    (m, k), (k2, n) = LEFT[transpose_a], RIGHT[transpose_b]
    found = axes(ops.MatMul(transpose_a, transpose_b), x, y)
    work = 2.0 * 8 * 16 * 32
    assert found.flops == work
    assert set(found.axes) == {
        axis(8, [m], [(0, 0)], work),
        axis(16, [k, k2], [], work, [(0, "sum")]),
        axis(32, [n], [(0, 1)], work),
    }


def test_axes_come_in_the_order_in_which_inputs_mention_them():
    found = axes(ops.MatMul(True), "f32[16,8]", "f32[16,32]")
    assert [one.size for one in found.axes] == [16, 8, 32]


@pytest.mark.parametrize(("transpose_a", "transpose_b"), [(False, False), (True, True)])
def test_batches_of_a_product_are_cut_on_both_sides(transpose_a: bool, transpose_b: bool):
    x = "f32[4,6,16,8]" if transpose_a else "f32[4,6,8,16]"
    y = "f32[4,6,32,16]" if transpose_b else "f32[4,6,16,32]"
    found = axes(ops.BatchMatMul(transpose_a, transpose_b), x, y)
    m, k = (3, 2) if transpose_a else (2, 3)
    k2, n = (3, 2) if transpose_b else (2, 3)
    work = 2.0 * 4 * 6 * 8 * 16 * 32
    assert set(found.axes) == {
        axis(4, [(0, 0), (1, 0)], [(0, 0)], work),
        axis(6, [(0, 1), (1, 1)], [(0, 1)], work),
        axis(8, [(0, m)], [(0, 2)], work),
        axis(16, [(0, k), (1, k2)], [], work, [(0, "sum")]),
        axis(32, [(1, n)], [(0, 3)], work),
    }


def test_a_batch_that_is_broadcast_belongs_to_one_side():
    found = axes(ops.BatchMatMul(), "f32[4,1,8,16]", "f32[6,16,32]")
    places = {one.size: (one.inputs, one.outputs) for one in found.axes}
    assert places == {
        4: (((0, 0),), ((0, 0),)),
        6: (((1, 0),), ((0, 1),)),
        8: (((0, 2),), ((0, 2),)),
        16: (((0, 3), (1, 1)), ()),
        32: (((1, 2),), ((0, 3),)),
    }


def test_a_weight_of_a_batch_is_cut_along_its_own_axes():
    found = axes(Dense(), "f32[4,8,16]", "f32[32,16]", None)
    work = 2.0 * 4 * 8 * 16 * 32
    assert set(found.axes) == {
        axis(4, [(0, 0)], [(0, 0)], work),
        axis(8, [(0, 1)], [(0, 1)], work),
        axis(16, [(0, 2), (1, 1)], [], work, [(0, "sum")]),
        axis(32, [(1, 0)], [(0, 2)], work),
    }


def test_a_bias_is_added_once_so_the_sum_is_finished_before_it():
    found = axes(Dense(), "f32[4,8,16]", "f32[32,16]", "f32[32]")
    summed = inner_axis(found)
    assert summed.inputs == ((0, 2), (1, 1))
    assert summed.combined == ()
    assert summed.inner == 4 * 8 * 32 * 4
    assert ((1, 0), (2, 0)) in [one.inputs for one in found.axes]


def test_a_product_with_itself_is_cut_nowhere_it_meets_itself():
    class Gram(ops.Primitive):
        def lower(self, x: Any) -> Any:
            return x @ x.T

    found = axes(Gram(), "f32[8,16]")
    assert [(one.size, one.inputs) for one in found.axes] == [(16, ((0, 1),))]


def test_a_convolution_is_cut_along_batch_and_channels_but_not_where_the_kernel_moves():
    found = axes(ops.Conv2D(8, 3, pad_mode="same"), "f32[4,6,10,12]", "f32[8,6,3,3]")
    work = 2.0 * 4 * 8 * 10 * 12 * 6 * 9
    assert found.flops == work
    assert set(found.axes) == {
        axis(4, [(0, 0)], [(0, 0)], work),
        axis(6, [(0, 1), (1, 1)], [], work, [(0, "sum")]),
        axis(8, [(1, 0)], [(0, 1)], work),
    }


def test_a_convolution_of_single_places_is_cut_there_too():
    found = axes(ops.Conv2D(8, 1), "f32[4,6,10,12]", "f32[8,6,1,1]")
    assert [(one.size, one.outputs) for one in found.axes] == [
        (4, ((0, 0),)),
        (6, ()),
        (10, ((0, 2),)),
        (12, ((0, 3),)),
        (8, ((0, 1),)),
    ]


def test_groups_of_channels_are_cut_between_groups():
    found = axes(ops.Conv2D(12, 3, group=3), "f32[4,6,10,10]", "f32[12,2,3,3]")
    channels = next(one for one in found.axes if (0, 1) in one.inputs)
    assert channels.inputs == ((0, 1), (1, 0))
    assert channels.outputs == ((0, 1),)
    assert channels.divides == 3
    assert len(found.axes) == 2


def test_the_gradient_of_a_kernel_is_a_sum_over_the_batch():
    op = Conv2DBackpropFilter(8, 3, pad_mode="same")
    found = axes(op, "f32[4,8,10,12]", "f32[4,6,10,12]", (8, 6, 3, 3))
    work = found.flops
    assert set(found.axes) == {
        axis(4, [(0, 0), (1, 0)], [], work, [(0, "sum")]),
        axis(8, [(0, 1)], [(0, 0)], work),
        axis(6, [(1, 1)], [(0, 1)], work),
    }


def test_the_gradient_of_an_image_is_a_sum_over_the_channels_made():
    op = Conv2DBackpropInput(8, 3, pad_mode="same")
    found = axes(op, "f32[4,8,10,12]", "f32[8,6,3,3]", (4, 6, 10, 12))
    assert [(one.size, one.inputs, one.outputs, one.combined) for one in found.axes] == [
        (4, ((0, 0),), ((0, 0),), ()),
        (8, ((0, 1), (1, 0)), (), ((0, "sum"),)),
        (6, ((1, 1),), ((0, 1),), ()),
    ]


def test_attention_is_cut_along_heads_queries_and_keys():
    types = ("f32[4,2,6,8]", "f32[4,2,10,8]", "f32[4,2,10,12]", None, None, None)
    found = axes(Attention(), *types)
    scores, rows = 4 * 2 * 6 * 10 * 4.0, 4 * 2 * 6 * 4.0
    assert [(one.size, one.inputs, one.outputs, one.inner) for one in found.axes] == [
        (4, ((0, 0), (1, 0), (2, 0)), ((0, 0),), 0.0),
        (2, ((0, 1), (1, 1), (2, 1)), ((0, 1),), 0.0),
        (6, ((0, 2),), ((0, 2),), 0.0),
        (8, ((0, 3), (1, 3)), (), scores),
        (10, ((1, 2), (2, 2)), (), 2 * rows),
        (12, ((2, 3),), ((0, 3),), 0.0),
    ]
    keys = found.axes[4]
    assert keys.combined == ((0, "sum"),)
