"""Calls: user functions are traced, framework functions run, builtins have handlers."""

from __future__ import annotations

import ast
import functools
import inspect
import random
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import fields, is_dataclass
from sys import getrefcount
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.containers import (
    CONTAINERS,
    contents_of,
    is_unchanged,
    refill,
)
from mycelia._engine.compiler.frontend.interpreter.attributes import Attributes
from mycelia._engine.compiler.frontend.interpreter.base import EnclosingVariables
from mycelia._engine.compiler.frontend.interpreter.builtins import (
    BUILTIN_HANDLERS,
    BuiltinInterpreter,
)
from mycelia._engine.compiler.frontend.interpreter.ends import FALLS, RETURNS, kinds_of
from mycelia._engine.compiler.frontend.interpreter.iterables import iterate
from mycelia._engine.compiler.frontend.interpreter.loops import LoopInterpreter
from mycelia._engine.compiler.frontend.interpreter.recursion import ActiveCall, RecursionInterpreter
from mycelia._engine.compiler.frontend.interpreter.source import FunctionDefinition, definition_of
from mycelia._engine.compiler.frontend.interpreter.statements import RESULT
from mycelia._engine.compiler.frontend.interpreter.trace_stack import note_call
from mycelia._engine.compiler.frontend.interpreter.unsupported import unsupported
from mycelia._engine.compiler.frontend.interpreter.user_code import (
    FRAMEWORK,
    LIBRARY,
    is_generated,
    is_read,
)
from mycelia._engine.compiler.frontend.interpreter.user_function import (
    Frame,
    TracedCallback,
    UserFunction,
)
from mycelia._engine.compiler.frontend.mutation_journal import MISSING, ClosureCellLocation
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import GraphBreak
from mycelia._engine.compiler.frontend.value_structure import SymbolicChoice
from mycelia._engine.core.errors import located
from mycelia.tensor.tensor import Tensor

_ATTRIBUTE_WRITERS = ("__setattr__", "__delattr__")
_DRAWING = (random.Random, np.random.RandomState, np.random.Generator)
_CALL = "__call__"
_ALONE = 2  # reference count of an unshared object: a local name, and the counting call
MOST_CALLS = 400  # nested calls of one function that are traced


