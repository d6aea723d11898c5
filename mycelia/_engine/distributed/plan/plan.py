"""Plans: how a program is spread over devices, as data to show, keep, edit and price."""

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
    """A collective: what it does, the bytes each device sends in all its runs, and why."""

    kind: str
    moved: float
    seconds: float
    axes: tuple[int, ...]
    times: int
    why: str


@dataclass(frozen=True)
class PlanRow:
    """One decision: for each axis of a work, the mesh axes that cut it.

    `axes` says which axes there are, as `"b=48 (input 0 dim 0)"`; tensors are written as
    `"f32[48,64] (a, -)"`: the first dimension is cut by the first mesh axis.
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
    stays: int = 0  # bytes a device keeps between two runs: inputs of the program
    pinned: bool = False

    @property
    def is_input(self) -> bool:
        """Whether the row is an argument, a parameter or a constant of the program."""
        return not self.inputs and not self.compute

    @property
    def moved(self) -> float:
        return sum(move.moved for move in self.moves)

    @property
    def talk(self) -> float:
        return sum(move.seconds for move in self.moves)


@dataclass(frozen=True)
class Plan:
    """All decisions for one program, on a mesh of devices of a cluster."""

    name: str
    fingerprint: str
    mode: str
    search: str
    mesh: tuple[int, ...]
    cluster: Cluster
    rows: tuple[PlanRow, ...]
    activations: int = 0  # bytes a device needs at most besides what stays
    searched: dict[str, float] = field(default_factory=dict)  # cost by mesh
    seconds_to_search: float = 0.0

    @property
    def devices(self) -> int:
        return Mesh(self.mesh).devices

    @property
    def compute(self) -> float:
        """Seconds a device computes in one run."""
        return sum(row.compute for row in self.rows)

    @property
    def talk(self) -> float:
        """Seconds a device talks in one run."""
        return sum(row.talk for row in self.rows)

    @property
    def seconds(self) -> float:
        return self.compute + self.talk

    @property
    def moved(self) -> float:
        """Bytes each device sends in one run."""
        return sum(row.moved for row in self.rows)

    @property
    def stays(self) -> int:
        """Bytes a device keeps between two runs."""
        return sum(row.stays for row in self.rows)

    @property
    def memory(self) -> int:
        """Bytes a device needs at most."""
        return self.stays + self.activations

    def row(self, number: int) -> PlanRow:
        for row in self.rows:
            if row.number == number:
                return row
        raise problem(
            ValueError, "the plan has no such row", got=str(number), expected="a number it shows"
        )

    def pin(self, number: int, cuts: Sequence[Sequence[int]] | None = None) -> Plan:
        """The plan with one decision fixed, as it is or to other `cuts`; the rest may change.

        The layouts of the row are those of the new cuts at once; times and moves are those of the
        old ones until the program is planned again.
        """
        row = self.row(number)
        new = row.cuts if cuts is None else self._checked(row, cuts)
        changed = replace(
            row,
            cuts=new,
            pinned=True,
            inputs=_laid_out(row.inputs, "input", row.axes, new),
            outputs=_laid_out(row.outputs, "result", row.axes, new),
        )
        rows = tuple([changed if r.number == number else r for r in self.rows])
        return replace(self, rows=rows)

    def _checked(self, row: PlanRow, cuts: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
        """Cuts that fit a row: mesh axes that there are, each at most once."""
        try:
            new = tuple([tuple(map(index, cut)) for cut in cuts])
        except TypeError:
            raise wrong_type(
                "pin", "cuts", cuts, "for each axis of the work, a tuple of mesh axes"
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
        """The plan as text: totals, what costs most, and a line for each work.

        `limit` is the most lines of works; `only` takes those with a text in their operator or
        source place, or those that a function of their row says yes to. Blocks that are repeated
        are written once.
        """
        return show(self, limit, only)

    def __str__(self) -> str:
        return self.show()

    def to_html(self, path: str | Path) -> None:
        """Write the plan as one HTML file that needs nothing else: totals, drawings, a table."""
        write_atomically(path, [html.page(self).encode()])

    def save(self, path: str | Path) -> None:
        """Write the plan to a JSON file, beside the plans of other programs there."""
        save([self], path)


def _laid_out(
    tensors: tuple[str, ...],
    kind: str,
    axes: tuple[str, ...],
    cuts: tuple[tuple[int, ...], ...],
) -> tuple[str, ...]:
    """Tensors as a row writes them, laid out by cuts of the axes of its work."""
    places = [re.findall(rf"{kind} (\d+) dim (\d+)", axis) for axis in axes]
    found = []
    for number, tensor in enumerate(tensors):
        type_, _, placed = tensor.partition(" ")
        dims: list[tuple[int, ...]] = [()] * (placed.count(",") + 1 if placed != "()" else 0)
        for here, cut in zip(places, cuts, strict=True):
            for leaf, dim in here:
                if int(leaf) == number and cut:
                    dims[int(dim)] = cut
        found.append(f"{type_} {Placement(tuple(dims))}")
    return tuple(found)


def save(plans: Iterable[Plan], path: str | Path) -> None:
    """Add plans to a file; those of the same programs are replaced."""
    kept = {p.fingerprint: p for p in load(path)} if Path(path).exists() else {}
    kept |= {p.fingerprint: p for p in plans}
    text = json.dumps({"format": _FORMAT, "plans": [asdict(p) for p in kept.values()]}, indent=1)
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
            "the file of plans cannot be read",
            got=f"{path}: {str(error).splitlines()[0]}",
            expected="a file that Plan.save wrote",
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
    """A JSON object; what it lacks is a ValueError."""

    def __missing__(self, name: str) -> Any:
        raise ValueError(f"it has no entry {name!r}")


def _entries(given: Any) -> _JsonObject:
    if not isinstance(given, dict):
        raise ValueError(f"{given!r:.80} where an object should be")
    return _JsonObject(given)


def _listed(entry: _JsonObject, name: str) -> list[Any]:
    if not isinstance(entry[name], list):
        raise ValueError(f"its entry {name!r} is no list")
    return entry[name]


def _numbers(entry: Any) -> tuple[int, ...]:
    if not isinstance(entry, list) or not all(type(number) is int for number in entry):
        raise ValueError(f"{entry!r:.80} where a list of ints should be")
    return tuple(entry)
