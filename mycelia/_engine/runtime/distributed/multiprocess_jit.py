"""`jit` over several processes: each process passes local arrays and receives local results.

XLA runs such a program on one device of each process. The local array of a process is its shard of
a global array, stacked along the first axis; this needs no copies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from mycelia._engine.core.errors import problem
from mycelia._engine.core.process_groups import world
from mycelia._engine.core.wait_registry import (
    Ranks,
    busy,
    collective_wait,
    peer_wait,
    wait_registry,
)
from mycelia._engine.ir.analysis import nodes_by_graph
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.kernels.ring_collectives import AXIS, tracing_over
from mycelia._engine.runtime.xla.compile import compile, options, start_engine
from mycelia.ops.collective.collective import Collective
from mycelia.ops.collective.point_to_point import NeighborExchange

_LOST = ("Connection closed by peer", "Connection reset by peer", "Socket closed", "Broken pipe")


class LostProcess(RuntimeError):
    """Another process of a collective exited before it completed."""


def needs_other_processes(op: Primitive | None) -> bool:
    """Whether an operator communicates with other processes."""
    return isinstance(op, Collective) and world().size > 1 and len(op.participants()) > 1


def participants(graph: Graph) -> Ranks:
    """The ranks that a graph communicates with, in the order of its mesh axis; empty if none."""
    if world().size == 1:
        return ()
    return _met(primitive_of(node) for nodes in nodes_by_graph(graph).values() for node in nodes)


def _met(operators: Iterable[Any]) -> Ranks:
    found = {op.participants(): None for op in operators if needs_other_processes(op)}
    if len(found) < 2:
        return next(iter(found), ())
    return tuple(sorted({rank for ranks in found for rank in ranks}))


def compile_with(operators: Iterable[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of some operators, over processes if one of them communicates."""
    ranks = _met(operators) if world().size > 1 else ()
    if not ranks:
        return compile(function)
    return MultiProcessProgram(function, ranks, is_whole=False, compiler_options=options())


def jit(function: Callable[..., Any], graph: Graph, **how: Any) -> Any:
    """`jax.jit` for the lowered function of a graph, over processes if it communicates."""
    start_engine()
    ranks = participants(graph)
    if not ranks:
        return jax.jit(function, **how)
    return MultiProcessProgram(function, ranks, **how)


def compiled(program: Any, arrays: Sequence[Any]) -> Any:
    """Compile a program for these arrays without caching it: it is specific to the process."""
    with busy():
        return program.lower(*arrays).compile()


def between(op: Primitive, function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that communicates with other processes, as a separate program.

    Each call looks up the processes, because a group may be destroyed and created again.
    """
    assert isinstance(op, Collective)
    programs: dict[Ranks, MultiProcessProgram] = {}
    counted = not isinstance(op, NeighborExchange)  # its participants differ between processes

    def run(*arrays: Any) -> Any:
        op.members()
        ranks = op.participants()
        if ranks not in programs:
            programs[ranks] = MultiProcessProgram(
                function, ranks, compiler_options=options(), counted=counted, is_whole=False
            )
        return programs[ranks](*arrays)

    return run


class MultiProcessProgram:
    """A compiled function over some processes that is called with local arrays, like `jax.jit`.

    `is_whole` marks a whole step instead of one operator. A collective that is not `counted` has
    different participants in each process.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        ranks: Ranks,
        counted: bool = True,
        is_whole: bool = True,
        **how: Any,
    ) -> None:
        self.ranks, self.counted, self.is_whole = ranks, counted, is_whole
        self.name = getattr(function, "__name__", "program")
        self._function, self._how = function, how
        self._forms: dict[Any, _MultiProcessSpecialization] = {}

    def __call__(self, *arrays: Any) -> Any:
        form, leaves = self._form(arrays)
        return form.run(form.program, leaves)

    def lower(self, *arrays: Any) -> _LoweredMultiProcessProgram:
        form, leaves = self._form(arrays)
        return _LoweredMultiProcessProgram(self, form, form.program.lower(*form.given(leaves)))

    def _form(self, arrays: Any) -> tuple[_MultiProcessSpecialization, list[Any]]:
        leaves, tree = jax.tree.flatten(arrays)
        key = tree, tuple([np.ndim(leaf) == 0 for leaf in leaves])
        if key not in self._forms:
            self._forms[key] = _MultiProcessSpecialization(self, self._function, *key, self._how)
        return self._forms[key], leaves


