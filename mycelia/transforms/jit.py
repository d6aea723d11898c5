"""`jit`: compiles a function to one program per argument signature."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia._engine.compiler.frontend.containers import maker_of
from mycelia._engine.compiler.frontend.hooks import hooks_of
from mycelia._engine.compiler.frontend.interpreter.user_function import (
    UserFunction,
    capture,
    recapture,
)
from mycelia._engine.compiler.frontend.mutation_journal import Location
from mycelia._engine.compiler.frontend.program_state import (
    ProgramState,
    shares_elements,
    trace_with_state,
)
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber
from mycelia._engine.compiler.frontend.trace_function import TracedProgram, run_in_vm, trace
from mycelia._engine.compiler.frontend.tracer import active_tracer
from mycelia._engine.compiler.frontend.value_structure import (
    SequenceStructure,
    containers_in,
)
from mycelia._engine.core import settings
from mycelia._engine.core.atomic_assignment import call_atomically
from mycelia._engine.core.errors import problem
from mycelia._engine.core.lazy_import import LazyModule
from mycelia._engine.core.lru_dict import LRUDict
from mycelia._engine.core.pending_checks import wait_for_checks
from mycelia._engine.core.seed import peek_key
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.distributed.auto_parallel_settings import settings_version
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.program import InputSource, Program
from mycelia._engine.parallel.multi_device import budgets, executable_of, of_all_processes
from mycelia._engine.parallel.pipeline.step_tracing import pipeline_in
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia._engine.runtime.executor import Executable, LoopStackOverflow, write_back
from mycelia._engine.runtime.multi_step import MultiStepProgram
from mycelia._engine.runtime.vm.segments import SegmentRunner
from mycelia.tensor.hooks import TensorHooks
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.tensor.views import as_it_is, follow
from mycelia.transforms.argument_signature import (
    ReturnedFunction,
    argument_structure,
    call_structure,
    first_of_each,
    has_numbers,
    key_of,
    numbers_in,
)
from mycelia.transforms.dynamic_arguments import BucketMatch, Buckets, DynamicSignature
from mycelia.transforms.graph_gradients import DifferentiableGraph
from mycelia.transforms.ir_dump import write_stages

if TYPE_CHECKING:
    from mycelia._engine.compiler.sharding.planner import PlannedProgram
    from mycelia._engine.parallel.pipeline import builder
    from mycelia._engine.parallel.pipeline.training_step import PipelinedStep
else:
    builder = LazyModule("mycelia._engine.parallel.pipeline.builder")

FIRST_CAPACITY = 64


@dataclass(eq=False)
class Specialization:
    """The result of compiling one signature: a program, or the reason for a graph break."""

    arguments: SequenceStructure
    read: TracedProgram | None = None
    executable: Executable | PipelinedStep | None = None
    vm_reason: str = ""
    capacity: int = FIRST_CAPACITY
    by_value: LRUDict | None = None  # programs specialized on the values of Python numbers
    runs: int = 0
    differentiable: DifferentiableGraph | None = None
    sunk: MultiStepProgram | None = None  # several calls as one program
    fitted: BucketMatch | None = None  # the padded program of its size bucket
    exact_because: str = ""  # why a padded program is not provably equivalent
    planned: PlannedProgram | None = None  # its layouts, if it is sharded over several devices
    settings: int = field(default_factory=settings_version)  # the parallel settings it was made for
    state: tuple[Location, ...] = ()  # attributes and containers that are implicit arguments

    def given(self, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """The arguments of the program: those of the call, and the current state."""
        given = (args, kwargs, tuple([place.read() for place in self.state]))
        return given[: len(self.arguments.forms)]

    def leaves(self, args: Any, kwargs: Any) -> list[Any]:
        """The tensors and numbers among the arguments of the program."""
        return [value for value, _ in self.arguments.leaves(self.given(args, kwargs))]


@dataclass(eq=False)
class CompiledFunction:
    """A function and its compiled programs."""

    fn: Callable[..., Any]
    name: str
    entries: LRUDict = field(default_factory=LRUDict)
    history: list[str] = field(default_factory=list)
    buckets: Buckets | None = None  # if arguments have dynamic sizes
    hooked: dict[Any, CompiledFunction] = field(default_factory=dict)  # by hooks of the arguments
    state: ProgramState = field(default_factory=ProgramState.empty)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TensorHooks.present and thread_mode.recording is None:
            hooks = hooks_of(*tensors_of((args, kwargs)))
            if any(hooks):
                return self._with_hooks(hooks)._call(args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        entry = self.entry(args, kwargs)
        entry.runs += 1
        return self._run(entry, args, kwargs)

    def entry(self, args: Any, kwargs: Any) -> Specialization:
        """The specialization for these arguments, compiled on first use."""
        if self.buckets is not None:
            self.buckets.signature.check(args, kwargs)
        key = self._key(args, kwargs)
        entry = self.entries.use(key)
        if entry is None or not _still_valid(entry, args, kwargs):
            entry = self._compile(key, args, kwargs)
        if entry.by_value is not None:
            value_key = tuple(numbers_in((args, kwargs)))
            found = entry.by_value.use(value_key)
            if found is None or not _still_valid(found, args, kwargs):
                found = self._read(args, kwargs, values=True)
                entry.by_value.keep(value_key, found)
            entry = found
        return entry

    def _with_hooks(self, hooks: tuple[tuple[Any, ...], ...]) -> CompiledFunction:
        """The compiled function for arguments with these hooks, tensor by tensor."""
        found = self.hooked.get(hooks)
        if found is None:
            found = CompiledFunction(partial(_call_with_hooks, self.fn, hooks), self.name)
            self.hooked[hooks] = found
        return found

    def _key(self, args: Any, kwargs: Any) -> Any:
        """The cache key of a call: its arguments, the state, and which objects are identical."""
        if not self.state.places:
            return key_of((args, kwargs), self.state.tensors)
        values = self.state.values()
        key = key_of((args, kwargs, values), self.state.known())
        return (key, "shared") if shares_elements(values) else key

    def result(self, entry: Specialization, found: Sequence[Any]) -> Any:
        """The result of a call, rebuilt from the arrays that its program returned."""
        assert entry.read is not None
        return _outside(entry.read.result.build(iter(found)))

    def _finished(self, entry: Specialization, found: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """The result of a call; also writes the attributes and containers that it changes."""
        read = entry.read
        assert read is not None
        if not read.restores:
            return self.result(entry, found)
        wait_for_checks()  # a wrong index must not reach attributes and containers
        leaves = iter(read.identities.restored(found, entry.leaves(args, kwargs)))
        result = _outside(read.result.build(leaves))
        values = [_outside(change.form.build(leaves)) for change in read.changes]
        containers = containers_in(entry.arguments, entry.given(args, kwargs))
        pairs = zip(read.changes, values, strict=True)
        call_atomically([c for change, value in pairs for c in change.calls(value, containers)])
        return result

    def __getstate__(self) -> dict[str, Any]:
        """A copy starts without programs: they belong to the objects they were traced from."""
        buckets = None if self.buckets is None else Buckets(self.buckets.signature)
        own = {"fn": self.fn, "name": self.name, "buckets": buckets, "hooked": {}}
        return own | {"entries": LRUDict(), "history": [], "state": ProgramState.empty()}

    def _compile(self, key: Any, args: Any, kwargs: Any) -> Specialization:
        self.history.append(_reason(self, key))
        given_numbers = bool(numbers_in((args, kwargs)))
        try:
            entry = self._read(args, kwargs, values=False)
            if entry.vm_reason and given_numbers:
                entry = Specialization(entry.arguments, by_value=LRUDict())
        except (TypeError, ValueError, IndexError, AttributeError):
            if not given_numbers:
                raise
            entry = Specialization(SequenceStructure(tuple, ()), by_value=LRUDict())
        if entry.fitted is not None and not entry.fitted.is_first:
            self.history.pop()  # the program was compiled for another size
        self.entries.keep(self._key(args, kwargs), entry)
        return entry

    def _read(
        self, args: Any, kwargs: Any, values: bool, capacity: int = FIRST_CAPACITY
    ) -> Specialization:
        return trace_with_state(self.state, lambda: self._read_once(args, kwargs, values, capacity))

    def _read_once(self, args: Any, kwargs: Any, values: bool, capacity: int) -> Specialization:
        state = tuple(self.state.places.values())
        arguments = call_structure(args, kwargs, values, self.state.known())
        arguments = of_all_processes(arguments, has_state=bool(state))
        if state:
            form = argument_structure(self.state.values(), False, self.state.known())
            arguments = replace(arguments, forms=(*arguments.forms, form))
        entry = Specialization(arguments, capacity=capacity, state=state)
        if first_of_each(containers_in(arguments, entry.given(args, kwargs))):
            entry.vm_reason = "two of its arguments or attributes share a container"
            return entry
        if shares_elements(self.state.values()):
            entry.vm_reason = "one of its attributes shares elements with another tensor"
            return entry
        try:
            self._read_within_memory(entry, first_of_each(entry.leaves(args, kwargs)))
        except GraphBreak as needed:
            entry.vm_reason = needed.why
            return entry
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            if not state or not has_numbers(arguments.forms[-1]):
                raise
            entry.vm_reason = f"{type(error).__name__} with symbolic state"
            return entry
        assert entry.read is not None
        if self.buckets is not None:
            if state or entry.read.changes:
                entry.exact_because = "because it changes attributes"
            else:
                self._fit(entry, args, kwargs, values, capacity)
        return entry

    def _read_within_memory(self, entry: Specialization, shared: tuple[int, ...]) -> None:
        """Trace the function; again with rematerialization if no layout fits in device memory."""
        choices = budgets()
        for number, budget in enumerate(choices, 1):
            entry.read = trace(
                self.fn, self.name, entry.arguments, entry.capacity, budget, self.state, shared
            )
            write_stages(self.name, len(self.history), entry.read.stages)
            try:
                return self._make_executable(entry, entry.read.program)
            except MemoryError:
                if number == len(choices):
                    raise

    def _make_executable(self, entry: Specialization, program: Program) -> None:
        if pipeline_in(program) is not None:
            entry.executable = builder.pipelined_step(program)
        else:
            entry.executable, entry.planned = executable_of(program)

    def _fit(
        self, entry: Specialization, args: Any, kwargs: Any, values: bool, capacity: int
    ) -> None:
        """Serve the entry with the padded program of its bucket if that is provably equivalent."""
        assert self.buckets is not None and entry.read is not None

        def read_at(args: Any, kwargs: Any) -> TracedProgram:
            return trace(self.fn, self.name, call_structure(args, kwargs, values), capacity)

        def kind_of(args: Any, kwargs: Any) -> Any:
            return key_of((args, kwargs)), tuple(numbers_in((args, kwargs))) if values else None

        found = self.buckets.fitted(entry.read, args, kwargs, read_at, kind_of)
        if isinstance(found, BucketMatch):
            entry.fitted = found
        else:
            entry.exact_because = found

    def _run(self, entry: Specialization, args: Any, kwargs: Any) -> Any:
        if entry.executable is None:
            return self._run_in_vm(args, kwargs)
        assert entry.read is not None
        if thread_mode.recording is not None:
            return self._run_recorded(entry, args, kwargs)
        leaves = entry.leaves(args, kwargs)
        if entry.fitted is not None:
            return self.result(entry, entry.fitted(leaves))
        try:
            found = entry.executable(leaves)
        except LoopStackOverflow as overflow:
            return self._grow(entry, overflow.needed, args, kwargs)
        return self._finished(entry, found, args, kwargs)

    def _run_recorded(self, entry: Specialization, args: Any, kwargs: Any) -> Any:
        """Run inside an eager gradient, where the program is a single operator on the tape."""
        assert entry.read is not None
        program = entry.read.plain
        leaves = [_tensor(leaf) for leaf in entry.leaves(args, kwargs)]
        written = [leaves[which] if type(which) is int else which for which in program.writes]
        if entry.differentiable is None:
            flows = any(t.requires_grad for t in written if t._is_parameter) or not all(
                t._is_parameter for t in written
            )
            seeded = program.results + (len(written) if flows else 0)
            entry.differentiable = DifferentiableGraph(program.graph, seeded, entry.capacity)
        inputs = [
            as_it_is(leaves[i.which])
            if i.source is InputSource.ARGUMENT
            else as_it_is(i.which)
            if i.source is InputSource.STATE
            else Tensor._wrap(peek_key())
            for i in program.inputs
        ]
        try:
            found = entry.differentiable(inputs)
            write_back(program, [t._data for t in found], leaves)
        except LoopStackOverflow as overflow:
            entry.differentiable = None
            return self._grow(entry, overflow.needed, args, kwargs)
        if entry.differentiable.seeded > program.results:
            for tensor, new in zip(written, found[program.results :], strict=False):
                follow(tensor, new)
        return self._finished(entry, found[: program.results], args, kwargs)

    def _grow(self, entry: Specialization, needed: int, args: Any, kwargs: Any) -> Any:
        """Recompile with stacks that are large enough, and run again."""
        capacity = 1 << (needed - 1).bit_length()
        values = entry.by_value is None and not has_numbers(entry.arguments)
        larger = self._read(args, kwargs, values, capacity)
        entry.read, entry.executable = larger.read, larger.executable
        entry.capacity = capacity
        self.history.append(f"stacks of {capacity} entries, because a loop ran {needed} iterations")
        return self._run(entry, args, kwargs)

    def _run_in_vm(self, args: Any, kwargs: Any) -> Any:
        if thread_mode.recording is not None:
            return self.fn(*args, **kwargs)  # eagerly, so that the tape sees every operator
        return run_in_vm(self.fn, self.name, args, kwargs, SegmentRunner())


def _call_with_hooks(fn: Any, hooks: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `fn` with the hooks that the tensors of the arguments have outside."""
    for tensor, functions in zip(tensors_of((args, kwargs)), hooks, strict=True):
        if functions:
            tensor.__dict__["hooks"] = list(functions)
    return call_user_function(fn, *args, **kwargs)


