"""What users said with `shard`: degrees for each dimension of an operator's inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mycelia.compiler.parallel.problem import Problem, Work
from mycelia.compiler.parallel.strategies import Strategy
from mycelia.core.errors import located
from mycelia.ir.control import primitive_of
from mycelia.parallel.mesh import Mesh

Pins = dict[Work, tuple[Strategy, ...]]


def hinted(problem: Problem, mesh: Mesh) -> Pins:
    """The strategies of all operators that users called `shard` on."""
    found: Pins = {}
    for work in problem.works:
        op = None if work.is_input or work.is_edge else primitive_of(work.node)
        given = getattr(op, "marks", {}).get("in_strategy") if op is not None else None
        if given is not None:
            found[work] = (_strategy(work, given, mesh),)
    return found


def _strategy(work: Work, given: Sequence[Any], mesh: Mesh) -> Strategy:
    """The strategy with these degrees; mesh axes are given out from the last one."""
    wanted = [_degree(work, number, given) for number in range(len(work.axes))]
    _check_rest(work, given)
    free = list(mesh.axes)
    cuts: list[tuple[int, ...]] = [()] * len(wanted)
    for number in reversed(range(len(wanted))):
        taken = _take(free, wanted[number], mesh)
        if taken is None:
            raise _wrong(
                work,
                "the devices cannot be cut so",
                got=f"{given} for {mesh.devices} devices",
                expected=f"degrees whose product divides {mesh.devices}",
            )
        cuts[number] = taken
    return Strategy(tuple(cuts))


def _degree(work: Work, number: int, given: Sequence[Any]) -> int:
    axis = work.axes[number]
    found = {
        _entry(work, given, leaf, dim)
        for leaf, dim in axis.inputs
        if leaf < len(given) and work.input_types[leaf].shape[dim] > 1
    }
    if len(found) > 1:
        places = ", ".join(f"dimension {dim} of input {leaf}" for leaf, dim in axis.inputs)
        raise _wrong(
            work,
            "dimensions that meet are cut differently",
            got=f"{tuple(given)}: {places} have {', '.join(map(str, sorted(found)))}",
            expected="one number for them",
        )
    return found.pop() if found else 1


def _entry(work: Work, given: Sequence[Any], leaf: int, dim: int) -> int:
    row = given[leaf]
    if len(row) != len(work.input_types[leaf].shape):
        raise _wrong(
            work,
            f"the strategy of input {leaf} does not fit its dimensions",
            got=f"{tuple(row)} for {work.input_types[leaf]}",
        )
    return int(row[dim])


def _check_rest(work: Work, given: Sequence[Any]) -> None:
    """Dimensions that cannot be cut must not be."""
    possible = {place for axis in work.axes for place in axis.inputs}
    for leaf, row in enumerate(given[: len(work.input_types)]):
        for dim, degree in enumerate(row):
            if degree > 1 and (leaf, dim) not in possible:
                raise _wrong(
                    work,
                    f"dimension {dim} of input {leaf} cannot be cut",
                    got=f"{tuple(given)} for {', '.join(map(str, work.input_types))}",
                    expected="1 there",
                )


def _take(free: list[int], degree: int, mesh: Mesh) -> tuple[int, ...] | None:
    """Mesh axes that make so many parts, from the end of those that are free; they are used up."""
    taken: list[int] = []
    for axis in reversed(list(free)):
        if degree > 1 and degree % mesh.sizes[axis] == 0:
            degree //= mesh.sizes[axis]
            taken.append(axis)
            free.remove(axis)
    return tuple(sorted(taken)) if degree == 1 else None


def _wrong(work: Work, what: str, **details: str) -> Exception:
    return located(ValueError, f"{work.name}.shard: {what}", span=work.node.span, **details)