class CallInterpreter(LoopInterpreter, Attributes, BuiltinInterpreter, RecursionInterpreter):
    """Calls functions."""

    def call(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(fn, PathConflict):
            raise self.conflict_error(fn)
        if self.tracer.store.stale:
            for value in (*args, *kwargs.values()):
                self.tracer.store.refuse_stale(value)
        if isinstance(fn, SymbolicChoice):
            return self.call_choice(fn, args, kwargs)
        if isinstance(fn, TracedCallback):
            return self.call(fn.fn, args, kwargs)
        if isinstance(fn, functools.partial):
            return self.call(fn.func, (*fn.args, *args), {**fn.keywords, **kwargs})
        if isinstance(fn, UserFunction):
            return self.read_call(fn, args, kwargs)
        if isinstance(fn, types.MethodType):
            return self._call_method(fn, args, kwargs)
        answer = BUILTIN_HANDLERS.get(fn) if _hashable(fn) else None
        if answer is not None:
            return answer(self, *args, **kwargs)
        if isinstance(fn, types.FunctionType):
            wrapped = getattr(fn, "__mycelia_compiled__", None)
            if wrapped is not None:
                return self.call(wrapped, args, kwargs)
            if is_read(fn):
                return self.read_call(self.adopted_function(fn), args, kwargs)
            return self.native(fn, args, kwargs)
        if isinstance(fn, type):
            return self._make(fn, args, kwargs)
        if getattr(fn, "__name__", None) in _ATTRIBUTE_WRITERS and not isinstance(fn, UserFunction):
            return self._write_attribute(fn, args)
        method = getattr(type(fn), _CALL, None)
        if isinstance(method, types.FunctionType) and is_read(method):
            return self.read_call(self.adopted_function(method), (fn, *args), kwargs)
        return self.native(fn, args, kwargs)

    def _call_method(self, fn: types.MethodType, args: Any, kwargs: Any) -> Any:
        inner = fn.__func__
        if isinstance(inner, types.FunctionType) and is_read(inner):
            return self.read_call(self.adopted_function(inner), (fn.__self__, *args), kwargs)
        if fn.__name__ in _ATTRIBUTE_WRITERS:
            return self._write_attribute(fn, args)
        return self.native(fn, args, kwargs)

    def _write_attribute(self, fn: Any, args: tuple[Any, ...]) -> None:
        """`object.__setattr__(owner, name, value)`, `super().__setattr__(name, value)`, ..."""
        is_bound = isinstance(fn, types.MethodType | types.MethodWrapperType)
        owner, *rest = (fn.__self__, *args) if is_bound else args
        if fn.__name__ == "__setattr__":
            self.write_attribute(owner, *rest)
        else:
            self.remove_attribute(owner, *rest)

    def native(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run framework or library code; user functions passed to it are traced when called."""
        owner = getattr(fn, "__self__", None)
        if isinstance(owner, _DRAWING):
            raise GraphBreak(None, "it uses Python's random number generators")
        if isinstance(owner, CONTAINERS) and fn.__name__ in ("extend", "extendleft"):
            args = (self.expanded(args[0]),)
        span = self.tracer.span
        given = [owner, *args, *kwargs.values()]
        containers = [c for c in given if isinstance(c, CONTAINERS)]
        before = [contents_of(c) for c in containers]
        try:
            result = fn(*map(_handed, args), **{k: _handed(v) for k, v in kwargs.items()})
        finally:
            self.tracer.span = span
            for container, contents in zip(containers, before, strict=True):
                self._note_changes(container, contents)
        if isinstance(result, CONTAINERS) and getrefcount(result) == _ALONE:
            self.tracer.store.adopt(result)
        elif type(result) is Tensor and getrefcount(result) == _ALONE:
            self.tracer.created_tensor(result)
        elif fn is Tensor or isinstance(result, Iterator):
            self.tracer.store.made(result)
        return result

    def _note_changes(self, container: Any, before: Any) -> None:
        """If library code changed a container, repeat the change as part of the program."""
        if is_unchanged(container, before):
            return
        after = contents_of(container)
        refill(container, before)
        self.change(container)
        refill(container, after)

    def _make(self, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Instantiate a class; `__init__` of a plain user class is traced, its object tracked."""
        if not _is_plain_class(cls):
            found = self.native(cls, args, kwargs)
            return self.tracer.store.adopt(found) if isinstance(found, CONTAINERS) else found
        init = cls.__init__  # type: ignore[misc]
        if isinstance(init, types.FunctionType) and is_read(init):
            made: Any = cls.__new__(cls)  # type: ignore[call-overload]
            self._track(cls, made)
            self.read_call(self.adopted_function(init), (made, *args), kwargs)
            return made
        if _is_plain_dataclass(cls):
            return self._make_dataclass(cls, args, kwargs)
        made = self.native(cls, args, kwargs)
        self._track(cls, made)
        return made

    def _make_dataclass(self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Emulate the generated `__init__` of a dataclass; factories and hooks are traced."""
        given = inspect.signature(cls).bind(*args, **kwargs).arguments
        made = cls.__new__(cls)
        self._track(cls, made)
        for field in fields(cls):
            value = given.get(field.name, field.default)
            if value is NO_DEFAULT and field.default_factory is not NO_DEFAULT:
                value = self.call(field.default_factory, (), {})
            if value is not NO_DEFAULT:
                object.__setattr__(made, field.name, value)
        hook = getattr(made, "__post_init__", None)
        if hook is not None:
            self.call(hook, (), {})
        return made

    def _track(self, cls: type, made: Any) -> None:
        """Track the attributes of an object created by the program."""
        if hasattr(made, "__dict__"):
            self.tracer.store.adopt(made.__dict__)
            with suppress(TypeError):
                cls._mycelia_tracked = True  # type: ignore[attr-defined]

    def adopted_function(self, fn: types.FunctionType) -> UserFunction:
        """A Python function as a function of the interpreter."""
        held = {}
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        for name, cell in cells.items():
            place = ClosureCellLocation(cell, name)
            value = place.read()
            if value is not MISSING:
                if not self.tracer.is_changed(place):
                    self.tracer.guards.cell(cell, value)
                held[name] = self.outside_value(value)
        self.foreign[id(held)] = EnclosingVariables(held, cells)
        frame = Frame(held, None, None, fn.__globals__)
        return UserFunction(
            definition_of(fn), frame, fn.__defaults__ or (), dict(fn.__kwdefaults__ or {})
        )

    def read_call(self, fn: UserFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Trace the body of a function with these arguments."""
        definition = fn.definition
        if definition.is_generator:
            raise self._generator(definition)
        if isinstance(definition.node, ast.AsyncFunctionDef):
            raise unsupported(self, definition.node, Frame({}, None, definition, {}))
        try:
            variables = bind(fn, args, kwargs)
        except TypeError as error:
            fix = f"call it as {signature_of(fn)}"
            raise located(TypeError, str(error), fix=fix, span=self.tracer.span) from None
        if definition.node.args.kwarg is not None:
            self.tracer.store.adopt(variables[definition.node.args.kwarg.arg])
        return self.guarded_call(fn, variables)

    def read_body(self, fn: UserFunction, variables: dict[str, Any]) -> Any:
        """The result of a function whose arguments are bound."""
        definition = fn.definition
        frame = Frame(self.tracer.store.made(variables), fn.frame, definition, fn.frame.module)
        frame.made_in = self.tracer.store.journals[-1]
        first = definition.node.args.posonlyargs + definition.node.args.args
        frame.first_argument = variables.get(first[0].arg) if first else None
        span = self.tracer.span
        self.active.append(ActiveCall(fn, span))
        if len(self.active) > MOST_CALLS * 5 or self.depth_of(fn) > MOST_CALLS:
            raise self._runaway(definition)
        try:
            end = self.run(definition.body, frame)
        except Exception as error:
            note_call(error, fn, variables, span)
            raise
        finally:
            self.active.pop()
            self.tracer.span = span
        kinds = kinds_of(end)
        result = frame.variables.get(RESULT, None) if RETURNS in kinds else None
        if kinds == {FALLS, RETURNS} and result is not None:
            why = f"{definition.name} returns a value on some paths and None on others"
            return PathConflict(why)
        return result

    def _runaway(self, definition: FunctionDefinition) -> Exception:
        return located(
            RecursionError,
            f"{definition.name} recurses endlessly during compilation",
            got=f"{MOST_CALLS} nested calls of {definition.name}",
            fix="end the recursion at a constant, or keep its state in tensors",
            span=self.tracer.span,
        )

    def _generator(self, definition: FunctionDefinition) -> Exception:
        return located(
            SyntaxError,
            f"{definition.name} is a generator; yield cannot be compiled",
            fix="collect the values in a list and return it",
            span=self.tracer.span,
        )


def bind(fn: UserFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Bind arguments to parameters, with Python's rules and errors."""
    spec = fn.definition.node.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    variables: dict[str, Any] = dict(zip(names, args, strict=False))
    extra = args[len(names) :]
    if spec.vararg is not None:
        variables[spec.vararg.arg] = tuple(extra)
    elif extra:
        raise _wrong(fn, f"takes {len(names)} positional arguments but {len(args)} were given")
    rest: dict[str, Any] = {}
    allowed = {a.arg for a in (*spec.args, *spec.kwonlyargs)}
    for name, value in kwargs.items():
        if name in allowed:
            if name in variables:
                raise _wrong(fn, f"got multiple values for argument {name!r}")
            variables[name] = value
        elif spec.kwarg is not None:
            rest[name] = value
        else:
            raise _wrong(fn, f"got an unexpected keyword argument {name!r}")
    if spec.kwarg is not None:
        variables[spec.kwarg.arg] = rest
    defaults = dict(zip(names[len(names) - len(fn.defaults) :], fn.defaults, strict=True))
    defaults |= fn.keyword_defaults
    for name in (*names, *(a.arg for a in spec.kwonlyargs)):
        if name not in variables:
            if name not in defaults:
                raise _wrong(fn, f"missing a required argument: {name!r}")
            variables[name] = defaults[name]
    return variables


def signature_of(fn: UserFunction) -> str:
    """The signature of a function, as in its definition."""
    return f"{fn.definition.name}({ast.unparse(fn.definition.node.args)})"


def _wrong(fn: UserFunction, what: str) -> TypeError:
    return TypeError(f"{fn.definition.name}() {what}")


def _handed(value: Any) -> Any:
    """An argument in the form that framework or library code receives."""
    return iterate(value) if isinstance(value, Iterator) else _routed(value)


def _routed(value: Any) -> Any:
    if isinstance(value, types.FunctionType) and is_read(value):
        return TracedCallback(value)
    if isinstance(value, types.MethodType) and isinstance(value.__func__, types.FunctionType):
        return TracedCallback(value) if is_read(value.__func__) else value
    if isinstance(value, functools.partial):
        return TracedCallback(value)
    if type(value) in (tuple, list) and any(isinstance(v, types.FunctionType) for v in value):
        return type(value)(_routed(v) for v in value)
    return value


def _is_plain_class(cls: type) -> bool:
    module = sys.modules.get(cls.__module__)
    file = getattr(module, "__file__", None) or ""
    if file.startswith((FRAMEWORK, *LIBRARY)) or cls.__module__ == "builtins":
        return False
    return not issubclass(cls, (Tensor, BaseException)) and not hasattr(cls, "construct")


def _is_plain_dataclass(cls: type) -> bool:
    """Whether the generated `__init__` of a dataclass only sets its fields."""
    if not is_dataclass(cls) or not is_generated(cls.__init__) or "__slots__" in vars(cls):
        return False
    named = {field.name for field in fields(cls)}
    return named >= set(inspect.signature(cls).parameters)  # no InitVar


def _hashable(fn: Any) -> bool:
    try:
        hash(fn)
    except TypeError:
        return False
    return True
