"""Compiling functions: `jit`, one program for each kind of arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any

import numpy as np

from mycelia.compiler.containers import maker_of
from mycelia.compiler.forms import (
    Items,
    containers_in,
)
from mycelia.compiler.hooking import hooks_of
from mycelia.compiler.program_state import ProgramState, shares_elements, with_state
from mycelia.compiler.reader.function import Function, capture, recapture
from mycelia.compiler.reading import Read, read, read_lazily
from mycelia.compiler.store import Place
from mycelia.compiler.symbolic import Number, ValueNeeded
from mycelia.compiler.tracer import active_tracer
from mycelia.core import settings
from mycelia.core.errors import problem
from mycelia.core.indivisible import call_at_once
from mycelia.core.lazy import LazyModule
from mycelia.core.recent import Recent
from mycelia.core.seed import peek_key
from mycelia.core.tracebacks import shorten
from mycelia.ir.program import Program, Source
from mycelia.ir.slot import call
from mycelia.parallel.automatic import settings_version
from mycelia.runtime.eager.mode import mode
from mycelia.runtime.executor import Executable, Overflow, finish
from mycelia.runtime.sinking import Sunk
from mycelia.runtime.vm.segments import Segments
from mycelia.tensor.hooks import TensorHooks
from mycelia.tensor.structures import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.argument_forms import (
    TracedFunction,
    arguments_form,
    first_of_each,
    form_of_arguments,
    has_numbers,
    key_of,
    numbers_in,
)
from mycelia.transforms.differentiable import DifferentiableGraph
from mycelia.transforms.dynamic import Buckets, Fitted, Signature
from mycelia.transforms.pipelined import pipeline_in
from mycelia.transforms.spreading import budgets, executable_of, of_all_processes
from mycelia.transforms.stages import write_stages

if TYPE_CHECKING:
    from mycelia.compiler.parallel.planning import Planned
    from mycelia.runtime.pipeline.step import PipelinedStep
    from mycelia.transforms import pipeline_building
else:
    pipeline_building = LazyModule("mycelia.transforms.pipeline_building")

FIRST_CAPACITY = 64


@dataclass(eq=False)
class Entry:
    """What a kind of arguments compiles to: a program, or a reason to run in the vm."""

    arguments: Items
    read: Read | None = None
    executable: Executable | PipelinedStep | None = None
    vm_reason: str = ""
    capacity: int = FIRST_CAPACITY
    by_value: Recent | None = None  # programs for single values of the numbers
    runs: int = 0
    differentiable: DifferentiableGraph | None = None
    sunk: Sunk | None = None  # several calls as one
    fitted: Fitted | None = None  # how a program for several sizes runs it
    exact_because: str = ""  # why such a program might be wrong
    planned: Planned | None = None  # its layouts, if it is spread over several devices
    settings: int = field(default_factory=settings_version)  # the parallel settings it was made for
    state: tuple[Place, ...] = ()  # attributes and containers whose values are arguments, too

    def given(self, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """The arguments of the program: what the call gives, and what the state is now."""
        given = (args, kwargs, tuple([place.read() for place in self.state]))
        return given[: len(self.arguments.forms)]

    def leaves(self, args: Any, kwargs: Any) -> list[Any]:
        """The tensors and numbers among the arguments of the program."""
        return [value for value, _ in self.arguments.leaves(self.given(args, kwargs))]


@dataclass(eq=False)
class Compiled:
    """A function with its programs."""

    fn: Callable[..., Any]
    name: str
    entries: Recent = field(default_factory=Recent)
    history: list[str] = field(default_factory=list)
    buckets: Buckets | None = None  # where arguments have dynamic sizes
    hooked: dict[Any, Compiled] = field(default_factory=dict)  # for hooks on the arguments
    state: ProgramState = field(default_factory=ProgramState.empty)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if TensorHooks.present and mode.recording is None:
            hooks = hooks_of(*tensors_of((args, kwargs)))
            if any(hooks):
                return self._with_hooks(hooks)._call(args, kwargs)
        return self._call(args, kwargs)

    def _call(self, args: Any, kwargs: Any) -> Any:
        entry = self.entry(args, kwargs)
        entry.runs += 1
        return self._run(entry, args, kwargs)

    def entry(self, args: Any, kwargs: Any) -> Entry:
        """What these arguments compile to, compiled now if it is not yet."""
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

    def _with_hooks(self, hooks: tuple[tuple[Any, ...], ...]) -> Compiled:
        """The function for arguments that have these hooks, tensor by tensor."""
        found = self.hooked.get(hooks)
        if found is None:
            found = Compiled(partial(_call_with_hooks, self.fn, hooks), self.name)
            self.hooked[hooks] = found
        return found

    def _key(self, args: Any, kwargs: Any) -> Any:
        """What tells kinds of calls apart: the arguments, the state, and what is one object."""
        if not self.state.places:
            return key_of((args, kwargs), self.state.tensors)
        values = self.state.values()
        key = key_of((args, kwargs, values), self.state.known())
        return (key, "shared") if shares_elements(values) else key

    def result(self, entry: Entry, found: Sequence[Any]) -> Any:
        """The result of a call from the arrays its program gave."""
        assert entry.read is not None
        return _outside(entry.read.result.build(iter(found)))

    def _finished(self, entry: Entry, found: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """The result of a call; the attributes and containers that it changes are written."""
        read = entry.read
        assert read is not None
        if not read.changes:
            return self.result(entry, found)
        leaves = iter(read.identities.restored(found, entry.leaves(args, kwargs)))
        result = _outside(read.result.build(leaves))
        values = [_outside(change.form.build(leaves)) for change in read.changes]
        containers = containers_in(entry.arguments, entry.given(args, kwargs))
        pairs = zip(read.changes, values, strict=True)
        call_at_once([c for change, value in pairs for c in change.calls(value, containers)])
        return result

    def __getstate__(self) -> dict[str, Any]:
        """A copy starts without programs: they belong to the objects they were read from."""
        buckets = None if self.buckets is None else Buckets(self.buckets.signature)
        own = {"fn": self.fn, "name": self.name, "buckets": buckets, "hooked": {}}
        return own | {"entries": Recent(), "history": [], "state": ProgramState.empty()}

    def _compile(self, key: Any, args: Any, kwargs: Any) -> Entry:
        self.history.append(_reason(self, key))
        given_numbers = bool(numbers_in((args, kwargs)))
        try:
            entry = self._read(args, kwargs, values=False)
            if entry.vm_reason and given_numbers:
                entry = Entry(entry.arguments, by_value=Recent())
        except (TypeError, ValueError, IndexError, AttributeError):
            if not given_numbers:
                raise
            entry = Entry(Items(tuple, ()), by_value=Recent())
        if entry.fitted is not None and not entry.fitted.is_first:
            self.history.pop()  # another size had the program compiled
        self.entries.keep(self._key(args, kwargs), entry)
        return entry

    def _read(self, args: Any, kwargs: Any, values: bool, capacity: int = FIRST_CAPACITY) -> Entry:
        return with_state(self.state, lambda: self._read_once(args, kwargs, values, capacity))

    def _read_once(self, args: Any, kwargs: Any, values: bool, capacity: int) -> Entry:
        state = tuple(self.state.places.values())
        arguments = arguments_form(args, kwargs, values, self.state.known())
        arguments = of_all_processes(arguments, has_state=bool(state))
        if state:
            form = form_of_arguments(self.state.values(), False, self.state.known())
            arguments = replace(arguments, forms=(*arguments.forms, form))
        entry = Entry(arguments, capacity=capacity, state=state)
        if first_of_each(containers_in(arguments, entry.given(args, kwargs))):
            entry.vm_reason = "two of its arguments or attributes hold one container"
            return entry
        if shares_elements(self.state.values()):
            entry.vm_reason = "one of its attributes shares elements with another tensor"
            return entry
        try:
            self._read_within_memory(entry, first_of_each(entry.leaves(args, kwargs)))
        except ValueNeeded as needed:
            entry.vm_reason = needed.why
            return entry
        except (TypeError, ValueError, IndexError, AttributeError) as error:
            if not state or not has_numbers(arguments.forms[-1]):
                raise
            entry.vm_reason = f"{type(error).__name__} if the numbers it keeps are unknown"
            return entry
        assert entry.read is not None
        if self.buckets is not None:
            if state or entry.read.changes:
                entry.exact_because = "since it changes attributes"
            else:
                self._fit(entry, args, kwargs, values, capacity)
        return entry

    def _read_within_memory(self, entry: Entry, shared: tuple[int, ...]) -> None:
        """Read the function; once more, remembering less, if no layout fits into the devices."""
        choices = budgets()
        for number, budget in enumerate(choices, 1):
            entry.read = read(
                self.fn, self.name, entry.arguments, entry.capacity, budget, self.state, shared
            )
            write_stages(self.name, len(self.history), entry.read.stages)
            try:
                return self._make_executable(entry, entry.read.program)
            except MemoryError:
                if number == len(choices):
                    raise

    def _make_executable(self, entry: Entry, program: Program) -> None:
        if pipeline_in(program) is not None:
            entry.executable = pipeline_building.pipelined_step(program)
        else:
            entry.executable, entry.planned = executable_of(program)

    def _fit(self, entry: Entry, args: Any, kwargs: Any, values: bool, capacity: int) -> None:
        """Let a program for several sizes run the entry, if that is certain to be the same."""
        assert self.buckets is not None and entry.read is not None

        def read_at(args: Any, kwargs: Any) -> Read:
            return read(self.fn, self.name, arguments_form(args, kwargs, values), capacity)

        def kind_of(args: Any, kwargs: Any) -> Any:
            return key_of((args, kwargs)), tuple(numbers_in((args, kwargs))) if values else None

        found = self.buckets.fitted(entry.read, args, kwargs, read_at, kind_of)
        if isinstance(found, Fitted):
            entry.fitted = found
        else:
            entry.exact_because = found

    def _run(self, entry: Entry, args: Any, kwargs: Any) -> Any:
        if entry.executable is None:
            return self._run_in_vm(args, kwargs)
        assert entry.read is not None
        if mode.recording is not None:
            return self._run_recorded(entry, args, kwargs)
        leaves = entry.leaves(args, kwargs)
        if entry.fitted is not None:
            return self.result(entry, entry.fitted(leaves))
        try:
            found = entry.executable(leaves)
        except Overflow as overflow:
            return self._grow(entry, overflow.needed, args, kwargs)
        return self._finished(entry, found, args, kwargs)

    def _run_recorded(self, entry: Entry, args: Any, kwargs: Any) -> Any:
        """Run inside a gradient of eager mode: the program counts as one operator there."""
        assert entry.read is not None
        program = entry.read.plain
        if entry.differentiable is None:
            entry.differentiable = DifferentiableGraph(
                program.graph, program.results, entry.capacity
            )
        leaves = [_tensor(leaf) for leaf in entry.leaves(args, kwargs)]
        inputs = [
            leaves[i.which]
            if i.source is Source.ARGUMENT
            else i.which
            if i.source is Source.STATE
            else Tensor._wrap(peek_key())
            for i in program.inputs
        ]
        try:
            found = entry.differentiable(inputs)
            finish(program, [t._data for t in found], leaves)
        except Overflow as overflow:
            entry.differentiable = None
            return self._grow(entry, overflow.needed, args, kwargs)
        return self._finished(entry, found[: program.results], args, kwargs)

    def _grow(self, entry: Entry, needed: int, args: Any, kwargs: Any) -> Any:
        """Compile again with stacks that are large enough, and run again."""
        capacity = 1 << (needed - 1).bit_length()
        values = entry.by_value is None and not has_numbers(entry.arguments)
        larger = self._read(args, kwargs, values, capacity)
        entry.read, entry.executable = larger.read, larger.executable
        entry.capacity = capacity
        self.history.append(f"stacks of {capacity} entries, because a loop made {needed} passes")
        return self._run(entry, args, kwargs)

    def _run_in_vm(self, args: Any, kwargs: Any) -> Any:
        if mode.recording is not None:
            return self.fn(*args, **kwargs)  # operator by operator, for the gradient
        return read_lazily(self.fn, self.name, args, kwargs, Segments())


def _call_with_hooks(fn: Any, hooks: Any, *args: Any, **kwargs: Any) -> Any:
    """Call `fn` with hooks on the tensors of the arguments, as they are outside."""
    for tensor, functions in zip(tensors_of((args, kwargs)), hooks, strict=True):
        if functions:
            tensor.__dict__["hooks"] = list(functions)
    return call(fn, *args, **kwargs)


def jit(
    function: Callable[..., Any] | None = None, *, input_signature: Any = None, **options: Any
) -> Any:
    """Compile a function: its branches and loops included, once for each kind of arguments.

    `input_signature` describes the arguments, as `Cell.set_inputs` does: tensors with None in
    their shapes, whose sizes share programs.
    """
    if function is None:
        return partial(jit, input_signature=input_signature, **options)
    if not callable(function):
        raise problem(TypeError, "jit compiles functions", got=repr(function))
    compiled = Compiled(function, getattr(function, "__name__", type(function).__name__))
    if input_signature is not None:
        listed = isinstance(input_signature, (tuple, list))
        inputs = input_signature if listed else (input_signature,)
        compiled.buckets = Buckets(Signature(function, inputs, {}))

    def run(*args: Any, **kwargs: Any) -> Any:
        if active_tracer() is not None:
            return call(function, *args, **kwargs)
        try:
            return compiled(*args, **kwargs)
        except Exception as error:
            shorten(error)
            raise

    update_wrapper(run, function)
    run.__mycelia_compiled__ = function  # type: ignore[attr-defined]
    run.compiled = compiled  # type: ignore[attr-defined]
    return run


def compiled_of(fn: Any) -> Compiled:
    """The programs of a function or cell; compiled or not, it gets some."""
    found = getattr(fn, "compiled", None)
    if isinstance(found, Compiled):
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


class Closure(TracedFunction):
    """A function that a compiled function returned; calling it runs compiled code again."""

    _programs: dict[Any, Compiled] = {}

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if active_tracer() is not None:
            return call(self.function, *args, **kwargs)
        definition = self.function.definition
        compiled = self._programs.get(definition)
        if compiled is None:
            compiled = self._programs[definition] = Compiled(_apply, definition.name)
        return compiled(self.function, *args, **kwargs)


def in_graph_mode() -> bool:
    """Whether whole functions are compiled now: graph mode, and nothing is being read already."""
    return (
        settings.current().mode == settings.GRAPH_MODE
        and active_tracer() is None
        and mode.recording is None
    )


def _apply(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


def _outside(value: Any) -> Any:
    """A result as the caller sees it: Python numbers, tensors, callable closures."""
    if isinstance(value, Number):
        return value.kind(value.item())
    if isinstance(value, Function):
        held = {name: _outside(v) for name, v in capture(value).items()}
        return Closure(recapture(value, held))
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


def _still_valid(entry: Entry, args: Any, kwargs: Any) -> bool:
    if entry.settings != settings_version():
        return False
    if entry.read is None:
        return True
    constants = entry.read.constants if entry.state else ()
    if constants and any(id(leaf) in constants for leaf in entry.leaves(args, kwargs)):
        return False  # a constant has become part of the state
    return entry.read.guards.hold()


def _reason(compiled: Compiled, key: Any) -> str:
    if not compiled.entries:
        return "first call"
    return "arguments of another kind" if key not in compiled.entries else "a constant changed"