class _MultiProcessSpecialization:
    """A program for one argument structure; 0-d arrays are passed as arrays of one element.

    `donate_argnums` of the function are mapped to its leaves.
    """

    def __init__(
        self, owner: MultiProcessProgram, function: Callable[..., Any], tree: Any,
        numbers: tuple[bool, ...], how: dict[str, Any],
    ) -> None:  # fmt: skip
        self._owner, self._ranks = owner, owner.ranks
        self._mesh = mesh_of(owner.ranks)
        self._tree, self._numbers = tree, numbers
        self._results: Any = None  # the structure of the results, and which of them are 0-d

        def run(*leaves: Any) -> list[Any]:
            rows = [x.reshape(()) if n else x for x, n in zip(leaves, numbers, strict=True)]
            with tracing_over(self._ranks):
                found = function(*jax.tree.unflatten(tree, rows))
            flat, structure = jax.tree.flatten(found)
            self._results = structure, [np.ndim(x) == 0 for x in flat]
            return [jax.numpy.reshape(x, (1,)) if np.ndim(x) == 0 else x for x in flat]

        run.__name__ = owner.name
        part = PartitionSpec(AXIS)
        whole = jax.shard_map(run, mesh=self._mesh, in_specs=part, out_specs=part, check_vma=False)
        how = how | {"donate_argnums": _donated(how.get("donate_argnums", ()), tree)}
        self.program = jax.jit(whole, **how)

    def given(self, leaves: Sequence[Any]) -> list[Any]:
        """Local arrays as shards of global arrays."""
        sharding = NamedSharding(self._mesh, PartitionSpec(AXIS))
        return [_part(leaf, sharding, len(self._ranks)) for leaf in leaves]

    def run(self, program: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """Run the program, wait, and return the local results."""
        owner = self._owner
        with (collective_wait if owner.counted else peer_wait)(owner.name, self._ranks):
            try:
                found = jax.block_until_ready(program(*self.given(leaves)))
            except Exception as error:
                raise translate_error(error, owner.name, self._ranks) from None
        if owner.is_whole:
            wait_registry.runs += 1
        structure, numbers = self._results
        own = [_own(array, n) for array, n in zip(found, numbers, strict=True)]
        return jax.tree.unflatten(structure, own)


class _LoweredMultiProcessProgram:
    """A lowered program over processes; `compile` returns a callable on local arrays."""

    def __init__(
        self, owner: MultiProcessProgram, form: _MultiProcessSpecialization, lowered: Any
    ) -> None:
        self._owner, self._form, self._made = owner, form, lowered

    def as_text(self) -> str:
        return self._made.as_text()

    def compile(self) -> _LoweredMultiProcessProgram:
        return _LoweredMultiProcessProgram(self._owner, self._form, self._made.compile())

    def memory_analysis(self) -> Any:
        return self._made.memory_analysis()

    def __call__(self, *arrays: Any) -> Any:
        return self._form.run(self._made, jax.tree.leaves(arrays))


@cache
def mesh_of(ranks: Ranks) -> Mesh:
    """One device of each process, in the order of `ranks`."""
    first: dict[int, Any] = {}
    for device in jax.devices():
        first.setdefault(device.process_index, device)
    return Mesh(np.array([first[rank] for rank in ranks]), (AXIS,))


def translate_error(error: Exception, what: str, ranks: Ranks) -> Exception:
    """Translate the error of a run if another process was lost."""
    lines = str(error).splitlines() or [type(error).__name__]
    if not any(sign in lines[0] for sign in _LOST):
        return error
    others = [rank for rank in ranks if rank != world().rank]
    return problem(
        LostProcess,
        f"{what}: a participating process was lost",
        got=f"{lines[0]}, in rank {world().rank} at {wait_registry.where()}",
        expected=f"all of the ranks {others} to take part",
        fix="look for the first error of another rank; this one is a consequence",
    )


def _part(array: Any, sharding: NamedSharding, count: int) -> Any:
    device = jax.local_devices()[0]
    if not isinstance(array, jax.Array):
        array = np.asarray(array)
    if not array.ndim:
        array = array.reshape(1)
    if not isinstance(array, jax.Array) or array.sharding.device_set != {device}:
        array = jax.device_put(array, device)
    shape = (array.shape[0] * count, *array.shape[1:])
    return jax.make_array_from_single_device_arrays(shape, sharding, [array])


def _own(array: Any, is_number: bool) -> Any:
    own = array.addressable_data(0)
    return own.reshape(()) if is_number else own


def _donated(arguments: Sequence[int] | int, tree: Any) -> tuple[int, ...]:
    """The leaf indices of the arguments with these indices."""
    numbers = (arguments,) if isinstance(arguments, int) else tuple(arguments)
    found: list[int] = []
    place = 0
    for number, child in enumerate(tree.children()):
        if number in numbers:
            found.extend(range(place, place + child.num_leaves))
        place += child.num_leaves
    return tuple(found)
