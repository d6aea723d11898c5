"""Layout hints by users: `shard` of operators, `reshard`, parameters, the dataset strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mycelia._engine.compiler.sharding.problem import OperatorInstance, ShardingProblem
from mycelia._engine.compiler.sharding.strategies import Strategy
from mycelia._engine.core.errors import located
from mycelia._engine.distributed.layout import Layout, common_mesh, flat_strategies
from mycelia._engine.distributed.layout import Strategy as StrategyHint
from mycelia._engine.distributed.mesh import Mesh, finest_mesh
from mycelia._engine.ir.control_flow import primitive_of
from mycelia._engine.ir.program import InputSource, Program
from mycelia.ops.collective.redistribute import LayOut

Pins = dict[OperatorInstance, tuple[Strategy, ...]]
Cut = tuple[int, ...]  # mesh axes


class LayoutHints:
    """The layout hints in one program: for each operator instance, the owner and the strategies.

    The hints of an operator describe its inputs; the hint of a program input describes itself.
    """

    def __init__(
        self, program: Program, problem: ShardingProblem, data: Sequence[StrategyHint | None]
    ) -> None:
        self._found: dict[OperatorInstance, tuple[str, tuple[StrategyHint | None, ...]]] = {}
        for instance in problem.instances:
            op = None if instance.is_input or instance.is_edge else primitive_of(instance.node)
            if isinstance(op, LayOut):
                self._found[instance] = (op.owner, (op.strategy,))
            elif given := getattr(op, "marks", {}).get("in_strategy"):
                self._found[instance] = (f"{instance.name}.shard", tuple(flat_strategies(given)))
        for instance, source in zip(problem.inputs, program.inputs, strict=True):
            if source.source is InputSource.ARGUMENT and source.which < len(data):
                self._found[instance] = ("dataset_strategy", (data[source.which],))
            hint = (
                getattr(source.which, "layout", None)
                if source.source is InputSource.STATE
                else None
            )
            if hint is not None:
                self._found[instance] = (f"the layout of parameter {source.which.name}", (hint,))

    def layouts(self) -> Iterator[Layout]:
        """All hints that are layouts."""
        for _, layout_hints in self._found.values():
            yield from [hint for hint in layout_hints if isinstance(hint, Layout)]

    def mesh(self, devices: int) -> Mesh:
        """The finest mesh, on which all hints can be expressed."""
        return common_mesh(self.layouts(), devices) or finest_mesh(devices)

    def pins(self, mesh: Mesh) -> Pins:
        """The strategies that the hints ask for, on a mesh that is fine enough."""
        return {
            instance: (_HintResolver(instance, owner, given, mesh).strategy(),)
            for instance, (owner, given) in self._found.items()
            if any(hint is not None for hint in given)
        }


class _HintResolver:
    """Resolves one hint: from numbers of shards to mesh axes that split axes of an operator."""

    def __init__(
        self,
        instance: OperatorInstance,
        owner: str,
        given: tuple[StrategyHint | None, ...],
        mesh: Mesh,
    ) -> None:
        self._work, self._owner, self._given, self._mesh = instance, owner, given, mesh
        self._types = instance.output_types if instance.is_input else instance.input_types

    def strategy(self) -> Strategy:
        """Assign mesh axes: layouts name theirs; degrees get free axes, starting from the last."""
        self._check()
        count = len(self._work.axes)
        named = [self._named(number) for number in range(count)]
        degrees = [self._degree(number) for number in range(count)]
        used = [axis for cut in named for axis in cut or ()]
        if len(set(used)) != len(used):
            raise self._wrong(
                "a device axis splits two different dimensions of the operator",
                expected="each device axis on one dimension, or on dimensions that correspond",
            )
        free = [axis for axis in self._mesh.axes if axis not in used]
        cuts: list[Cut] = [()] * count
        for number in reversed(range(count)):
            own = named[number]
            taken = _take(free, degrees[number], self._mesh) if own is None else own
            if taken is None:
                raise self._wrong(
                    "the devices cannot be split this way",
                    got=f"{self._shown()} for {self._mesh.devices} devices",
                    expected=f"degrees whose product divides {self._mesh.devices}",
                )
            cuts[number] = taken
        self._check_sizes(cuts)
        return Strategy(tuple(cuts))

    def _places(self, number: int) -> list[tuple[int, int]]:
        """The hinted dimensions that an axis of the operator corresponds to."""
        axis = self._work.axes[number]
        places = axis.outputs if self._work.is_input else axis.inputs
        return [
            (leaf, dim)
            for leaf, dim in places
            if leaf < len(self._given)
            and self._given[leaf] is not None
            and self._types[leaf].shape[dim] > 1
        ]

    def _named(self, number: int) -> Cut | None:
        """The mesh axes that layouts name for an axis of the operator; None if no layout does."""
        found: dict[Cut, None] = {}
        for leaf, dim in self._places(number):
            hint = self._given[leaf]
            if isinstance(hint, Layout):
                found[hint.cuts(self._mesh)[dim]] = None
        if len(found) > 1:
            raise self._differs(number)
        return next(iter(found), None)

    def _degree(self, number: int) -> int:
        found = {self._parts(leaf)[dim] for leaf, dim in self._places(number)}
        if len(found) > 1:
            raise self._differs(number)
        return found.pop() if found else 1

    def _differs(self, number: int) -> Exception:
        places = self._places(number)
        named = ", ".join(f"dimension {dim} of input {leaf}" for leaf, dim in places)
        parts = sorted({self._parts(leaf)[dim] for leaf, dim in places})
        cut = ", ".join(map(str, parts)) if len(parts) > 1 else "different device axes"
        return self._wrong(
            "corresponding dimensions are split differently",
            got=f"{self._shown()}: {named} have {cut}",
            expected="the same number of shards",
        )

    def _parts(self, leaf: int) -> tuple[int, ...]:
        hint = self._given[leaf]
        assert hint is not None
        return hint.degrees if isinstance(hint, Layout) else hint

    # ---- checks ------------------------------------------------------------------------------

    def _check(self) -> None:
        """Check that every hint fits its tensor and splits only dimensions that can be split."""
        axes = self._work.axes
        possible = {p for axis in axes for p in (*axis.inputs, *axis.outputs * self._is_input)}
        for leaf, hint in enumerate(self._given[: len(self._types)]):
            if hint is None:
                continue
            parts = self._parts(leaf)
            if len(parts) != self._types[leaf].ndim:
                raise self._wrong(
                    f"the strategy of input {leaf} does not match its number of dimensions",
                    got=f"{_text(hint)} for {self._types[leaf]}",
                )
            for dim, degree in enumerate(parts):
                if degree > 1 and (leaf, dim) not in possible:
                    types = ", ".join(map(str, self._types))
                    raise self._wrong(
                        f"dimension {dim} of input {leaf} cannot be split",
                        got=f"{self._shown()} for {types}",
                        expected="1 for this dimension",
                    )

    def _check_sizes(self, cuts: Sequence[Cut]) -> None:
        """Persistent tensors need shards of equal size; XLA pads others."""
        for axis, cut in zip(self._work.axes, cuts, strict=True):
            degree = self._mesh.degree(cut)
            if self._is_input and axis.size % degree:
                raise self._wrong(
                    f"a dimension of size {axis.size} cannot be split into {degree} shards",
                    expected="shards of equal size",
                )

    @property
    def _is_input(self) -> bool:
        return self._work.is_input

    def _shown(self) -> str:
        if len(self._given) == 1 and (self._is_input or self._work.name == LayOut.__name__):
            return _text(self._given[0])
        return f"({', '.join(map(_text, self._given))}{',' * (len(self._given) == 1)})"

    def _wrong(self, what: str, *, got: str = "", expected: str = "") -> Exception:
        return located(
            ValueError,
            f"{self._owner}: {what}",
            got=got or self._shown(),
            expected=expected,
            span=self._work.node.span,
        )


def _text(hint: StrategyHint | None) -> str:
    return str(hint)


def _take(free: list[int], degree: int, mesh: Mesh) -> Cut | None:
    """Take free mesh axes from the end that make `degree` shards; None if they do not fit."""
    taken: list[int] = []
    for axis in reversed(list(free)):
        if degree > 1 and degree % mesh.sizes[axis] == 0:
            degree //= mesh.sizes[axis]
            taken.append(axis)
            free.remove(axis)
    return tuple(sorted(taken)) if degree == 1 else None
