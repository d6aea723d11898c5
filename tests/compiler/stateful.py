"""Random programs that keep state, run several times: in numpy, in eager mode, and compiled."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import mycelia
from mycelia import Tensor
from tests.compiler import reference
from tests.compiler.aliasing import AliasWriter
from tests.compiler.reference import Array, watching
from tests.compiler.three_ways import Inputs, draw_inputs, is_telling, kinds, load, same, show

CALLS = 3
STOP = "stop here"
_TENSORS = ("kept.t", "kept.items[0]", "kept.items[1]", "kept.table['a']")


class Kept:
    """What a program keeps between its calls."""

    def __init__(self, make: Callable[[Any], Any], dtype: str) -> None:
        def vector(*numbers: float) -> Any:
            return make(np.array(numbers, dtype))

        self.t = vector(0.5, -1, 2)
        self.items = [vector(1, 2, 3), vector(-1, 0.25, 0.75)]
        self.table = {"a": vector(2, 1, 0.5), "n": 1}
        self.count, self.flag, self.log = 0, True, [0]

    def tensors(self) -> list[Any]:
        return [self.t, *self.items, self.table["a"]]

    def seen(self) -> Any:
        """Everything that is kept, and which tensors are one."""
        tensors = self.tensors()
        firsts = [next(i for i, one in enumerate(tensors) if one is t) for t in tensors]
        numbers = [self.table["n"], self.count, int(self.flag), *self.log]
        return [t * 1.0 for t in tensors], [int(number) for number in numbers], firsts


class StateWriter(AliasWriter):
    """Writes programs that read and change `kept`."""

    def program(self) -> str:
        self.known |= dict.fromkeys(_TENSORS, (3,))
        return super().program()

    def statement(self) -> list[str]:
        if self.rng.random() < 0.25:
            return self.state()
        return super().statement()

    def number(self) -> str:
        return self.pick("kept.count * 0.1", super().number(), super().number())

    def rebind(self) -> list[str]:
        """Where the run decides which of two tensors is kept, a program keeps a copy."""
        lines = super().rebind()
        if self.depth or any(" if " in line for line in lines):
            return self.assign()
        return lines

    def leave(self) -> list[str]:
        return self.state()

    def condition(self) -> str:
        return self.pick("kept.count > 1", "kept.flag", super().condition(), super().condition())

    def state(self) -> list[str]:
        fitting = [name for name, shape in self.known.items() if shape == (3,)]
        tensor = self.rng.choice(fitting)
        lines = [
            "kept.count += 1",
            "kept.count = kept.count * 2 + 1",
            "kept.flag = not kept.flag",
            "kept.table['n'] += kept.count",
            "kept.log.append(kept.count)",
            f"{self.rng.choice(_TENSORS)} = {tensor} * {self.number()}",
            f"{self.rng.choice(_TENSORS)}[0] = {self.number()}",
        ]
        if not self.depth:
            lines += [
                "kept.items.append(kept.items.pop(0))",
                "kept.items = [kept.items[1], kept.items[0]]",
                f"{self.rng.choice(_TENSORS)} = {tensor}",
            ]
        if self.rng.random() < 0.1:
            return [f"if {self.condition()}:", f"    raise ValueError({STOP!r})"]
        return [self.rng.choice(lines)]


def stateful_program(rng: random.Random) -> str:
    """The text of a random program that keeps state."""
    return StateWriter(rng).program()


def examine_state(source: str, seed: int) -> str:
    """What disagrees after which call, or nothing."""
    rng = random.Random(seed)
    calls = [draw_inputs(rng, "float64") for _ in range(CALLS)]
    kept = Kept(Array, "float64")
    with watching() as watch, np.errstate(all="ignore"):
        plain = load(source, ops=reference.ops, kept=kept)
        expected = [_called(plain, kept, inputs, inputs.arrays()) for inputs in calls]
    if not is_telling(watch, smooth=False):
        return ""
    found = {}
    for name in ("eager mode", "the compiled program"):
        kept = Kept(Tensor, "float64")
        fn = load(source, ops=mycelia.ops, kept=kept)
        run = fn if name == "eager mode" else mycelia.jit(fn)
        for number, inputs in enumerate(calls):
            try:
                found[name] = _called(run, kept, inputs, inputs.tensors())
            except Exception as error:
                return f"{name} raises {type(error).__name__}\n{error}"
            wanted, tolerance = expected[number], 1e-5 * watch.scale
            if not same(wanted, found[name], tolerance):
                text = f"{show(inputs)}\n  numpy: {show(wanted)}\n  found: {show(found[name])}"
                return f"{name} keeps something else\ncall {number}, {text}"
    if kinds(found["eager mode"]) != kinds(found["the compiled program"]):
        return "the kinds of what is kept differ"
    return ""


def _called(fn: Callable[..., Any], kept: Kept, inputs: Inputs, arguments: list[Any]) -> Any:
    """The result of a call, or that it stopped; arguments and state afterwards."""
    try:
        result = fn(*arguments)
    except ValueError as error:
        if str(error) != STOP:
            raise
        result = None
    return result, arguments[:2], kept.seen()
