"""Layouts: which named axis of a device grid splits which dimension of a tensor."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import prod
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.distributed.mesh import Mesh, prime_factors

UNSHARDED = "None"
INTERLEAVED = "interleaved_parallel"


@dataclass(frozen=True)
class Layout(CheckedKeywords):
    """A device grid with named axes; call it with axis names to describe how a tensor is sharded.

    `Layout((2, 4), ("dp", "mp"))("dp", "mp")` splits the first dimension by 2, the second by 4.
    A tuple of names splits one dimension by several axes, the first one coarsest; "None" leaves it
    whole. The axis "interleaved_parallel" is not a device axis and splits nothing.
    """

    device_matrix: tuple[int, ...]
    alias_name: tuple[str, ...]
    rank_list: Any = None  # the devices in the order of the grid; stored as a tuple
    names: tuple[tuple[str, ...], ...] | None = field(default=None, init=False)  # by dimension

    def __post_init__(self) -> None:
        _check_matrix(self.device_matrix)
        _check_names(self.alias_name, len(self.device_matrix))
        ranks = self.rank_list
        if ranks is not None and not isinstance(ranks, (list, tuple)):
            raise wrong_type("Layout", "rank_list", ranks, "list")
        devices = tuple(range(self.devices)) if ranks is None else tuple(ranks)
        if sorted(devices) != list(range(self.devices)):
            raise problem(
                ValueError,
                "Layout: rank_list must contain every device exactly once",
                got=repr(ranks),
                expected=f"the numbers 0 to {self.devices - 1} in some order",
            )
        object.__setattr__(self, "rank_list", devices)

    def __call__(self, *tensor_map: str | tuple[str, ...]) -> Layout:
        """The layout of a tensor: an axis name, a tuple of names, or "None" for each dimension."""
        names = tuple([self._names(entry) for entry in tensor_map])
        used = [name for dim in names for name in dim]
        if len(set(used)) != len(used):
            raise problem(
                ValueError,
                "Layout: a device axis can split only one dimension of a tensor",
                got=repr(tensor_map),
                expected=f"each of {', '.join(self.alias_name)} at most once",
            )
        layout = copy.copy(self)
        object.__setattr__(layout, "names", names)
        return layout

    def _names(self, entry: Any) -> tuple[str, ...]:
        if not isinstance(entry, (str, tuple)):
            raise wrong_type("Layout", "tensor_map", entry, "str or tuple of str")
        if entry == UNSHARDED:
            return ()
        names = (entry,) if isinstance(entry, str) else entry
        for name in names:
            if name not in self.alias_name:
                raise problem(
                    ValueError,
                    "Layout: unknown device axis",
                    got=repr(name),
                    expected=f"one of {', '.join(map(repr, (*self.alias_name, UNSHARDED)))}",
                )
        return names

    @property
    def sizes(self) -> dict[str, int]:
        """The size of each device axis; "interleaved_parallel" is left out."""
        pairs = zip(self.alias_name, self.device_matrix, strict=True)
        return {name: size for name, size in pairs if name != INTERLEAVED}

    @property
    def devices(self) -> int:
        return prod(self.sizes.values())

    @property
    def degrees(self) -> tuple[int, ...]:
        """The number of shards along each dimension."""
        sizes = self.sizes
        return tuple([prod(sizes.get(name, 1) for name in dim) for dim in self.names or ()])

    def to_dict(self) -> dict[str, Any]:
        """The layout as a dict; `tensor_map` counts axes from the last one, -1 means unsharded."""
        if self.names is None:
            raise problem(
                ValueError,
                "Layout: it has no tensor map yet",
                got=str(self),
                fix='call it with names first: layout("dp", "None")',
            )
        return {
            "device_matrix": self.device_matrix,
            "tensor_map": tuple([self._numbers(dim) for dim in self.names]),
            "interleaved_parallel": INTERLEAVED in self.alias_name,
            "alias_name": self.alias_name,
            "rank_list": list(self.rank_list),
        }

    def _numbers(self, dim: tuple[str, ...]) -> Any:
        last = len(self.alias_name) - 1
        found = tuple([last - self.alias_name.index(name) for name in dim])
        return found if len(found) > 1 else found[0] if found else -1

    def cuts(self, mesh: Mesh) -> tuple[tuple[int, ...], ...]:
        """For each dimension, the mesh axes that split it; the mesh must refine the grid."""
        axes = self._mesh_axes(mesh)
        return tuple(
            [tuple([axis for name in dim for axis in axes.get(name, ())]) for dim in self.names]
            if self.names is not None
            else []
        )

    def _mesh_axes(self, mesh: Mesh) -> dict[str, tuple[int, ...]]:
        """The mesh axes that each named axis consists of."""
        found: dict[str, tuple[int, ...]] = {}
        numbers = iter(range(len(mesh.sizes)))
        for name, size in self.sizes.items():
            taken: list[int] = []
            while mesh.degree(taken) < size:
                taken.append(next(numbers))
            found[name] = tuple(taken)
        return found

    def __str__(self) -> str:
        grid = ", ".join(f"{name}={size}" for name, size in self.sizes.items())
        if self.names is None:
            return f"Layout({grid})"
        dims = ", ".join("+".join(dim) or UNSHARDED for dim in self.names)
        return f"Layout({grid})({dims})"


Strategy = tuple[int, ...] | Layout  # how one tensor is sharded: shards by dimension, or a layout


def checked_strategy(owner: str, label: str, value: Any) -> Strategy:
    """The strategy of one tensor that a user passed; raises if it is not valid."""
    if isinstance(value, Layout):
        if value.names is None:
            raise problem(
                ValueError,
                f"{owner}: {label} holds a Layout without a tensor map",
                got=str(value),
                fix='call the layout with names: layout("dp", "None")',
            )
        return value
    if not isinstance(value, tuple) or not all(is_int(n) for n in value):
        raise problem(
            TypeError,
            f"{owner}: {label} must hold strategies",
            got=repr(value),
            expected="tuples of ints such as (2, 1), or Layouts",
        )
    if any(n < 1 for n in value):
        raise problem(
            ValueError,
            f"{owner}: {label} splits a dimension into less than one shard",
            got=repr(value),
            expected="numbers from 1",
        )
    return value


def flat_strategies(value: Any) -> Iterator[Any]:
    """The strategies of all tensors; those of a tuple of tensors may be nested in a tuple."""
    for entry in value:
        if isinstance(entry, tuple) and entry and all(_is_strategy(part) for part in entry):
            yield from flat_strategies(entry)
        else:
            yield entry


def _is_strategy(value: Any) -> bool:
    return value is None or isinstance(value, (tuple, Layout))


def common_mesh(layouts: Iterable[Layout], devices: int) -> Mesh | None:
    """The finest mesh that can express all layouts; None if there are no layouts."""
    spans = {devices}  # the strides of all axes in devices, and the number of devices
    matrices: dict[tuple[int, ...], None] = {}
    for layout in layouts:
        _check_fits(layout, devices)
        matrices[tuple(layout.sizes.values())] = None
        span = 1
        for size in reversed(layout.sizes.values()):
            span *= size
            spans.add(span)
    if not matrices:
        return None
    sizes: list[int] = []
    below = 1
    for span in sorted(spans - {1}):
        if span % below:
            raise problem(
                ValueError,
                "one program cannot combine layouts on incompatible device grids",
                got=f"device matrices {', '.join(map(str, matrices))}",
                expected="grids that subdivide each other's axes, such as (2, 4) and (2, 2, 2)",
            )
        sizes = [*prime_factors(span // below), *sizes]
        below = span
    return Mesh(tuple(sizes) or (1,))


def _check_fits(layout: Layout, devices: int) -> None:
    if layout.devices != devices:
        raise problem(
            ValueError,
            "a Layout has the wrong number of devices",
            got=f"{layout} has {layout.devices}, the program runs on {devices}",
            expected="a device_matrix whose product is the number of devices",
        )
    if layout.rank_list != tuple(range(devices)):
        raise problem(
            ValueError,
            "a Layout has a custom device order",
            got=f"rank_list={list(layout.rank_list)}",
            expected="ascending ranks; a program has one device order for all its tensors",
            fix="omit rank_list, and list the axes in another order",
        )


def _check_matrix(matrix: Any) -> None:
    if not isinstance(matrix, tuple):
        raise wrong_type("Layout", "device_matrix", matrix, "tuple")
    for size in matrix:
        if not is_int(size):
            raise wrong_type("Layout", "device_matrix", matrix, "a tuple of ints")
        if size < 1:
            raise problem(
                ValueError, "Layout: device_matrix holds a size below 1", got=repr(matrix)
            )


def _check_names(names: Any, count: int) -> None:
    if not isinstance(names, tuple):
        raise wrong_type("Layout", "alias_name", names, "tuple")
    for name in names:
        if not isinstance(name, str):
            raise wrong_type("Layout", "alias_name", names, "a tuple of str")
        if name in ("", UNSHARDED):
            raise problem(ValueError, f"Layout: {name!r} is not a valid axis name", got=repr(names))
    if len(names) != count:
        raise problem(
            ValueError,
            "Layout: device_matrix and alias_name differ in length",
            got=f"{count} sizes, {len(names)} names",
        )
    if len(set(names)) != len(names):
        raise problem(ValueError, "Layout: two axes have the same name", got=repr(names))
