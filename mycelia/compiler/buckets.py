"""One program for many sizes: which size a call is padded to, and the program for it."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mycelia.compiler.padding.comparison import Comparison, Place, compare, cut_to
from mycelia.compiler.padding.extents import Axes, Sizes, Unprovable, extents_in
from mycelia.compiler.padding.masking import plans, write
from mycelia.compiler.padding.plan import Plan
from mycelia.compiler.passes.pipeline import optimize
from mycelia.compiler.reading import Read
from mycelia.core.shape import Shape
from mycelia.ir.control import TUPLE, primitive_of
from mycelia.ir.node import Apply
from mycelia.ir.program import Input, Program, Source

_LAST_POWER = 64
_GROWTH = 1.25
_STEPS = [1, 2, 4, 8, 16, 32, 64]  # the bucket sizes known so far


def bucket_of(size: int) -> int:
    """The size a dynamic size is padded to: powers of 2 up to 64, then multiples of 64.

    Each of those is at least a quarter larger than the one before, so that there are few.
    """
    if size == 0:
        return 0
    while _STEPS[-1] < size:
        _STEPS.append(-(-int(_STEPS[-1] * _GROWTH) // _LAST_POWER) * _LAST_POWER)
    return _STEPS[bisect_left(_STEPS, size)]


def is_alone(size: int) -> bool:
    """Whether no other size has the same bucket, so that padding would gain nothing."""
    return size <= 2


def sizes_for(real: tuple[int, ...]) -> Sizes:
    """The sizes of the three readings for a call: real ones, their buckets, and probes."""
    padded = tuple(map(bucket_of, real))
    probe: list[int] = []
    for size in padded:
        candidate = size + 1
        while not _is_prime(candidate) or candidate in (*probe, *real, *padded):
            candidate += 1
        probe.append(candidate)
    return Sizes(real, padded, tuple(probe))


def _is_prime(number: int) -> bool:
    return number > 1 and all(number % i for i in range(2, int(number**0.5) + 1))


@dataclass(frozen=True, eq=False)
class Bucket:
    """The program for a padded size, with the readings it was made from."""

    program: Program
    padded: Read
    probe: Read
    sizes: Sizes
    planned: dict[Apply, Plan]
    varying: tuple[Place, ...]  # the constants that differ from size to size
    shapes: dict[int, Shape]  # of the leaves of arguments that are padded
    results: tuple[Axes, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """One size in a bucket: what the program is given besides its arguments, how to cut."""

    bucket: Bucket
    sizes: Sizes
    extra: tuple[np.ndarray, ...]

    def cut(self, arrays: list[Any]) -> list[Any]:
        """The real parts of the program's results."""
        pairs = zip(self.bucket.results, arrays, strict=True)
        return [self._cut_one(axes, array) for axes, array in pairs]

    def _cut_one(self, axes: Axes, array: Any) -> Any:
        if all(e is None or self.sizes.length(e) == array.shape[i] for i, e in enumerate(axes)):
            return array
        return np.ascontiguousarray(cut_to(np.asarray(array), axes, self.sizes))


def make_bucket(sizes: Sizes, real: Read, padded: Read, probe: Read) -> Bucket:
    """The program for the bucket of a call; raises Unprovable where padding might show."""
    _check_alike(real.plain, padded.plain, probe.plain)
    graph = padded.plain.graph
    found = compare(sizes, real.plain.graph, graph, probe.plain.graph)
    results = _results(padded.plain, found)
    planned = plans(graph, found)
    written, varying = write(graph, found, planned)
    program = replace(
        padded.plain, graph=optimize(written), inputs=_inputs(padded.plain, written.parameters)
    )
    shapes = {
        given.which: parameter.type.shape
        for given, parameter in zip(padded.plain.inputs, graph.parameters, strict=True)
        if given.source is Source.ARGUMENT and extents_in(found.axes[parameter])
    }
    return Bucket(program, padded, probe, sizes, planned, tuple(varying), shapes, results)


def fit(bucket: Bucket, sizes: Sizes, real: Read) -> Fit:
    """A size in a bucket, after the proof that the bucket's program is right for it."""
    _check_alike(real.plain, bucket.padded.plain, bucket.probe.plain)
    graph = bucket.padded.plain.graph
    found = compare(sizes, real.plain.graph, graph, bucket.probe.plain.graph)
    varying = set(bucket.varying)
    if any(not known.stays and place not in varying for place, known in found.constants.items()):
        raise Unprovable("a number in it depends on the size in another way than for other sizes")
    if (
        plans(graph, found) != bucket.planned
        or _results(bucket.padded.plain, found) != bucket.results
    ):
        raise Unprovable("its dynamic axes lie elsewhere than for other sizes")
    constants = [found.constants[place] for place in bucket.varying]
    numbers = [grown(known.real, known.padded.shape) for known in constants]
    return Fit(bucket, sizes, (*(np.asarray(n, np.int32) for n in sizes.real), *numbers))


def grown(array: np.ndarray, shape: Shape) -> np.ndarray:
    """An array with zeros after the ends of its axes."""
    if array.shape == shape:
        return array
    larger = np.zeros(shape, array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger


def _check_alike(*programs: Program) -> None:
    """Raise Unprovable unless programs take and change the same things."""
    first = programs[0]
    for program in programs:
        if program.drawn is None or program.drawn != first.drawn:
            raise Unprovable("how many random numbers it draws depends on a size")
        if program.capacity is not None or program.unbound:
            raise Unprovable("it has loops whose gradients need stacks, or unbound variables")
        if program.results != first.results or _places(program) != _places(first):
            raise Unprovable("what it takes, gives or changes depends on a size")


def _places(program: Program) -> list[Any]:
    """What a program takes and changes, comparable."""
    taken = [(i.source, _identity(i.which)) for i in program.inputs]
    return [*taken, *(_identity(w) for w in program.writes)]


def _identity(which: Any) -> Any:
    return which if which is None or isinstance(which, int) else ("tensor", id(which))


def _inputs(program: Program, parameters: tuple[Any, ...]) -> tuple[Input, ...]:
    """The inputs of a program with those added that sizes and constants come in through."""
    leaves = [i.which for i in program.inputs if i.source is Source.ARGUMENT]
    first = max(leaves, default=-1) + 1
    count = len(parameters) - len(program.inputs)
    return (*program.inputs, *(Input(Source.ARGUMENT, first + i) for i in range(count)))


def _results(program: Program, found: Comparison) -> tuple[Axes, ...]:
    """The extents of what a program gives; raises where it changes a tensor of dynamic size."""
    output = program.graph.output
    assert isinstance(output, Apply) and primitive_of(output) is TUPLE
    axes = [found.axes_at(output, place) for place in range(len(output.args))]
    if any(map(extents_in, axes[program.results :])):
        raise Unprovable("it changes a tensor of dynamic size")
    return tuple(axes[: program.results])
