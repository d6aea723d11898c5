"""Collectives of a compiled XLA program and the bytes that they move, parsed from its HLO text.

The text is that of one device (`compiled.as_text()`). Bytes are those of the program as compiled:
where XLA widens a sum (bfloat16 on CPU), the widened elements count. The number of collectives
means little, since XLA merges them; the number of bytes does not depend on that.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from mycelia._engine.core.errors import problem

KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")

# How often the result (for reduce-scatter, the operand) passes the link of a device on a ring,
# in shares of (n - 1) / n.
_SHARES = {"all-reduce": 2, "all-gather": 1, "reduce-scatter": 1, "all-to-all": 1}

_BITS = {
    **{"pred": 8, "token": 0, "opaque": 0, "bf16": 16, "c64": 64, "c128": 128},
    **{f"{kind}{bits}": bits for kind in "su" for bits in (1, 2, 4, 8, 16, 32, 64)},
    **{f"f{bits}": bits for bits in (16, 32, 64)},
}

_HEADER = re.compile(r"(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{$")
# `%name = type opcode(`: the type is one word, or a tuple that ends where an opcode follows.
_INSTRUCTION = re.compile(r"\s+(ROOT )?%?[\w.\-]+ = (\(.*?\)|\S+) ([\w\-]+)\(")
_OTHER_COLLECTIVES = re.compile(r"(ragged-all-to-all|collective-broadcast)(-start)?$")
_ARRAY = re.compile(r"([a-z][a-z0-9]*)\[([\d,<= ]*)\]")
_CALLED = re.compile(r"(?:calls|to_apply)=%?([\w.\-]+)")
_CALLED_SEVERAL = re.compile(r"(?:called_computations|calls)=\{([^}]*)\}")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRUE_OR_FALSE = re.compile(r"(?:true|false)_computation=%?([\w.\-]+)")
_BODY = re.compile(r"body=%?([\w.\-]+)")
_CONDITION = re.compile(r"condition=%?([\w.\-]+)")
_TRIPS = re.compile(r'known_trip_count"?[:=]\{"?n"?[:=]"?(\d+)')
_SOURCE = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_WHOLE_NUMBER = re.compile(r"= [su]\d+\[\](?:\{\})? constant\((-?\d+)\)")
_COMPARED = re.compile(r" compare\(.*direction=([A-Z]+)")

_LISTED_GROUPS = re.compile(r"replica_groups=\{((?:\{[\d,]*\},?)*)\}")
_COUNTED_GROUPS = re.compile(r"replica_groups=\[\d+,(\d+)\]<=")
_MESH_GROUPS = re.compile(r"replica_groups=mesh\[([^\]]*)\](?:, device_ids=\(.*?\)\))? \{([^}]*)\}")
_MESH_AXIS = re.compile(r"'([^']*)'=(\d+)")
_USED_AXIS = re.compile(r"'([^']*)'(?::\(\d+\)(\d+))?")
_PAIRS = re.compile(r"source_target_pairs=\{((?:\{\d+,\d+\},?)*)\}")


@dataclass(frozen=True)
class CompiledCollective:
    """A collective of a compiled program, as one device sees it.

    `bytes` is the size of the result; of the operand for reduce-scatter. `devices` is the number
    of members of a group (for collective-permute, of pairs). `times` is how often it runs.
    """

    kind: str
    bytes: int
    devices: int
    times: int
    source: str

    @property
    def moved(self) -> float:
        """The bytes that each device sends in total, if groups are rings."""
        if self.kind == "collective-permute":
            return float(self.bytes * self.times)
        share = _SHARES[self.kind] * (self.devices - 1) / self.devices
        return self.bytes * share * self.times


def transfers(text: str) -> tuple[CompiledCollective, ...]:
    """All collectives of one run of the program.

    A loop multiplies its body; of a conditional, the branch that moves the most bytes counts.
    """
    return _HloModule(text).transfers()


def moved_bytes(text: str) -> float:
    """The bytes that each device sends in one run of the program."""
    return sum(transfer.moved for transfer in transfers(text))


class _HloModule:
    """The computations of an HLO module by name, with lazily computed transfers."""

    def __init__(self, text: str) -> None:
        self.computations: dict[str, list[str]] = {}
        self.entry = ""
        self.all_devices = _count(text, "num_partitions") * _count(text, "replica_count")
        self._found: dict[str, tuple[CompiledCollective, ...]] = {}
        self._split(text)

    def _split(self, text: str) -> None:
        lines: list[str] = []
        for line in text.splitlines():
            if line[:1] in (" ", "\t", "", "}"):
                lines.append(line)
            elif line.endswith("{") and (header := _HEADER.match(line)):
                lines = self.computations[header[2]] = []
                self.entry = header[2] if header[1] else self.entry
        if not self.entry:
            raise problem(
                ValueError,
                "the text holds no compiled program",
                got=repr(text[:80]),
                expected="a line that starts with ENTRY",
                fix="pass jax.jit(f).lower(...).compile().as_text()",
            )

    def transfers(self) -> tuple[CompiledCollective, ...]:
        return self._of(self.entry)

    def _of(self, name: str) -> tuple[CompiledCollective, ...]:
        """The transfers of one run of a computation."""
        if name not in self._found:
            self._found[name] = tuple(self._read(name))
        return self._found[name]

    def _read(self, name: str) -> Iterator[CompiledCollective]:
        if name not in self.computations:
            raise problem(ValueError, f"the program has no computation {name}", fix="pass all text")
        for line in self.computations[name]:
            instruction = _INSTRUCTION.match(line)
            if instruction is None:
                continue
            kind = instruction[3].removesuffix("-start")
            rest = line[instruction.end() :]
            if kind in KINDS:
                yield self._transfer(instruction[2], instruction[3], rest)
            elif _OTHER_COLLECTIVES.match(kind):
                raise problem(NotImplementedError, f"{kind} is not counted", got=line.strip()[:200])
            elif kind == "while":
                yield from self._loop(rest)
            elif kind == "conditional":
                yield from max((self._of(b) for b in _branches(rest)), key=_sum, default=())
            elif not kind.endswith(("-done", "-update")) and "=" in rest:
                for called in _called(rest):
                    yield from self._of(called)

    def _transfer(self, type_: str, opcode: str, rest: str) -> CompiledCollective:
        kind = opcode.removesuffix("-start")
        if kind != opcode:
            type_ = _result_of_start(kind, type_)
        devices = _members(rest, self.all_devices)
        source = _SOURCE.search(rest)
        scale = devices if kind == "reduce-scatter" else 1
        return CompiledCollective(
            kind, _bytes(type_) * scale, devices, 1, source[1] if source else ""
        )

    def _loop(self, rest: str) -> Iterator[CompiledCollective]:
        """The transfers of a loop: its body once per trip, its condition once more."""
        body, condition = _BODY.search(rest), _CONDITION.search(rest)
        if body is None or condition is None:
            raise problem(ValueError, "a while without body or condition", got=rest[:200])
        inner, asked = self._of(body[1]), self._of(condition[1])
        if not inner and not asked:
            return
        known = _TRIPS.search(rest)
        trips = int(known[1]) if known else self._limit(condition[1])
        for transfer in inner:
            yield replace(transfer, times=transfer.times * trips)
        for transfer in asked:
            yield replace(transfer, times=transfer.times * (trips + 1))

    def _limit(self, condition: str) -> int:
        """The trip count of a loop from 0 in steps of 1, from the constant in its condition."""
        lines = list(self.computations[condition])
        for line in self.computations[condition]:
            for called in _called(line):
                lines += self.computations[called]
        numbers = [int(m[1]) for m in map(_WHOLE_NUMBER.search, lines) if m]
        compared = [m[1] for m in map(_COMPARED.search, lines) if m]
        if len(numbers) != 1 or compared not in (["LT"], ["LE"]):
            raise problem(
                ValueError,
                "the trip count of a loop with collectives is unknown",
                got=f"condition {condition} with constants {numbers} and comparisons {compared}",
                expected="known_trip_count, or one comparison with one constant",
                fix="use a loop of a fixed length",
            )
        return numbers[0] + (compared == ["LE"])


def _sum(moved: tuple[CompiledCollective, ...]) -> float:
    return sum(transfer.moved for transfer in moved)


def _count(text: str, name: str) -> int:
    """A number in the first line of the program, such as the number of devices."""
    found = re.search(rf"\b{name}=(\d+)", text[: text.find("\n")])
    return int(found[1]) if found else 1


def _called(rest: str) -> Iterator[str]:
    """The computations that an instruction, other than a loop or conditional, runs once."""
    for found in _CALLED.finditer(rest):
        yield found[1]
    for several in _CALLED_SEVERAL.finditer(rest):
        yield from _names(several[1])


def _branches(rest: str) -> list[str]:
    several = _BRANCHES.search(rest)
    return _names(several[1]) if several else _TRUE_OR_FALSE.findall(rest)


def _names(listed: str) -> list[str]:
    return [name.strip().removeprefix("%") for name in listed.split(",") if name.strip()]


def _result_of_start(kind: str, type_: str) -> str:
    """The result type in the type of an asynchronous collective start.

    An all-reduce-start has the type of its result; all others, and an all-reduce wrapped in a
    separate computation, have (operands, results, context).
    """
    parts = _parts(type_)
    if kind == "all-reduce" and not parts[0].startswith("("):
        return type_
    if len(parts) < 2:
        raise problem(ValueError, f"{kind}-start: no result in its type", got=type_)
    return parts[1]


def _parts(type_: str) -> list[str]:
    """The items of a tuple type, `(f32[2], (f32[3], s32[]))`; any other type itself."""
    if not type_.startswith("("):
        return [type_]
    parts, depth, start = [], 0, 1
    for place, letter in enumerate(type_):
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
        if depth == 0 or (letter == "," and depth == 1):
            parts.append(re.sub(r"/\*.*?\*/", "", type_[start:place]).strip())
            start = place + 1
    return parts


def _bytes(type_: str) -> int:
    """The size in bytes of an array, or of all arrays of a tuple."""
    total = 0
    for dtype, sizes in _ARRAY.findall(type_):
        elements = math.prod(int(size.strip(" <=")) for size in sizes.split(",") if size)
        total += -(-elements * _bits(dtype) // 8)
    return total


def _bits(dtype: str) -> int:
    if dtype in _BITS:
        return _BITS[dtype]
    small = re.match(r"f(8|4|6)e\d", dtype)
    if small is None:
        raise problem(ValueError, "a dtype of unknown size in a compiled program", got=dtype)
    return int(small[1])


def _members(rest: str, everybody: int) -> int:
    """The number of devices of a group, in any of XLA's notations."""
    if pairs := _PAIRS.search(rest):
        return pairs[1].count("{")
    if counted := _COUNTED_GROUPS.search(rest):
        return int(counted[1])
    if mesh := _MESH_GROUPS.search(rest):
        sizes = {axis: int(size) for axis, size in _MESH_AXIS.findall(mesh[1])}
        used = _USED_AXIS.findall(mesh[2])
        return math.prod(int(part) if part else sizes[axis] for axis, part in used)
    if listed := _LISTED_GROUPS.search(rest):
        groups = re.findall(r"\{([\d,]*)\}", listed[1])
        return max((len(group.split(",")) for group in groups), default=everybody)
    if "replica_groups=" not in rest:
        return everybody
    raise problem(
        ValueError,
        "unknown notation of device groups",
        got=rest[rest.find("replica_groups=") :][:200],
    )
