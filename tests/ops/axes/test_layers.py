"""The axes of normalizations, losses, lookups and dropout."""

from __future__ import annotations

import pytest

from mycelia import ops
from mycelia._engine.operators.operator import Vjp
from mycelia.ops.indexing.embedding import Embedding, EmbeddingGrad
from mycelia.ops.indexing.gather import GatherD, GatherGrad
from mycelia.ops.loss.cross_entropy import CrossEntropy
from tests.ops.axes.reading import axes, axis, by_size, inner_axis


def test_softmax_needs_its_maximum_and_its_sum_where_it_is_cut():
    found = by_size(axes(ops.Softmax(), "f32[4,8]"))
    assert found[4].inner == 0.0
    assert found[8].inner == 2 * 4 * 4  # two values for each of 4 rows
    assert found[8].outputs == ((0, 1),)
    assert found[8].combined == ()


def test_layer_norm_is_cut_along_rows_and_exchanges_its_statistics_along_features():
    found = by_size(axes(ops.LayerNorm(-1, -1), "f32[4,8,16]", "f32[16]", "f32[16]"))
    assert found[4].outputs == ((0, 0), (1, 0), (2, 0))
    assert found[8].outputs == ((0, 1), (1, 1), (2, 1))
    assert found[16].inputs == ((0, 2), (1, 0), (2, 0))
    assert found[16].outputs == ((0, 2),)
    assert [found[n].inner for n in (4, 8, 16)] == [0.0, 0.0, 2 * 4 * 8 * 4]


def test_gradients_of_the_parameters_of_layer_norm_are_sums_over_rows():
    op = ops.LayerNorm(-1, -1)
    dout = ("f32[4,8,16]", "f32[4,8,1]", "f32[4,8,1]")
    found = axes(Vjp(op), "f32[4,8,16]", "f32[16]", "f32[16]", dout)
    rows = [one for one in found.axes if (0, 0) in one.inputs]
    assert [one.combined for one in rows] == [((1, "sum"), (2, "sum"))]
    assert rows[0].inner == 0.0


def test_batch_norm_in_training_is_cut_along_the_batch_for_two_numbers_a_channel():
    types = ("f32[4,6,10,12]", *["f32[6]"] * 4)
    batch, channels, *_ = axes(ops.BatchNorm(True), *types).axes
    assert (batch.size, batch.inputs, batch.outputs) == (4, ((0, 0),), ((0, 0),))
    assert batch.inner == 2 * 6 * 4
    assert batch.combined == ()
    assert channels.inputs == ((0, 1), (1, 0), (2, 0), (3, 0), (4, 0))
    assert channels.inner == 0.0


def test_batch_norm_in_use_is_cut_along_the_batch_for_nothing():
    types = ("f32[4,6,10,12]", *["f32[6]"] * 4)
    assert all(one.inner == 0.0 for one in axes(ops.BatchNorm(False), *types).axes)


def test_cross_entropy_of_each_row_is_cut_along_rows():
    found = by_size(axes(ops.SoftmaxCrossEntropyWithLogits(), "f32[4,10]", "f32[4,10]"))
    assert found[4].inputs == ((0, 0), (1, 0))
    assert found[4].outputs == ((0, 0), (1, 0))
    assert found[4].inner == 0.0
    assert found[10].outputs == ((1, 1),)
    assert found[10].combined == ((0, "sum"),)
    assert found[10].inner == 2 * 4 * 4


@pytest.mark.parametrize(
    ("reduction", "combined", "outputs", "inner"),
    [
        ("none", (), ((0, 0), (1, 0)), 0.0),
        ("sum", ((0, "sum"),), ((1, 0),), 0.0),
        ("mean", (), ((1, 0),), 8.0),  # the sum of the losses over that of the weights
    ],
)
def test_cross_entropy_of_labels_is_cut_along_rows(
    reduction: str, combined: tuple, outputs: tuple, inner: float
):
    rows = axes(CrossEntropy(reduction=reduction), "f32[4,10]", "i32[4]", None).axes[0]
    assert rows.inputs == ((0, 0), (1, 0))
    assert (rows.combined, rows.outputs, rows.inner) == (combined, outputs, inner)


