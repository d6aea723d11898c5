"""Symbolic sizes of dynamic shapes, with their constraints."""

from __future__ import annotations

from typing import Any, Self

from mycelia._engine.core.checks import check_bool, check_int
from mycelia._engine.core.errors import problem
from mycelia.tensor.unsized_array import UNKNOWN


class Symbol(int):
    """A symbolic size for `set_inputs`: `Tensor(shape=(Symbol(max=8), 3))`.

    It is at least `min`, at most `max` (0: no limit), and `remainder` modulo `divisor`.
    """

    def __new__(
        cls,
        max: int = 0,
        min: int = 1,
        divisor: int = 1,
        remainder: int = 0,
        unique: bool = False,
        **kwargs: Any,
    ) -> Self:
        for name, value in (("max", max), ("min", min), ("divisor", divisor)):
            check_int("Symbol", name, value)
            if name != "max" and value <= 0:
                raise problem(
                    ValueError,
                    f"For 'Symbol', the '{name}' value should be positive, but got {value}",
                )
        check_int("Symbol", "remainder", remainder)
        check_bool("Symbol", "unique", unique)
        if not 0 <= remainder < divisor:
            raise problem(
                ValueError,
                f"For 'Symbol', the 'remainder' value should be in the range '[0, {divisor})', "
                f"but got {remainder}",
            )
        symbol = super().__new__(cls, UNKNOWN)
        symbol.max, symbol.min, symbol.divisor = max, min, divisor
        symbol.remainder, symbol.unique = remainder, unique
        return symbol

    max: int
    min: int
    divisor: int
    remainder: int
    unique: bool

    def to_dict(self) -> dict[str, Any]:
        """The constraints as a dict."""
        known: dict[str, Any] = {}
        if self.max > self.min:
            known["max"] = self.max
        if self.min > 1 and not (self.divisor >= self.min and self.remainder == 0):
            known["min"] = self.min
        if self.divisor != 1:
            known["divisor"] = self.divisor
        if self.remainder:
            known["remainder"] = self.remainder
        if self.unique:
            known |= {"unique": True, "id": id(self)}
        return known

    def __repr__(self) -> str:
        return str(self.to_dict())

    __str__ = __repr__
