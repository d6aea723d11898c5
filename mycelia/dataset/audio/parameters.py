"""Annotated types of parameters, and the check of a transform's fields against them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from mycelia._engine.core.errors import problem
from mycelia.dataset.transforms.checks import check_bool, check_int, check_number, wrong_type

MOST = 16777216
MOST_INT = 2**31 - 1


@dataclass(frozen=True)
class NumberInterval:
    """A number in an interval, integer or real, other than `without`."""

    low: float
    high: float
    whole: bool = False
    open_low: bool = False
    without: float | None = None

    def check(self, argument: str, value: Any) -> None:
        if self.whole:
            check_int(argument, value, int(self.low), int(self.high))
        else:
            check_number(argument, value, self.low, self.high, open_low=self.open_low)
        if value == self.without:
            raise problem(ValueError, f"{argument}: out of range", got=str(value))


Real = Annotated[float, NumberInterval(-MOST, MOST)]
Share = Annotated[float, NumberInterval(0, 1)]
Shift = Annotated[float, NumberInterval(-2, 2)]
Percent = Annotated[float, NumberInterval(0, 100)]
Positive = Annotated[float, NumberInterval(0, MOST, open_low=True)]
NotNegative = Annotated[float, NumberInterval(0, MOST)]
Rolloff = Annotated[float, NumberInterval(0, 1, open_low=True)]
Quality = Annotated[float, NumberInterval(0, 1, open_low=True)]
NotZero = Annotated[float, NumberInterval(-MOST, MOST, without=0)]

DelayMilliseconds = Annotated[float, NumberInterval(0, 5)]
Decay = Annotated[float, NumberInterval(0, 0.99)]
PhaserGain = Annotated[float, NumberInterval(0, 1e9)]
PhaserSpeed = Annotated[float, NumberInterval(0.1, 2)]
FlangerDelay = Annotated[float, NumberInterval(0, 30)]
FlangerDepth = Annotated[float, NumberInterval(0, 10)]
FlangerSpeed = Annotated[float, NumberInterval(0.1, 10)]
Regeneration = Annotated[float, NumberInterval(-95, 95)]

Integer = Annotated[int, NumberInterval(-(2**31), MOST_INT, whole=True)]
Count = Annotated[int, NumberInterval(1, MOST_INT, whole=True)]
Length = Annotated[int, NumberInterval(0, MOST_INT, whole=True)]
MaskLength = Annotated[int, NumberInterval(0, MOST, whole=True)]
Rate = Annotated[int, NumberInterval(-(2**31), MOST_INT, whole=True, without=0)]
DeltaLength = Annotated[int, NumberInterval(3, MOST_INT, whole=True)]
MelRate = Annotated[int, NumberInterval(2, MOST_INT, whole=True)]
Axis = Annotated[int, NumberInterval(1, 2, whole=True)]


def check_fields(owner: Any) -> None:
    """Check each field of a dataclass against its type."""
    kind: Any = type(owner)
    for name, hint in _hints(kind).items():
        check_value(name, getattr(owner, name), hint)


def check_value(argument: str, value: Any, hint: Any) -> None:
    """Check a value against a type: an interval, bool, an enum, or one of these or None."""
    choices = get_args(hint) if get_origin(hint) is not Annotated else (hint,)
    if NoneType in choices:
        if value is None:
            return
        hint = next(choice for choice in choices if choice is not NoneType)
    if get_origin(hint) is Annotated:
        get_args(hint)[1].check(argument, value)
    elif hint is bool:
        check_bool(argument, value)
    elif isinstance(hint, type) and issubclass(hint, Enum) and not isinstance(value, hint):
        raise wrong_type(argument, value, hint.__name__)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)
