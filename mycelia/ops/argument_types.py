"""Checks of the shapes and dtypes of operator arguments."""

from __future__ import annotations

from mycelia._engine.core.errors import IndexOutOfRangeError, ShapeError, problem
from mycelia._engine.core.shape import Shape, broadcast, size
from mycelia._engine.ir.types import TensorType

FLOATS = ("float",)
INTEGERS = ("int", "uint")
REALS = (*INTEGERS, *FLOATS)
NUMBERS = (*REALS, "complex")


def check_shape(owner: str, argument: str, found: TensorType, shape: Shape) -> None:
    """Checks that `found` has the shape `shape`."""
    if found.shape != tuple(shape):
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' has a wrong shape",
            got=str(found),
            expected=f"shape {list(shape)}",
        )


def check_same_shape(owner: str, **named: TensorType) -> None:
    """Checks that all arguments have the shape of the first."""
    first = next(iter(named.values()))
    for argument, found in named.items():
        check_shape(owner, argument, found, first.shape)


def check_spreads_to(owner: str, argument: str, found: TensorType, shape: Shape) -> None:
    """Checks that `found` broadcasts to `shape` without enlarging it."""
    if broadcast(found.shape, shape, op=owner) != tuple(shape):
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' does not broadcast to the other arguments",
            got=str(found),
            expected=f"a shape that broadcasts to {list(shape)}",
        )


def check_one_number(owner: str, argument: str, found: TensorType) -> None:
    """Checks that `found` has one element, with any number of axes."""
    if size(found.shape) != 1:
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' must be one number",
            got=str(found),
            expected="a tensor with one element",
        )


def check_axes(owner: str, argument: str, found: TensorType, *, least: int = 1) -> None:
    """Checks that `found` has at least `least` axes."""
    if found.ndim < least:
        raise problem(
            ShapeError,
            f"{owner}: '{argument}' has too few dimensions",
            got=str(found),
            expected=f"at least {least}",
        )


def check_kinds(owner: str, kinds: tuple[str, ...], **named: TensorType | None) -> None:
    """Checks that the dtypes of all arguments that are not None are of one of these kinds."""
    for argument, found in named.items():
        if found is not None and found.dtype.kind not in kinds:
            raise problem(
                TypeError,
                f"{owner}: unsupported dtype {found.dtype} of '{argument}'",
                got=str(found),
                expected=f"a tensor of kind {', '.join(kinds)}",
                fix=f"cast it first: {argument}.astype(...)",
            )


def check_same_dtypes(owner: str, **named: TensorType | None) -> None:
    """Checks that all arguments that are not None have the same dtype."""
    given = {argument: found for argument, found in named.items() if found is not None}
    if len({found.dtype for found in given.values()}) > 1:
        raise problem(
            TypeError,
            f"{owner}: the dtypes differ",
            got=", ".join(f"{argument} {found}" for argument, found in given.items()),
            expected="one dtype for all",
            fix="cast them first: x.astype(mycelia.float32)",
        )


def check_readable(owner: str, found: TensorType, result: Shape) -> None:
    """Checks that only an empty result is read from a tensor without elements."""
    if not size(found.shape) and size(result):
        raise problem(
            IndexOutOfRangeError,
            f"{owner}: there is nothing to read",
            got=f"{found} for a result of shape {list(result)}",
            expected="a tensor with elements, or no indices",
        )