def jit(
    function: Callable[..., Any] | None = None, *, input_signature: Any = None, **options: Any
) -> Any:
    """Compile a function, including its branches and loops, once per argument signature.

    `input_signature` declares the arguments, as `Cell.set_inputs` does: tensors with None for
    dynamic sizes, which share compiled programs.
    """
    if function is None:
        return partial(jit, input_signature=input_signature, **options)
    if not callable(function):
        raise problem(TypeError, "jit: expected a function", got=repr(function))
    compiled = CompiledFunction(function, getattr(function, "__name__", type(function).__name__))
    if input_signature is not None:
        listed = isinstance(input_signature, (tuple, list))
        inputs = input_signature if listed else (input_signature,)
        compiled.buckets = Buckets(DynamicSignature(function, inputs, {}))

    def run(*args: Any, **kwargs: Any) -> Any:
        if active_tracer() is not None:
            return call_user_function(function, *args, **kwargs)
        try:
            return compiled(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    update_wrapper(run, function)
    run.__mycelia_compiled__ = function  # type: ignore[attr-defined]
    run.compiled = compiled  # type: ignore[attr-defined]
    return run


def compiled_of(fn: Any) -> CompiledFunction:
    """The `CompiledFunction` of a function or cell, created if it does not exist yet."""
    found = getattr(fn, "compiled", None)
    if isinstance(found, CompiledFunction):
        return found
    if hasattr(fn, "construct"):
        return fn._compiled()
    return jit(fn).compiled


def ms_function(
    fn: Callable[..., Any] | None = None,
    input_signature: Any = None,
    hash_args: Any = None,
    jit_config: Any = None,
) -> Any:
    """The older name of `jit`."""
    return jit(fn, input_signature=input_signature)


class CompiledClosure(ReturnedFunction):
    """A function that a compiled function returned; calling it runs compiled code."""

    _programs: dict[Any, CompiledFunction] = {}

    def __init__(self, function: UserFunction) -> None:
        super().__init__(function)
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active_tracer() is not None:
            return call_user_function(self.function, *args, **kwargs)
        definition = self.function.definition
        compiled = self._programs.get(definition)
        if compiled is None:
            compiled = self._programs[definition] = CompiledFunction(_apply, definition.name)
        return compiled(self.function, *args, **kwargs)


def in_graph_mode() -> bool:
    """Whether calls compile whole functions: in graph mode, and not already tracing."""
    return (
        settings.current().mode == settings.GRAPH_MODE
        and active_tracer() is None
        and thread_mode.recording is None
    )


def _apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _outside(value: Any) -> Any:
    """Convert a result for the caller: Python numbers, tensors, callable closures."""
    if isinstance(value, SymbolicNumber):
        return value.kind(value.item())
    if isinstance(value, UserFunction):
        held = {name: _outside(v) for name, v in capture(value).items()}
        return CompiledClosure(recapture(value, held))
    if isinstance(value, dict):
        parts = {k: _outside(v) for k, v in value.items()}
        is_same = all(parts[k] is v for k, v in value.items())
        return value if is_same else maker_of(value)(parts)
    if not isinstance(value, (tuple, list, deque)):
        return value
    items = [_outside(v) for v in value]
    if all(a is b for a, b in zip(items, value, strict=True)):
        return value
    return type(value)(*items) if hasattr(value, "_fields") else maker_of(value)(items)


def _tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else Tensor._wrap(np.asarray(value))


def _still_valid(entry: Specialization, args: Any, kwargs: Any) -> bool:
    if entry.settings != settings_version():
        return False
    if entry.read is None:
        return True
    constants = entry.read.constants if entry.state else ()
    if constants and any(id(leaf) in constants for leaf in entry.leaves(args, kwargs)):
        return False  # a constant has become state
    return entry.read.guards.hold()


def _reason(compiled: CompiledFunction, key: Any) -> str:
    if not compiled.entries:
        return "first call"
    return "new argument signature" if key not in compiled.entries else "a constant changed"
