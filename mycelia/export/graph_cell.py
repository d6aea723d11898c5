"""GraphCell: a cell that runs a loaded program."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.mutation_journal import VariableLocation
from mycelia._engine.compiler.frontend.symbolic import SymbolicNumber, is_number, kind_of, wider
from mycelia._engine.compiler.frontend.tracer import Tracer, active_tracer
from mycelia._engine.compiler.frontend.value_structure import (
    ConstantStructure,
    MappingStructure,
    NumberStructure,
    SequenceStructure,
    Structure,
    TensorStructure,
    is_same_value,
    leaf_data,
)
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.clone import inline
from mycelia._engine.ir.node import GraphNode
from mycelia._engine.ir.program import InputSource
from mycelia._engine.ir.program_copy import copy_program
from mycelia._engine.ir.tensor_protocol import type_of
from mycelia.export.model import ExportedModel
from mycelia.nn.cell import Cell
from mycelia.ops.elementwise.arithmetic import Sub
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import CompiledFunction

_ONE_DRAW = np.array([0, 1], np.uint32)


class GraphCell(Cell):
    """Runs a program from `mycelia.load`, on inputs of the types it was exported for.

    Its parameters have the stored names and values; `params_init` replaces values by name. Inside
    another compiled function, and for gradients, the program is inlined.
    """

    def __init__(
        self,
        graph: ExportedModel,
        params_init: dict[str, Tensor] | None = None,
        obf_random_seed: int | None = None,
    ) -> None:
        super().__init__(auto_prefix=True)
        if obf_random_seed is not None:
            raise problem(
                NotImplementedError, "Dynamic structure obfuscation is not supported now."
            )
        if not isinstance(graph, ExportedModel):
            raise wrong_type("GraphCell", "graph", graph, "a graph from mycelia.load")
        self.graph = graph
        for name, weight in graph.weights.items():
            parameter = Parameter(
                Tensor(weight.array.copy()), name=name, requires_grad=weight.requires_grad
            )
            self.insert_param_to_cell(name, parameter, check_name_contain_dot=False)
        self._initialize({} if params_init is None else params_init)
        self._runner = CompiledFunction(self._inlined, graph.program.name)

    def construct(self, *inputs: Any) -> Any:
        return self._runner(*inputs) if active_tracer() is None else self._inlined(*inputs)

    def extend_repr(self) -> str:
        return self.graph.program.name

    def _initialize(self, given: Any) -> None:
        if not isinstance(given, dict):
            raise wrong_type("GraphCell", "params_init", given, "a dict of names and tensors")
        for name, value in given.items():
            if not isinstance(name, str) or not isinstance(value, Tensor):
                raise problem(
                    TypeError,
                    "For 'GraphCell', the key of the 'params_init' must be str, "
                    "and the value must be Tensor or Parameter",
                    got=f"{type(name).__name__}: {type(value).__name__}",
                )
            if name in self._params:
                own = self._params[name]
                if own.shape != value.shape:
                    raise problem(
                        ValueError,
                        f"GraphCell: {name} has a different shape in the program",
                        got=f"{value.shape}",
                        expected=f"{own.shape}",
                    )
                own.set_data(value)

    def _inlined(self, *inputs: Any) -> Any:
        """Inline the program into the one being traced."""
        tracer = active_tracer()
        assert tracer is not None
        model, program = self.graph, self.graph.program
        _check_argument(model.arguments, inputs, "the inputs")
        leaves = model.arguments.leaves(inputs)
        tensors = [v if _is_tensor(v) else Tensor._wrap(leaf_data(v, t)) for v, t in leaves]
        drawn = tracer.world["<drawn>"]
        nodes = [
            tracer.data_node(
                tensors[given.which]
                if given.source is InputSource.ARGUMENT
                else self._params[given.which]
                if given.source is InputSource.STATE
                else _key(tracer)
            )
            for given in program.inputs
        ]
        body = inline(copy_program(model.graph), tracer.builder.graph, nodes)
        found = [tracer.builder.item(body, i) for i in range(len(model.graph.output.type))]
        for which, node in zip(program.writes, found[program.results :], strict=False):
            target = tensors[which] if isinstance(which, int) else self._params[which]
            target._replace(node)
        _finish(tracer, model, found[program.results + len(program.writes) :], drawn)
        result = model.result.build(iter(found[: program.results]))
        if type(result) is Tensor:
            tracer.store.made(result)
        return result


def _key(tracer: Tracer) -> Tensor:
    """The random state before the program: its draws are counted from here."""
    typed: Tensor = Sub.of()(tracer.next_key(), Tensor._wrap(_ONE_DRAW))
    return typed


def _finish(tracer: Tracer, model: ExportedModel, extra: list[GraphNode], drawn: Any) -> None:
    """Propagate the effects of the program: random draws, stack sizes, unbound variables."""
    program, rest = model.program, iter(extra)
    count = SymbolicNumber.of(next(rest), int) if program.drawn is None else program.drawn
    tracer.store.write(VariableLocation(tracer.world, "<drawn>"), drawn + count)
    if program.capacity is not None:
        needed = Tensor._wrap(next(rest))
        tracer.effect(_stack_check(program.capacity), "stack check", [needed])
    if program.unbound:
        index = SymbolicNumber.of(next(rest), int)
        for number, (name, _) in enumerate(program.unbound, start=1):
            tracer.note_unbound(name, index == number)


def _stack_check(capacity: int) -> Any:
    """A check that stops the program if its fixed-size stacks overflowed."""

    def check(needed: Any) -> None:
        if int(needed) > capacity:
            raise problem(
                RuntimeError,
                "a loop of the loaded program ran more iterations than its gradient can store",
                got=f"{int(needed)} iterations",
                expected=f"at most {capacity}",
            )

    return check


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, SymbolicNumber)


def _check_argument(form: Structure, value: Any, where: str) -> None:
    """Check that an argument has the structure and type that the program was exported for."""
    if isinstance(form, SequenceStructure):
        if not isinstance(value, (tuple, list)) or _shape(value) != (form.kind, len(form.forms)):
            raise _other(where, f"{form.kind.__name__} of {len(form.forms)}", _described(value))
        for number, (inner, part) in enumerate(zip(form.forms, value, strict=True)):
            _check_argument(inner, part, f"input {number}" if where == "the inputs" else where)
    elif isinstance(form, MappingStructure):
        if not isinstance(value, dict) or tuple(value) != form.keys:
            raise _other(where, f"a dict of {', '.join(map(str, form.keys))}", _described(value))
        for inner, part in zip(form.forms, value.values(), strict=True):
            _check_argument(inner, part, where)
    elif isinstance(form, NumberStructure):
        if not is_number(value) or wider(kind_of(value), form.kind) is not form.kind:
            raise _other(where, f"a Python {form.kind.__name__}", _described(value))
    elif isinstance(form, TensorStructure):
        if not _is_tensor(value) or type_of(value) != form.type:
            raise _other(where, f"a tensor {form.type}", _described(value))
    elif isinstance(form, ConstantStructure) and not is_same_value(form.value, value):
        raise _other(where, repr(form.value), _described(value))


def _shape(value: Any) -> tuple[type, int]:
    return type(value), len(value)


def _other(where: str, expected: str, got: str) -> ValueError:
    return problem(
        ValueError,
        f"GraphCell: the program was exported for a different kind of {where}",
        got=got,
        expected=expected,
        fix="export the network for inputs like these",
    )


def _described(value: Any) -> str:
    if _is_tensor(value):
        return f"a tensor {type_of(value)}"
    if isinstance(value, SymbolicNumber):
        return f"a Python {value.kind.__name__}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} of {len(value)}"
    return f"{value!r:.60}"
