"""Fixed layouts at the boundary of a program that is one stage of a larger pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mycelia._engine.compiler.sharding.cost_model import CostModel
from mycelia._engine.compiler.sharding.hints import Pins
from mycelia._engine.compiler.sharding.insert_resharding import Placements
from mycelia._engine.compiler.sharding.problem import InstanceOutput, ShardingProblem
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.distributed.mesh import Mesh, Placement


@dataclass(frozen=True)
class BoundaryLayouts:
    """The mesh, the placements of some inputs, and values held for several runs in flight.

    Inputs and results are identified by index; `held_inputs` and `held_results` map an index to
    the number of runs for which a device holds the value at the same time.
    """

    mesh: Mesh | None = None
    placed: Mapping[int, Placement] = field(default_factory=dict)
    held_inputs: Mapping[int, int] = field(default_factory=dict)
    held_results: Mapping[int, int] = field(default_factory=dict)

    def pins(self, problem: ShardingProblem) -> Pins:
        """The strategies that keep the placed inputs in place."""
        found: Pins = {}
        for number, placement in self.placed.items():
            instance = problem.inputs[number]
            dims = [dim for axis in instance.axes for _, dim in axis.outputs]
            found[instance] = (Strategy(tuple([placement.dims[dim] for dim in dims])),)
        return found

    def held_bytes(
        self, problem: ShardingProblem, placements: Placements, prices: CostModel
    ) -> int:
        """The bytes that a device holds for the other runs in flight."""
        held = [(problem.inputs[i].outputs[0], n) for i, n in self.held_inputs.items()]
        held += [
            (leaf, count)
            for number, count in self.held_results.items()
            if isinstance(leaf := problem.results[number], InstanceOutput)
        ]
        return sum((n - 1) * prices.bytes(leaf.type, placements.of(leaf)) for leaf, n in held)


NO_BOUNDARY_LAYOUTS = BoundaryLayouts()
