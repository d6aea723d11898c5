"""Forward and backward of a stage as one program: joined, planned, cut again. No devices needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import mycelia as ms
from mycelia._engine.compiler.sharding import planner
from mycelia._engine.compiler.sharding.boundary_layouts import NO_BOUNDARY_LAYOUTS, BoundaryLayouts
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.compiler.sharding.search import SearchResult, recursive_programming
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.mesh import Mesh, Placement, replicated
from mycelia._engine.ir.analysis import ordered
from mycelia._engine.ir.control_flow import TUPLE, primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.program import InputSource, ProgramInput
from mycelia._engine.ir.types import parse_type
from mycelia._engine.ir.verifier import verify
from mycelia._engine.parallel.pipeline.equal_stages import StagePlanCache
from mycelia._engine.parallel.pipeline.stage_gradients import StageGraphs, differentiate_stage
from mycelia._engine.parallel.pipeline.stage_hints import hinted_weights
from mycelia._engine.parallel.pipeline.stage_layouts import (
    JointStage,
    join_stage,
    seed_placements,
    shard_stage,
)
from mycelia.ops.activation.smooth import Tanh
from mycelia.ops.linalg.matmul import MatMul

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
    return differentiate_stage(graph, {0: 1}, [0], [1, 2], [1, 2])


def joint(graphs: StageGraphs) -> JointStage:
    weights = [ms.Parameter(np.zeros((2, 2), np.float32), name=n) for n in ("up", "down")]
    inputs = [ProgramInput(InputSource.STATE, w) for w in (object(), *weights)]
    return join_stage(graphs, inputs, [ProgramInput(InputSource.STATE, object())], {})


def asked(mode: str, devices: int = 4) -> PlanRequest:
    return PlanRequest(mode, Cluster().with_devices(devices), "dynamic_programming")


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
    found = shard_stage(
        joint(graphs), asked("auto_parallel"), NO_BOUNDARY_LAYOUTS, StagePlanCache()
    ).graphs
    assert graphs.backward is not None and found.backward is not None
    for old, new in ((graphs.forward, found.forward), (graphs.backward, found.backward)):
        verify(new)
        assert new.output.type == old.output.type
        assert [p.type for p in new.parameters] == [p.type for p in old.parameters]
        assert count(new, MatMul) == count(old, MatMul)  # nothing is computed again


def test_sums_of_gradients_lie_as_their_weights() -> None:
    found = shard_stage(
        joint(stage()), asked("auto_parallel"), NO_BOUNDARY_LAYOUTS, StagePlanCache()
    )
    assert found.planned is not None and found.planned.program.spread is not None
    inputs = found.planned.program.spread.inputs
    assert inputs[1] == inputs[4] and inputs[2] == inputs[5]
    assert inputs[1].axes  # and are cut


def test_only_the_batch_is_cut_in_data_parallel_mode() -> None:
    whole_stage = joint(stage())
    given = [ProgramInput(InputSource.ARGUMENT, 7), *whole_stage.program.inputs[1:3]]
    found = shard_stage(
        join_stage(stage(), given, [ProgramInput(InputSource.ARGUMENT, 8)], {}),
        asked("data_parallel"),
        NO_BOUNDARY_LAYOUTS,
        StagePlanCache(),
    )
    assert found.inputs == (Placement(((0,), ())), replicated(2), replicated(2))


def test_weights_lie_as_hints_of_their_operators_say() -> None:
    product = MatMul()
    product.shard(((2, 1), (1, 2)))
    program = joint(stage(product)).program
    request = asked("semi_auto_parallel")
    assert hinted_weights(program, request)[1] == Placement(((), (1,)))
    placed = hinted_weights(program, request)
    found = shard_stage(
        joint(stage(product)), request, BoundaryLayouts(placed=placed), StagePlanCache()
    )
    assert found.mesh == Mesh((2, 2)) and found.inputs[1] == Placement(((), (1,)))


def test_gradients_come_as_the_boundary_says() -> None:
    whole_stage = joint(stage())
    rows = Placement(((0,), ()))
    for wanted in (rows, replicated(2)):
        boundary = BoundaryLayouts(Mesh((4,)), {3: wanted})
        found = shard_stage(whole_stage, asked("auto_parallel"), boundary, StagePlanCache())
        assert found.mesh == Mesh((4,)) and seed_placements(whole_stage, found) == (wanted,)


def test_what_waiting_micro_batches_hold_counts_as_memory() -> None:
    whole_stage, request = joint(stage()), asked("auto_parallel")
    limited = replace(request, memory=6e6)
    assert (
        shard_stage(whole_stage, limited, NO_BOUNDARY_LAYOUTS, StagePlanCache()).planned is not None
    )
    held = BoundaryLayouts(held_results=dict.fromkeys(whole_stage.kept, 16))
    with pytest.raises(MemoryError, match="no layout fits"):
        shard_stage(whole_stage, limited, held, StagePlanCache())


def test_a_stage_like_another_follows_its_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[object] = []

    def counted(*args: Any, **kwargs: Any) -> SearchResult:
        searched.append(args)
        return recursive_programming(*args, **kwargs)

    monkeypatch.setattr(planner, "recursive_programming", counted)
    plans, request = StagePlanCache(), asked("auto_parallel")
    one, two = [
        shard_stage(joint(stage(layer=name)), request, NO_BOUNDARY_LAYOUTS, plans)
        for name in ("0.", "1.")
    ]
    assert len(searched) == 1
    assert one.planned is not None and two.planned is not None
    assert two.inputs == one.inputs and two.mesh == one.mesh
    assert show(two.graphs.forward).replace("1.", "0.") == show(one.graphs.forward)
    assert not two.planned.pinned
    product = MatMul()
    product.shard(((4, 1), (1, 1)))
    other = shard_stage(joint(stage(product)), request, NO_BOUNDARY_LAYOUTS, plans)
    assert other.planned is not None and other.planned.pinned  # a hint makes it another one
