"""The axes of reductions, reshaping, joining, updates; and of programs with branches and loops."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from mycelia import ops
from mycelia._engine.ir.types import parse_type
from mycelia._engine.operators.axes import Axis, OperatorAxes, axes_of, unknown_primitives
from mycelia._engine.operators.axes.shape_rules import factor_groups
from mycelia._engine.operators.device import on_cpu, reference_implementations
from mycelia.ops.optimizer.fused_updates import AdamUpdate, MomentumUpdate
from tests.ops.axes.reading import axes, axis, by_size


def made(lower: Any) -> ops.Primitive:
    """An operator with this kernel."""
    return type("Made", (ops.Primitive,), {"lower": lambda self, *args: lower(*args)})()


def test_a_sum_is_cut_along_what_it_sums():
    found = axes(ops.ReduceSum(), "f32[4,8]", (0,))
    assert found.axes == (
        axis(4, [(0, 0)], [], 8.0, [(0, "sum")]),
        axis(8, [(0, 1)], [(0, 0)], 8.0),
    )


def test_a_mean_is_a_sum_of_parts():
    assert by_size(axes(ops.ReduceMean(), "f32[4,8]", (0,)))[4].combined == ((0, "sum"),)


@pytest.mark.parametrize(
    ("op", "dtype", "kind"),
    [
        (ops.ReduceMax(), "f32", "max"),
        (ops.ReduceMin(), "f32", "min"),
        (ops.ReduceAny(), "bool", "any"),
        (ops.ReduceAll(), "bool", "min"),
    ],
)
def test_other_reductions_are_combined_by_their_kind(op: Any, dtype: str, kind: str):
    assert by_size(axes(op, f"{dtype}[4,8]", (0,)))[4].combined == ((0, kind),)


def test_a_product_of_numbers_is_not_cut_along_them():
    assert list(by_size(axes(ops.ReduceProd(), "f32[4,8]", (0,)))) == [8]


@pytest.mark.parametrize(
    "lower",
    [
        lambda x: 3 * -jnp.sum(x, 0) / 7,
        lambda x: jnp.sum(x, 0)[None, :].T.reshape(-1).astype("float64"),
        lambda x: jnp.sum(x, 0) + jnp.sum(2 * x, 0),
        lambda x: jnp.where(jnp.arange(8) > 2, jnp.sum(x, 0), 0.0),
        lambda x: jnp.concatenate([jnp.sum(x, 0), jnp.sum(x, 0)]),
        lambda x: jnp.ones((8, 8)) @ jnp.sum(x, 0),
        lambda x: jnp.cumsum(jnp.pad(jnp.sum(x, 0), 1)),
    ],
)
def test_linear_steps_leave_a_sum_in_terms(lower: Any):
    found = by_size_of_rows(axes(made(lower), "f32[4,8]"))
    assert found.combined == ((0, "sum"),)
    assert found.inner == 0.0


@pytest.mark.parametrize(
    "lower",
    [
        lambda x: jnp.exp(jnp.sum(x, 0)),
        lambda x: jnp.sum(x, 0) + 1.0,
        lambda x: 1.0 / jnp.sum(x, 0),
        lambda x: jnp.sum(x, 0) * jnp.sum(x, 0),
        lambda x: jnp.maximum(jnp.sum(x, 0), 0.0),
        lambda x: jnp.sum(x, 0).astype("int32"),
        lambda x: jnp.pad(jnp.sum(x, 0), 1, constant_values=1.0),
        lambda x: jnp.sum(x, 0) + x,
        lambda x: jax.lax.cond(jnp.sum(x) > 0, jnp.sin, jnp.cos, x),
    ],
)
def test_other_steps_need_the_whole_sum(lower: Any):
    found = axes(made(lower), "f32[4,8]").axes
    rows = [one for one in found if (0, 0) in one.inputs]
    assert [one.inner > 0 and one.combined == () for one in rows] == [True]


def by_size_of_rows(found: OperatorAxes) -> Axis:
    (rows,) = [one for one in found.axes if (0, 0) in one.inputs]
    return rows


def test_a_maximum_may_meet_a_finished_value():
    rows = by_size_of_rows(axes(made(lambda x: jnp.maximum(-x.min(0), 1.0)), "f32[4,8]"))
    assert rows.combined == ((0, "max"),)


def test_merged_axes_are_cut_along_the_major_one():
    found = by_size(axes(ops.Reshape(), "f32[4,8,16]", (32, 16)))
    assert found == {
        4: axis(4, [(0, 0)], [(0, 0)], 512.0, uniform=False),
        16: axis(16, [(0, 2)], [(0, 1)], 512.0),
    }


def test_split_axes_are_cut_along_the_major_one():
    found = by_size(axes(ops.Reshape(), "f32[32,16]", (4, 8, 16)))
    assert found == {
        4: axis(4, [(0, 0)], [(0, 0)], 512.0, uniform=False),
        16: axis(16, [(0, 1)], [(0, 2)], 512.0),
    }


def test_a_cut_must_fall_between_elements_on_both_sides():
    (found,) = axes(ops.Reshape(), "f32[12,6]", (8, 9)).axes
    assert (found.size, found.divides) == (8, 4)
    assert axes(ops.Reshape(), "f32[2,3]", (3, 2)).axes == ()


def test_dimensions_of_one_come_and_go():
    assert factor_groups((1, 4, 1, 6), (4, 2, 3, 1)) == [([1], [0]), ([3], [1, 2])]


def test_transposed_axes_keep_their_names():
    found = by_size(axes(ops.Transpose(), "f32[4,8,16]", (2, 0, 1)))
    assert {size: one.outputs for size, one in found.items()} == {
        4: ((0, 1),),
        8: ((0, 2),),
        16: ((0, 0),),
    }


def test_joined_tensors_are_not_cut_where_they_are_joined():
    found = axes(ops.Concat(1), ("f32[4,8]", "f32[4,6]"))
    assert found.axes == (axis(4, [(0, 0), (1, 0)], [(0, 0)], 56.0),)


def test_what_is_sorted_is_not_cut():
    assert list(by_size(axes(ops.Sort(), "f32[4,8]"))) == [4]


def test_what_is_accumulated_is_not_cut():
    assert list(by_size(axes(ops.CumSum(), "f32[4,8]", 1))) == [4]


def test_made_tensors_are_cut_at_will():
    found = axes(ops.Tril(), "f32[4,8]")
    assert [one.outputs for one in found.axes] == [((0, 0),), ((0, 1),)]
    assert [one.inputs for one in axes(ops.BroadcastTo((4, 8)), "f32[8]").axes] == [((0, 0),), ()]


def test_an_axis_that_meets_itself_is_not_cut():
    assert axes(made(lambda x: x[:, None] + x), "f32[8]").axes == ()
    assert axes(made(lambda x: x + x.T), "f32[8,8]").axes == ()


def test_parameters_of_an_update_are_cut_apart():
    params, rate = ("f32[4,6]", "f32[8]"), "f32[]"
    found = axes(MomentumUpdate(), params, params, params, rate, rate)
    assert [(one.inputs, one.outputs) for one in found.axes] == [
        (((0, 0), (2, 0), (4, 0)), ((0, 0), (2, 0))),
        (((0, 1), (2, 1), (4, 1)), ((0, 1), (2, 1))),
        (((1, 0), (3, 0), (5, 0)), ((1, 0), (3, 0))),
    ]
    assert all(one.inner == 0.0 and one.combined == () for one in found.axes)


def test_adam_is_cut_as_all_updates_are():
    params, rate = ("f32[4,6]", "f32[8]"), "f32[]"
    found = axes(AdamUpdate(), params, params, params, (), rate, rate, params, rate)
    assert [one.outputs for one in found.axes] == [
        ((0, 0), (2, 0), (4, 0)),
        ((0, 1), (2, 1), (4, 1)),
        ((1, 0), (3, 0), (5, 0)),
    ]


def test_a_centered_gradient_needs_its_mean():
    params, rate = ("f32[4,6]",), "f32[]"
    found = by_size(axes(MomentumUpdate(centralize=(True,)), params, params, params, rate, rate))
    assert (found[4].inner, found[6].inner) == (0.0, 4 * 4)


def test_a_loop_is_not_cut_along_what_it_runs_over():
    def cumulative(x: Any) -> Any:
        return jax.lax.scan(lambda total, row: (total + row, total), jnp.zeros(8), x)

    found = axes(made(cumulative), "f64[4,8]")
    assert [(one.inputs, one.outputs) for one in found.axes] == [(((0, 1),), ((0, 0), (1, 1)))]
    assert found.flops == 4 * 8 + 8  # four sums, and the zeros


def test_a_sum_inside_a_loop_is_finished_in_every_round():
    def normalized(x: Any) -> Any:
        return jax.lax.fori_loop(0, 5, lambda i, y: y / jnp.sum(y), x)

    assert by_size(axes(made(normalized), "f32[8]"))[8].inner == 5 * 4


def test_a_loop_that_asks_about_an_axis_finishes_the_answer():
    def halved(x: Any) -> Any:
        return jax.lax.while_loop(lambda y: jnp.any(y > 1), lambda y: y / 2, x)

    assert by_size(axes(made(halved), "f32[8]"))[8].inner == 1


def test_branches_agree_about_axes():
    def either(x: Any, flag: Any) -> Any:
        return jax.lax.cond(flag, lambda y: jnp.sum(y, 0), lambda y: -jnp.sum(y, 0), x)

    found = by_size(axes(made(either), "f32[4,8]", "bool[]"))
    assert found[4].combined == ((0, "sum"),)
    assert found[8].outputs == ((0, 0),)


def test_nothing_is_cut_in_a_primitive_without_a_rule():
    def unknown(x: Any) -> Any:
        return jax.pure_callback(lambda y: y, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    assert axes(made(unknown), "f32[4,8]").axes == ()
    assert "pure_callback" in unknown_primitives()


def test_steps_that_nobody_needs_do_not_count():
    def unused(x: Any) -> Any:
        jnp.sort(x, 0)
        return -x

    found = axes(made(unused), "f32[4,8]")
    assert [one.size for one in found.axes] == [4, 8]
    assert found.flops == 32


def test_an_operator_may_know_better():
    class Own(ops.Primitive):
        def lower(self, x: Any) -> Any:
            return x

        def device_axes(self, x: Any) -> OperatorAxes | None:
            return OperatorAxes((), 1.0) if x.ndim == 1 else None

    assert axes(Own(), "f32[4]") == OperatorAxes((), 1.0)
    assert len(axes(Own(), "f32[4,8]").axes) == 2


def test_the_same_question_is_answered_once():
    args = (parse_type("f32[4,8]"), parse_type("f32[8,16]"))
    assert axes_of(ops.MatMul(), args) is axes_of(ops.MatMul(), args)
    assert axes_of(ops.MatMul(), args) is not axes_of(ops.MatMul(False, True), args[:1] * 2)


def test_plain_forms_last_as_long_as_their_block():
    before = on_cpu()
    with reference_implementations():
        assert not on_cpu()
        with reference_implementations():
            assert not on_cpu()
        assert not on_cpu()
    assert on_cpu() == before
