"""Formatting of durations, bytes, and mesh axes for people."""

from __future__ import annotations

from collections.abc import Iterable

_DURATIONS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_VOLUMES = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B"))


def duration(seconds: float) -> str:
    """As `"6.18 us"`."""
    return _scaled(seconds, _DURATIONS)


def volume(bytes_: float) -> str:
    """As `"229 kB"`, in powers of 1000."""
    return _scaled(bytes_, _VOLUMES)


def share(part: float, whole: float) -> str:
    """As `"64 %"`; `"0 %"` if the whole is 0."""
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def axis_letters(axes: Iterable[int]) -> str:
    """Mesh axes as letters, as in placements: the first axis is `a`."""
    return "".join(chr(ord("a") + axis) for axis in axes)


def mesh_text(sizes: tuple[int, ...]) -> str:
    """As `"4x2 (a=4, b=2)"`."""
    named = [f"{axis_letters((axis,))}={size}" for axis, size in enumerate(sizes)]
    return f"{'x'.join(map(str, sizes))} ({', '.join(named)})"


def _scaled(amount: float, units: tuple[tuple[float, str], ...]) -> str:
    """Three significant digits, in the largest unit that makes the value at least 1."""
    if not amount:
        return f"0 {units[-1][1]}"
    reached = [unit for unit in units if round(amount / unit[0], 3) >= 1]
    size, name = reached[0] if reached else units[-1]
    value = amount / size
    digits = 2 if value < 10 else 1 if value < 100 else 0
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} {name}"
