"""Expressions: one `eval_` method per node class of Python's syntax tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.formatted_strings import (
    SymbolicString,
    refuse_unknown_key,
)
from mycelia._engine.compiler.frontend.interpreter.iterables import elements, iterate, known_length
from mycelia._engine.compiler.frontend.interpreter.operators import Operators
from mycelia._engine.compiler.frontend.interpreter.trace_stack import note_line
from mycelia._engine.compiler.frontend.interpreter.unsupported import unsupported
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame, UserFunction
from mycelia._engine.compiler.frontend.mutation_journal import MISSING
from mycelia._engine.compiler.frontend.path_conflict import PathConflict
from mycelia._engine.compiler.frontend.symbolic import (
    GraphBreak,
    SymbolicNumber,
    both,
    convert,
    is_symbolic,
    opposite,
)
from mycelia._engine.compiler.frontend.tracer import unbound_error
from mycelia._engine.compiler.frontend.value_structure import MaybeUnbound, SymbolicChoice
from mycelia._engine.core.errors import problem
from mycelia.tensor.tensor import Tensor


class ExpressionInterpreter(Operators):
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
        return self.held(self.usable(value, node, frame))

    def usable(self, value: Any, node: ast.AST, frame: Frame) -> Any:
        """`value`; raises if paths give it conflicting values."""
        if isinstance(value, PathConflict):
            self.at(node, frame)
            raise self.conflict_error(value)
        if isinstance(value, MaybeUnbound):
            value = self.assumed(value, node, frame)
        if self.tracer.store.stale:
            self.tracer.store.refuse_stale(value)
        return value

    def held(self, value: Any) -> Any:
        """`value`, which a variable, attribute or container holds."""
        self.tracer.store.hold(value)
        return value

    def assumed(self, maybe: MaybeUnbound, node: ast.AST, frame: Frame) -> Any:
        """The value of a possibly unbound variable; the program reports a use without a value."""
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
                place = self.eval(key, frame)
                refuse_unknown_key(place)
                found[place] = self.eval(value, frame)
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

    def eval_UnaryOp(self, node: ast.UnaryOp, frame: Frame) -> Any:
        value = self.eval(node.operand, frame)
        self.at(node, frame)
        if isinstance(node.op, ast.Not):
            return self.negated(value)
        return self.unary(node.op, value)

    def eval_Compare(self, node: ast.Compare, frame: Frame) -> Any:
        return self._compare_rest(node, 0, self.eval(node.left, frame), frame)

    def _compare_rest(self, node: ast.Compare, place: int, left: Any, frame: Frame) -> Any:
        """Compare `left` with operand number `place`, and if that holds, continue the chain."""
        right = self.eval(node.comparators[place], frame)
        self.at(node, frame)
        found = self.compared(node.ops[place], left, right)
        if place == len(node.ops) - 1:
            return found
        truth = self.truth(found)
        if truth is False:
            return found
        rest = partial(self._compare_rest, node, place + 1, right, frame)
        if truth is True:
            return rest()
        if all(map(_is_plain, node.comparators[place + 1 :])):
            return self.and_then(found, truth, rest())
        value = self.branches(truth, (partial(_itself, found), rest))
        return self.usable(value, node, frame)

    def and_then(self, first: Any, truth: SymbolicNumber, second: Any) -> Any:
        """`first and second` of two comparisons, the first one symbolic."""
        other = self.truth(second)
        if isinstance(other, bool):
            return first if other else False
        found = both(truth, other)
        is_number = isinstance(first, SymbolicNumber) and isinstance(second, SymbolicNumber)
        return found if is_number else found.strong

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
        """`value or rest` or `value and rest` with a symbolic first operand."""
        thunks = (partial(self.eval, rest, frame), partial(_itself, value))
        return self.branches(truth, thunks if stops else thunks[::-1])

    def test(self, node: ast.expr, frame: Frame) -> bool | SymbolicNumber:
        """The truth value of an expression; operands of `and`, `or`, `not` become bools."""
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
        return self.attribute_at(self.eval(node.value, frame), node, frame)

    def attribute_at(self, owner: Any, node: ast.Attribute, frame: Frame) -> Any:
        """Evaluate the attribute access `node` on `owner`."""
        self.at(node, frame)
        if isinstance(owner, SymbolicChoice):
            thunks = [partial(self.attribute, option, node.attr) for option in owner.options]
            return self.branches(owner.index, thunks)
        return self.held(self.attribute(owner, node.attr))

    def eval_Subscript(self, node: ast.Subscript, frame: Frame) -> Any:
        owner, index = self.eval(node.value, frame), self.eval(node.slice, frame)
        return self.item_at(owner, index, node, frame)

    def item_at(self, owner: Any, index: Any, node: ast.Subscript, frame: Frame) -> Any:
        """Evaluate `owner[index]` at the source position of `node`."""
        self.at(node, frame)
        return self.held(self.usable(self.subscript(owner, index), node, frame))

    def subscript(self, owner: Any, index: Any) -> Any:
        method = special_method(owner, "__getitem__")
        if method is not None:
            return self.call(method, (owner, index), {})
        if isinstance(index, SymbolicString):
            raise GraphBreak(None, "a key is known only at run time")
        if isinstance(owner, defaultdict) and index not in owner and owner.default_factory:
            self.set_item(owner, index, self.call(owner.default_factory, (), {}))
        if isinstance(owner, Tensor) or not is_symbolic(index):
            if isinstance(owner, Tensor):
                index = _strong_parts(index)
            found = owner[index]
            is_new = isinstance(index, slice) and type(found) is list
            return self.tracer.store.adopt(found) if is_new else found
        if not isinstance(owner, (tuple, list, range)):
            raise GraphBreak(index._data, "a key is known only at run time")
        return self.pick(owner, index)

    def pick(self, options: Any, index: Any) -> Any:
        """The element of a sequence at a symbolic index."""
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
        return self.tracer.store.adopt(list(self.comprehension(node, frame)))

    def eval_GeneratorExp(self, node: ast.GeneratorExp, frame: Frame) -> Any:
        return self.tracer.store.made(self.comprehension(node, frame))

    def eval_SetComp(self, node: ast.SetComp, frame: Frame) -> Any:
        return self.tracer.store.adopt(set(self.comprehension(node, frame)))

    def eval_DictComp(self, node: ast.DictComp, frame: Frame) -> Any:
        return self.tracer.store.adopt(dict(self.comprehension(node, frame)))

    def comprehension(self, node: Any, frame: Frame) -> Iterator[Any]:
        """The elements of a comprehension; the first source is evaluated immediately."""
        variables = self.tracer.store.scratch()
        inner = Frame(variables, frame, None, frame.module, frame.first_argument, frame.owner_class)
        inner.made_in = self.tracer.store.journals[-1]
        return self._comprehend(node, 0, self._source(node.generators[0], inner), inner)

    def _source(self, generator: ast.comprehension, frame: Frame) -> Iterator[Any]:
        source = self.eval(generator.iter, frame)
        self.at(generator.iter, frame)
        if known_length(source) is None:
            raise GraphBreak(None, "the length of a comprehension is known only at run time")
        return iterate(source)

    def _comprehend(
        self, node: Any, level: int, source: Iterator[Any], frame: Frame
    ) -> Iterator[Any]:
        for element in source:
            self.assign(node.generators[level].target, element, frame)
            if not all(self._passes(test, frame) for test in node.generators[level].ifs):
                continue
            if level + 1 < len(node.generators):
                inner = self._source(node.generators[level + 1], frame)
                yield from self._comprehend(node, level + 1, inner, frame)
            elif isinstance(node, ast.DictComp):
                key = self.eval(node.key, frame)
                refuse_unknown_key(key)
                yield key, self.eval(node.value, frame)
            else:
                yield self.eval(node.elt, frame)

    def _passes(self, test: ast.expr, frame: Frame) -> bool:
        truth = self.test(test, frame)
        if not isinstance(truth, bool):
            self.at(test, frame)
            raise GraphBreak(
                truth._data, "the filter of a comprehension depends on the value of a tensor"
            )
        return truth

    # ---- strings ----------------------------------------------------------------------------

    def eval_JoinedStr(self, node: ast.JoinedStr, frame: Frame) -> Any:
        return SymbolicString.joined([self.eval(value, frame) for value in node.values])

    def eval_FormattedValue(self, node: ast.FormattedValue, frame: Frame) -> Any:
        value = self.eval(node.value, frame)
        spec = "" if node.format_spec is None else self.eval(node.format_spec, frame)
        return SymbolicString.formatted(value, node.conversion, spec)

    # ---- implemented by other mixins --------------------------------------------------------

    def set_item(self, owner: Any, index: Any, value: Any) -> None:
        raise NotImplementedError

    def make_function(self, node: Any, frame: Frame) -> UserFunction:
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        raise NotImplementedError


def _itself(value: Any) -> Any:
    return value


def _is_plain(node: ast.expr) -> bool:
    """Whether evaluating an expression again can neither raise nor have side effects."""
    if isinstance(node, (ast.BinOp, ast.UnaryOp)):
        parts = [node.left, node.right] if isinstance(node, ast.BinOp) else [node.operand]
        return all(map(_is_plain, parts))
    return isinstance(node, (ast.Constant, ast.Name))


def frame_class(frame: Frame) -> Any:
    """The class that defines the current method, for `super()`."""
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
    """A tensor subscript with symbolic numbers converted to tensors."""
    if isinstance(index, SymbolicNumber):
        return index.strong
    if isinstance(index, tuple):
        return tuple(_strong_parts(i) for i in index)
    return index
