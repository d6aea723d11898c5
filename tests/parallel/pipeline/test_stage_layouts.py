"""Forward and backward of a stage as one program: joined, planned, cut again. No devices needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia.compiler.parallel import planning
from mycelia.compiler.parallel.request import Request
from mycelia.compiler.parallel.search import Found, recursive
from mycelia.compiler.parallel.settled import NOTHING, Settled
from mycelia.compiler.parallel.stage_alike import AlikePlans
from mycelia.compiler.parallel.stage_gradients import StageGraphs, differentiated
from mycelia.compiler.parallel.stage_hints import hinted_weights
from mycelia.compiler.parallel.stage_layouts import JointStage, joined, laid_out, seed_placements
from mycelia.ir.analysis import ordered
from mycelia.ir.check import check
from mycelia.ir.control import TUPLE, primitive_of
from mycelia.ir.graph import Graph
from mycelia.ir.program import Input, Source
from mycelia.ir.text import show
from mycelia.ir.types import parse_type
from mycelia.ops.activation_smooth import Tanh
from mycelia.ops.linalg import MatMul
from mycelia.parallel.cluster import Cluster
from mycelia.parallel.mesh import Mesh, Placement, whole

BATCH, WIDE = parse_type("f32[512,256]"), parse_type("f32[512,1024]")
UP, DOWN = parse_type("f32[256,1024]"), parse_type("f32[1024,256]")


def stage(first: MatMul | None = None, layer: str = "") -> StageGraphs:
    """x @ up, tanh, @ down; gradients of x are pulled, those of the weights summed."""
    graph = Graph("stage")
    x, up, down = [
        graph.parameter(layer + name, type=type_)
        for name, type_ in (("x", BATCH), ("up", UP), ("down", DOWN))
    ]
    wide = graph.apply(first or MatMul(), x, up, type=WIDE)
    narrow = graph.apply(MatMul(), graph.apply(Tanh(), wide, type=WIDE), down, type=BATCH)
    graph.output = graph.apply(TUPLE, narrow, type=(BATCH,))
    return differentiated(graph, {0: 1}, [0], [1, 2], [1, 2])


def joint(graphs: StageGraphs) -> JointStage:
    weights = [ms.Parameter(np.zeros((2, 2), np.float32), name=n) for n in ("up", "down")]
    inputs = [Input(Source.STATE, w) for w in (object(), *weights)]
    return joined(graphs, inputs, [Input(Source.STATE, object())], {})


def asked(mode: str, devices: int = 4) -> Request:
    return Request(mode, Cluster().with_devices(devices), "dynamic_programming")


def count(graph: Graph, kind: type) -> int:
    return sum(isinstance(primitive_of(node), kind) for node in ordered(graph))


def test_a_joint_program_takes_inputs_gradients_and_sums() -> None:
    graphs = stage()
    program = joint(graphs).program
    assert [p.name for p in program.graph.parameters] == ["x", "up", "down", "seed", "sum", "sum_2"]
    assert program.results == 1 + graphs.kept
    sums = [program.in_place[len(program.graph.output.type) - n] for n in (2, 1)]
    assert sums == [4, 5]


def test_both_graphs_do_what_they_did_before() -> None:
    graphs = stage()
    found = laid_out(joint(graphs), asked("auto_parallel"), NOTHING, AlikePlans()).graphs
    assert graphs.backward is not None and found.backward is not None
    for old, new in ((graphs.forward, found.forward), (graphs.backward, found.backward)):
        check(new)
        assert new.output.type == old.output.type
        assert [p.type for p in new.parameters] == [p.type for p in old.parameters]
        assert count(new, MatMul) == count(old, MatMul)  # nothing is computed again


def test_sums_of_gradients_lie_as_their_weights() -> None:
    found = laid_out(joint(stage()), asked("auto_parallel"), NOTHING, AlikePlans())
    assert found.planned is not None and found.planned.program.spread is not None
    inputs = found.planned.program.spread.inputs
    assert inputs[1] == inputs[4] and inputs[2] == inputs[5]
    assert inputs[1].axes  # and are cut


def test_only_the_batch_is_cut_in_data_parallel_mode() -> None:
    whole_stage = joint(stage())
    given = [Input(Source.ARGUMENT, 7), *whole_stage.program.inputs[1:3]]
    found = laid_out(
        joined(stage(), given, [Input(Source.ARGUMENT, 8)], {}),
        asked("data_parallel"),
        NOTHING,
        AlikePlans(),
    )
    assert found.inputs == (Placement(((0,), ())), whole(2), whole(2))


def test_weights_lie_as_hints_of_their_operators_say() -> None:
    product = MatMul()
    product.shard(((2, 1), (1, 2)))
    program = joint(stage(product)).program
    request = asked("semi_auto_parallel")
    assert hinted_weights(program, request)[1] == Placement(((), (1,)))
    placed = hinted_weights(program, request)
    found = laid_out(joint(stage(product)), request, Settled(placed=placed), AlikePlans())
    assert found.mesh == Mesh((2, 2)) and found.inputs[1] == Placement(((), (1,)))


def test_gradients_come_as_is_settled() -> None:
    whole_stage = joint(stage())
    rows = Placement(((0,), ()))
    for wanted in (rows, whole(2)):
        settled = Settled(Mesh((4,)), {3: wanted})
        found = laid_out(whole_stage, asked("auto_parallel"), settled, AlikePlans())
        assert found.mesh == Mesh((4,)) and seed_placements(whole_stage, found) == (wanted,)


def test_what_waiting_micro_batches_hold_counts_as_memory() -> None:
    whole_stage, request = joint(stage()), asked("auto_parallel")
    limited = replace(request, memory=6e6)
    assert laid_out(whole_stage, limited, NOTHING, AlikePlans()).planned is not None
    held = Settled(held_results=dict.fromkeys(whole_stage.kept, 16))
    with pytest.raises(MemoryError, match="no layout fits"):
        laid_out(whole_stage, limited, held, AlikePlans())


def test_a_stage_like_another_follows_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []

    def counted(*args: Any, **kwargs: Any) -> Found:
        searched.append(args)
        return recursive(*args, **kwargs)

    monkeypatch.setattr(planning, "recursive", counted)
    plans, request = AlikePlans(), asked("auto_parallel")
    one, two = [
        laid_out(joint(stage(layer=name)), request, NOTHING, plans) for name in ("0.", "1.")
    ]
    assert len(searched) == 1
    assert one.planned is not None and two.planned is not None
    assert two.inputs == one.inputs and two.mesh == one.mesh
    assert show(two.graphs.forward).replace("1.", "0.") == show(one.graphs.forward)
    assert not two.planned.pinned
    product = MatMul()
    product.shard(((4, 1), (1, 1)))
    other = laid_out(joint(stage(product)), request, NOTHING, plans)
    assert other.planned is not None and other.planned.pinned  # a hint makes it another one
