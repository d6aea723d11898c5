"""ExportedModel: a program whose parameters are names, as stored in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.graph_builder import type_of_array
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.symbolic import DTYPE_OF
from mycelia._engine.compiler.frontend.tracer import KEY
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    MappingStructure,
    NumberStructure,
    SequenceStructure,
    Structure,
    TensorStructure,
    leaf_type,
)
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.graph import Graph
from mycelia._engine.ir.printer import show
from mycelia._engine.ir.program import InputSource, Program, ProgramInput
from mycelia._engine.ir.serialization import damaged
from mycelia._engine.ir.types import TensorType
from mycelia.tensor.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None), slice, range, DType)


@dataclass(frozen=True)
class StoredParameter:
    """The values of a parameter."""

    array: np.ndarray
    requires_grad: bool


@dataclass(frozen=True, eq=False)
class ExportedModel:
    """A program from a file, which refers to parameters by name."""

    program: Program
    arguments: SequenceStructure  # the positional arguments of a call
    result: Structure
    weights: Mapping[str, StoredParameter]

    @property
    def graph(self) -> Graph:
        return self.program.graph

    def __str__(self) -> str:
        return show(self.graph)

    def __repr__(self) -> str:
        shown = ", ".join(str(p.type) for p in self.graph.parameters[: len(self.program.inputs)])
        return f"Model({self.program.name}: {shown})"


def model_of(program: Program, arguments: SequenceStructure, result: Structure) -> ExportedModel:
    """Convert a program to a model, with unique names and the values of its parameters."""
    names: dict[int, str] = {}
    weights: dict[str, StoredParameter] = {}
    held = [i.which for i in program.inputs if i.source is InputSource.STATE]
    for tensor in [*held, *(w for w in program.writes if not isinstance(w, int))]:
        if id(tensor) not in names:
            name = names[id(tensor)] = _free_name(getattr(tensor, "name", "shared"), weights)
            requires_grad = bool(getattr(tensor, "requires_grad", False))
            weights[name] = StoredParameter(np.asarray(tensor._data), requires_grad)
    named = Program(
        program.graph,
        tuple(
            ProgramInput(i.source, names[id(i.which)] if i.source is InputSource.STATE else i.which)
            for i in program.inputs
        ),
        program.results,
        tuple(w if isinstance(w, int) else names[id(w)] for w in program.writes),
        program.drawn,
        program.capacity,
        tuple((name, None) for name, _ in program.unbound),
    )
    return ExportedModel(named, arguments, result, weights)


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    number, unique = 2, name
    while unique in taken:
        unique, number = f"{name}_{number}", number + 1
    return unique


# ---- serialization ------------------------------------------------------------------------------


def facts_of(model: ExportedModel) -> dict[str, Any]:
    """Everything about a model except its graph, as plain values."""
    program = model.program
    return {
        "inputs": [(i.source.value, i.which) for i in program.inputs],
        "results": program.results,
        "writes": list(program.writes),
        "drawn": program.drawn,
        "capacity": program.capacity,
        "unbound": [name for name, _ in program.unbound],
        "arguments": _form_facts(model.arguments, "an input"),
        "result": _form_facts(model.result, "a result"),
        "weights": [(name, w.array, w.requires_grad) for name, w in model.weights.items()],
    }


def model_from(graph: Graph, facts: dict[str, Any]) -> ExportedModel:
    """The model from a file's graph and facts; raises ValueError if they are inconsistent."""
    program = Program(
        graph,
        tuple(ProgramInput(InputSource(source), which) for source, which in facts["inputs"]),
        facts["results"],
        tuple(facts["writes"]),
        facts["drawn"],
        facts["capacity"],
        tuple((str(name), None) for name in facts["unbound"]),
    )
    weights = {name: StoredParameter(array, grad is True) for name, array, grad in facts["weights"]}
    model = ExportedModel(program, _form(facts["arguments"]), _form(facts["result"]), weights)
    _check(model)
    return model


def _form_facts(form: Structure, what: str) -> Any:
    if isinstance(form, TensorStructure):
        return "tensor", form.type
    if isinstance(form, NumberStructure):
        return "number", form.kind
    if isinstance(form, SequenceStructure) and form.kind in (tuple, list):
        return form.kind.__name__, [_form_facts(f, what) for f in form.forms]
    if isinstance(form, MappingStructure) and form.kind is dict:
        return "dict", list(form.keys), [_form_facts(f, what) for f in form.forms]
    if isinstance(form, ConstantStructure) and isinstance(form.value, Tensor):
        return "constant", np.asarray(form.value._data)
    if isinstance(form, ConstantStructure) and isinstance(form.value, _PLAIN):
        return "known", form.value
    kind = (
        type(form.value)
        if isinstance(form, ConstantStructure)
        else getattr(form, "kind", type(form))
    )
    raise problem(
        RuntimeError,
        f"export: a file cannot hold {what} of this type",
        got=kind.__name__,
        expected="tensors, numbers, strings, and tuples, lists and dicts of them",
    )


