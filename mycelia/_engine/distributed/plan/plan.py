"""Sharding plans: how a program is distributed over devices, to show, edit, and save."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.core.files.text_files import json_value, made_of
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.distributed.cluster import Cluster
from mycelia._engine.distributed.mesh import Mesh, Placement
from mycelia._engine.distributed.plan.text import show

if TYPE_CHECKING:
    from mycelia._engine.distributed.plan import html
else:
    html = LazyModule("mycelia._engine.distributed.plan.html")

_FORMAT = "mycelia plans 1"


@dataclass(frozen=True)
class PlanCollective:
    """A collective: its kind, the bytes each device sends over all its runs, and its reason."""

    kind: str
    moved: float
    seconds: float
    axes: tuple[int, ...]
    times: int
    why: str


@dataclass(frozen=True)
class PlanRow:
    """One decision: for each axis of an operator instance, the mesh axes that split it.

    `axes` describes the axes, as in `"b=48 (input 0 dim 0)"`. Tensors are written as
    `"f32[48,64] (a, -)"`: the first mesh axis splits the first dimension.
    """

    number: int
    name: str
    where: str
    line: str
    axes: tuple[str, ...]
    cuts: tuple[tuple[int, ...], ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    moves: tuple[PlanCollective, ...]
    compute: float
    stays: int = 0  # persistent bytes per device: inputs of the program
    pinned: bool = False

    @property
    def is_input(self) -> bool:
        """Whether the row is an argument, a parameter, or a constant of the program."""
        return not self.inputs and not self.compute

    @property
    def moved(self) -> float:
        return sum(move.moved for move in self.moves)

    @property
    def talk(self) -> float:
        return sum(move.seconds for move in self.moves)


@dataclass(frozen=True)
class Plan:
    """All sharding decisions for one program, on a device mesh of a cluster."""

    name: str
    fingerprint: str
    mode: str
    search: str
    mesh: tuple[int, ...]
    cluster: Cluster
    rows: tuple[PlanRow, ...]
    activations: int = 0  # peak bytes per device besides the persistent ones
    searched: dict[str, float] = field(default_factory=dict)  # cost by mesh
    seconds_to_search: float = 0.0

    @property
    def devices(self) -> int:
        return Mesh(self.mesh).devices

    @property
    def compute(self) -> float:
        """Seconds of computation per run."""
        return sum(row.compute for row in self.rows)

    @property
    def talk(self) -> float:
        """Seconds of communication per run."""
        return sum(row.talk for row in self.rows)

    @property
    def seconds(self) -> float:
        return self.compute + self.talk

    @property
    def moved(self) -> float:
        """Bytes that each device sends per run."""
        return sum(row.moved for row in self.rows)

    @property
    def stays(self) -> int:
        """Bytes per device that persist between runs: parameters, optimizer states, arguments."""
        return sum(row.stays for row in self.rows)

    @property
    def memory(self) -> int:
        """Peak bytes per device."""
        return self.stays + self.activations

    def row(self, number: int) -> PlanRow:
        for row in self.rows:
            if row.number == number:
                return row
        raise problem(
            ValueError,
            "the plan has no such row",
            got=str(number),
            expected="a row number that `show` prints",
        )

    def pin(self, number: int, cuts: Sequence[Sequence[int]] | None = None) -> Plan:
        """A copy of the plan with one decision fixed, as it is or to other `cuts`.

        The layouts of the row change immediately; its times and moves stay those of the old
        decision until the program is planned again.
        """
        row = self.row(number)
        new = row.cuts if cuts is None else self._checked(row, cuts)
        changed = replace(
            row,
            cuts=new,
            pinned=True,
            inputs=_with_layouts(row.inputs, "input", row.axes, new),
            outputs=_with_layouts(row.outputs, "result", row.axes, new),
        )
        rows = tuple([changed if r.number == number else r for r in self.rows])
        return replace(self, rows=rows)

    def _checked(self, row: PlanRow, cuts: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Validated cuts of a row: existing mesh axes, each at most once."""
        try:
            new = tuple([tuple(map(index, cut)) for cut in cuts])
        except TypeError:
            raise wrong_type(
                "pin", "cuts", cuts, "for each axis of the operator, a tuple of mesh axes"
            ) from None
        used = [axis for cut in new for axis in cut]
        if len(new) != len(row.cuts) or len(set(used)) != len(used):
            raise problem(
                ValueError,
                f"the cuts do not fit {row.name}",
                got=str(new),
                expected=f"mesh axes, each once, for {len(row.cuts)} axes: {', '.join(row.axes)}",
            )
        if not set(used) <= set(range(len(self.mesh))):
            raise problem(
                ValueError,
                "the mesh has no such axis",
                got=str(new),
                expected=f"0 to {len(self.mesh) - 1}",
            )
        return new

    def show(
        self, limit: int | None = None, only: str | Callable[[PlanRow], bool] | None = None
    ) -> str:
        """The plan as text: totals, the most expensive collectives, and a line per operator.

        `limit` is the maximum number of operator lines. `only` selects rows whose operator or
        source position contains a text, or rows that a function accepts. Repeated blocks are
        written once.
        """
        return show(self, limit, only)

    def __str__(self) -> str:
        return self.show()

    def to_html(self, path: str | Path) -> None:
        """Write the plan as one self-contained HTML file: totals, drawings, and a table."""
        write_atomically(path, [html.page(self).encode()])

    def save(self, path: str | Path) -> None:
        """Add the plan to a JSON file, next to the plans of other programs."""
        save([self], path)


