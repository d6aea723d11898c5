"""Exceptions and with statements, which are resolved while tracing."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from mycelia._engine.compiler.frontend.interpreter.branches import (
    BranchInterpreter,
    UnreachablePath,
)
from mycelia._engine.compiler.frontend.interpreter.ends import (
    FALLS,
    End,
    Mixed,
    as_end,
    kinds_of,
    tag_of,
)
from mycelia._engine.compiler.frontend.interpreter.expressions import ExpressionInterpreter
from mycelia._engine.compiler.frontend.interpreter.formatted_strings import (
    SymbolicString,
    holds_symbolic,
)
from mycelia._engine.compiler.frontend.interpreter.iterables import refuse_generator
from mycelia._engine.compiler.frontend.interpreter.recursion import RecursionDetected
from mycelia._engine.compiler.frontend.interpreter.user_code import special_method
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame
from mycelia._engine.compiler.frontend.mutation_journal import VariableLocation
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, convert

_GIVES_UP = (GraphBreak, UnreachablePath, RecursionDetected)


class Contexts(ExpressionInterpreter, BranchInterpreter):
    """Runs try, raise, and with statements."""

    def raise_in_program(self, error: BaseException) -> None:
        """Raise an exception while tracing; a graph break if a runtime value decides about it."""
        if self.tracer.depth > self.caught_from:
            raise GraphBreak(None, f"whether {type(error).__name__} is raised depends on a tensor")
        if any(isinstance(a, SymbolicString) or holds_symbolic(a) for a in error.args):
            raise GraphBreak(None, "an error message contains runtime values")
        raise error

    def leave_by(self, error: Exception) -> NoReturn:
        """Propagate an exception out of a statement that did not handle it."""
        if self.tracer.depth > self.caught_from:
            why = f"whether {type(error).__name__} is raised depends on a tensor"
            raise GraphBreak(None, why) from error
        raise error

    caught_from = 0  # the depth of run-time branches at which exceptions may be raised

    def run_Try(self, node: ast.Try, frame: Frame) -> End:
        """A try statement; its exceptions are raised while tracing."""
        before = self.caught_from
        self.caught_from = self.tracer.depth
        try:
            end = self._run_handled(node, frame)
        except _GIVES_UP:
            with suppress(Exception):  # its result is dropped, but outside resources are released
                self.run(node.finalbody, frame)
            raise
        except Exception as error:
            self.caught_from = before
            final = self.run(node.finalbody, frame)
            if final == FALLS:
                self.leave_by(error)
            if isinstance(final, Mixed):
                why = "whether finally drops an exception depends on a tensor"
                raise GraphBreak(None, why) from None
            return final
        finally:
            self.caught_from = before
        return self._after_finally(end, self.run(node.finalbody, frame), frame)

    def _after_finally(self, end: End, final: End, frame: Frame) -> End:
        """The end of a try statement whose finally block ends with `final`."""
        if FALLS not in kinds_of(final):
            return final
        if not isinstance(final, Mixed):
            return end
        falls = convert(final.tag == FALLS, bool)
        tag = self.branches(falls, (lambda: final.tag, lambda: tag_of(end)))
        return as_end(tag, (final.kinds - {FALLS}) | kinds_of(end))

    def _run_handled(self, node: ast.Try, frame: Frame) -> End:
        try:
            end = self.run(node.body, frame)
        except (GraphBreak, UnreachablePath):
            raise
        except Exception as error:
            for handler in node.handlers:
                kinds = Exception if handler.type is None else self.eval(handler.type, frame)
                if isinstance(error, kinds):
                    return self._run_handler(handler, error, frame)
            raise
        if end == FALLS and node.orelse:
            return self.run(node.orelse, frame)
        if isinstance(end, Mixed) and node.orelse:
            return self.proceed_if(end, FALLS, node.orelse, frame)
        return end

    def _run_handler(self, handler: ast.ExceptHandler, error: Exception, frame: Frame) -> End:
        self.tracer.store.write(VariableLocation(frame.variables, "<error>"), error)
        if handler.name:
            self.assign_name(handler.name, error, frame)
        return self.run(handler.body, frame)

    def run_With(self, node: ast.With, frame: Frame) -> End:
        return self._run_managed(node.items, node, frame)

    def _run_managed(self, items: list[ast.withitem], node: ast.With, frame: Frame) -> End:
        """Run the body of a with statement inside its context managers."""
        if not items:
            return self.run(node.body, frame)
        manager = self.eval(items[0].context_expr, frame)
        self.at(items[0].context_expr, frame)
        refuse_generator(manager)
        value = self._call_special(manager, "__enter__")
        if items[0].optional_vars is not None:
            self.assign(items[0].optional_vars, value, frame)
        before = self.caught_from
        self.caught_from = self.tracer.depth
        try:
            end = self._run_managed(items[1:], node, frame)
        except BaseException as error:
            self.caught_from = before
            args = (type(error), error, error.__traceback__)
            if isinstance(error, _GIVES_UP) or not isinstance(error, Exception):
                with suppress(Exception):  # as for finally
                    self._call_special(manager, "__exit__", *args)
                raise
            drops = self.truth(self._call_special(manager, "__exit__", *args))
            if isinstance(drops, SymbolicNumber):
                why = "whether a with statement drops an exception depends on a tensor"
                raise GraphBreak(None, why) from None
            if not drops:
                self.leave_by(error)
            return FALLS
        finally:
            self.caught_from = before
        self._call_special(manager, "__exit__", None, None, None)
        return end

    def _call_special(self, manager: Any, name: str, *args: Any) -> Any:
        method = special_method(manager, name)
        if method is not None:
            return self.call(method, (manager, *args), {})
        return getattr(type(manager), name)(manager, *args)

    # ---- answered by other parts ------------------------------------------------------------

    def run(self, statements: Sequence[ast.stmt], frame: Frame) -> End:
        raise NotImplementedError

    def proceed_if(self, end: Mixed, kind: int, rest: Sequence[ast.stmt], frame: Frame) -> End:
        raise NotImplementedError
