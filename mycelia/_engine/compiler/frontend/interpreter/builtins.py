"""Python's builtin functions on symbolic values."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import (
    RuntimePrinter,
    SymbolicString,
    holds_symbolic,
)
from mycelia._engine.compiler.frontend.interpreter.iterables import (
    SymbolicRange,
    SymbolicZip,
    elements,
    iterate,
    known_length,
    next_of,
)
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.interpreter.user_function import UserFunction
from mycelia._engine.compiler.frontend.symbolic import (
    GraphBreak,
    SymbolicNumber,
    both,
    convert,
    either,
    is_symbolic,
)
from mycelia._engine.compiler.frontend.value_structure import SymbolicChoice
from mycelia.ops.shapes.reshape import StopGradient
from mycelia.tensor.tensor import Tensor

BUILTIN_HANDLERS: dict[Any, Callable[..., Any]] = {}


def handles_builtin(*functions: Any) -> Callable[[Any], Any]:
    """Register the decorated function as the handler of these builtins."""

    def register(answer: Any) -> Any:
        for function in functions:
            BUILTIN_HANDLERS[function] = answer
        return answer

    return register


class BuiltinInterpreter(InterpreterBase):
    """Helpers for the handlers of builtins."""

    def expanded(self, source: Any) -> list[Any]:
        return elements(source)


@handles_builtin(print)
def _print(interpreter: Any, *values: Any, **options: Any) -> None:
    printer = RuntimePrinter(values, options, as_repr=False)
    interpreter.tracer.effect(printer, "print", printer.tensors)


@handles_builtin(len)
def _len(interpreter: Any, value: Any) -> Any:
    if isinstance(value, (SymbolicRange, SymbolicZip)):
        raise GraphBreak(None, "a length is known only at run time")
    method = special_method(value, "__len__")
    return len(value) if method is None else interpreter.call(method, (value,), {})


@handles_builtin(range)
def _range(interpreter: Any, *bounds: Any) -> Any:
    bounds = tuple(b if not isinstance(b, Tensor) or is_symbolic(b) else int(b) for b in bounds)
    if any(map(is_symbolic, bounds)):
        return SymbolicRange.of(*bounds)
    return range(*bounds)


@handles_builtin(enumerate)
def _enumerate(interpreter: Any, source: Any, start: int = 0) -> Any:
    if known_length(source) is None:
        return SymbolicZip((SymbolicRange.of(start, 2**62, 1), source))
    pairs = enumerate(iterate(source))
    return interpreter.tracer.store.made((start + i, element) for i, element in pairs)


@handles_builtin(zip)
def _zip(interpreter: Any, *sources: Any, strict: bool = False) -> Any:
    if any(known_length(s) is None for s in sources):
        return SymbolicZip(sources)
    return interpreter.tracer.store.made(zip(*map(iterate, sources), strict=strict))


@handles_builtin(map)
def _map(interpreter: Any, fn: Any, *sources: Any) -> Any:
    rows = zip(*map(iterate, sources), strict=False)
    return interpreter.tracer.store.made(interpreter.call(fn, row, {}) for row in rows)


@handles_builtin(filter)
def _filter(interpreter: Any, fn: Any, source: Any) -> Any:
    def passes(element: Any) -> bool:
        truth = interpreter.truth(element if fn is None else interpreter.call(fn, (element,), {}))
        if isinstance(truth, SymbolicNumber):
            raise GraphBreak(truth._data, "filter depends on the value of a tensor")
        return bool(truth)

    return interpreter.tracer.store.made(e for e in iterate(source) if passes(e))


@handles_builtin(functools.reduce)
def _reduce(interpreter: Any, fn: Any, source: Any, *initial: Any) -> Any:
    parts = [*initial, *elements(source)]
    found = parts[0]
    for part in parts[1:]:
        found = interpreter.call(fn, (found, part), {})
    return found


@handles_builtin(sum)
def _sum(interpreter: Any, source: Any, start: Any = 0) -> Any:
    found = start
    for element in iterate(source):
        found = interpreter.binary("Add", found, element)
    return found


def _extreme(better: ast.cmpop, plain: Any) -> Callable[..., Any]:
    def answer(interpreter: Any, *args: Any, **options: Any) -> Any:
        parts = elements(args[0]) if len(args) == 1 else list(args)
        if options.get("key") is not None:
            options["key"] = partial(_called, interpreter, options["key"])
        is_read = any(
            special_method(part, "__lt__" if plain is min else "__gt__") for part in parts
        )
        if not is_read and not any(map(is_symbolic, parts)):
            return plain(parts, **options)
        if options or not parts:
            raise GraphBreak(None, f"{plain.__name__} with options depends on values of tensors")
        found = parts[0]
        for part in parts[1:]:
            test = interpreter.truth(interpreter.compared(better, part, found))
            if isinstance(test, bool):
                found = part if test else found
            else:
                found = interpreter.branches(test, (lambda f=found: f, lambda p=part: p))
        return found

    return answer


def _called(interpreter: Any, fn: Any, *args: Any) -> Any:
    return interpreter.call(fn, args, {})


BUILTIN_HANDLERS[min] = _extreme(ast.Lt(), min)
BUILTIN_HANDLERS[max] = _extreme(ast.Gt(), max)


@handles_builtin(abs)
def _abs(interpreter: Any, value: Any) -> Any:
    method = special_method(value, "__abs__")
    return abs(value) if method is None else interpreter.call(method, (value,), {})


def _conversion(kind: type) -> Callable[..., Any]:
    def answer(interpreter: Any, *args: Any, **options: Any) -> Any:
        value: Any = interpreter.tracer.bound(args[0]) if args else None
        if args and is_symbolic(value):
            if kind is bool:
                return interpreter.truth(value)
            if not isinstance(value, SymbolicNumber):
                value = StopGradient.of()(
                    value
                )  # as in eager mode: a Python number has no gradient
            if kind is int and not value.dtype.is_integer and not value.dtype.is_bool:
                source: Any = value.strong if isinstance(value, SymbolicNumber) else value
                return convert(source.trunc(), int)
            return convert(value, kind)
        if kind is bool and args:
            return interpreter.truth(args[0])
        return kind(*args, **options)

    return answer


for _kind in (float, int, bool):
    BUILTIN_HANDLERS[_kind] = _conversion(_kind)


@handles_builtin(isinstance)
def _isinstance(interpreter: Any, value: Any, kinds: Any) -> bool:
    if isinstance(value, SymbolicNumber):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(isinstance(k, type) and issubclass(value.kind, k) for k in wanted)
    if isinstance(value, UserFunction):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(k in (type(_isinstance), Callable, object) for k in wanted)
    return isinstance(value, kinds)


@handles_builtin(type)
def _type(interpreter: Any, *args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], SymbolicNumber):
        return args[0].kind
    return type(*args)


@handles_builtin(callable)
def _callable(interpreter: Any, value: Any) -> bool:
    return isinstance(value, SymbolicChoice) or callable(value)


@handles_builtin(getattr)
def _getattr(interpreter: Any, owner: Any, name: str, *default: Any) -> Any:
    try:
        return interpreter.attribute(owner, name)
    except AttributeError:
        if not default:
            raise
    return interpreter.outside_value(default[0])


@handles_builtin(hasattr)
def _hasattr(interpreter: Any, owner: Any, name: str) -> bool:
    return bool(interpreter.has_attribute(owner, name))


@handles_builtin(setattr)
def _setattr(interpreter: Any, owner: Any, name: str, value: Any) -> None:
    interpreter.set_attribute(owner, name, value)


@handles_builtin(delattr)
def _delattr(interpreter: Any, owner: Any, name: str) -> None:
    interpreter.delete_attribute(owner, name)


def _quantifier(stops: bool) -> Callable[..., Any]:
    def answer(interpreter: Any, source: Any) -> Any:
        found: Any = not stops
        parts = iterate(source)
        while True:
            with interpreter.tracer.store.watched() as watch:
                try:
                    truth = interpreter.truth(next(parts))
                except StopIteration:
                    return found
            if watch.changed and not isinstance(found, bool):
                raise GraphBreak(found._data, "any or all depends on the value of a tensor")
            if isinstance(truth, bool):
                if truth is stops:
                    return stops
                continue
            if isinstance(found, bool):
                found = truth
            else:
                found = either(found, truth) if stops else both(found, truth)

    return answer


BUILTIN_HANDLERS[any], BUILTIN_HANDLERS[all] = _quantifier(True), _quantifier(False)


def _container(kind: Any) -> Callable[..., Any]:
    def answer(interpreter: Any, *args: Any, **entries: Any) -> Any:
        if args and (kind is not dict or isinstance(args[0], Iterator)):
            args = (elements(args[0]),)
        made = kind(*args, **entries)
        return made if kind is tuple else interpreter.tracer.store.adopt(made)

    return answer


for _container_kind in (list, tuple, set, dict):
    BUILTIN_HANDLERS[_container_kind] = _container(_container_kind)


@handles_builtin(sorted)
def _sorted(interpreter: Any, source: Any, *, key: Any = None, reverse: bool = False) -> Any:
    parts = elements(source)
    keys = parts if key is None else [interpreter.call(key, (p,), {}) for p in parts]
    if any(map(holds_symbolic, keys)):
        raise GraphBreak(None, "sorted depends on values of tensors")
    order = sorted(range(len(parts)), key=keys.__getitem__, reverse=reverse)
    return interpreter.tracer.store.adopt([parts[i] for i in order])


@handles_builtin(reversed)
def _reversed(interpreter: Any, source: Any) -> Any:
    if known_length(source) is None:
        raise GraphBreak(None, "the number of elements is known only at run time")
    method = special_method(source, "__reversed__")
    if method is not None:
        return interpreter.call(method, (source,), {})
    return interpreter.tracer.store.made(iter(reversed(source)))


@handles_builtin(round)
def _round(interpreter: Any, value: Any, *digits: Any) -> Any:
    if is_symbolic(value):
        if digits:
            raise GraphBreak(value._data, "round with digits depends on a runtime value")
        source: Any = value.strong if isinstance(value, SymbolicNumber) else value
        return convert(source.round(), int)
    return round(value, *digits)


@handles_builtin(pow)
def _pow(interpreter: Any, base: Any, exponent: Any, *modulus: Any) -> Any:
    return pow(base, exponent, *modulus) if modulus else base**exponent


@handles_builtin(divmod)
def _divmod(interpreter: Any, left: Any, right: Any) -> Any:
    return left // right, left % right


@handles_builtin(str)
def _str(interpreter: Any, *args: Any, **options: Any) -> Any:
    if args and holds_symbolic(args[0]):
        return SymbolicString.formatted(args[0], -1, "")
    return str(*args, **options)


@handles_builtin(iter)
def _iter(interpreter: Any, source: Any, *sentinel: Any) -> Any:
    if sentinel:
        raise GraphBreak(None, "iter with a sentinel depends on runtime values")
    return (
        source if isinstance(source, Iterator) else interpreter.tracer.store.made(iterate(source))
    )


@handles_builtin(next)
def _next(interpreter: Any, iterator: Any, *default: Any) -> Any:
    try:
        return next_of(iterator)
    except StopIteration:
        if not default:
            raise
    return default[0]


_MATH = {
    math.sqrt: "sqrt", math.exp: "exp", math.log: "log", math.sin: "sin", math.cos: "cos",
    math.tan: "tan", math.tanh: "tanh", math.floor: "floor", math.ceil: "ceil",
    math.fabs: "abs", math.atan: "atan", math.erf: "erf",
}  # fmt: skip


def _math(fn: Any, method: str) -> Callable[..., Any]:
    def answer(interpreter: Any, *args: Any) -> Any:
        if len(args) != 1 or not is_symbolic(args[0]):
            return fn(*args)
        found = getattr(convert(args[0], float).strong, method)()
        kind = int if fn in (math.floor, math.ceil) else float
        return convert(found, kind)

    return answer


for _fn, _method in _MATH.items():
    BUILTIN_HANDLERS[_fn] = _math(_fn, _method)
