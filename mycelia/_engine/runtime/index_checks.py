"""Index checks: eager calls check before they run; programs return an extra failure code.

A program with bounded operators (`Primitive.bounds`) returns an extra int64: 0, or the number of
the failed check and the wrong index. It is inspected when results are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mycelia._engine.core import pending_checks, settings
from mycelia._engine.core.errors import IndexOutOfRangeError
from mycelia._engine.core.source_location import Span, current_span
from mycelia._engine.ir.analysis import ordered, reachable_graphs
from mycelia._engine.ir.control_flow import graphs_of, primitive_of, tuple_elements
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.node import Apply, GraphNode
from mycelia._engine.operators import index_bounds
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.runtime.value_ranges import is_proven

_BITS = 40  # of the wrong index; the remaining bits number the check
_LIMIT = (1 << (_BITS - 1)) - 1
NOT_RUN = -1  # the failure of a run that wrote nothing because an earlier one failed


def check_call(op: Any, args: tuple[Any, ...]) -> None:
    """Raise if an operator is called with an index out of range, unless checks are disabled.

    Wrong shapes are left to the call itself.
    """
    if not settings.current().check_indices:
        return
    try:
        index_bounds.check(op, args, _fetched)
    except IndexOutOfRangeError:
        raise
    except (ValueError, TypeError, IndexError, AttributeError):
        return


def _fetched(array: Any) -> Any:
    """An argument on the host; None if other processes hold shards of it."""
    if isinstance(array, jax.Array):
        return np.asarray(array) if array.is_fully_addressable else None
    return np.asarray(array)


@dataclass(frozen=True, eq=False)
class IndexCheck:
    """One check of a program: which argument of which operator, and the user's line."""

    number: int
    owner: str
    argument: str
    bound: IndexBound
    span: Span | None

    def failure(self, number: int, when: str = "") -> Exception:
        return index_bounds.out_of_range(
            self.owner, self.argument, self.bound, number, self.span, when
        )


class IndexChecks:
    """The checks of a graph and its nested graphs, or of some nodes, numbered in reverse order.

    So the largest of several failure codes is that of the first failure.
    """

    def __init__(self, nodes: Iterable[Sequence[GraphNode]]) -> None:
        self.by_node: dict[GraphNode, list[IndexCheck]] = {}
        self._graphs: set[Graph] = set()
        if settings.current().check_indices:
            self._number([pair for of_one in nodes for pair in _checked(of_one)])
        self.count = sum(map(len, self.by_node.values()))

    @classmethod
    def of(cls, graph: Graph) -> IndexChecks:
        """The checks of a graph and of its nested graphs."""
        inside = {g: ordered(g) for g in reachable_graphs(graph)}
        sites = cls(inside.values())
        if sites.count:
            own = {g for g, nodes in inside.items() if not sites.by_node.keys().isdisjoint(nodes)}
            sites._graphs = {g for g in inside if not own.isdisjoint(reachable_graphs(g))}
        return sites

    def are_in(self, graph: Graph) -> bool:
        """Whether a graph or a nested graph has checks."""
        return graph in self._graphs

    def needed(
        self, nodes: Sequence[GraphNode], others: Iterable[GraphNode] = ()
    ) -> set[GraphNode]:
        """The nodes of a graph, in order, that its checks and `others` depend on."""
        found = set(others)
        for node in reversed(nodes):
            if not isinstance(node, Apply):
                continue
            if any(map(self.are_in, graphs_of(node))):
                found.add(node)
            if node in found:
                found.update(node.args)
            for site in self.by_node.get(node, ()):
                found.add(argument_of(node, site.bound.place))
                found.update([node.args[i] for i in site.bound.beside])
        return found

    def numbered(self, number: int) -> IndexCheck:
        """The check with a number."""
        return next(s for sites in self.by_node.values() for s in sites if s.number == number)

    def _number(self, found: Sequence[tuple[Apply, IndexBound]]) -> None:
        here = current_span()  # the line that first runs the program
        for number, (node, bound) in zip(range(len(found), 0, -1), found, strict=True):
            owner, argument = index_bounds.names(primitive_of(node), bound)
            site = IndexCheck(number, owner, argument, bound, node.span or here)
            self.by_node.setdefault(node, []).append(site)


