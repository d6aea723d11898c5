"""Random programs: every statement is valid eagerly, every loop ends, both paths keep the kinds."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from tests.compiler.expressions import Expressions
from tests.compiler.nesting import indented
from tests.compiler.scope import (
    COUNT,
    DICT,
    FLOAT,
    INT,
    KINDS,
    LIST,
    PAIR,
    SCALAR,
    VECTOR,
    Scope,
    Signature,
)

ARGUMENTS = {"x": VECTOR, "s": SCALAR, "n": COUNT, "k": INT, "r": FLOAT}
DEEPEST = 3


@dataclass(frozen=True)
class Program:
    """The text of a program with `program(x, s, n, k, r)`."""

    source: str
    differentiable: bool  # the result is one float tensor


def generate(rng: random.Random) -> Program:
    """A random program."""
    differentiable = rng.random() < 0.4
    return Program("\n".join(_Writer(rng, differentiable).program()) + "\n", differentiable)


class _Writer(Expressions):
    """Writes the statements of one program."""

    def __init__(self, rng: random.Random, differentiable: bool) -> None:
        super().__init__(rng, differentiable)
        self.made = 0
        self.budget = 0  # how many statements may still be written
        kinds = rng.choices(KINDS, k=rng.randint(1, 3))
        self.result = (rng.choice((VECTOR, SCALAR)),) if differentiable else tuple(kinds)
        self.loops = 0  # how many loops are around the statement being written

    def program(self) -> list[str]:
        functions: list[str] = []
        known: list[Signature] = []
        for _ in range(self.rng.randint(0, 2)):
            lines, signature = self.rng.choice((self.helper, self.helper, self.recursion))()
            functions += [*lines, "", ""]
            known.append(signature)
        self.budget = self.rng.randint(5, 11)
        self.scope = Scope(functions=known)
        for name, kind in ARGUMENTS.items():
            self.scope.add(kind, name, assignable=kind in (VECTOR, SCALAR, FLOAT))
        body = self.block(0, self.rng.randint(3, 6))
        body.append(self.return_())
        return [*functions, f"def program({', '.join(ARGUMENTS)}):", *indented(body)]

    def name(self, stem: str) -> str:
        self.made += 1
        return f"{stem}{self.made}"

    def block(self, depth: int, count: int) -> list[str]:
        """Some statements; names they make are not seen outside of a nested block."""
        lines: list[str] = []
        for _ in range(count):
            if self.budget <= 0 and lines:
                break
            lines += self.statement(depth)
        return lines

    def nested(self, depth: int) -> list[str]:
        with self.scope.inner():
            return indented(self.block(depth + 1, self.rng.randint(1, 3)))

    def statement(self, depth: int) -> list[str]:
        self.budget -= 1
        simple: list[tuple[int, Callable[[], list[str]]]] = [
            (4, self.assign_new),
            (5, self.assign_again),
            (3, self.augmented),
            (2, self.unpack),
            (2, self.container),
            (3, self.change_container),
            (1, self.element),
            (2, self.closure),
            (1, self.chosen_function),
        ]
        compound: list[tuple[int, Callable[[int], list[str]]]] = [
            (5, self.if_),
            (2, self.if_defines),
            (4, self.while_),
            (5, self.for_),
            (1, self.accumulate),
            (2, self.leave),
        ]
        options: list[tuple[int, Callable[[], list[str]]]] = list(simple)
        if depth < DEEPEST:
            options += [(weight, partial(write, depth)) for weight, write in compound]
        weights = [weight for weight, _ in options]
        return self.rng.choices([write for _, write in options], weights)[0]()

    # ---- assignments --------------------------------------------------------------------------

    def assign_new(self) -> list[str]:
        kind = self.rng.choices(KINDS, (4, 4, 2, 2, 2))[0]
        line = f"{(name := self.name(kind[0]))} = {self.expression(kind)}"
        self.scope.add(kind, name)
        return [line]

    def target(self) -> tuple[str, str] | None:
        """A variable that may be assigned, with its kind."""
        kinds = [kind for kind in KINDS if self.scope.targets(kind)]
        if not kinds:
            return None
        kind = self.rng.choice(kinds)
        return self.rng.choice(self.scope.targets(kind)), kind

    def assign_again(self) -> list[str]:
        found = self.target()
        return self.assign_new() if found is None else [f"{found[0]} = {self.expression(found[1])}"]

    def augmented(self) -> list[str]:
        found = self.target()
        if found is None:
            return self.assign_new()
        name, kind = found
        if kind in (VECTOR, SCALAR, FLOAT) and self.rng.random() < 0.5:
            return [f"{name} *= {self.constant(FLOAT)}"]
        return [f"{name} {self.pick('+=', '-=')} {self.expression(kind, 1)}"]

    def unpack(self) -> list[str]:
        pairs = self.scope.names(PAIR)
        names = self.name("v"), self.name("s")
        targets = self.scope.targets(SCALAR)
        if len(targets) > 1 and self.rng.random() < 0.4:
            one, other = self.rng.sample(targets, 2)
            return [f"{one}, {other} = {other}, {one} * 0.5"]
        values = f"{self.expression(VECTOR)}, {self.expression(SCALAR)}"
        line = f"{', '.join(names)} = {self.rng.choice([*pairs, values])}"
        self.scope.add(VECTOR, names[0])
        self.scope.add(SCALAR, names[1])
        return [line]

    def element(self) -> list[str]:
        """Write one element of a tensor made here."""
        name = self.name("v")
        value, place = (
            self.expression(SCALAR, 1),
            self.pick("0", "-1", f"{self.simple(COUNT)} % 3", f"{self.simple(INT)} % 3"),
        )
        lines = [f"{name} = {self.simple(VECTOR)} * 1.0"]
        if self.rng.random() < 0.5:
            lines.append(f"{name}[{place}] = {value}")
        else:
            lines += [f"if {self.condition()}:", f"    {name}[{place}] = {value}"]
        self.scope.add(VECTOR, name)
        return lines

    # ---- containers ---------------------------------------------------------------------------

    def container(self) -> list[str]:
        kind = self.rng.choice((PAIR, LIST, DICT))
        vector, scalar, other = (self.expression(k) for k in (VECTOR, SCALAR, SCALAR))
        text = {
            PAIR: f"({vector}, {scalar})",
            LIST: f"[{scalar}, {other}]",
            DICT: f"{{'a': {vector}, 'b': {scalar}}}",
        }[kind]
        line = f"{(name := self.name(kind[0] * 2))} = {text}"
        self.scope.add(kind, name)
        return [line]

    def change_container(self) -> list[str]:
        """Change a list or dict in place; inside run-time branches, too."""
        lists, dicts = self.scope.targets(LIST), self.scope.targets(DICT)
        if not lists and not dicts:
            return self.container()
        name = self.rng.choice([*lists, *dicts])
        if name in dicts:
            return [
                self.pick(
                    f"{name}['a'] = {self.expression(VECTOR)}",
                    f"{name}['b'] += {self.expression(SCALAR)}",
                )
            ]
        return [
            self.pick(
                f"{name}[{self.pick('0', '1', '-1')}] = {self.expression(SCALAR)}",
                f"{name}[0] *= {self.constant(FLOAT)}",
                f"{name}.append({self.expression(SCALAR)})",
            )
        ]

    # ---- branches and loops -------------------------------------------------------------------

    def if_(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *self.nested(depth)]
        if self.rng.random() < 0.3:
            lines += [f"elif {self.condition()}:", *self.nested(depth)]
        if self.rng.random() < 0.5:
            lines += ["else:", *self.nested(depth)]
        return lines

    def if_defines(self, depth: int) -> list[str]:
        """A variable that all paths give a value."""
        kind = self.rng.choice(KINDS)
        name = self.name(kind[0])
        one, other = self.expression(kind), self.expression(kind)
        test = self.condition()
        lines = [f"if {test}:", f"    {name} = {one}", *self.nested(depth)]
        lines += ["else:", f"    {name} = {other}"]
        self.scope.add(kind, name)
        return lines

    def while_(self, depth: int) -> list[str]:
        counter = self.name("c")
        bound = self.bound()
        also = f" and {self.condition()}" if self.rng.random() < 0.5 else ""
        bound_name = self.name("m")
        lines = [
            f"{counter} = {self.pick('0', '0', f'{self.simple(COUNT)} * 0')}",
            f"{bound_name} = {bound}",
        ]
        lines.append(f"while {counter} < {bound_name}{also}:")
        return [*lines, f"    {counter} += 1", *self.passes(depth), *self.otherwise(depth)]

    def bound(self) -> str:
        """How often a loop may go round, known or not."""
        kind = self.rng.choice((COUNT, INT))
        arguments = [name for name in self.scope.names(kind) if name in ARGUMENTS]
        small = arguments or [f"min({self.simple(kind)}, 3)"]
        return self.pick(*small, f"min({self.expression(kind, 1)}, 3)")

    def for_(self, depth: int) -> list[str]:
        name = self.name("i")
        known = str(self.rng.randint(1, 3))
        source, kind = self.rng.choice(
            [
                (f"range({known})", INT),
                (f"range(1, {known} + 2, 2)", INT),
                (f"range({self.bound()})", INT),
                (f"range({self.bound()})", INT),
                (f"range({self.bound()}, 0, -1)", INT),
                (self.simple(VECTOR), SCALAR),
                (f"({self.simple(SCALAR)}, {self.simple(SCALAR)})", SCALAR),
                *[(lst, SCALAR) for lst in self.scope.names(LIST)],
            ]
        )
        target = name
        with self.scope.inner():
            if kind == SCALAR and self.rng.random() < 0.4:
                place = self.name("j")
                target, source = f"{place}, {name}", f"enumerate({source})"
                self.scope.add(INT, place, assignable=False)
            self.scope.add(kind, name, assignable=False)
            for lst in self.scope.targets(LIST).copy():
                if lst in source:  # a list must not grow while it is looped over
                    self.scope.assignable[LIST].remove(lst)
            body = self.passes(depth)
        return [f"for {target} in {source}:", *body, *self.otherwise(depth)]

    def passes(self, depth: int) -> list[str]:
        """The body of a loop."""
        self.loops += 1
        body = self.nested(depth)
        self.loops -= 1
        return body

    def otherwise(self, depth: int) -> list[str]:
        return ["else:", *self.nested(depth)] if self.rng.random() < 0.2 else []

    def leave(self, depth: int) -> list[str]:
        """Leave a loop or the program, if something holds."""
        ways = [self.return_(), *(["break", "continue"] if self.loops else [])]
        lines = [f"if {self.condition()}:"]
        if self.rng.random() < 0.4:
            lines += self.nested(depth)
        return [*lines, f"    {self.rng.choice(ways)}"]

    def return_(self) -> str:
        parts = [self.digest(kind) for kind in self.result]
        return f"return {parts[0] if len(parts) == 1 else '(' + ', '.join(parts) + ')'}"

    def digest(self, kind: str) -> str:
        """An expression that most variables have a part in, so that a wrong one shows."""
        parts: list[str] = []
        if kind in (VECTOR, SCALAR):
            parts += [f"{name} * 0.7" for name in self.scope.names(SCALAR)[-4:]]
            parts += [f"{name}.sum()" for name in self.scope.names(VECTOR)[-3:]]
            parts += [f"sum({name})" for name in self.scope.names(LIST)[-2:]]
            parts += [f"{name}['a'].mean() + {name}['b']" for name in self.scope.names(DICT)[-2:]]
            parts += [f"{name}[1]" for name in self.scope.names(PAIR)[-1:]]
        within = {INT: (INT,), COUNT: (INT, COUNT)}.get(kind, (INT, FLOAT))
        parts += [name for one in within for name in self.scope.names(one)[-3:]]
        return " + ".join([self.expression(kind), *parts])

    def accumulate(self, depth: int) -> list[str]:
        """A sum that starts as a plain number and becomes a tensor in the first pass."""
        name, step = self.name("s"), self.name("i")
        source = self.pick(
            "range(3)", f"range(abs({self.simple(COUNT)}) % 3 + 1)", self.simple(VECTOR)
        )
        lines = [f"{name} = {self.pick('0', '0.0')}", f"for {step} in {source}:"]
        lines.append(f"    {name} = {name} + {self.expression(SCALAR)}")
        if self.rng.random() < 0.3:
            lines += [f"    if {self.condition()}:", "        break"]
        self.scope.add(SCALAR, name)
        return lines

    # ---- functions ----------------------------------------------------------------------------

    def helper(self) -> tuple[list[str], Signature]:
        """A function of the module."""
        kinds = tuple(self.rng.sample((VECTOR, SCALAR), 2))
        gives = self.rng.choice(kinds)
        name = self.name("helper")
        self.scope = Scope()
        for letter, kind in zip("ab", kinds, strict=True):
            self.scope.add(kind, letter)
        self.scope.add(COUNT, "w", assignable=False)
        lines = self.body_of_function(gives)
        takes = self.rng.choice((kinds, (*kinds, COUNT)))
        return [f"def {name}(a, b, w=1):", *indented(lines)], Signature(name, takes, gives)

    def body_of_function(self, gives: str) -> list[str]:
        before = self.result, self.loops, self.budget
        self.result, self.loops, self.budget = (gives,), 0, 4
        lines = self.block(1, self.rng.randint(1, 2))
        if self.rng.random() < 0.4:
            lines += [f"if {self.condition()}:", f"    {self.return_()}"]
        lines.append(self.return_())
        self.result, self.loops, self.budget = before
        return lines

    def recursion(self) -> tuple[list[str], Signature]:
        """A function that calls itself until a counter is used up."""
        name = self.name("again")
        kind = self.rng.choice((SCALAR, VECTOR))
        depth = self.rng.choice((COUNT, COUNT, INT))
        step = f"a * {self.constant(FLOAT)} - 0.3"
        call = f"{name}({step}, d - 1)"
        test = {SCALAR: "a > 1.5", VECTOR: "a.sum() > 3.1"}[kind]
        result = self.pick(
            call,
            f"{call} * 0.5 + a",
            f"{call} - {name}(a * 0.5, d - 2)",
            f"(a if {test} else {call})",
        )
        lines = [f"def {name}(a, d):", f"    if d <= 0{self.pick('', f' or {test}')}:"]
        lines += [f"        return a * {self.constant(FLOAT)}", "    d = min(d, 4)"]
        return [*lines, f"    return {result}"], Signature(name, (kind, depth), kind)

    def closure(self) -> list[str]:
        """A function inside the program that sees, or changes, the variables around it."""
        name, own = self.name("inner"), self.name("p")
        targets = self.scope.targets(SCALAR)
        if self.rng.random() < 0.35:
            text = f"{name} = lambda {own}: {self.pick(own, f'ops.tanh({own})')} + {self.expression(SCALAR, 1)}"
            lines = [text]
        elif targets and self.rng.random() < 0.6:
            changed = self.rng.choice(targets)
            lines = [
                f"def {name}({own}):",
                f"    nonlocal {changed}",
                f"    {changed} = {changed} * 0.5 + {own}",
                f"    return {changed} - {self.expression(SCALAR, 1)}",
            ]
        else:
            lines = [f"def {name}({own}):", *indented(self.inside(own))]
        self.scope.functions.append(Signature(name, (SCALAR,), SCALAR))
        return lines

    def inside(self, own: str) -> list[str]:
        outer = self.scope
        self.scope = outer.without_targets()
        self.scope.add(SCALAR, own)
        lines = self.body_of_function(SCALAR)
        self.scope = outer
        return lines

    def chosen_function(self) -> list[str]:
        """A function picked when the program runs."""
        name = self.name("chosen")
        shift = self.simple(SCALAR)
        options = [f"lambda a: a * {self.constant(FLOAT)}", f"lambda a: ops.tanh(a) - {shift}"]
        options += [f.name for f in self.scope.functions if f.takes == (SCALAR,)]
        one, other = self.rng.sample(options, 2)
        text = self.pick(
            f"({one}) if {self.condition()} else ({other})",
            f"({one}, {other})[{self.expression(INT, 1)} % 2]",
        )
        self.scope.functions.append(Signature(name, (SCALAR,), SCALAR))
        return [f"{name} = {text}"]
