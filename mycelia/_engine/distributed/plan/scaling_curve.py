"""Predicted scaling of a program with the number of devices: a table and a curve."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from math import log2
from pathlib import Path

from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.distributed.plan.html_page import framed, legend, svg, text
from mycelia._engine.distributed.plan.plan import Plan
from mycelia._engine.distributed.plan.units import duration, share, volume

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 720.0, 420.0, 60.0, 46.0, 20.0
_PREDICTED, _IDEAL = "#3b7dd8", "#98a2b3"
_TITLES = ("devices", "mesh", "time", "speed-up", "of ideal", "comm", "memory", "sent")
_BAR = 20  # characters of a whole bar


@dataclass(frozen=True)
class Scaling:
    """Plans of one program for several numbers of devices, with costs from the cost model."""

    plans: tuple[Plan, ...]

    @property
    def speedups(self) -> tuple[float, ...]:
        """The speed of each plan relative to the first."""
        first = self.plans[0].seconds
        return tuple([first / p.seconds if p.seconds else 1.0 for p in self.plans])

    @property
    def ideals(self) -> tuple[float, ...]:
        """The number of devices of each plan relative to the first: the ideal speed-up."""
        first = self.plans[0].devices
        return tuple([p.devices / first for p in self.plans])

    def show(self) -> str:
        """A table: devices, mesh, time, speed-up, communication, memory, and traffic."""
        titles = " ".join(f"{title:>10}" for title in _TITLES)
        lines = [f"{self.plans[0].name} on {self.plans[0].cluster.name}", titles]
        for cells, gain, ideal in zip(self._cells(), self.speedups, self.ideals, strict=True):
            bar = "#" * round(_BAR * min(gain / ideal, 1.0))
            lines.append(" ".join(f"{cell:>10}" for cell in cells) + f"  {bar}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.show()

    def to_html(self, path: str | Path) -> None:
        """Write the curve and the table as one self-contained HTML file."""
        name = f"{self.plans[0].name} on {self.plans[0].cluster.name}"
        titles = "".join(f"<th>{title}</th>" for title in _TITLES)
        rows = "".join(
            "<tr>" + "".join(f'<td class="number">{cell}</td>' for cell in cells) + "</tr>"
            for cells in self._cells()
        )
        body = (
            f"<h1>{escape(name)}</h1>\n{self.to_svg()}\n"
            f"{legend({'predicted': _PREDICTED, 'ideal': _IDEAL})}\n"
            f"<table><tr>{titles}</tr>{rows}</table>"
        )
        write_atomically(path, [framed(name, body).encode()])

    def to_svg(self) -> str:
        """The curve as SVG: speed-up over devices, on logarithmic axes."""
        devices = [plan.devices for plan in self.plans]
        highest = max(*self.ideals, *self.speedups, 2.0)
        lowest = min(*self.speedups, 1.0)
        spread = log2(max(devices) / min(devices)) or 1.0
        rise = log2(highest / lowest) or 1.0

        def x(count: float) -> float:
            return _LEFT + (_WIDTH - _LEFT - 20) * log2(count / min(devices)) / spread

        def y(gain: float) -> float:
            return _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * log2(gain / lowest) / rise

        points = sorted(zip(devices, self.speedups, self.ideals, strict=True))
        parts = [_across(y(2.0**power), 2.0**power) for power in _powers(lowest, highest)]
        parts += [text(x(n), _HEIGHT - 24, str(n), anchor="middle", kind="dim") for n in devices]
        parts.append(text(_WIDTH / 2, _HEIGHT - 6, "devices", anchor="middle", kind="dim"))
        parts.append(_curve([(x(n), y(ideal)) for n, _, ideal in points], _IDEAL, "6 4"))
        parts.append(_curve([(x(n), y(gain)) for n, gain, _ in points], _PREDICTED, "none"))
        parts += [
            f"<g><title>{n} devices: {gain:.2f} times as fast</title>"
            f'<circle cx="{x(n):.1f}" cy="{y(gain):.1f}" r="4" fill="{_PREDICTED}"/></g>'
            for n, gain, _ in points
        ]
        return svg(_WIDTH, _HEIGHT, "speed-up over devices", parts)

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                str(plan.devices),
                "x".join(map(str, plan.mesh)),
                duration(plan.seconds),
                f"{gain:.2f}",
                share(gain, ideal),
                share(plan.talk, plan.seconds),
                volume(plan.memory) + "!" * (plan.memory > plan.cluster.memory),
                volume(plan.moved),
            )
            for plan, gain, ideal in zip(self.plans, self.speedups, self.ideals, strict=True)
        ]


def _powers(lowest: float, highest: float) -> range:
    """The exponents of the powers of two between two numbers."""
    return range(-int(log2(1 / lowest)), int(log2(highest)) + 1)


def _across(y: float, gain: float) -> str:
    line = (
        f'<line class="edge" x1="{_LEFT:g}" x2="{_WIDTH - 20:g}" y1="{y:.1f}" y2="{y:.1f}" '
        'stroke-opacity="0.3"/>'
    )
    return line + text(_LEFT - 8, y + 4, f"{gain:g}x", anchor="end", kind="dim")


def _curve(points: list[tuple[float, float]], color: str, dashes: str) -> str:
    written = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f'<polyline points="{written}" fill="none" stroke="{color}" stroke-width="2" '
        f'stroke-dasharray="{dashes}"/>'
    )