def test_the_mean_over_labels_is_a_sum_over_rows():
    found = by_size(axes(ops.SparseSoftmaxCrossEntropyWithLogits(), "f32[4,10]", "i32[4]"))
    assert found[4].inputs == ((0, 0), (1, 0))
    assert found[4].combined == ((0, "sum"),)
    assert found[4].inner == 0.0


def _lookup_axes() -> list[tuple]:
    return [
        (4, ((0, 0),), ((0, 0),), ()),
        (8, ((0, 1),), ((0, 1),), ()),
        (10, ((1, 0),), (), ((0, "sum"),)),
        (16, ((1, 1),), ((0, 2),), ()),
    ]


def test_an_embedding_is_cut_along_numbers_features_and_rows_of_the_table():
    found = axes(Embedding(), "i32[4,8]", "f32[10,16]")
    assert [(a.size, a.inputs, a.outputs, a.combined) for a in found.axes] == _lookup_axes()


def test_gather_is_cut_as_an_embedding():
    found = axes(ops.Gather(), "f32[10,16]", "i32[4,8]", 0)
    assert {(a.size, a.outputs, a.combined) for a in found.axes} == {
        (size, outputs, combined) for size, _, outputs, combined in _lookup_axes()
    }


def test_the_gradient_of_a_lookup_is_a_sum_over_numbers_and_cut_along_the_table():
    found = by_size(axes(GatherGrad((10, 16)), "f32[4,8,16]", "i32[4,8]"))
    assert found[4].combined == found[8].combined == ((0, "sum"),)
    assert found[4].inputs == ((0, 0), (1, 0))
    assert found[16].outputs == ((0, 1),)
    assert found[10].inputs == ()
    assert found[10].outputs == ((0, 0),)
    assert found[10].combined == ()


def test_the_gradient_of_an_embedding_sums_over_the_first_axis_of_its_numbers():
    found = by_size(axes(EmbeddingGrad(10), "i32[4,8]", "f32[4,8,16]"))
    assert sorted(found) == [4, 10, 16]  # the second axis is merged into the first
    assert found[4].combined == ((0, "sum"),)


def test_rows_that_are_looked_up_in_order_go_together():
    found = by_size(axes(GatherD(), "f32[4,10]", 1, "i32[4,6]"))
    assert found[4].inputs == ((0, 0), (1, 0))
    assert found[4].outputs == ((0, 0),)
    assert found[10].combined == ((0, "sum"),)


def test_updates_of_a_table_that_holds_something_are_finished_inside():
    found = axes(ops.TensorScatterAdd(), "f32[10,16]", "i32[4,1]", "f32[4,16]")
    updates = inner_axis(found)
    assert updates.inputs == ((1, 0), (2, 0))
    assert updates.inner == 10 * 16 * 4


def test_updates_that_replace_rows_are_not_cut_among_each_other():
    found = axes(ops.TensorScatterUpdate(), "f32[10,16]", "i32[4,1]", "f32[4,16]")
    assert [(one.inputs, one.outputs) for one in found.axes] == [
        (((0, 0),), ((0, 0),)),
        (((0, 1), (2, 1)), ((0, 1),)),
    ]


def test_dropout_is_cut_everywhere_but_in_its_key():
    found = axes(ops.Dropout(), "f32[4,8]")
    assert [(one.inputs, one.outputs) for one in found.axes] == [
        (((0, 0),), ((0, 0), (1, 0))),
        (((0, 1),), ((0, 1), (1, 1))),
    ]


def test_the_key_may_be_among_the_arguments():
    assert axes(ops.Dropout(), "f32[4,8]", "u32[2]") == axes(ops.Dropout(), "f32[4,8]")


def test_pooling_is_cut_along_batch_and_channels():
    found = axes(ops.MaxPool(2, 2), "f32[4,6,8,10]")
    work = found.flops
    assert found.axes == (axis(4, [(0, 0)], [(0, 0)], work), axis(6, [(0, 1)], [(0, 1)], work))
