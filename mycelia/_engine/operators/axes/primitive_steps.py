"""The jaxpr of an operator as a flat list of steps on values whose dimensions are symbols.

Calls are inlined. Loops and branches are replaced by their bodies, connected by a few additional
kinds of steps:

- `carry`: a loop carry; the initial or next value in, the values inside and after the loop out
- `take`, `pile`: one slice of an array that a loop scans, and the stacked array of its slices
- `join`: the result of several branches
- `decide`: the value that chooses a branch, or the condition of a loop
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var

from mycelia._engine.jax_setup import jax, jnp
from mycelia._engine.operators.axes.dimension_symbols import DimensionSymbol

_CALLED = {  # primitives that only call a jaxpr, and the parameter that holds it
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}


class StepValue:
    """An array of the program: its type, the symbols of its dimensions, and facts about it."""

    __slots__ = ("columns", "counts", "dims", "dtype", "is_false", "is_zero", "shape")

    def __init__(self, shape: Sequence[int], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = dtype
        self.dims = tuple(DimensionSymbol(size) for size in self.shape)
        self.is_zero = False  # all elements are 0
        self.is_false = False  # all elements are False
        self.counts: int | None = None  # the elements are the positions along this dimension
        self.columns: tuple[int | None, ...] = ()  # the same for each entry of the last dimension

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        return self.elements * int(getattr(self.dtype, "itemsize", 8))


class PrimitiveStep:
    """One equation: a jax primitive, or one of the additional steps, from values to values."""

    __slots__ = ("ends", "flops", "inputs", "name", "outputs", "params", "repeats")

    def __init__(
        self,
        name: str,
        params: dict[str, Any],
        inputs: Sequence[StepValue],
        outputs: Sequence[StepValue],
        repeats: float,
    ) -> None:
        self.name = name
        self.params = params
        self.inputs = tuple(inputs)
        self.outputs = tuple(outputs)
        self.repeats = repeats  # how often it runs: loops run their steps many times
        self.flops = float(sum(value.elements for value in outputs))
        self.ends: list[tuple[DimensionSymbol, str]] = []  # dimensions reduced here, and how


class FlatProgram:
    """A whole program: inputs, outputs, and the steps that the outputs depend on."""

    def __init__(self, program: ClosedJaxpr) -> None:
        self._steps: list[PrimitiveStep] = []
        self.inputs = [_fresh(var) for var in program.jaxpr.invars]
        self.outputs = self._inline(program, self.inputs, 1.0)
        self.steps = _needed(self._steps, self.outputs)

    def _inline(
        self, program: ClosedJaxpr | Jaxpr, inputs: Sequence[StepValue], repeats: float
    ) -> list[StepValue]:
        """Add the steps of a jaxpr that is called with `inputs`; returns its outputs."""
        jaxpr, constants = (
            (program.jaxpr, program.consts) if isinstance(program, ClosedJaxpr) else (program, ())
        )
        known: dict[Var, StepValue] = {}
        for var, array in zip(jaxpr.constvars, constants, strict=True):
            known[var] = _constant(var, array)
        known.update(zip(jaxpr.invars, inputs, strict=True))

        def read(atom: Any) -> StepValue:
            return _constant(atom, atom.val) if isinstance(atom, Literal) else known[atom]

        for equation in jaxpr.eqns:
            values = [read(atom) for atom in equation.invars]
            results = self._add(equation, values, repeats)
            known.update(zip(equation.outvars, results, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _add(self, equation: Any, inputs: list[StepValue], repeats: float) -> list[StepValue]:
        name, params = equation.primitive.name, equation.params
        called = params.get(_CALLED.get(name, ""))
        if isinstance(called, (ClosedJaxpr, Jaxpr)):
            return self._inline(called, inputs, repeats)
        outputs = [_fresh(var) for var in equation.outvars]
        match name:
            case "scan":
                self._scan(params, inputs, outputs, repeats)
            case "while":
                self._while(params, inputs, outputs, repeats)
            case "cond":
                self._cond(params, inputs, outputs, repeats)
            case "custom_linear_solve":
                return self._solve(params, inputs, repeats)
            case "optimization_barrier":
                for before, after in zip(inputs, outputs, strict=True):
                    self._step("copy", [before], [after], repeats)
            case _:
                self._step(name, inputs, outputs, repeats, params)
        return outputs

    def _step(
        self,
        name: str,
        inputs: Sequence[StepValue],
        outputs: Sequence[StepValue],
        repeats: float,
        params: dict[str, Any] | None = None,
    ) -> PrimitiveStep:
        step = PrimitiveStep(name, params or {}, inputs, outputs, repeats)
        self._steps.append(step)
        return step

    def _connect(
        self, name: str, inputs: Sequence[StepValue], outputs: Sequence[StepValue], repeats: float
    ) -> None:
        """A connecting step, which costs nothing."""
        self._step(name, inputs, outputs, repeats).flops = 0.0

    def _scan(
        self,
        params: dict[str, Any],
        inputs: list[StepValue],
        outputs: list[StepValue],
        repeats: float,
    ) -> None:
        body, carried = params["jaxpr"], params["num_carry"]
        first = params["num_consts"]
        entering = [_fresh(var) for var in body.jaxpr.invars[first:]]
        for before, inside, after in zip(
            inputs[first:], entering[:carried], outputs[:carried], strict=False
        ):
            self._connect("carry", [before], [inside, after], repeats)
        for whole, part in zip(inputs[first + carried :], entering[carried:], strict=True):
            self._connect("take", [whole], [part], repeats)
        leaving = self._inline(body, [*inputs[:first], *entering], repeats * params["length"])
        for end, inside, after in zip(leaving, entering[:carried], outputs[:carried], strict=False):
            self._connect("carry", [end], [inside, after], repeats)
        for part, whole in zip(leaving[carried:], outputs[carried:], strict=True):
            self._connect("pile", [part], [whole], repeats)

    def _while(
        self,
        params: dict[str, Any],
        inputs: list[StepValue],
        outputs: list[StepValue],
        repeats: float,
    ) -> None:
        body, condition = params["body_jaxpr"], params["cond_jaxpr"]
        first, second = params["cond_nconsts"], params["body_nconsts"]
        for_condition, for_body = inputs[:first], inputs[first : first + second]
        entering = [_fresh(var) for var in body.jaxpr.invars[second:]]
        for before, inside, after in zip(inputs[first + second :], entering, outputs, strict=True):
            self._connect("carry", [before], [inside, after], repeats)
        condition_value = self._inline(condition, [*for_condition, *entering], repeats)
        self._connect("decide", condition_value, outputs, repeats)
        leaving = self._inline(body, [*for_body, *entering], repeats)
        for end, inside, after in zip(leaving, entering, outputs, strict=True):
            self._connect("carry", [end], [inside, after], repeats)

    def _cond(
        self,
        params: dict[str, Any],
        inputs: list[StepValue],
        outputs: list[StepValue],
        repeats: float,
    ) -> None:
        branches = params["branches"]
        share = repeats / len(branches)
        results = [self._inline(branch, inputs[1:], share) for branch in branches]
        for *values, output in zip(*results, outputs, strict=True):
            self._connect("join", values, [output], repeats)
        self._connect("decide", inputs[:1], outputs, repeats)

    def _solve(
        self, params: dict[str, Any], inputs: list[StepValue], repeats: float
    ) -> list[StepValue]:
        """A linear system with a given solver: the solver's program."""
        lengths = params["const_lengths"]
        start = lengths.matvec + lengths.vecmat
        right = sum(lengths)
        values = [*inputs[start : start + lengths.solve], *inputs[right:]]
        return self._inline(params["jaxprs"].solve, values, repeats)


