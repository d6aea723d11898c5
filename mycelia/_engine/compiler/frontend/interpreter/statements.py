"""Statements: one `run_` method per node class; each returns how the statement ends."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from functools import partial
from typing import Any

from mycelia._engine.compiler.frontend.containers import CONTAINERS
from mycelia._engine.compiler.frontend.interpreter.assignment_targets import AssignmentInterpreter
from mycelia._engine.compiler.frontend.interpreter.contexts import Contexts
from mycelia._engine.compiler.frontend.interpreter.ends import (
    BREAKS,
    CONTINUES,
    FALLS,
    RETURNS,
    End,
    Mixed,
    as_end,
    kinds_of,
    tag_of,
)
from mycelia._engine.compiler.frontend.interpreter.iterables import elements
from mycelia._engine.compiler.frontend.interpreter.patterns import PatternInterpreter
from mycelia._engine.compiler.frontend.interpreter.trace_stack import note_line
from mycelia._engine.compiler.frontend.interpreter.unsupported import unsupported
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame, UserFunction
from mycelia._engine.compiler.frontend.mutation_journal import MISSING, VariableLocation
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, both, convert
from mycelia._engine.core.errors import located

RESULT = "<result>"  # the variable that holds the return value


class StatementInterpreter(AssignmentInterpreter, Contexts, PatternInterpreter):
    """Runs statements."""

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> End:
        """Run statements in order, until one does not fall through."""
        for place, statement in enumerate(statements):
            rest = statements[place + 1 :]
            if isinstance(statement, ast.If):
                end = self.run_if(statement, rest, frame)
                if end is not None:
                    return end
                continue
            end = self.run_one(statement, frame)
            if end == FALLS:
                continue
            if isinstance(end, int):
                return end
            return self.proceed_if(end, FALLS, rest, frame)
        return FALLS

    def proceed_if(self, end: Mixed, kind: int, rest: Sequence[ast.stmt], frame: Frame) -> End:
        """Run `rest` if `end` is `kind`; otherwise the end is unchanged."""
        if kind not in end.kinds:
            return end
        others = end.kinds - {kind}
        seen: list[frozenset[int]] = []

        def proceed() -> Any:
            found = self.run(rest, frame)
            seen.append(kinds_of(found))
            return tag_of(found)

        def stay() -> Any:
            return next(iter(others)) if len(others) == 1 else end.tag

        if not rest:
            return end
        tag = self.branches(convert(end.tag == kind, bool), (stay, proceed))
        return as_end(tag, others.union(*seen))

    def run_one(self, node: ast.stmt, frame: Frame) -> End:
        method = getattr(self, f"run_{type(node).__name__}", None)
        if method is None:
            raise unsupported(self, node, frame)
        try:
            end = method(node, frame)
        except Exception as error:
            note_line(error, node, frame)
            raise
        return FALLS if end is None else end

    # ---- branches ---------------------------------------------------------------------------

    def run_if(self, node: ast.If, rest: Sequence[ast.stmt], frame: Frame) -> End | None:
        """Run an if statement; returns None if the caller continues, or an end if `rest` ran."""
        test = self.test(node.test, frame)
        if isinstance(test, bool):
            end = self.run(node.body if test else node.orelse, frame)
            if end == FALLS:
                return None
            return end if isinstance(end, int) else self.proceed_if(end, FALLS, rest, frame)
        self.at(node.test, frame)
        return self.fork(test, node.body, node.orelse, rest, frame)

    def fork(
        self,
        test: SymbolicNumber,
        body: Sequence[ast.stmt],
        orelse: Sequence[ast.stmt],
        rest: Sequence[ast.stmt],
        frame: Frame,
    ) -> End | None:
        """A run-time branch.

        If one side never falls through, `rest` is traced into the graph of the other side, which
        avoids a second branch.
        """
        with_rest = _leaves_early(body) or _leaves_early(orelse)
        kinds: dict[str, frozenset[int]] = {}

        def side(name: str, statements: Sequence[ast.stmt], may_proceed: bool) -> Any:
            end = self.run(statements, frame)
            if may_proceed and kinds_of(end) == {FALLS} and rest:
                end = self.run(rest, frame)
            kinds[name] = kinds_of(end)
            return tag_of(end)

        tag = self.branches(
            test,
            (
                lambda: side("no", orelse, with_rest and _always_leaves(body)),
                lambda: side("yes", body, with_rest and _always_leaves(orelse)),
            ),
        )
        end = as_end(tag, frozenset().union(*kinds.values()))
        followed = with_rest and (_always_leaves(body) or _always_leaves(orelse))
        if end == FALLS:
            return FALLS if followed and rest else None
        if isinstance(end, int):
            return end
        return end if followed and rest else self.proceed_if(end, FALLS, rest, frame)

    def run_Match(self, node: ast.Match, frame: Frame) -> End:
        return self._run_cases(node.cases, self.eval(node.subject, frame), frame)

    def _run_cases(self, cases: Sequence[ast.match_case], subject: Any, frame: Frame) -> End:
        """Run the first matching case; a runtime condition branches between it and later cases."""
        for place, case in enumerate(cases):
            self.conditions = []
            bound = self.matches(case.pattern, subject, frame)
            test: Any = True
            for condition in self.conditions:
                test = condition if test is True else both(test, condition)
            if bound is None:
                continue
            if test is True and case.guard is None:
                return self._run_case(case, bound, frame)
            if test is True:
                self._bind(bound, frame)
                test = self.test(case.guard, frame)  # type: ignore[arg-type]
                if test is True:
                    return self.run(case.body, frame)
                if test is False:
                    continue
            elif case.guard is not None:
                raise GraphBreak(
                    test._data, "a guard follows a pattern that depends on the value of a tensor"
                )
            return self._fork_case(test, case, bound, cases[place + 1 :], subject, frame)
        return FALLS

    def _fork_case(
        self,
        test: SymbolicNumber,
        case: ast.match_case,
        bound: Any,
        rest: Any,
        subject: Any,
        frame: Frame,
    ) -> End:
        kinds: set[int] = set()

        def this() -> Any:
            end = self._run_case(case, bound, frame)
            kinds.update(kinds_of(end))
            return tag_of(end)

        def others() -> Any:
            end = self._run_cases(rest, subject, frame)
            kinds.update(kinds_of(end))
            return tag_of(end)

        return as_end(self.branches(test, (others, this)), frozenset(kinds))

    def _run_case(self, case: ast.match_case, bound: dict[str, Any], frame: Frame) -> End:
        self._bind(bound, frame)
        return self.run(case.body, frame)

    def _bind(self, bound: dict[str, Any], frame: Frame) -> None:
        for name, value in bound.items():
            self.assign_name(name, value, frame)

    # ---- ends -------------------------------------------------------------------------------

    def run_Pass(self, node: ast.Pass, frame: Frame) -> None:
        return None

    def run_Break(self, node: ast.Break, frame: Frame) -> int:
        return BREAKS

    def run_Continue(self, node: ast.Continue, frame: Frame) -> int:
        return CONTINUES

    def run_Return(self, node: ast.Return, frame: Frame) -> int:
        value = None if node.value is None else self.eval(node.value, frame)
        self.tracer.store.write(VariableLocation(frame.variables, RESULT), value)
        self.at(node, frame)
        return RETURNS

    def run_Expr(self, node: ast.Expr, frame: Frame) -> None:
        self.eval(node.value, frame)

    def run_Assert(self, node: ast.Assert, frame: Frame) -> None:
        test = self.test(node.test, frame)
        if isinstance(test, SymbolicNumber):
            self.at(node, frame)
            raise GraphBreak(test._data, "an assert depends on the value of a tensor")
        if not test:
            message = () if node.msg is None else (self.eval(node.msg, frame),)
            self.at(node, frame)
            self.raise_in_program(AssertionError(*message))

    def run_Raise(self, node: ast.Raise, frame: Frame) -> None:
        found = None if node.exc is None else self.eval(node.exc, frame)
        self.at(node, frame)
        if found is None:
            error = frame.variables.get("<error>")
            raise (
                error
                if isinstance(error, BaseException)
                else RuntimeError("No active exception to reraise")
            )
        error = found if isinstance(found, BaseException) else found()
        if node.cause is not None:
            error.__cause__ = self.eval(node.cause, frame)
        self.raise_in_program(error)

    # ---- assignments ------------------------------------------------------------------------

    def run_Assign(self, node: ast.Assign, frame: Frame) -> None:
        value = self.eval(node.value, frame)
        for target in node.targets:
            self.assign(target, value, frame)

    def run_AnnAssign(self, node: ast.AnnAssign, frame: Frame) -> None:
        if node.value is not None:
            self.assign(node.target, self.eval(node.value, frame), frame)

    def run_AugAssign(self, node: ast.AugAssign, frame: Frame) -> None:
        target, name = node.target, type(node.op).__name__
        if isinstance(target, ast.Name):
            held = self.eval_Name(target, frame)
            write = partial(self.assign_name, target.id, frame=frame)
        elif isinstance(target, ast.Attribute):
            owner = self.eval(target.value, frame)
            held = self.attribute_at(owner, target, frame)
            write = partial(self.set_attribute, owner, target.attr)
        else:
            owner, index = self.eval(target.value, frame), self.eval(target.slice, frame)
            held = self.item_at(owner, index, target, frame)
            write = partial(self.set_item, owner, index)
        value = self.eval(node.value, frame)
        self.at(node, frame)
        found = self.updated(name, held, value)
        if found is not held or not isinstance(held, CONTAINERS):
            self.at(target, frame)
            write(value=found)

    def assign(self, target: ast.expr, value: Any, frame: Frame) -> None:
        if isinstance(target, ast.Name):
            self.at(target, frame)
            self.assign_name(target.id, value, frame)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._assign_parts(target.elts, value, frame)
        elif isinstance(target, ast.Subscript):
            owner, index = self.eval(target.value, frame), self.eval(target.slice, frame)
            self.at(target, frame)
            self.set_item(owner, index, value)
        elif isinstance(target, ast.Attribute):
            owner = self.eval(target.value, frame)
            self.at(target, frame)
            self.set_attribute(owner, target.attr, value)
        else:
            raise unsupported(self, target, frame)

    def _assign_parts(self, targets: list[ast.expr], value: Any, frame: Frame) -> None:
        parts = elements(value)
        starred = [i for i, t in enumerate(targets) if isinstance(t, ast.Starred)]
        if starred:
            first, after = starred[0], len(targets) - starred[0] - 1
            middle = self.tracer.store.adopt(parts[first : len(parts) - after])
            parts = [*parts[:first], middle, *parts[len(parts) - after :]]
        if len(parts) != len(targets):
            raise located(
                ValueError,
                f"cannot unpack {len(parts)} values into {len(targets)} names",
                span=self.tracer.span,
            )
        for target, part in zip(targets, parts, strict=True):
            self.assign(target.value if isinstance(target, ast.Starred) else target, part, frame)

    def run_Delete(self, node: ast.Delete, frame: Frame) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.assign_name(target.id, MISSING, frame)
            elif isinstance(target, ast.Subscript):
                owner, index = self.eval(target.value, frame), self.eval(target.slice, frame)
                self.at(target, frame)
                self.delete_item(owner, index)
            elif isinstance(target, ast.Attribute):
                owner = self.eval(target.value, frame)
                self.at(target, frame)
                self.delete_attribute(owner, target.attr)
            else:
                raise unsupported(self, node, frame)

    def run_Global(self, node: ast.Global, frame: Frame) -> None:
        return None

    def run_Nonlocal(self, node: ast.Nonlocal, frame: Frame) -> None:
        return None

    # ---- definitions and imports ------------------------------------------------------------

    def run_FunctionDef(self, node: ast.FunctionDef, frame: Frame) -> None:
        made: Any = self.make_function(node, frame)
        for decorator in reversed(node.decorator_list):
            made = self.call(self.eval(decorator, frame), (made,), {})
        self.assign_name(node.name, made, frame)

    def make_function(self, node: Any, frame: Frame) -> UserFunction:
        home: Frame | None = frame
        while home is not None and home.definition is None:
            home = home.outer
        assert home is not None and home.definition is not None
        return UserFunction(
            home.definition.nested(node),
            frame,
            tuple(self.eval(d, frame) for d in node.args.defaults),
            {
                a.arg: self.eval(d, frame)
                for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
                if d is not None
            },
        )

    def run_Import(self, node: ast.Import, frame: Frame) -> None:
        for alias in node.names:
            module = importlib.import_module(alias.name)
            top = importlib.import_module(alias.name.split(".")[0])
            value = module if alias.asname else top
            self.assign_name(alias.asname or alias.name.split(".")[0], value, frame)

    def run_ImportFrom(self, node: ast.ImportFrom, frame: Frame) -> None:
        package = frame.module.get("__package__") if node.level else None
        module = importlib.import_module("." * node.level + (node.module or ""), package)
        for alias in node.names:
            value = getattr(module, alias.name, MISSING)
            if value is MISSING:
                value = importlib.import_module(f"{module.__name__}.{alias.name}")
            self.assign_name(alias.asname or alias.name, value, frame)


def _leaves_early(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and _always_leaves(statements)


def _always_leaves(statements: Sequence[ast.stmt]) -> bool:
    """Whether these statements always end in return, break, continue, or raise."""
    for statement in statements:
        if isinstance(statement, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return True
        if isinstance(statement, ast.If):
            sides = (statement.body, statement.orelse)
            if all(_always_leaves(side) for side in sides):
                return True
    return False
