"""Functions and frames of the interpreter: a definition plus its enclosing frame."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mycelia._engine.compiler.frontend.interpreter.source import FunctionDefinition
from mycelia._engine.compiler.frontend.mutation_journal import MutationJournal
from mycelia._engine.ir.handlers import handlers

_DEFAULT = "default of "


@dataclass(eq=False)
class Frame:
    """The variables of one call, and the enclosing frame of the function's definition."""

    variables: dict[str, Any]
    outer: Frame | None
    definition: FunctionDefinition | None
    module: dict[str, Any]
    first_argument: Any = None
    owner_class: type | None = None
    made_in: MutationJournal | None = None  # the branch or iteration that created it, if any

    def holder_of(self, name: str) -> dict[str, Any] | None:
        """The variables of the innermost frame that has `name`, or None for a global name."""
        frame: Frame | None = self
        while frame is not None:
            definition = frame.definition
            if definition is None:
                if name in frame.variables:
                    return frame.variables
            elif name in definition.module:
                return None
            elif name in definition.assigned:
                return frame.variables
            frame = frame.outer
        return None


@dataclass(eq=False)
class UserFunction:
    """A function defined in traced code; calling it from Python traces its body, too."""

    definition: FunctionDefinition
    frame: Frame
    defaults: tuple[Any, ...] = ()
    keyword_defaults: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def __name__(self) -> str:
        return self.definition.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        run = handlers.call
        if run is None:
            raise RuntimeError(f"{self.__name__} belongs to a compiled function that has ended")
        return run(self, args, kwargs)


@dataclass(eq=False)
class TracedCallback:
    """A user function passed to the framework: calling it returns to the interpreter."""

    fn: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        assert handlers.call is not None
        return handlers.call(self.fn, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.fn, name)


def lives_on(function: UserFunction) -> bool:
    """Whether the enclosing frames of a function outlive the branch or iteration just traced.

    Then its variables are joined with the frames, and the function need not capture them.
    """
    frame: Frame | None = function.frame
    while frame is not None:
        if frame.made_in is None or not frame.made_in.is_open:
            return frame.outer is None and frame.made_in is None
        frame = frame.outer
    return True


def capture(function: UserFunction) -> dict[str, Any]:
    """The captured values of a function: variables of enclosing frames, and its defaults."""
    held = {}
    for name in sorted(function.definition.free_names):
        holder = function.frame.holder_of(name)
        if holder is not None and name in holder:
            held[name] = holder[name]
    return held | defaults_of(function)


def defaults_of(function: UserFunction) -> dict[str, Any]:
    """The defaults, under names that no variable can have."""
    held = {_DEFAULT + str(i): value for i, value in enumerate(function.defaults)}
    return held | {_DEFAULT + name: value for name, value in function.keyword_defaults.items()}


def recapture(function: UserFunction, held: dict[str, Any]) -> UserFunction:
    """The same function with other captured values."""
    variables = {name: value for name, value in held.items() if not name.startswith(_DEFAULT)}
    frame = function.frame
    if variables:
        frame = Frame(variables, frame, None, frame.module, frame.first_argument, frame.owner_class)
    return UserFunction(
        function.definition,
        frame,
        tuple([held[_DEFAULT + str(i)] for i in range(len(function.defaults))]),
        {name: held[_DEFAULT + name] for name in function.keyword_defaults},
        function.attributes,
    )