def _fresh(var: Any) -> StepValue:
    return StepValue(getattr(var.aval, "shape", ()), getattr(var.aval, "dtype", None))


def _constant(atom: Any, array: Any) -> StepValue:
    value = _fresh(atom)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):  # random keys are not numeric
        return value
    elements = np.asarray(array)
    value.is_zero = not elements.any()
    value.is_false = value.is_zero and elements.dtype == np.bool_
    if elements.dtype.kind in "iu":
        value.counts = _counted(elements)
    return value


def _counted(elements: np.ndarray) -> int | None:
    """The dimension along which an array counts 0, 1, 2, ..., if there is one."""
    for dim, size in enumerate(elements.shape):
        others = [1] * elements.ndim
        others[dim] = size
        if size > 1 and np.array_equal(
            elements, np.broadcast_to(np.arange(size).reshape(others), elements.shape)
        ):
            return dim
    return None


def _needed(steps: list[PrimitiveStep], outputs: list[StepValue]) -> list[PrimitiveStep]:
    """The steps that the outputs depend on."""
    live = {id(value) for value in outputs}
    chosen: set[int] = set()
    changed = True
    while changed:
        changed = False
        for number in range(len(steps) - 1, -1, -1):
            step = steps[number]
            if number not in chosen and any(id(value) in live for value in step.outputs):
                chosen.add(number)
                live.update(id(value) for value in step.inputs)
                changed = True
    return [step for number, step in enumerate(steps) if number in chosen]
