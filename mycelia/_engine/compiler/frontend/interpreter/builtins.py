"""Python's own functions, where their arguments may only be known at run time."""

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
    """The decorated function answers calls of these."""

    def register(answer: Any) -> Any:
        for function in functions:
            BUILTIN_HANDLERS[function] = answer
        return answer

    return register


class BuiltinInterpreter(InterpreterBase):
    """What the answers need of the reader."""

    def expanded(self, source: Any) -> list[Any]:
        return elements(source)


@handles_builtin(print)
def _print(reader: Any, *values: Any, **options: Any) -> None:
    printer = RuntimePrinter(values, options, as_repr=False)
    reader.tracer.effect(printer, "print", printer.tensors)


@handles_builtin(len)
def _len(reader: Any, value: Any) -> Any:
    if isinstance(value, (SymbolicRange, SymbolicZip)):
        raise GraphBreak(None, "a length is only known at run time")
    method = special_method(value, "__len__")
    return len(value) if method is None else reader.call(method, (value,), {})


@handles_builtin(range)
def _range(reader: Any, *bounds: Any) -> Any:
    bounds = tuple(b if not isinstance(b, Tensor) or is_symbolic(b) else int(b) for b in bounds)
    if any(map(is_symbolic, bounds)):
        return SymbolicRange.of(*bounds)
    return range(*bounds)


@handles_builtin(enumerate)
def _enumerate(reader: Any, source: Any, start: int = 0) -> Any:
    if known_length(source) is None:
        return SymbolicZip((SymbolicRange.of(start, 2**62, 1), source))
    pairs = enumerate(iterate(source))
    return reader.tracer.store.made((start + i, element) for i, element in pairs)


@handles_builtin(zip)
def _zip(reader: Any, *sources: Any, strict: bool = False) -> Any:
    if any(known_length(s) is None for s in sources):
        return SymbolicZip(sources)
    return reader.tracer.store.made(zip(*map(iterate, sources), strict=strict))


@handles_builtin(map)
def _map(reader: Any, fn: Any, *sources: Any) -> Any:
    rows = zip(*map(iterate, sources), strict=False)
    return reader.tracer.store.made(reader.call(fn, row, {}) for row in rows)


@handles_builtin(filter)
def _filter(reader: Any, fn: Any, source: Any) -> Any:
    def passes(element: Any) -> bool:
        truth = reader.truth(element if fn is None else reader.call(fn, (element,), {}))
        if isinstance(truth, SymbolicNumber):
            raise GraphBreak(truth._data, "filter decides by a number of a tensor")
        return bool(truth)

    return reader.tracer.store.made(e for e in iterate(source) if passes(e))


@handles_builtin(functools.reduce)
def _reduce(reader: Any, fn: Any, source: Any, *initial: Any) -> Any:
    parts = [*initial, *elements(source)]
    found = parts[0]
    for part in parts[1:]:
        found = reader.call(fn, (found, part), {})
    return found


@handles_builtin(sum)
def _sum(reader: Any, source: Any, start: Any = 0) -> Any:
    found = start
    for element in iterate(source):
        found = reader.binary("Add", found, element)
    return found


def _extreme(better: ast.cmpop, plain: Any) -> Callable[..., Any]:
    def answer(reader: Any, *args: Any, **options: Any) -> Any:
        parts = elements(args[0]) if len(args) == 1 else list(args)
        if options.get("key") is not None:
            options["key"] = partial(_called, reader, options["key"])
        is_read = any(
            special_method(part, "__lt__" if plain is min else "__gt__") for part in parts
        )
        if not is_read and not any(map(is_symbolic, parts)):
            return plain(parts, **options)
        if options or not parts:
            raise GraphBreak(None, f"{plain.__name__} with options over numbers of tensors")
        found = parts[0]
        for part in parts[1:]:
            test = reader.truth(reader.compared(better, part, found))
            if isinstance(test, bool):
                found = part if test else found
            else:
                found = reader.branches(test, (lambda f=found: f, lambda p=part: p))
        return found

    return answer


def _called(reader: Any, fn: Any, *args: Any) -> Any:
    return reader.call(fn, args, {})


BUILTIN_HANDLERS[min] = _extreme(ast.Lt(), min)
BUILTIN_HANDLERS[max] = _extreme(ast.Gt(), max)


@handles_builtin(abs)
def _abs(reader: Any, value: Any) -> Any:
    method = special_method(value, "__abs__")
    return abs(value) if method is None else reader.call(method, (value,), {})


def _conversion(kind: type) -> Callable[..., Any]:
    def answer(reader: Any, *args: Any, **options: Any) -> Any:
        value: Any = reader.tracer.bound(args[0]) if args else None
        if args and is_symbolic(value):
            if kind is bool:
                return reader.truth(value)
            if not isinstance(value, SymbolicNumber):
                value = StopGradient.of()(value)  # as in eager mode: a Python number has no past
            if kind is int and not value.dtype.is_integer and not value.dtype.is_bool:
                source: Any = value.strong if isinstance(value, SymbolicNumber) else value
                return convert(source.trunc(), int)
            return convert(value, kind)
        if kind is bool and args:
            return reader.truth(args[0])
        return kind(*args, **options)

    return answer


