"""Patterns of match statements, for values of known structure."""

from __future__ import annotations

import ast
from functools import reduce
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.base import InterpreterBase
from mycelia._engine.compiler.frontend.interpreter.user_function import Frame
from mycelia._engine.compiler.frontend.symbolic import GraphBreak, SymbolicNumber, either

Bindings = dict[str, Any] | None  # the names a pattern binds, or None where it does not match


class PatternInterpreter(InterpreterBase):
    """Matches patterns; runtime conditions are collected in `conditions`."""

    conditions: list[SymbolicNumber]

    def matches(self, pattern: ast.pattern, value: Any, frame: Frame) -> Bindings:
        method = getattr(self, f"match_{type(pattern).__name__}")
        found: Bindings = method(pattern, value, frame)
        return found

    def match_MatchValue(self, pattern: ast.MatchValue, value: Any, frame: Frame) -> Bindings:
        equal = self.truth(value == self.eval(pattern.value, frame))
        if isinstance(equal, bool):
            return {} if equal else None
        self.conditions.append(equal)
        return {}

    def match_MatchSingleton(self, pattern: ast.MatchSingleton, value: Any, frame: Any) -> Bindings:
        return {} if value is pattern.value else None

    def match_MatchAs(self, pattern: ast.MatchAs, value: Any, frame: Frame) -> Bindings:
        bound: Bindings = {}
        if pattern.pattern is not None:
            bound = self.matches(pattern.pattern, value, frame)
        if bound is not None and pattern.name is not None:
            bound[pattern.name] = value
        return bound

    def match_MatchOr(self, pattern: ast.MatchOr, value: Any, frame: Frame) -> Bindings:
        before, options = self.conditions, []
        for option in pattern.patterns:
            self.conditions = []
            bound = self.matches(option, value, frame)
            if bound is None:
                continue
            if not self.conditions:
                self.conditions = before
                return bound
            if bound or len(self.conditions) > 1:
                raise GraphBreak(
                    None, "alternatives of a pattern bind names depending on runtime values"
                )
            options.append(self.conditions[0])
        self.conditions = before
        if not options:
            return None
        self.conditions.append(reduce(either, options))
        return {}

    def match_MatchSequence(self, pattern: ast.MatchSequence, value: Any, frame: Any) -> Bindings:
        if not isinstance(value, (tuple, list)):
            return None
        patterns = pattern.patterns
        stars = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
        parts = list(value)
        if stars:
            after = len(patterns) - stars[0] - 1
            if len(parts) < len(patterns) - 1:
                return None
            middle = parts[stars[0] : len(parts) - after]
            parts = [*parts[: stars[0]], middle, *parts[len(parts) - after :]]
        if len(parts) != len(patterns):
            return None
        return self._all(zip(patterns, parts, strict=True), frame)

    def match_MatchStar(self, pattern: ast.MatchStar, value: Any, frame: Frame) -> Bindings:
        return {} if pattern.name is None else {pattern.name: self.tracer.store.adopt(value)}

    def match_MatchMapping(self, pattern: ast.MatchMapping, value: Any, frame: Frame) -> Bindings:
        if not isinstance(value, dict):
            return None
        keys = [self.eval(k, frame) for k in pattern.keys]
        if any(k not in value for k in keys):
            return None
        bound = self._all([(p, value[k]) for k, p in zip(keys, pattern.patterns)], frame)
        if bound is not None and pattern.rest is not None:
            rest = {k: v for k, v in value.items() if k not in keys}
            bound[pattern.rest] = self.tracer.store.adopt(rest)
        return bound

    def match_MatchClass(self, pattern: ast.MatchClass, value: Any, frame: Frame) -> Bindings:
        cls = self.eval(pattern.cls, frame)
        if not self.call(isinstance, (value, cls), {}):
            return None
        if cls in (int, float, str, bool, list, tuple, dict) and pattern.patterns:
            return self.matches(pattern.patterns[0], value, frame)
        names = [*getattr(cls, "__match_args__", ())[: len(pattern.patterns)], *pattern.kwd_attrs]
        patterns = [*pattern.patterns, *pattern.kwd_patterns]
        if any(not hasattr(value, name) for name in names):
            return None
        pairs = [(p, getattr(value, n)) for n, p in zip(names, patterns, strict=True)]
        return self._all(pairs, frame)

    def _all(self, pairs: Any, frame: Frame) -> Bindings:
        bound: dict[str, Any] = {}
        for pattern, value in pairs:
            found = self.matches(pattern, value, frame)
            if found is None:
                return None
            bound |= found
        return bound

    def eval(self, node: ast.expr, frame: Frame) -> Any:
        raise NotImplementedError
