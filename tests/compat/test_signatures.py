"""Signatures of ours beside listed ones: what counts as a difference."""

import pytest

from mycelia.compat.names import Name
from mycelia.compat.signatures import difference


def ours(x, axis=0, *, keep=False):
    """A function to compare."""


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("(x, axis=0, *, keep=False)", ""),
        ("(x, axis=0)", ""),
        ("(x, axis=1)", "axis=0 instead of 1"),
        ("(x, dim=0)", "lacks dim"),
        ("(axis, x)", "different order: x, axis"),
        ("(axis=0)", "needs x as well"),
        ("(x=None, axis=0)", "x has no default"),
        ("(x, axis=<Axis.FIRST: 0>)", ""),
        ("(*args)", ""),
    ],
)
def test_functions(listed, expected):
    assert difference(Name("m", "ours", "function", listed, 0, ()), ours) == expected


def test_methods_leave_self_out():
    def method(input, axis):
        """Called as a method."""

    assert difference(Name("m.T", "method", "method", "(self, axis)", 0, ()), method) == ""


def test_modules_and_values_have_none():
    assert difference(Name("m", "pi", "value:float", "", 0, ()), 3.14) == ""