def _form(facts: Any) -> Any:
    kind, *rest = facts
    made = _FORMS.get(kind)
    if made is None:
        raise damaged(f"an unknown structure {kind!r:.60}")
    return made(*rest)


def _checked(kind: type, make: Callable[[Any], Structure]) -> Callable[[Any], Structure]:
    """`make` for values of one type."""

    def made(value: Any) -> Structure:
        if not isinstance(value, kind):
            raise damaged(f"{value!r:.60} instead of a {kind.__name__}")
        return make(value)

    return made


_FORMS: dict[str, Callable[..., Structure]] = {
    "tensor": _checked(TensorType, TensorStructure),
    "number": _checked(type, lambda kind: NumberStructure(kind)),
    "tuple": lambda forms: SequenceStructure(tuple, tuple(map(_form, forms))),
    "list": lambda forms: SequenceStructure(list, tuple(map(_form, forms))),
    "dict": lambda keys, forms: MappingStructure(dict, tuple(keys), tuple(map(_form, forms))),
    "constant": _checked(np.ndarray, lambda array: ConstantStructure(Tensor._wrap(array))),
    "known": ConstantStructure,
}


# ---- validation ---------------------------------------------------------------------------------


def _check(model: ExportedModel) -> None:
    program = model.program
    if not (isinstance(model.arguments, SequenceStructure) and model.arguments.kind is tuple):
        raise damaged("arguments that are not a tuple")
    weights = {name: type_of_array(weight.array) for name, weight in model.weights.items()}
    if not all(isinstance(name, str) and weights[name] is not None for name in weights):
        raise damaged("a parameter without a name or values")
    if len(program.inputs) != len(model.graph.parameters):
        raise damaged(f"{len(program.inputs)} inputs, which is not the graph's number")
    leaves = _leaf_types(model.arguments)
    for given, parameter in zip(program.inputs, model.graph.parameters, strict=True):
        if given.source is InputSource.RANDOM:
            expected = KEY
        else:
            expected = _type_named(given.which, leaves, weights)
        _same_type(parameter.type, expected, f"the input {parameter.name}")
    _check_outputs(model, leaves, weights)


def _check_outputs(model: ExportedModel, leaves: list[Any], weights: Mapping[str, Any]) -> None:
    program = model.program
    expected = _leaf_types(model.result)
    if program.results != len(expected):
        raise damaged(f"{program.results!r:.60} results, but {len(expected)} are described")
    expected += [_type_named(which, leaves, weights) for which in program.writes]
    number = TensorType(DTYPE_OF[int], ())
    extra: list[Any] = [number] if program.drawn is None else []
    extra += [None] if program.capacity is not None else []
    extra += [number] if program.unbound else []
    for count in (program.drawn, program.capacity):
        if count is not None and not (type(count) is int and 0 <= count < 2**62):
            raise damaged(f"{count!r:.60} instead of a count")
    found = model.graph.output.type
    if not isinstance(found, tuple) or len(found) != len(expected) + len(extra):
        raise damaged("a graph whose number of outputs differs from the description")
    for got, wanted in zip(found, [*expected, *extra], strict=True):
        if wanted is None:  # the required stack size: an integer of any width
            _same_type(got.shape, (), "the size of the stacks")
        else:
            _same_type(got, wanted, "an output")


def _leaf_types(form: Structure) -> list[Any]:
    return [leaf_type(target) for _, target in form.leaves(MISSING)]


def _type_named(which: Any, leaves: Sequence[Any], weights: Mapping[str, Any]) -> Any:
    """The type of an argument by index, or of a parameter by name."""
    if isinstance(which, str) and which in weights:
        return weights[which]
    if type(which) is int and 0 <= which < len(leaves):
        return leaves[which]
    raise damaged(f"{which!r:.60}, which is not an argument or a parameter")


def _same_type(got: Any, expected: Any, what: str) -> None:
    if got != expected:
        raise damaged(f"{what} of the type {got!s:.60}, described as {expected!s:.60}")
