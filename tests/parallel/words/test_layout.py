"""Layouts as data: what they say, which grids meet, and what is refused with which words."""

from __future__ import annotations

from importlib import import_module

import pytest

import mycelia as ms
from mycelia import Layout, Parameter, Tensor, nn, ops
from mycelia._engine.distributed.auto_parallel_settings import settings_version
from mycelia._engine.distributed.layout import common_mesh
from mycelia._engine.distributed.mesh import Mesh
from mycelia.compat.modules import targets
from mycelia.parallel import AutoParallel

LAYOUT = Layout((2, 4), ("dp", "mp"))


def test_a_layout_as_a_dict_counts_axes_from_the_last():
    assert LAYOUT("dp", "mp").to_dict() == {
        "device_matrix": (2, 4),
        "tensor_map": (1, 0),
        "interleaved_parallel": False,
        "alias_name": ("dp", "mp"),
        "rank_list": list(range(8)),
    }
    assert LAYOUT("None", ("mp", "dp")).to_dict()["tensor_map"] == (-1, (0, 1))


def test_layouts_are_values():
    assert LAYOUT("dp", "mp") == Layout((2, 4), ("dp", "mp"))("dp", "mp") != LAYOUT("mp", "dp")
    assert hash(LAYOUT("dp")) == hash(Layout((2, 4), ("dp", "mp"))("dp"))
    assert LAYOUT.names is None
    assert ms.parallel.Layout is ms.Layout


def test_an_interleaved_axis_is_none_of_devices():
    layout = Layout((2, 2, 2), ("dp", "sp", "interleaved_parallel"))
    found = layout(("dp", "interleaved_parallel"), "sp")
    assert (found.devices, found.degrees) == (4, (2, 2))
    assert found.to_dict()["interleaved_parallel"] is True


@pytest.mark.parametrize(
    ("matrices", "devices", "mesh"),
    [
        ([(2, 4)], 8, (2, 2, 2)),
        ([(2, 3)], 6, (2, 3)),
        ([(3, 2)], 6, (3, 2)),
        ([(2, 4), (4, 2), (8,)], 8, (2, 2, 2)),
        ([(6,), (2, 3)], 6, (2, 3)),
        ([(7, 1)], 7, (7,)),
        ([(6, 4), (2, 12)], 24, (2, 3, 2, 2)),
    ],
)
def test_the_mesh_of_a_program_says_all_its_layouts(matrices, devices, mesh):
    layouts = [Layout(m, tuple("abc"[: len(m)])) for m in matrices]
    assert common_mesh(layouts, devices) == Mesh(mesh)


