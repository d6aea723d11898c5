"""Size buckets: the padded size of a call, and the program that its bucket shares."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia._engine.compiler.dynamic_shapes.dynamic_axes import (
    Axes,
    DynamicSizes,
    UnprovablePadding,
    extents_in,
)
from mycelia._engine.compiler.dynamic_shapes.masked_program import (
    build_masked_program,
    padding_plans,
)
from mycelia._engine.compiler.dynamic_shapes.padding_plan import PaddingPlan
from mycelia._engine.compiler.dynamic_shapes.size_dependence import (
    ArgumentPosition,
    SizeDependence,
    crop_to,
    find_size_dependence,
)
from mycelia._engine.compiler.frontend.trace_function import TracedProgram
from mycelia._engine.compiler.passes.pipeline import optimize
from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.control_flow import TUPLE, primitive_of
from mycelia._engine.ir.node import Apply
from mycelia._engine.ir.program import InputSource, Program, ProgramInput

_LAST_POWER = 64
_GROWTH = 1.25
_STEPS = [1, 2, 4, 8, 16, 32, 64]  # the bucket sizes known so far


def bucket_of(size: int) -> int:
    """The size that a dynamic size is padded to: powers of 2 up to 64, then multiples of 64.

    Each of the latter is at least 25% larger than the one before, so there are few.
    """
    if size == 0:
        return 0
    while _STEPS[-1] < size:
        _STEPS.append(-(-int(_STEPS[-1] * _GROWTH) // _LAST_POWER) * _LAST_POWER)
    return _STEPS[bisect_left(_STEPS, size)]


def is_only_size_in_bucket(size: int) -> bool:
    """Whether no other size has the same bucket, so that padding would gain nothing."""
    return size <= 2


def sizes_for(real: tuple[int, ...]) -> DynamicSizes:
    """The sizes of the three traces for a call: the real ones, their buckets, and probes."""
    padded = tuple(map(bucket_of, real))
    probe: list[int] = []
    for size in padded:
        candidate = size + 1
        while not _is_prime(candidate) or candidate in (*probe, *real, *padded):
            candidate += 1
        probe.append(candidate)
    return DynamicSizes(real, padded, tuple(probe))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % i for i in range(2, int(number**0.5) + 1))


@dataclass(frozen=True, eq=False)
class Bucket:
    """The program for a padded size, with the traces that it was built from."""

    program: Program
    padded: TracedProgram
    probe: TracedProgram
    sizes: DynamicSizes
    planned: dict[Apply, PaddingPlan]
    varying: tuple[ArgumentPosition, ...]  # the constants that differ between sizes
    shapes: dict[int, Shape]  # of the argument leaves that are padded
    results: tuple[Axes, ...]


@dataclass(frozen=True, eq=False)
class PaddedCall:
    """One size in a bucket: additional inputs of the program, and how to crop its results."""

    bucket: Bucket
    sizes: DynamicSizes
    extra: tuple[np.ndarray, ...]

    def cut(self, arrays: list[Any]) -> list[Any]:
        """The real parts of the program's results."""
        pairs = zip(self.bucket.results, arrays, strict=True)
        return [self._cut_one(axes, array) for axes, array in pairs]

    def _cut_one(self, axes: Axes, array: Any) -> Any:
        if all(e is None or self.sizes.length(e) == array.shape[i] for i, e in enumerate(axes)):
            return array
        return np.ascontiguousarray(crop_to(np.asarray(array), axes, self.sizes))


