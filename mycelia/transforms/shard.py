"""`shard`: sharding of the inputs, outputs, and parameters of a function or cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import update_wrapper
from typing import Any

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.warn_once import warn_once
from mycelia._engine.distributed.layout import Layout, checked_strategy, flat_strategies
from mycelia._engine.ir.handlers import call_user_function, handlers
from mycelia._engine.parallel.multi_device import is_multi_device
from mycelia._engine.runtime.eager.thread_mode import thread_mode
from mycelia.ops.collective.redistribute import LayOut
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import jit

_DEVICES = ("CPU", "GPU", "Ascend")
_LEVELS = (0, 1, 2)


def shard(
    fn: Callable[..., Any],
    in_strategy: tuple[Any, ...],
    out_strategy: tuple[Any, ...] | None = None,
    parameter_plan: dict[str, Any] | None = None,
    device: str = "Ascend",
    level: int = 0,
) -> Callable[..., Any]:
    """Shard the inputs (and outputs) of a function or cell over devices.

    Each input needs a strategy: a tuple such as (2, 1), a `Layout`, or None, which leaves the
    choice to the search, as for everything inside `fn`. `parameter_plan` maps names of the cell's
    parameters to strategies. The strategies take effect in the automatic and semi-automatic modes
    of `set_auto_parallel_context`; in other modes `fn` runs unchanged. `device` and `level` are
    accepted for compatibility.
    """
    if not callable(fn):
        raise wrong_type("shard", "fn", fn, "a function or a Cell")
    _check_strategies("in_strategy", in_strategy)
    if out_strategy is not None:
        _check_strategies("out_strategy", out_strategy)
    if device not in _DEVICES:
        raise wrong_value("shard", "device", device, f"one of {', '.join(_DEVICES)}")
    if level not in _LEVELS:
        raise wrong_value("shard", "level", level, "0, 1 or 2")
    if parameter_plan is not None:
        _lay_out_parameters(fn, parameter_plan)
    name = getattr(fn, "__name__", type(fn).__name__)

    def laid_out(*args: Any, **kwargs: Any) -> Any:
        _check_count(name, "in_strategy", in_strategy, args, "arguments")
        given = [_each(a, s, "in_strategy") for a, s in zip(args, in_strategy, strict=True)]
        found = call_user_function(fn, *given, **kwargs)
        if out_strategy is None:
            return found
        results = found if isinstance(found, (tuple, list)) else (found,)
        _check_count(name, "out_strategy", out_strategy, results, "results")
        pairs = zip(results, out_strategy, strict=True)
        changed = [_each(result, s, "out_strategy") for result, s in pairs]
        return type(found)(changed) if isinstance(found, (tuple, list)) else changed[0]

    laid_out.__name__ = name
    compiled = jit(laid_out)

    def run(*args: Any, **kwargs: Any) -> Any:
        if handlers.call is not None:
            return laid_out(*args, **kwargs)
        if thread_mode.recording is None and (_compiles(fn) or is_multi_device()):
            return compiled(*args, **kwargs)
        return fn(*args, **kwargs)

    update_wrapper(run, fn, ("__name__", "__doc__"), ())
    run.compiled = compiled.compiled  # type: ignore[attr-defined]
    return run


def _compiles(fn: Any) -> bool:
    """Whether a call of `fn` is compiled without `jit`: a cell in graph mode."""
    return settings.current().mode == settings.GRAPH_MODE and hasattr(fn, "construct")


def _each(value: Any, strategy: Any, label: str) -> Any:
    """Apply layouts to the tensors of a value; a tuple of strategies belongs to a tuple."""
    if isinstance(value, (tuple, list)) and not isinstance(strategy, Layout):
        if strategy is None:
            return value
        _check_count("shard", label, strategy, value, "tensors in a tuple")
        pairs = zip(value, strategy, strict=True)
        return type(value)([_each(part, s, label) for part, s in pairs])
    if strategy is None or not isinstance(value, Tensor):
        return value
    return LayOut.of(strategy, f"shard, {label}")(value)


def _check_strategies(label: str, value: Any) -> None:
    if not isinstance(value, tuple):
        raise wrong_type("shard", label, value, "tuple")
    for strategy in flat_strategies(value):
        if strategy is not None:
            checked_strategy("shard", label, strategy)


def _check_count(
    name: str, label: str, strategies: Sequence[Any], values: Sequence[Any], what: str
) -> None:
    if len(strategies) != len(values):
        raise problem(
            ValueError,
            f"shard of {name}: the number of strategies does not match the {what}",
            got=f"{len(strategies)} strategies in {label}, {len(values)} {what}",
            fix="pass None for those that the search may place",
        )


def _lay_out_parameters(fn: Any, plan: Any) -> None:
    if not isinstance(plan, dict):
        raise wrong_type("shard", "parameter_plan", plan, "dict")
    if not hasattr(fn, "parameters_and_names"):
        raise problem(
            ValueError,
            "shard: parameter_plan needs a cell, because a function has no parameters",
            got=f"parameter_plan for {fn!r}",
            fix="shard the cell that owns the parameters, or set `parameter.layout`",
        )
    own = dict(fn.parameters_and_names())
    for name, strategy in plan.items():
        if not isinstance(name, str):
            raise wrong_type("shard", "parameter_plan", name, "a dict with names of parameters")
        strategy = checked_strategy("shard", "parameter_plan", strategy)
        found = _parameter(own, name)
        if found is None:
            warn_once(
                f"shard: parameter_plan names {name!r}, which {type(fn).__name__} does not have; "
                f"it has {', '.join(own)}"
            )
        else:
            found.layout = strategy


def _parameter(own: Mapping[str, Parameter], name: str) -> Parameter | None:
    """Find a parameter by its name, by its path in the cell, or by a longer path from outside."""
    wanted = name.removeprefix("self.")
    for path, parameter in own.items():
        if any(wanted == n or wanted.endswith(f".{n}") for n in (parameter.name, path)):
            return parameter
    return None
