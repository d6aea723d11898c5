"""Checks of the shapes and dtypes of operator arguments."""

from __future__ import annotations

from mycelia._engine.core.errors import IndexOutOfRangeError, ShapeError, problem
from mycelia._engine.core.shape import Shape, broadcast, size
from mycelia._engine.ir.types import TensorType

FLOATS = ("float",)
INTEGERS = ("int", "uint")
REALS = (*INTEGERS, *FLOATS)
NUMBERS = (*REALS, "complex")


def check_shape(owner: str, argument: str, actual: TensorType, shape: Shape) -> None:
    """Checks that `actual` has the shape `shape`."""
    if actual.shape != tuple(shape):
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' has the wrong shape",
            got=str(actual),
            expected=f"shape {list(shape)}",
        )


def check_same_shape(owner: str, **named: TensorType) -> None:
    """Checks that all arguments have the shape of the first."""
    first = next(iter(named.values()))
    for argument, actual in named.items():
        check_shape(owner, argument, actual, first.shape)


def check_spreads_to(owner: str, argument: str, actual: TensorType, shape: Shape) -> None:
    """Checks that `actual` broadcasts to `shape` without enlarging it."""
    if broadcast(actual.shape, shape, op=owner) != tuple(shape):
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' does not broadcast to the other arguments",
            got=str(actual),
            expected=f"a shape that broadcasts to {list(shape)}",
        )


def check_one_number(owner: str, argument: str, actual: TensorType) -> None:
    """Checks that `actual` has one element, with any number of axes."""
    if size(actual.shape) != 1:
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' must have one element",
            got=str(actual),
            expected="a tensor with one element",
        )


def check_axes(owner: str, argument: str, actual: TensorType, *, least: int = 1) -> None:
    """Checks that `actual` has at least `least` axes."""
    if actual.ndim < least:
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' has too few dimensions",
            got=str(actual),
            expected=f"at least {least}",
        )


def check_kinds(owner: str, kinds: tuple[str, ...], **named: TensorType | None) -> None:
    """Checks that the dtypes of all arguments that are not None are of one of these kinds."""
    for argument, actual in named.items():
        if actual is not None and actual.dtype.kind not in kinds:
            raise problem(
                TypeError,
                f"{owner}: unsupported dtype {actual.dtype} of '{argument}'",
                got=str(actual),
                expected=f"a tensor of kind {', '.join(kinds)}",
                fix=f"cast it first: {argument}.astype(...)",
            )


def check_same_dtypes(owner: str, **named: TensorType | None) -> None:
    """Checks that all arguments that are not None have the same dtype."""
    present = {argument: actual for argument, actual in named.items() if actual is not None}
    if len({actual.dtype for actual in present.values()}) > 1:
        raise problem(
            TypeError,
            f"{owner}: the dtypes differ",
            got=", ".join(f"{argument} {actual}" for argument, actual in present.items()),
            expected="equal dtypes",
            fix="cast them first: x.astype(mycelia.float32)",
        )


def check_readable(owner: str, actual: TensorType, result: Shape) -> None:
    """Checks that only an empty result is read from a tensor without elements."""
    if not size(actual.shape) and size(result):
        raise problem(
            IndexOutOfRangeError,
            f"{owner}: cannot read from an empty tensor",
            got=f"{actual} for a result of shape {list(result)}",
            expected="a tensor with elements, or no indices",
        )
