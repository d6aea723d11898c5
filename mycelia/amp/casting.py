"""Casting for mixed precision: cells and rules that compute in half precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from mycelia._engine.core.dtype import DType, float32, float64
from mycelia._engine.core.network_version import note_network_change
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia._engine.ir.primitive import Primitive
from mycelia.nn.cell import Cell
from mycelia.ops.shapes.reshape import cast
from mycelia.tensor.tensor import Tensor

Rule = Callable[[Primitive, Any], tuple[DType, DType | None] | None]


def cast_floats(value: Any, to: DType, only: DType | None = None) -> Any:
    """Cast floating-point tensors (of dtype `only`), also in tuples, lists, and dicts, to `to`."""
    if isinstance(value, dict):
        return {name: cast_floats(part, to, only) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)([cast_floats(part, to, only) for part in value])
    if not isinstance(value, Tensor) or not value.dtype.is_float or value.dtype is to:
        return value
    return cast(value, to) if only is None or value.dtype is only else value


class CellWrapper(Cell):
    """A cell that wraps another one and exposes its attributes."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or "_backbone" not in self.__dict__:
            return super().__getattr__(name)
        return getattr(self.__dict__["_backbone"], name)


class OutputCast(CellWrapper):
    """A cell whose floating-point results are cast to a dtype."""

    def __init__(self, backbone: Cell, dtype: DType) -> None:
        super().__init__(backbone)
        object.__setattr__(self, "output_dtype", dtype)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return cast_floats(self._backbone(*args, **kwargs), self.output_dtype)


class PrecisionRuleCell(CellWrapper):
    """A cell whose operators compute in the dtypes of a rule."""

    def __init__(self, backbone: Cell, rule: Rule) -> None:
        super().__init__(backbone)
        object.__setattr__(self, "rule", rule)

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        with operators_follow(self.rule):
            return self._backbone(*args, **kwargs)


def function_under_rule(fn: Callable[..., Any], rule: Rule) -> Callable[..., Any]:
    """Apply a precision rule to the operators of a function."""

    @wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        with operators_follow(rule):
            return call_user_function(fn, *args, **kwargs)

    return run


@contextmanager
def operators_follow(rule: Rule) -> Iterator[None]:
    """Operators called inside the block compute in the dtypes of `rule(operator, arguments)`.

    The rule returns the dtype for floating-point arguments and the one for results (None: no
    cast), or None to leave an operator alone. Values of the right dtype are not cast.
    A separately compiled function (`jit`) that is called in eager mode inside keeps its dtypes.
    """
    dispatch = handlers.dispatch

    def cast_and_dispatch(op: Primitive, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        arguments = args, kwargs
        wanted = rule(op, arguments)
        if wanted is None or floats_in(arguments) <= {wanted[0]}:
            return dispatch(op, args, kwargs)
        inside, outside = wanted
        result = dispatch(op, *cast_floats(arguments, inside))
        return result if outside is None else cast_floats(result, outside)

    handlers.dispatch = cast_and_dispatch
    try:
        yield
    finally:
        handlers.dispatch = dispatch


def lowering(chosen: Sequence[type], dtype: DType) -> Rule:
    """A rule: operators in `chosen` compute in `dtype` and return float32; others are unchanged."""
    low = frozenset(chosen)
    return lambda op, given: (dtype, float32) if type(op) in low else None


def balancing(lower: Sequence[type], upper: Sequence[type], dtype: DType) -> Rule:
    """A rule: operators in `lower` compute in `dtype`, those in `upper` in float32.

    Other operators compute in the dtype of their arguments, or the widest one if these differ.
    """
    low, high = frozenset(lower), frozenset(upper)

    def rule(op: Primitive, given: Any) -> tuple[DType, DType | None] | None:
        if type(op) in low:
            return dtype, None
        if type(op) in high:
            return float32, None
        float_types = floats_in(given)
        if len(float_types) < 2 or op.writes:
            return None
        return (float64 if float64 in float_types else float32), None

    return rule


def lower_all_but(network: Cell, kept: Sequence[type], dtype: DType) -> None:
    """Let a network compute in `dtype`, except for cells of the classes `kept`, in float32."""
    network.to_float(dtype)
    replace_cells(network, kept, lambda cell: OutputCast(cell.to_float(float32), dtype))


def lower_only(network: Cell, chosen: Sequence[type], dtype: DType) -> Cell:
    """Let cells of the classes `chosen` compute in `dtype`; their results are float32."""

    def lowered(cell: Cell) -> Cell:
        return OutputCast(cell.to_float(dtype), float32)

    if isinstance(network, tuple(chosen)):
        return lowered(network)
    replace_cells(network, chosen, lowered)
    return network


def replace_cells(
    network: Cell, kinds: Sequence[type], replacement: Callable[[Cell], Cell]
) -> None:
    """Replace the cells of some classes, outermost first."""
    note_network_change()
    done: dict[int, Cell] = {}
    for cell in _outer_cells(network, tuple(kinds)):
        for name, inner in cell._cells.items():
            if isinstance(inner, Cell) and isinstance(inner, tuple(kinds)):
                if id(inner) not in done:
                    done[id(inner)] = replacement(inner)
                cell._cells[name] = done[id(inner)]
                object.__setattr__(cell, name, done[id(inner)])


def _outer_cells(network: Cell, kinds: tuple[type, ...]) -> list[Cell]:
    """A network and the sub-cells that are neither of these classes nor inside such cells."""
    cells = [network]
    for cell in network._cells.values():
        if cell is not None and not isinstance(cell, kinds):
            cells += [inner for inner in _outer_cells(cell, kinds) if inner not in cells]
    return cells


def floats_in(value: Any) -> set[DType]:
    """The floating dtypes of the tensors in a value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return set().union(*[floats_in(part) for part in value])
    return {value.dtype} if isinstance(value, Tensor) and value.dtype.is_float else set()
