"""The planner: constraints of the parallel mode, the search, and resharding in the graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from mycelia._engine.compiler.sharding.boundary_layouts import NO_BOUNDARY_LAYOUTS, BoundaryLayouts
from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.hints import LayoutHints, Pins
from mycelia._engine.compiler.sharding.insert_resharding import Placements, insert_resharding
from mycelia._engine.compiler.sharding.memory import memory_bytes as memory_bytes
from mycelia._engine.compiler.sharding.output_hints import with_output_hints
from mycelia._engine.compiler.sharding.problem import (
    InstanceOutput,
    OperatorInstance,
    ShardingProblem,
    build_problem,
)
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.compiler.sharding.saved_plan import saved_plan_pins
from mycelia._engine.compiler.sharding.search import (
    SEARCHES as SEARCHES,
)
from mycelia._engine.compiler.sharding.search import (
    SearchAlgorithm,
    SearchResult,
    dynamic_programming,
    recursive_programming,
)
from mycelia._engine.compiler.sharding.strategies import SearchConstraints, Strategy
from mycelia._engine.compiler.sharding.zero_sharding import optimizer_pins
from mycelia._engine.core.errors import problem as problem_error
from mycelia._engine.core.gc_pause import gc_paused
from mycelia._engine.distributed.auto_parallel_settings import ParallelMode
from mycelia._engine.distributed.mesh import Mesh, Placement, meshes
from mycelia._engine.ir.program import InputSource, Program, ProgramSharding

# In data parallel mode, the batch is always split: computation is priced as very slow.
_SLOW = 1e-6

# The cost of a persistent byte, in seconds: almost zero first, then increasing.
WEIGHTS = (1e-15, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-6)


@dataclass(eq=False)
class PlannedProgram:
    """A program with its layouts, and the search that led to them."""

    program: Program
    request: PlanRequest
    problem: ShardingProblem
    placements: Placements
    chosen: dict[OperatorInstance, Strategy]
    prices: CostModel
    cost: float
    searched: dict[str, float] = field(default_factory=dict)  # the cost of each mesh searched
    seconds: float = 0.0  # duration of the search
    pinned: frozenset[OperatorInstance] = frozenset()  # instances with fixed strategies


@gc_paused()
def plan(
    program: Program, request: PlanRequest, boundary: BoundaryLayouts = NO_BOUNDARY_LAYOUTS
) -> PlannedProgram:
    """Search layouts for a program on the devices of the cluster, and apply them."""
    started = perf_counter()
    program = replace(program, graph=with_output_hints(program.graph))
    problem = build_problem(program)
    outcome = _search(program, problem, request, boundary)
    mesh, chosen = outcome.prices.mesh, outcome.found.chosen
    seconds = perf_counter() - started
    placements = Placements(chosen)
    graph = insert_resharding(program.graph, problem, placements, mesh)
    spread = _spread(program, problem, placements, mesh, request)
    return PlannedProgram(
        replace(program, graph=graph, spread=spread),
        request,
        problem,
        placements,
        chosen,
        outcome.prices,
        outcome.found.cost,
        outcome.searched,
        seconds,
        outcome.pinned,
    )


@dataclass(frozen=True)
class _SearchOutcome:
    found: SearchResult
    prices: CostModel
    searched: dict[str, float]
    pinned: frozenset[OperatorInstance]


def _search(
    program: Program, problem: ShardingProblem, request: PlanRequest, boundary: BoundaryLayouts
) -> _SearchOutcome:
    given = saved_plan_pins(problem, request)
    if given is not None:
        mesh, pins = given
        return _best(problem, request, boundary, [(mesh, dynamic_programming, pins)])
    devices = request.cluster.devices
    if request.mode == ParallelMode.DATA_PARALLEL:
        return _data_parallel(program, problem, request, boundary)
    layout_hints = LayoutHints(program, problem, request.arguments)
    finest = boundary.mesh or layout_hints.mesh(devices)
    hints = layout_hints.pins(finest) | boundary.pins(problem)
    semi = request.mode == ParallelMode.SEMI_AUTO_PARALLEL
    if not request.whole_batch or (semi and request.cuts_arguments):
        hints = _cut_arguments(program, problem, finest) | hints

    def pins_on(mesh: Mesh) -> Pins:
        return optimizer_pins(program, problem, mesh, request, hints, frozenset(hints))

    if hints or request.mode == ParallelMode.SEMI_AUTO_PARALLEL:
        tries: list[SearchAttempt] = [(finest, SEARCHES[request.search], pins_on(finest))]
        return _best(problem, request, boundary, tries)
    tries = [(finest, recursive_programming, pins_on(finest))]
    if request.search != "recursive_programming":
        search = SEARCHES[request.search]
        every = meshes(devices) if boundary.mesh is None else [boundary.mesh]
        tries = [(mesh, search, pins_on(mesh)) for mesh in every] + tries
    return _best(problem, request, boundary, tries)


SearchAttempt = tuple[Mesh, SearchAlgorithm, Pins]


def _best(
    problem: ShardingProblem,
    request: PlanRequest,
    boundary: BoundaryLayouts,
    tries: Sequence[SearchAttempt],
) -> _SearchOutcome:
    """The cheapest search result that fits into memory; the memory weight grows until one does."""
    for weight in [w for w in WEIGHTS if w >= request.least_dear]:
        found = _cheapest(problem, request, tries, weight)
        placements = Placements(found.found.chosen)
        need = memory_bytes(problem, placements, found.prices)
        need += boundary.held_bytes(problem, placements, found.prices)
        if need <= request.memory:
            return found
    raise out_of_memory_error(need, request.memory, request.cluster.devices)


def out_of_memory_error(need: float, memory: float, devices: int) -> Exception:
    """The error for a program whose best layout needs more bytes than a device has."""
    return problem_error(
        MemoryError,
        "no layout fits into the memory of a device",
        got=f"at least {need / 1e6:.0f} MB for each of {devices} devices",
        expected=f"{memory / 1e6:.0f} MB",
        fix="use more devices, recompute layers (cell.recompute()) or a smaller batch",
    )


def _cheapest(
    problem: ShardingProblem, request: PlanRequest, tries: Sequence[SearchAttempt], weight: float
) -> _SearchOutcome:
    """The cheapest of several searches, where a persistent byte costs `weight` seconds."""
    best: _SearchOutcome | None = None
    searched: dict[str, float] = {}
    for mesh, search, pins in tries:
        prices = CostModel(mesh, request.cluster, weight)
        found = search(
            problem.instances, SearchConstraints(pins, uses_all=request.fully_use_devices), prices
        )
        searched[str(mesh)] = min(found.cost, searched.get(str(mesh), found.cost))
        if best is None or found.cost < best.found.cost:
            best = _SearchOutcome(found, prices, searched, frozenset(pins))
    assert best is not None
    return best


def _data_parallel(
    program: Program, problem: ShardingProblem, request: PlanRequest, boundary: BoundaryLayouts
) -> _SearchOutcome:
    cluster, sharers = request.cluster, request.sharers
    groups = () if sharers is None else (cluster.devices // sharers, sharers)
    mesh = boundary.mesh or Mesh(groups or (cluster.devices,))
    limits = data_limits(program, problem, mesh, request, boundary)
    slow = replace(
        cluster, flops=cluster.flops * _SLOW, memory_bandwidth=cluster.memory_bandwidth * _SLOW
    )
    found = dynamic_programming(problem.instances, limits, CostModel(mesh, slow))
    return _SearchOutcome(found, CostModel(mesh, cluster), {}, frozenset(limits.pins))


def _cut_arguments(program: Program, problem: ShardingProblem, mesh: Mesh) -> Pins:
    """Split the arguments along their first dimension by all devices, where that is even."""
    found: Pins = {}
    for instance, given in zip(problem.inputs, program.inputs, strict=True):
        if given.source is InputSource.ARGUMENT:
            cuts = [mesh.axes if axis.outputs == ((0, 0),) else () for axis in instance.axes]
            if any(cuts) and instance.output_types[0].shape[0] % mesh.devices == 0:
                found[instance] = (Strategy(tuple(cuts)),)
    return found


def data_limits(
    program: Program,
    problem: ShardingProblem,
    mesh: Mesh,
    request: PlanRequest,
    boundary: BoundaryLayouts = NO_BOUNDARY_LAYOUTS,
) -> SearchConstraints:
    """Split only the batch; parameters are replicated, unless ZeRO sharding splits them."""
    batch = batch_axes(program, problem)
    pins: Pins = {}
    for instance, given in zip(problem.inputs, program.inputs, strict=True):
        if given.source is not InputSource.ARGUMENT:
            pins[instance] = (Strategy(((),) * len(instance.axes)),)
    if not request.whole_batch:
        pins |= _cut_arguments(program, problem, mesh)
    placed = boundary.pins(problem)
    return SearchConstraints(
        optimizer_pins(program, problem, mesh, request, pins | placed, frozenset(placed)),
        lambda instance: batch.get(instance, ()),
    )


def batch_axes(
    program: Program, problem: ShardingProblem
) -> Mapping[OperatorInstance, tuple[int, ...]]:
    """The axes of all operator instances that derive from the first dimension of an argument."""
    marked: set[tuple[int, int]] = set()  # a leaf by its identity, a dimension
    found: dict[OperatorInstance, tuple[int, ...]] = {}
    arguments = {
        id(instance)
        for instance, given in zip(problem.inputs, program.inputs, strict=True)
        if given.source is InputSource.ARGUMENT
    }
    for instance in problem.instances:
        if id(instance) in arguments:
            axes = [n for n, axis in enumerate(instance.axes) if axis.outputs == ((0, 0),)]
        else:
            axes = [
                number
                for number, axis in enumerate(instance.axes)
                if any((id(instance.inputs[leaf]), dim) in marked for leaf, dim in axis.inputs)
            ]
        found[instance] = tuple(axes)
        for number in axes:
            for leaf, dim in instance.axes[number].outputs:
                marked.add((id(instance.outputs[leaf]), dim))
        marked |= {(id(leaf), 0) for leaf in _rows_of(instance, marked)}
    return found


def _rows_of(instance: OperatorInstance, batches: set[tuple[int, int]]) -> list[InstanceOutput]:
    """Results that are rows of a batch where the operator itself cannot be split along them."""
    taken = [number for number, leaf in enumerate(instance.inputs) if (id(leaf), 0) in batches]
    cut = {one for axis in instance.axes for one in axis.inputs}
    if all((number, 0) in cut for number in taken):
        return []
    given = {one for axis in instance.axes for one in axis.outputs}
    return [
        leaf
        for number, leaf in enumerate(instance.outputs)
        if leaf.type.shape and leaf.type.shape[0] > 1 and (number, 0) not in given
    ]


def _spread(
    program: Program,
    problem: ShardingProblem,
    placements: Placements,
    mesh: Mesh,
    request: PlanRequest,
) -> ProgramSharding:
    inputs = tuple([placements.outputs(instance)[0] for instance in problem.inputs])
    by_output = {output: inputs[number] for output, number in program.in_place.items()}
    writes = tuple(
        [
            by_output.get(place, Placement(((),) * len(program.graph.output.type[place].shape)))
            for place in range(program.results, program.results + len(program.writes))
        ]
    )
    parts = (
        frozenset()
        if request.whole_batch
        else frozenset(
            [i for i, given in enumerate(program.inputs) if given.source is InputSource.ARGUMENT]
        )
    )
    return ProgramSharding(mesh, inputs, writes, parts)
