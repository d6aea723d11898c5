"""ZeRO: sharding optimizer states, gradients, and parameters (Rajbhandari et al., 2020).

Every device stores and updates only its shard; what the next step needs whole is gathered.
"""

from __future__ import annotations

from collections.abc import Collection

from mycelia._engine.compiler.sharding.hints import Pins
from mycelia._engine.compiler.sharding.problem import OperatorInstance, ShardingProblem
from mycelia._engine.compiler.sharding.request import PlanRequest
from mycelia._engine.compiler.sharding.strategies import SearchConstraints, Strategy, strategies
from mycelia._engine.core.shape import size
from mycelia._engine.distributed.mesh import Mesh
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.program import Program
from mycelia.ops.optimizer.support import ApplyUpdate, Update


def optimizer_pins(
    program: Program,
    problem: ShardingProblem,
    mesh: Mesh,
    request: PlanRequest,
    pins: Pins,
    kept: Collection[OperatorInstance] = (),
) -> Pins:
    """`pins`, plus those that make updates and their states as small per device as possible.

    Parameters with `parallel_optimizer=False` are left out, and so are the pins of `kept`.
    """
    if not request.level:
        return pins
    left_out = {
        id(instance)
        for instance, given in zip(problem.inputs, program.inputs, strict=True)
        if getattr(given.which, "parallel_optimizer", True) is False
    }
    found = dict(pins)
    for instance in problem.instances:
        op = None if instance.is_input or instance.is_edge else primitive_of(instance.node)
        if not isinstance(op, (Update, ApplyUpdate)) or not instance.inputs:
            continue
        largest = max(instance.input_types, key=lambda t: size(t.shape))
        if size(largest.shape) * largest.dtype.numpy.itemsize < request.threshold:
            continue
        if instance.inputs[0] is not None and id(instance.inputs[0].source) in left_out:
            continue
        finest = _finest(strategies(instance, mesh, SearchConstraints()), mesh, request.sharers)
        if not finest:
            continue
        found[instance] = finest
        for index, leaf in enumerate(instance.inputs):
            if leaf is None or not leaf.source.is_input:
                continue
            if request.level < 3 and index == 0:  # the parameter itself
                continue
            wanted = [s.inputs(instance)[index] for s in finest]
            source = leaf.source
            if source in kept:
                continue
            own = [
                s
                for s in strategies(source, mesh, SearchConstraints())
                if s.outputs(source)[0] in wanted
            ]
            if own:
                found[source] = tuple(own)
    return found


def _finest(options: list[Strategy], mesh: Mesh, sharers: int | None) -> tuple[Strategy, ...]:
    """The strategies with the most shards, but not more than `sharers`."""
    limit = mesh.devices if sharers is None else sharers
    options = [s for s in options if mesh.degree(s.axes) <= limit]
    degrees = [mesh.degree(s.axes) for s in options]
    most = max(degrees)
    return tuple([s for s, d in zip(options, degrees) if d == most]) if most > 1 else ()
