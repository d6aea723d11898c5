"""Loop operators: ForiLoop, WhileLoop, Scan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.ir.handlers import call_user_function
from mycelia._engine.ir.primitive import Primitive
from mycelia.ops.shapes.concat import stack


class ForiLoop(Primitive):
    """For loop: `value = loop_func(i, value)` for every i from `lower` to `upper` (excluded)."""

    def __call__(
        self,
        lower: int,
        upper: int,
        loop_func: Callable[[Any, Any], Any],
        init_val: Any,
        unroll: bool = True,
    ) -> Any:
        check_int(self.name, "lower", lower)
        check_int(self.name, "upper", upper)
        _check_function(self.name, "loop_func", loop_func)
        value = init_val
        for number in range(lower, upper):
            value = call_user_function(loop_func, number, value)
        return value


class WhileLoop(Primitive):
    """While loop: `value = loop_func(value)` as long as `cond_func(value)` holds."""

    def __call__(
        self, cond_func: Callable[[Any], Any], loop_func: Callable[[Any], Any], init_val: Any
    ) -> Any:
        _check_function(self.name, "cond_func", cond_func)
        _check_function(self.name, "loop_func", loop_func)
        value = init_val
        while bool(call_user_function(cond_func, value)):
            value = call_user_function(loop_func, value)
        return value


class Scan(Primitive):
    """Scan: `loop_func(state, row)` for every row of `xs`.

    Returns the last state and all results.
    """

    def __call__(
        self,
        loop_func: Callable[[Any, Any], Any],
        init: Any,
        xs: Any,
        length: int | None = None,
        unroll: bool = True,
    ) -> Any:
        _check_function(self.name, "loop_func", loop_func)
        count = length if xs is None else len(xs)
        if count is None or (length is not None and length != count):
            raise problem(
                ValueError,
                "Scan: length does not match xs",
                got=f"length={length} for {'no xs' if xs is None else f'{count} rows'}",
            )
        state, results = init, []
        for place in range(count):
            state, result = call_user_function(loop_func, state, None if xs is None else xs[place])
            results.append(result)
        return state, _together(results)


def _together(results: list[Any]) -> Any:
    """Stacked results: tensors, tuples of tensors element by element, others as a list."""
    if results and hasattr(results[0], "dtype"):
        return stack(tuple(results), 0)
    if results and isinstance(results[0], tuple):
        return tuple(_together([r[i] for r in results]) for i in range(len(results[0])))
    return results


def _check_function(owner: str, argument: str, value: Any) -> None:
    if not callable(value):
        raise wrong_type(owner, argument, value, "function")