def test_no_layouts_leave_the_mesh_open():
    assert common_mesh([], 8) is None


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Layout([2, 4], ("a", "b")), TypeError, "'device_matrix' must be tuple"),
        (lambda: Layout((2.0, 4), ("a", "b")), TypeError, "a tuple of ints"),
        (lambda: Layout((0, 4), ("a", "b")), ValueError, "a size below 1"),
        (lambda: Layout((2, 4), ["a", "b"]), TypeError, "'alias_name' must be tuple"),
        (lambda: Layout((2, 4), ("a", 1)), TypeError, "a tuple of str"),
        (lambda: Layout((2, 4), ("a", "")), ValueError, "'' is no name"),
        (lambda: Layout((2, 4), ("a", "None")), ValueError, "'None' is no name"),
        (lambda: Layout((2, 4), ("a",)), ValueError, "differ in length"),
        (lambda: Layout((2, 4), ("a", "a")), ValueError, "two axes have the same name"),
        (lambda: Layout((2,), ("a",), 3), TypeError, "'rank_list' must be list"),
        (lambda: Layout((2,), ("a",), [0, 2]), ValueError, "every device exactly once"),
        (lambda: LAYOUT("dp", "dp"), ValueError, "can split only one dimension"),
        (lambda: LAYOUT("dp", "sp"), ValueError, "unknown device axis"),
        (lambda: LAYOUT("dp", 1), TypeError, "str or tuple of str"),
        (lambda: LAYOUT.to_dict(), ValueError, "has no tensor map yet"),
        (lambda: ops.MatMul().shard(((2, 1), LAYOUT)), ValueError, "without a tensor map"),
        (lambda: ops.MatMul().shard([(2, 1)]), TypeError, "in_strategy must be tuple type"),
        (lambda: ops.MatMul().shard((2, 1)), TypeError, "must hold strategies"),
        (lambda: ops.MatMul().shard(((2, "1"),)), TypeError, "must hold strategies"),
        (lambda: ops.MatMul().shard(((2, 0),)), ValueError, "less than one shard"),
        (lambda: ops.reshard(Tensor([1.0]), "dp"), TypeError, "reshard: layout holds"),
        (lambda: ms.shard(3, ((1,),)), TypeError, "a function or a Cell"),
        (lambda: ms.shard(ops.abs, [(1,)]), TypeError, "'in_strategy' must be tuple"),
        (lambda: ms.shard(ops.abs, ((1,),), device="TPU"), ValueError, "one of CPU, GPU, Ascend"),
        (lambda: ms.shard(ops.abs, ((1,),), level=4), ValueError, "0, 1 or 2"),
        (
            lambda: ms.shard(ops.abs, ((1,),), None, {"w": (1,)}),
            ValueError,
            "a function has no parameters",
        ),
        (lambda: AutoParallel(ops.abs, "auto"), ValueError, "one of semi_auto"),
        (lambda: AutoParallel(3), TypeError, "a Cell or a function"),
        (lambda: AutoParallel(ops.abs).hsdp(optimizer_level="level4"), ValueError, "level"),
        (lambda: AutoParallel(ops.abs).dataset_strategy(((0, 1),)), ValueError, "less than one"),
        (lambda: AutoParallel(ops.abs).print_local_norm(), NotImplementedError, "norms of single"),
    ],
)
def test_what_makes_no_sense_is_refused(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_marks_of_layouts_tell_operators_apart():
    one = ops.MatMul().shard((LAYOUT("dp", "None"), LAYOUT("None", "mp")))
    same = ops.MatMul().shard((LAYOUT("dp", "None"), LAYOUT("None", "mp")))
    other = ops.MatMul().shard((LAYOUT("dp", "None"), LAYOUT("None", "None")))
    assert one == same != other


def test_a_parameter_of_an_unknown_name_is_warned_of(caplog):
    ms.shard(nn.Dense(2, 3), ((1, 1),), parameter_plan={"first.weigth": (1, 1)})
    assert "'first.weigth'" in caplog.text and "weight, bias" in caplog.text


def test_clones_of_a_parameter_lie_as_they_like():
    parameter = Parameter(Tensor([[1.0, 2.0]]), name="p")
    parameter.layout = (1, 2)
    assert parameter.layout == (1, 2) and parameter.clone().layout is None
    with pytest.raises(TypeError, match="Parameter p: layout must hold"):
        parameter.layout = "dp"


def test_equal_settings_have_one_number():
    first = settings_version()
    ms.set_auto_parallel_context(parallel_mode="auto_parallel")
    second = settings_version()
    ms.reset_auto_parallel_context()
    assert settings_version() == first != second
    ms.set_algo_parameters(fully_use_devices=True)
    assert settings_version() not in (first, second)
    ms.reset_algo_parameters()
    assert settings_version() == first


def test_every_setting_of_auto_parallel_is_kept():
    cell = AutoParallel(ops.abs)
    cell.pipeline(stages=2, interleave=True, scheduler="1f1b")
    cell.comm_fusion({"allreduce": {"mode": "size", "config": 32}})
    cell.load_operator_strategy_file("a.json")
    cell.save_param_strategy_file("b.json")
    cell.set_group_ckpt_save_file("c")
    cell.enable_fp32_communication()
    cell.no_init_parameters_in_compile()
    cell.disable_strategy_file_only_for_trainable_params()
    cell.transformer_opt(None)
    with cell._settings.in_force():
        get = ms.get_auto_parallel_context
        assert (get("pipeline_stages"), get("pipeline_interleave")) == (2, True)
        assert (get("strategy_ckpt_load_file"), get("strategy_ckpt_save_file")) == (
            "a.json",
            "b.json",
        )
        assert get("comm_fusion")["allreduce"] == {"mode": "size", "config": 32}
        assert get("force_fp32_communication") and not get("init_param_in_compile")
    assert ms.get_auto_parallel_context("pipeline_stages") == 1


def test_mindspores_paths():
    for path, name in (
        ("mindspore", "Layout"),
        ("mindspore", "shard"),
        ("mindspore", "reshard"),
        ("mindspore.parallel", "Layout"),
        ("mindspore.parallel", "shard"),
        ("mindspore.parallel.auto_parallel", "AutoParallel"),
        ("mindspore.parallel.function", "reshard"),
        ("mindspore.parallel.nn", "Pipeline"),
        ("mindspore.parallel.nn", "GradAccumulation"),
        ("mindspore.parallel.nn", "MicroBatchInterleaved"),
        ("mindspore.parallel.nn", "PipelineGradReducer"),
        ("mindspore.ops", "reshard"),
    ):
        modules = [import_module(m) for m in targets(path)]
        assert any(hasattr(module, name) for module in modules), (path, name)