for _kind in (float, int, bool):
    BUILTIN_HANDLERS[_kind] = _conversion(_kind)


@handles_builtin(isinstance)
def _isinstance(reader: Any, value: Any, kinds: Any) -> bool:
    if isinstance(value, SymbolicNumber):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(isinstance(k, type) and issubclass(value.kind, k) for k in wanted)
    if isinstance(value, UserFunction):
        wanted = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(k in (type(_isinstance), Callable, object) for k in wanted)
    return isinstance(value, kinds)


@handles_builtin(type)
def _type(reader: Any, *args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], SymbolicNumber):
        return args[0].kind
    return type(*args)


@handles_builtin(callable)
def _callable(reader: Any, value: Any) -> bool:
    return isinstance(value, SymbolicChoice) or callable(value)


@handles_builtin(getattr)
def _getattr(reader: Any, owner: Any, name: str, *default: Any) -> Any:
    try:
        return reader.attribute(owner, name)
    except AttributeError:
        if not default:
            raise
    return reader.outside_value(default[0])


@handles_builtin(hasattr)
def _hasattr(reader: Any, owner: Any, name: str) -> bool:
    return bool(reader.has_attribute(owner, name))


@handles_builtin(setattr)
def _setattr(reader: Any, owner: Any, name: str, value: Any) -> None:
    reader.set_attribute(owner, name, value)


@handles_builtin(delattr)
def _delattr(reader: Any, owner: Any, name: str) -> None:
    reader.delete_attribute(owner, name)


def _quantifier(stops: bool) -> Callable[..., Any]:
    def answer(reader: Any, source: Any) -> Any:
        found: Any = not stops
        parts = iterate(source)
        while True:
            with reader.tracer.store.watched() as watch:
                try:
                    truth = reader.truth(next(parts))
                except StopIteration:
                    return found
            if watch.changed and not isinstance(found, bool):
                raise GraphBreak(found._data, "any or all stops at a number of a tensor")
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
    def answer(reader: Any, *args: Any, **entries: Any) -> Any:
        if args and (kind is not dict or isinstance(args[0], Iterator)):
            args = (elements(args[0]),)
        made = kind(*args, **entries)
        return made if kind is tuple else reader.tracer.store.adopt(made)

    return answer


for _container_kind in (list, tuple, set, dict):
    BUILTIN_HANDLERS[_container_kind] = _container(_container_kind)


@handles_builtin(sorted)
def _sorted(reader: Any, source: Any, *, key: Any = None, reverse: bool = False) -> Any:
    parts = elements(source)
    keys = parts if key is None else [reader.call(key, (p,), {}) for p in parts]
    if any(map(holds_symbolic, keys)):
        raise GraphBreak(None, "sorted orders by numbers of tensors")
    order = sorted(range(len(parts)), key=keys.__getitem__, reverse=reverse)
    return reader.tracer.store.adopt([parts[i] for i in order])


@handles_builtin(reversed)
def _reversed(reader: Any, source: Any) -> Any:
    if known_length(source) is None:
        raise GraphBreak(None, "the number of elements is only known at run time")
    method = special_method(source, "__reversed__")
    if method is not None:
        return reader.call(method, (source,), {})
    return reader.tracer.store.made(iter(reversed(source)))


@handles_builtin(round)
def _round(reader: Any, value: Any, *digits: Any) -> Any:
    if is_symbolic(value):
        if digits:
            raise GraphBreak(value._data, "round to digits of a number only known at run time")
        source: Any = value.strong if isinstance(value, SymbolicNumber) else value
        return convert(source.round(), int)
    return round(value, *digits)


@handles_builtin(pow)
def _pow(reader: Any, base: Any, exponent: Any, *modulus: Any) -> Any:
    return pow(base, exponent, *modulus) if modulus else base**exponent


@handles_builtin(divmod)
def _divmod(reader: Any, left: Any, right: Any) -> Any:
    return left // right, left % right


@handles_builtin(str)
def _str(reader: Any, *args: Any, **options: Any) -> Any:
    if args and holds_symbolic(args[0]):
        return SymbolicString.formatted(args[0], -1, "")
    return str(*args, **options)


@handles_builtin(iter)
def _iter(reader: Any, source: Any, *sentinel: Any) -> Any:
    if sentinel:
        raise GraphBreak(None, "iter calls a function until it gives a certain value")
    return source if isinstance(source, Iterator) else reader.tracer.store.made(iterate(source))


@handles_builtin(next)
def _next(reader: Any, iterator: Any, *default: Any) -> Any:
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
    def answer(reader: Any, *args: Any) -> Any:
        if len(args) != 1 or not is_symbolic(args[0]):
            return fn(*args)
        found = getattr(convert(args[0], float).strong, method)()
        kind = int if fn in (math.floor, math.ceil) else float
        return convert(found, kind)

    return answer


for _fn, _method in _MATH.items():
    BUILTIN_HANDLERS[_fn] = _math(_fn, _method)
