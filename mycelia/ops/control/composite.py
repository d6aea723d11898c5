"""Higher-order functions: HyperMap, Map, MultitypeFuncGraph, Partial."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial as python_partial
from typing import Any

from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.tensor_protocol import TensorProtocol


class HyperMap(CheckedKeywords):
    """Maps a function over every leaf of nested tuples and lists; results are tuples."""

    def __init__(self, ops: Any = None, reverse: bool = False) -> None:
        if ops is not None and not callable(ops):
            raise wrong_type(type(self).__name__, "ops", ops, "a function, an operator or None")
        self.ops = ops
        self.reverse = reverse

    def __call__(self, *args: Any) -> Any:
        fn, args = (args[0], args[1:]) if self.ops is None else (self.ops, args)
        if not args:
            raise problem(TypeError, f"{type(self).__name__}: no arguments to map over")
        return self._map(fn, args, depth=0)

    def _goes_into(self, depth: int, is_mixed: bool) -> bool:
        return not is_mixed  # a tensor next to a tuple is a leaf

    def _map(self, fn: Callable[..., Any], args: tuple[Any, ...], depth: int) -> Any:
        sequences = [a for a in args if isinstance(a, (tuple, list))]
        if not self._goes_into(depth, is_mixed=len(sequences) < len(args)):
            return call_user_function(fn, *args)
        lengths = {len(s) for s in sequences}
        if len(sequences) != len(args) or len(lengths) != 1:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: the arguments do not have the same structure",
                got=", ".join(map(_described, args)),
            )
        order = range(lengths.pop())
        indices = reversed(order) if self.reverse else order
        results = {i: self._map(fn, tuple(a[i] for a in args), depth + 1) for i in indices}
        return tuple(results[i] for i in order)


class Map(HyperMap):
    """Maps a function over the elements of sequences, one level deep."""

    def _goes_into(self, depth: int, is_mixed: bool) -> bool:
        return depth == 0


def _described(value: Any) -> str:
    kind = type(value).__name__
    return f"{kind} of {len(value)}" if isinstance(value, (tuple, list)) else kind


class MultitypeFuncGraph(CheckedKeywords):
    """Multiple dispatch: selects a function by the types of the arguments.

    Register each function with the names of its argument types: Tensor, Number, Bool, String,
    Tuple, ... A function that is registered alone accepts arguments of any types.
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name = name
        self.entries: list[tuple[tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers the decorated function for arguments of these types."""

        def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
            self.entries.append((type_names, fn))
            return fn

        return decorate

    def register_default(self) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Registers the decorated function for arguments that match no other entry."""
        return self.register()

    def __call__(self, *args: Any) -> Any:
        if len(self.entries) == 1:
            return call_user_function(self.entries[0][1], *args)
        for wanted, fn in self.entries:
            if len(wanted) == len(args) and all(map(_fits, args, wanted)):
                return call_user_function(fn, *args)
        for wanted, fn in self.entries:
            if not wanted:
                return call_user_function(fn, *args)
        raise problem(
            ValueError,
            "For 'MultitypeFuncGraph', cannot find fn match given args.",
            got=f"{self.name}({', '.join(type(a).__name__ for a in args)})",
            expected=" or ".join(f"({', '.join(map(str, w))})" for w, _ in self.entries),
        )


_PYTHON_TYPES: dict[str, Any] = {
    "Number": (int, float, complex),
    "Int": int,
    "Float": float,
    "Bool": bool,
    "String": str,
    "Tuple": tuple,
    "List": list,
    "Dict": dict,
    "None": type(None),
    "Function": Callable,
    "Tensor": TensorProtocol,
}


def _fits(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, DType):
        return (
            isinstance(value, (bool, int, float)) and wanted.title in type(value).__name__.title()
        )
    if wanted in ("TensorList", "ListTensor"):
        return isinstance(value, (tuple, list)) and all(
            isinstance(v, TensorProtocol) for v in value
        )
    kind = _PYTHON_TYPES.get(str(wanted))
    return kind is not None and isinstance(value, kind)


class Partial:
    """Partial application: `Partial()(fn, *args)` is `fn` with its first arguments bound."""

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        if not callable(fn):
            raise wrong_type("Partial", "fn", fn, "a function")
        return python_partial(fn, *args, **kwargs)


partial = Partial()


def add_flags(fn: Callable[..., Any] | None = None, **flags: Any) -> Any:
    """Attaches flags to a function or a cell; without a target, returns a decorator."""

    def attach(target: Any) -> Any:
        if hasattr(target, "add_flags"):
            return target.add_flags(**flags)
        target.__dict__.setdefault("_mindspore_flags", {}).update(flags)
        return target

    return attach if fn is None else attach(fn)
