"""Programs that nest branches and loops in every way, with every way of leaving them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

BLOCKS = ("if", "elif", "else", "for_known", "for_range", "for_tensor", "while")
LOOPS = frozenset(BLOCKS[3:])
EXITS = ("falls", "break", "continue", "return", "loop_else")
STATES = ("scalar", "vector", "number")
_START = {"scalar": "s", "vector": "x * s", "number": "r"}
_TESTED = {
    "scalar": ("y", "z * 3.0", "y - z"),
    "vector": ("y.sum()", "z[0] * 3.0", "(y - z).mean()"),
    "number": ("y", "z * 3.0", "y - z"),
}
_EDGES = (0.11, -0.17, 0.23, -0.31)


@dataclass(frozen=True)
class Nest:
    """One program: blocks from the outside in, how some loop is left and at which level."""

    blocks: tuple[str, ...]
    exit: str
    level: int  # the block whose end holds the exit
    state: str  # what the program computes with

    @property
    def name(self) -> str:
        return f"{'-'.join(self.blocks)}-{self.exit}{self.level}-{self.state}"

    @property
    def source(self) -> str:
        return "\n".join(_Writer(self).program()) + "\n"


def nests() -> list[Nest]:
    """All pairs of blocks with every exit, all triples with exits and states in turn."""
    return [*_pairs(), *_triples()]


def _pairs() -> Iterator[Nest]:
    states = itertools.cycle(STATES)
    for blocks in itertools.product(BLOCKS, repeat=2):
        for exit_ in EXITS:
            level = len(blocks) - 1 if exit_ != "return" else 0
            if _is_possible(blocks, exit_, level):
                yield Nest(blocks, exit_, level, next(states))


def _triples() -> Iterator[Nest]:
    turns = itertools.count()
    narrow = [b for b in BLOCKS if b not in ("elif", "else")]
    for blocks in itertools.product(narrow, repeat=3):
        turn = next(turns)
        choices = [
            (exit_, level)
            for exit_ in EXITS
            for level in (2, 1)
            if _is_possible(blocks, exit_, level)
        ]
        exit_, level = choices[turn * 7 % len(choices)]
        yield Nest(blocks, exit_, level, STATES[turn % 3])


def _is_possible(blocks: tuple[str, ...], exit_: str, level: int) -> bool:
    """break, continue and else clauses need a loop around the place of the exit."""
    return exit_ in ("falls", "return") or any(b in LOOPS for b in blocks[: level + 1])


class _Writer:
    """Writes the text of one nest."""

    def __init__(self, nest: Nest) -> None:
        self.nest = nest
        self.tested = itertools.cycle(_TESTED[nest.state])
        self.edges = itertools.cycle(_EDGES)

    def program(self) -> list[str]:
        start = _START[self.nest.state]
        body = ["z = y * 0.25", *self.block(0), "return y + z * 0.5"]
        return ["def program(x, s, n, k, r):", f"    y = {start}", *indented(body)]

    def block(self, level: int) -> list[str]:
        """The block of one level, with what stands inside it."""
        if level == len(self.nest.blocks):
            return ["y = y * 0.75 + 0.4"]
        kind = self.nest.blocks[level]
        before = f"y = y * 0.9 - 0.{level + 1}"
        body = [*self.gain(kind, level), before, *self.block(level + 1)]
        if level == self.nest.level:
            body += self.exit()
        body.append(f"z = z + y * 0.{level + 2}")
        return getattr(self, kind, self.loop)(kind, level, body)

    def gain(self, kind: str, level: int) -> list[str]:
        """A statement that uses the variable of a loop."""
        if kind == "for_tensor" and self.nest.state != "number":
            return [f"y = y + v{level} * 0.3"]
        return [f"y = y + v{level} * 0.2"] if kind in LOOPS - {"for_tensor"} else []

    def test(self, sign: str = ">") -> str:
        return f"{next(self.tested)} {sign} {next(self.edges)}"

    def exit(self) -> list[str]:
        kind = self.nest.exit
        if kind == "falls":
            return []
        leave = {"return": "return y - z", "loop_else": "break"}.get(kind, kind)
        return [f"if {self.test('<')}:", "    z = z + 1.5", f"    {leave}"]

    def loop(self, kind: str, level: int, body: list[str]) -> list[str]:
        known = self.nest.state == "number"
        count = "k" if known else "n"
        lines = {
            "for_known": [f"for v{level} in range(3):"],
            "for_range": [f"for v{level} in range({count}):"],
            "for_tensor": [f"for v{level} in x:"],
            "while": [f"v{level} = 0", f"while v{level} < {count} and {next(self.tested)} < 2.5:"],
        }[kind]
        step = [f"v{level} += 1"] if kind == "while" else []
        otherwise = ["else:", "    y = y * 0.6 - 0.25"] if self.nest.exit == "loop_else" else []
        return [*lines, *indented([*step, *body]), *otherwise]

    def branch(self, kind: str, level: int, body: list[str]) -> list[str]:
        other, rest = ["y = y * 1.1"], ["y = 0.3 - y", "z = z - 0.2"]
        place = ("if", "elif", "else").index(kind)
        parts = [other, rest]
        parts.insert(place, body)
        first, second, third = parts
        return [
            f"if {self.test()}:",
            *indented(first),
            f"elif {self.test('<')}:",
            *indented(second),
            "else:",
            *indented(third),
        ]


for _kind in ("if", "elif", "else"):
    setattr(_Writer, _kind, _Writer.branch)


def indented(lines: list[str]) -> list[str]:
    """Lines one level further in."""
    return [f"    {line}" for line in lines]