def _checked(nodes: Iterable[GraphNode]) -> Iterator[tuple[Apply, IndexBound]]:
    """The checked nodes of one graph, without checks that are proven or disabled."""
    said: set[Any] = set()
    for node in nodes:
        if not isinstance(node, Apply):
            continue
        for bound in index_bounds.of_node(node):
            numbers = argument_of(node, bound.place)
            key = numbers, replace(bound, place=0, named=None)
            if bound.read is None and (key in said or is_proven(bound, numbers)):
                continue
            said.add(key)
            yield node, bound


def argument_of(node: Apply, place: index_bounds.Place) -> GraphNode:
    """The node of an argument, or of an item of one."""
    if isinstance(place, int):
        return node.args[place]
    whole = node.args[place[0]]
    return tuple_elements(whole)[place[1]] if tuple_elements(whole) else whole


@dataclass(frozen=True, eq=False)
class IndexCheckOutput:
    """The value that a program computes for one check: wrong indices plus an offset, else 0."""

    site: IndexCheck
    row: Any
    offset: int


def index_check_outputs(
    sites: Sequence[IndexCheck], args: Sequence[Any]
) -> Iterator[IndexCheckOutput]:
    """The outputs of the checks of a node for its arguments."""
    for site in sites:
        numbers = site.bound.numbers(tuple(args), jnp.asarray)
        if numbers.size:
            yield IndexCheckOutput(site, *index_bounds.marked(site.bound, numbers))


def first_failure(found: Sequence[IndexCheckOutput], failures: Sequence[Any] = ()) -> Any:
    """The failure code (int64) of the first failed check, with the wrong index; 0 if all passed.

    Rows of the same length are evaluated together, so that many short ones cost little. `failures`
    are codes that have been combined before.
    """
    groups: dict[Any, list[IndexCheckOutput]] = defaultdict(list)
    for one in found:
        groups[one.row.size, one.row.dtype].append(one)
    known = [jnp.reshape(failure, (1,)) for failure in failures]
    known += [_failures(group) for group in groups.values()]
    return jnp.max(jnp.concatenate(known)) if known else jnp.zeros((), jnp.int64)


def _failures(group: Sequence[IndexCheckOutput]) -> Any:
    """The failure of each of several checks."""
    worst = index_bounds.largest(jnp.stack([one.row for one in group]))
    number = worst.astype(jnp.int32 if worst.dtype == jnp.uint32 else jnp.int64).astype(jnp.int64)
    number = number + np.array([one.offset for one in group])
    places = np.array([one.site.number << _BITS for one in group])
    rest = jnp.clip(number, -_LIMIT, _LIMIT) & ((1 << _BITS) - 1)
    return jnp.where(worst != 0, places | rest, 0)


@dataclass(frozen=True, eq=False)
class _PendingIndexCheck:
    """The result of the index checks of one run, not yet inspected."""

    sites: IndexChecks
    failure: Any
    chain: Any = None  # identifies the programs that write nothing if this one fails

    def is_ready(self) -> bool:
        return self.failure.is_ready()

    def ask(self) -> None:
        failures = np.ravel(self.failure.addressable_data(0))  # one per step
        if failures.any():
            self._raise(failures)

    def _raise(self, failures: np.ndarray) -> None:
        wrong = np.flatnonzero(failures > 0)
        if not wrong.size:  # the earlier failure has already been raised
            return
        step = int(wrong[0])
        found = int(failures[step])
        number = found & ((1 << _BITS) - 1)
        signed = number - (1 << _BITS) if number > _LIMIT else number
        when = f", in step {step + 1} of the {failures.size} that run as one program"
        site = self.sites.numbered(found >> _BITS)
        raise site.failure(signed, when if np.ndim(self.failure) else "")


def add_index_check(sites: IndexChecks, failure: Any, chain: Any = None) -> None:
    """Register the failure code of a run, to be inspected when values are read.

    Programs of one `chain` receive the failure of the previous one, and write nothing after it.
    """
    pending_checks.add_check(_PendingIndexCheck(sites, failure, chain))


def failed_before(chain: Any) -> Any:
    """The failure of the last run, possibly still running, if it is of the same chain; else 0.

    If it belongs to another chain, wait for it, and raise if it failed.
    """
    last = pending_checks.last()
    if isinstance(last, _PendingIndexCheck) and last.chain == chain:
        return last.failure if last.failure.ndim == 0 else last.failure[-1]
    pending_checks.wait_for_checks()
    return _none()


@cache
def _none() -> Any:
    """No failure, on the device."""
    return jnp.zeros((), jnp.int64)