def _with_layouts(
    tensors: tuple[str, ...],
    kind: str,
    axes: tuple[str, ...],
    cuts: tuple[tuple[int, ...], ...],
) -> tuple[str, ...]:
    """The tensors of a row as text, with the placements that the cuts of its axes give them."""
    dims_of_axes = [re.findall(rf"{kind} (\d+) dim (\d+)", axis) for axis in axes]
    texts = []
    for number, tensor in enumerate(tensors):
        type_, _, placed = tensor.partition(" ")
        dims: list[tuple[int, ...]] = [()] * (placed.count(",") + 1 if placed != "()" else 0)
        for pairs, cut in zip(dims_of_axes, cuts, strict=True):
            for leaf, dim in pairs:
                if int(leaf) == number and cut:
                    dims[int(dim)] = cut
        texts.append(f"{type_} {Placement(tuple(dims))}")
    return tuple(texts)


def save(plans: Iterable[Plan], path: str | Path) -> None:
    """Add plans to a file; plans of the same programs are replaced."""
    merged = {p.fingerprint: p for p in load(path)} if Path(path).exists() else {}
    merged |= {p.fingerprint: p for p in plans}
    text = json.dumps({"format": _FORMAT, "plans": [asdict(p) for p in merged.values()]}, indent=1)
    write_atomically(path, [text.encode() + b"\n"])


def load(path: str | Path) -> list[Plan]:
    """The plans of a file."""
    try:
        found = _entries(json_value(Path(path).read_bytes()))
        if found["format"] != _FORMAT:
            raise ValueError(f"its format is {found['format']!r:.80}")
        return [_plan(entry) for entry in _listed(found, "plans")]
    except (OSError, ValueError) as error:
        raise problem(
            ValueError,
            "the plan file cannot be read",
            got=f"{path}: {str(error).splitlines()[0]}",
            expected="a file written by Plan.save",
        ) from None


def _plan(given: Any) -> Plan:
    entry = _entries(given)
    parts: dict[str, Any] = {
        "rows": tuple([_row(row) for row in _listed(entry, "rows")]),
        "cluster": Cluster.of(entry["cluster"]),
        "mesh": _numbers(entry["mesh"]),
    }
    made = made_of(Plan, {**entry, **parts})
    if not all(size > 0 for size in made.mesh):
        raise ValueError(f"its mesh is {list(made.mesh)}")
    return made


def _row(given: Any) -> PlanRow:
    entry = _entries(given)
    moves = [_entries(move) for move in _listed(entry, "moves")]
    parts: dict[str, Any] = {
        name: tuple(_listed(entry, name)) for name in ("axes", "inputs", "outputs")
    }
    parts["moves"] = tuple(
        [made_of(PlanCollective, {**m, "axes": _numbers(m["axes"])}) for m in moves]
    )
    parts["cuts"] = tuple([_numbers(cut) for cut in _listed(entry, "cuts")])
    return made_of(PlanRow, {**entry, **parts})


class _JsonObject(dict[str, Any]):
    """A JSON object that raises ValueError for missing entries."""

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"it has no entry {name!r}")


def _entries(given: Any) -> _JsonObject:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r:.80} where an object should be")
    return _JsonObject(given)


def _listed(entry: _JsonObject, name: str) -> list[Any]:
    if not isinstance(entry[name], list):
        raise ValueError(f"its entry {name!r} is not a list")
    result: list[Any] = entry[name]
    return result


def _numbers(entry: Any) -> tuple[int, ...]:
    if not isinstance(entry, list) or not all(type(number) is int for number in entry):
        raise ValueError(f"{entry!r:.80} where a list of ints should be")
    return tuple(entry)