def make_bucket(
    sizes: DynamicSizes, real: TracedProgram, padded: TracedProgram, probe: TracedProgram
) -> Bucket:
    """The program for the bucket of a call; raises UnprovablePadding if padding might show."""
    _check_interfaces(real.plain, padded.plain, probe.plain)
    graph = padded.plain.graph
    dependence = find_size_dependence(sizes, real.plain.graph, graph, probe.plain.graph)
    results = _results(padded.plain, dependence)
    planned = padding_plans(graph, dependence)
    written, varying = build_masked_program(graph, dependence, planned)
    program = replace(
        padded.plain, graph=optimize(written), inputs=_inputs(padded.plain, written.parameters)
    )
    shapes = {
        program_input.which: parameter.type.shape
        for program_input, parameter in zip(padded.plain.inputs, graph.parameters, strict=True)
        if program_input.source is InputSource.ARGUMENT and extents_in(dependence.axes[parameter])
    }
    return Bucket(program, padded, probe, sizes, planned, tuple(varying), shapes, results)


def make_padded_call(bucket: Bucket, sizes: DynamicSizes, real: TracedProgram) -> PaddedCall:
    """A size in a bucket, after proving that the bucket's program is correct for it."""
    _check_interfaces(real.plain, bucket.padded.plain, bucket.probe.plain)
    graph = bucket.padded.plain.graph
    dependence = find_size_dependence(sizes, real.plain.graph, graph, bucket.probe.plain.graph)
    varying = set(bucket.varying)
    if any(
        not known.stays and position not in varying
        for position, known in dependence.constants.items()
    ):
        raise UnprovablePadding(
            "a number in it depends on the size in a different way than for other sizes"
        )
    if (
        padding_plans(graph, dependence) != bucket.planned
        or _results(bucket.padded.plain, dependence) != bucket.results
    ):
        raise UnprovablePadding("its dynamic axes differ from those of other sizes")
    constants = [dependence.constants[position] for position in bucket.varying]
    numbers = [pad_with_zeros(known.real, known.padded.shape) for known in constants]
    return PaddedCall(bucket, sizes, (*(np.asarray(n, np.int32) for n in sizes.real), *numbers))


def pad_with_zeros(array: np.ndarray, shape: Shape) -> np.ndarray:
    """An array padded with zeros at the ends of its axes."""
    if array.shape == shape:
        return array
    larger = np.zeros(shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger


def _check_interfaces(*programs: Program) -> None:
    """Raise UnprovablePadding unless the programs have the same inputs and writes."""
    first = programs[0]
    for program in programs:
        if program.drawn is None or program.drawn != first.drawn:
            raise UnprovablePadding("the number of random draws depends on a size")
        if program.capacity is not None or program.unbound:
            raise UnprovablePadding(
                "it has loops whose gradients need stacks, or unbound variables"
            )
        if program.results != first.results or _interface(program) != _interface(first):
            raise UnprovablePadding("its inputs, results, or writes depend on a size")


def _interface(program: Program) -> list[Any]:
    """The inputs and writes of a program, as comparable values."""
    inputs = [(i.source, _identity(i.which)) for i in program.inputs]
    return [*inputs, *(_identity(w) for w in program.writes)]


def _identity(which: Any) -> Any:
    return which if which is None or isinstance(which, int) else ("tensor", id(which))


def _inputs(program: Program, parameters: tuple[Any, ...]) -> tuple[ProgramInput, ...]:
    """The inputs of a program, plus those for sizes and constants."""
    leaves = [i.which for i in program.inputs if i.source is InputSource.ARGUMENT]
    first = max(leaves, default=-1) + 1
    count = len(parameters) - len(program.inputs)
    return (*program.inputs, *(ProgramInput(InputSource.ARGUMENT, first + i) for i in range(count)))


def _results(program: Program, dependence: SizeDependence) -> tuple[Axes, ...]:
    """The extents of a program's results; raises if it changes a tensor of dynamic size."""
    output = program.graph.output
    assert isinstance(output, Apply) and primitive_of(output) is TUPLE
    axes = [dependence.axes_at(output, index) for index in range(len(output.args))]
    if any(map(extents_in, axes[program.results :])):
        raise UnprovablePadding("it changes a tensor of dynamic size")
    return tuple(axes[: program.results])
