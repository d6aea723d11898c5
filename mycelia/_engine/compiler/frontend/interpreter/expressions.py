"""Expressions: one method for each kind in Python's syntax tree."""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import SymbolicString, text_of
from mycelia._engine.compiler.frontend.interpreter.iterables import elements, known_length
from mycelia._engine.compiler.frontend.interpreter.trace_stack import note_line
from mycelia._engine.compiler.frontend.interpreter.unsupported import unsupported
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame, UserFunction
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import (
    BINARY,
    GraphBreak,
    SymbolicNumber,
    both,
    convert,
    either,
    is_number,
    is_symbolic,
    opposite,
)
from mycelia._engine.compiler.frontend.tracer import unbound_error
from mycelia._engine.compiler.frontend.value_structure import MaybeUnbound, SymbolicChoice
from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor

_COMPARE: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


class ExpressionInterpreter(InterpreterBase):
    """Evaluates expressions."""

    def eval(self, node: ast.expr, frame: Frame) -> Any:
        method = getattr(self, f"eval_{type(node).__name__}", None)
        if method is None:
            raise unsupported(self, node, frame)
        try:
            return method(node, frame)
        except Exception as error:
            note_line(error, node, frame)
            raise

    # ---- names and constants ----------------------------------------------------------------

    def eval_Constant(self, node: ast.Constant, frame: Frame) -> Any:
        return node.value

    def eval_Name(self, node: ast.Name, frame: Frame) -> Any:
        holder = frame.holder_of(node.id)
        if holder is None:
            value = self.global_value(node.id, frame)
        else:
            value = holder.get(node.id, MISSING)
        if value is MISSING:
            self.at(node, frame)
            if holder is not None:
                raise unbound_error(node.id, self.tracer.span)
            raise problem(
                NameError,
                f"the name {node.id!r} has no value here",
                fix="define or import it",
            )
        return self.usable(value, node, frame)

    def usable(self, value: Any, node: ast.AST, frame: Frame) -> Any:
        """`value`, unless it is one of two things that do not go together."""
        if isinstance(value, PathConflict):
            self.at(node, frame)
            raise self.conflict_error(value)
        if isinstance(value, MaybeUnbound):
            value = self.assumed(value, node, frame)
        if self.tracer.store.stale:
            self.tracer.store.refuse_stale(value)
        return value

    def assumed(self, maybe: MaybeUnbound, node: ast.AST, frame: Frame) -> Any:
        """The value of a variable that may have none; the program says if it was used so."""
        self.at(node, frame)
        if isinstance(maybe.bound, SymbolicNumber):
            self.tracer.note_unbound(maybe.name, opposite(maybe.bound))
            return maybe.value
        if not maybe.bound:
            raise unbound_error(maybe.name, self.tracer.span)
        return maybe.value

    def eval_NamedExpr(self, node: ast.NamedExpr, frame: Frame) -> Any:
        value = self.eval(node.value, frame)
        home = frame
        while home.definition is None and home.outer is not None:
            home = home.outer  # a comprehension's walrus assigns in the function around it
        self.assign_name(node.target.id, value, home)
        return value

    # ---- containers -------------------------------------------------------------------------

    def eval_Tuple(self, node: ast.Tuple, frame: Frame) -> Any:
        return tuple(self.unpacked(node.elts, frame))

    def eval_List(self, node: ast.List, frame: Frame) -> Any:
        return self.tracer.store.adopt(self.unpacked(node.elts, frame))

    def eval_Set(self, node: ast.Set, frame: Frame) -> Any:
        return self.tracer.store.adopt(set(self.unpacked(node.elts, frame)))

    def eval_Dict(self, node: ast.Dict, frame: Frame) -> Any:
        found: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                found.update(self.eval(value, frame))
            else:
                found[self.eval(key, frame)] = self.eval(value, frame)
        return self.tracer.store.adopt(found)

    def unpacked(self, nodes: list[ast.expr], frame: Frame) -> list[Any]:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                found += elements(self.eval(node.value, frame))
            else:
                found.append(self.eval(node, frame))
        return found

    def eval_Starred(self, node: ast.Starred, frame: Frame) -> Any:
        return self.eval(node.value, frame)

    # ---- operators --------------------------------------------------------------------------

    def eval_BinOp(self, node: ast.BinOp, frame: Frame) -> Any:
        left, right = self.eval(node.left, frame), self.eval(node.right, frame)
        self.at(node, frame)
        return self.binary(type(node.op).__name__, left, right)

    def binary(self, name: str, left: Any, right: Any) -> Any:
        if name == "Mod" and isinstance(left, str):
            return text_of(left, right)
        if isinstance(left, np.ndarray | np.generic) and is_symbolic(right):
            left = Tensor._wrap(np.asarray(left))  # numpy would ask for the numbers
        result = BINARY[name](left, right)
        if isinstance(result, (list, dict, set)):
            self.tracer.store.adopt(result)
        return result

    def eval_UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.eval(node.operand, frame)
        self.at(node, frame)
        if isinstance(node.op, ast.Not):
            return self.negated(value)
        if isinstance(node.op, ast.USub):
            return -value
        return ~value if isinstance(node.op, ast.Invert) else +value

    def negated(self, value: Any) -> Any:
        truth = self.truth(value)
        if isinstance(truth, bool):
            return not truth
        return opposite(truth)

    def eval_Compare(self, node: ast.Compare, frame: Frame) -> Any:
        left = self.eval(node.left, frame)
        result: Any = True
        for place, (op, right_node) in enumerate(zip(node.ops, node.comparators, strict=True)):
            right = self.eval(right_node, frame)
            self.at(node, frame)
            found = self.compared(op, left, right)
            if place == 0:
                result = found
            else:
                truth = self.truth(result)
                if truth is False:
                    return result
                result = found if truth is True else self.and_then(result, truth, found)
            left = right
        return result

    def and_then(self, first: Any, truth: SymbolicNumber, second: Any) -> Any:
        """`first and second` of two comparisons, the first only known at run time."""
        other = self.truth(second)
        if isinstance(other, bool):
            return first if other else False
        found = both(truth, other)
        is_number = isinstance(first, SymbolicNumber) and isinstance(second, SymbolicNumber)
        return found if is_number else found.strong

    def compared(self, op: ast.cmpop, left: Any, right: Any) -> Any:
        if type(op) in _COMPARE:
            return _COMPARE[type(op)](left, right)
        if isinstance(op, (ast.Is, ast.IsNot)):
            same = left is right or (
                is_number(left) and is_number(right) and not is_symbolic(left) and left == right
            )
            return same if isinstance(op, ast.Is) else not same
        found = self.contains(right, left)
        return found if isinstance(op, ast.In) else self.negated(found)

    def contains(self, container: Any, value: Any) -> Any:
        """`value in container`, also where their elements are only known at run time."""
        if isinstance(container, Tensor):
            return convert((container == value).any(), bool)
        if not isinstance(container, (tuple, list)) or not (
            is_symbolic(value) or any(map(is_symbolic, container))
        ):
            return value in container
        found: Any = False
        for element in container:
            equal = self.truth(element == value)
            if equal is True:
                return True
            if equal is not False:
                found = equal if found is False else either(found, equal)
        return found

    def eval_BoolOp(self, node: ast.BoolOp, frame: Frame) -> Any:
        stops = isinstance(node.op, ast.Or)
        value: Any = None
        for place, part in enumerate(node.values):
            value = self.eval(part, frame)
            if place == len(node.values) - 1:
                return value
            truth = self.truth(value)
            if isinstance(truth, bool):
                if truth is stops:
                    return value
                continue
            rest = ast.copy_location(ast.BoolOp(node.op, node.values[place + 1 :]), node)
            rest_node: ast.expr = rest if len(rest.values) > 1 else rest.values[0]
            found = self.short_circuit(stops, value, truth, rest_node, frame)
            return self.usable(found, node, frame)
        return value

    def short_circuit(
        self, stops: bool, value: Any, truth: SymbolicNumber, rest: ast.expr, frame: Frame
    ) -> Any:
        """`value or rest`, `value and rest` when the first is only known at run time."""
        thunks = (partial(self.eval, rest, frame), partial(_itself, value))
        return self.branches(truth, thunks if stops else thunks[::-1])

    def test(self, node: ast.expr, frame: Frame) -> bool | SymbolicNumber:
        """Whether an expression is true; the parts of `and`, `or`, `not` count as truths."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            truth = self.test(node.operand, frame)
            return not truth if isinstance(truth, bool) else opposite(truth)
        if not isinstance(node, ast.BoolOp):
            value = self.eval(node, frame)
            self.at(node, frame)
            return self.truth(value)
        stops = isinstance(node.op, ast.Or)
        for place, part in enumerate(node.values):
            truth = self.test(part, frame)
            if place == len(node.values) - 1 or truth is stops:
                return truth
            if not isinstance(truth, bool):
                rest = ast.copy_location(ast.BoolOp(node.op, node.values[place + 1 :]), node)
                thunks = (partial(self.test, rest, frame), partial(_itself, stops))
                found = self.branches(truth, thunks if stops else thunks[::-1])
                return convert(found, bool) if isinstance(found, SymbolicNumber) else bool(found)
        raise AssertionError("a boolean expression has parts")

    def eval_IfExp(self, node: ast.IfExp, frame: Frame) -> Any:
        test = self.test(node.test, frame)
        if isinstance(test, bool):
            return self.eval(node.body if test else node.orelse, frame)
        thunks = (lambda: self.eval(node.orelse, frame), lambda: self.eval(node.body, frame))
        return self.usable(self.branches(test, thunks), node, frame)

    # ---- attributes and subscripts ----------------------------------------------------------

    def eval_Attribute(self, node: ast.Attribute, frame: Frame) -> Any:
        owner = self.eval(node.value, frame)
        self.at(node, frame)
        if isinstance(owner, SymbolicChoice):
            thunks = [partial(getattr, option, node.attr) for option in owner.options]
            return self.branches(owner.index, thunks)
        return self.attribute(owner, node.attr)

    def eval_Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        owner, index = self.eval(node.value, frame), self.eval(node.slice, frame)
        self.at(node, frame)
        return self.usable(self.subscript(owner, index), node, frame)

    def subscript(self, owner: Any, index: Any) -> Any:
        if isinstance(owner, defaultdict) and index not in owner and owner.default_factory:
            self.set_item(owner, index, self.call(owner.default_factory, (), {}))
        if isinstance(owner, Tensor) or not is_symbolic(index):
            if isinstance(owner, Tensor):
                index = _strong_parts(index)
            found = owner[index]
            is_new = isinstance(index, slice) and type(found) is list
            return self.tracer.store.adopt(found) if is_new else found
        if not isinstance(owner, (tuple, list, range)):
            raise GraphBreak(index._data, "a key is only known at run time")
        return self.pick(owner, index)

    def pick(self, options: Any, index: Any) -> Any:
        """One of the elements of a sequence, by a number only known at run time."""
        count = len(options)
        number = convert(index, int)
        place = self.wrapped_index(number, count)
        return self.branches(place, [partial(_itself, option) for option in options])

    def eval_Slice(self, node: ast.Slice, frame: Frame) -> Any:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else self.eval(p, frame) for p in parts))

    # ---- functions and comprehensions -------------------------------------------------------

    def eval_Lambda(self, node: ast.Lambda, frame: Frame) -> Any:
        return self.make_function(node, frame)

    def eval_Call(self, node: ast.Call, frame: Frame) -> Any:
        fn = self.eval(node.func, frame)
        args = self.unpacked(node.args, frame)
        kwargs: dict[str, Any] = {}
        for keyword in node.keywords:
            value = self.eval(keyword.value, frame)
            kwargs.update(value if keyword.arg is None else {keyword.arg: value})
        self.at(node, frame)
        if fn is super and not args:
            args = [frame_class(frame), frame_first(frame)]
        return self.usable(self.call(fn, tuple(args), kwargs), node, frame)

    def eval_ListComp(self, node: ast.ListComp, frame: Frame) -> Any:
        return self.tracer.store.adopt(self.comprehension(node, frame))

    def eval_GeneratorExp(self, node: ast.GeneratorExp, frame: Frame) -> Any:
        return tuple(self.comprehension(node, frame))

    def eval_SetComp(self, node: ast.SetComp, frame: Frame) -> Any:
        return self.tracer.store.adopt(set(self.comprehension(node, frame)))

    def eval_DictComp(self, node: ast.DictComp, frame: Frame) -> Any:
        pairs = self.comprehension(node, frame)
        return self.tracer.store.adopt(dict(pairs))

    def comprehension(self, node: Any, frame: Frame) -> list[Any]:
        variables = self.tracer.store.made({})
        inner = Frame(variables, frame, None, frame.module, frame.first_argument, frame.owner_class)
        inner.made_in = self.tracer.store.journals[-1]
        found: list[Any] = []
        self._comprehend(node, 0, inner, found)
        return found

    def _comprehend(self, node: Any, level: int, frame: Frame, found: list[Any]) -> None:
        if level == len(node.generators):
            if isinstance(node, ast.DictComp):
                found.append((self.eval(node.key, frame), self.eval(node.value, frame)))
            else:
                found.append(self.eval(node.elt, frame))
            return
        generator = node.generators[level]
        source = self.eval(generator.iter, frame)
        if known_length(source) is None:
            self.at(generator.iter, frame)
            raise GraphBreak(None, "the length of a comprehension is only known at run time")
        for element in elements(source):
            self.assign(generator.target, element, frame)
            if all(self._passes(test, frame) for test in generator.ifs):
                self._comprehend(node, level + 1, frame, found)

    def _passes(self, test: ast.expr, frame: Frame) -> bool:
        truth = self.test(test, frame)
        if not isinstance(truth, bool):
            self.at(test, frame)
            raise GraphBreak(truth._data, "a comprehension filters by a number of a tensor")
        return truth

    # ---- text -------------------------------------------------------------------------------

    def eval_JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        return SymbolicString.joined([self.eval(value, frame) for value in node.values])

    def eval_FormattedValue(self, node: ast.FormattedValue, frame: Frame) -> Any:
        value = self.eval(node.value, frame)
        spec = "" if node.format_spec is None else self.eval(node.format_spec, frame)
        return SymbolicString.formatted(value, node.conversion, spec)

    # ---- answered by other parts ------------------------------------------------------------

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        raise NotImplementedError

    def make_function(self, node: Any, frame: Frame) -> UserFunction:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        raise NotImplementedError


def _itself(value: Any) -> Any:
    return value


def frame_class(frame: Frame) -> Any:
    """The class a method was defined in, for `super()`."""
    current: Frame | None = frame
    while current is not None:
        if "__class__" in current.variables:
            return current.variables["__class__"]
        current = current.outer
    raise problem(RuntimeError, "super(): no arguments, and not inside a method")


def frame_first(frame: Frame) -> Any:
    current: Frame | None = frame
    while current is not None and current.first_argument is None:
        current = current.outer
    return current.first_argument if current is not None else None


def _strong_parts(index: Any) -> Any:
    """Numbers of the program inside a tensor's subscript as tensors."""
    if isinstance(index, SymbolicNumber):
        return index.strong
    if isinstance(index, tuple):
        return tuple(_strong_parts(i) for i in index)
    return index
