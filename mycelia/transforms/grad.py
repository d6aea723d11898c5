"""Gradients of functions and cells: grad, value_and_grad, GradOperation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import update_wrapper
from typing import Any

from mycelia import log
from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.tracebacks import shorten
from mycelia._engine.parallel.pipeline.step_tracing import is_pipelined, trace_gradients
from mycelia._engine.runtime.eager.differentiate import ones_like
from mycelia.tensor.nested import tensors_of
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.jit import CompiledFunction, in_graph_mode
from mycelia.transforms.pullback import AnyPullback, record_call


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """Transform `fn` into a function that returns `(fn(...), gradients)`.

    `grad_position` selects positional inputs (an int, a tuple, or None) and `weights` selects
    parameters. With `has_aux`, only the first output is differentiated; otherwise the gradient is
    that of the sum of all outputs. Integer tensors have integer gradients as long as only integers
    are involved. Python numbers have no gradient; a parameter with `requires_grad=False` has the
    gradient 0.
    """
    positions = _check_positions(grad_position, weights)
    check_bool("grad", "has_aux", has_aux)
    check_bool("grad", "return_ids", return_ids)
    chosen = _as_weights(weights)

    @_compiled_in_graph_mode(fn)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        if grad_position == ():
            raise problem(RuntimeError, "grad_position should not be empty when grad by position!")
        inputs, sens, kwargs = _with_sens(args, kwargs) if sens_param else (args, None, kwargs)
        if is_pipelined(fn) and not positions and not has_aux:
            value, by_weight = trace_gradients(fn, chosen, inputs, kwargs, sens)
            return value, _arrange(grad_position, weights, (), by_weight, return_ids, chosen)
        pullback = record_call(fn, inputs, kwargs, positions, chosen)
        try:
            by_input, by_weight = pullback.pull(_seeds(pullback, has_aux, sens))
        finally:
            pullback.close()
        gradients = _arrange(grad_position, weights, by_input, by_weight, return_ids, chosen)
        return pullback.value, gradients

    return run


def grad(
    fn: Callable[..., Any],
    grad_position: Any = 0,
    weights: Any = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """Transform `fn` into a function that returns its gradients.

    With `has_aux`, it also returns the outputs of `fn` after the first.
    """
    both = value_and_grad(fn, grad_position, weights, has_aux, return_ids, sens_param)

    @_compiled_in_graph_mode(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        value, gradients = both(*args, **kwargs)
        return (gradients, tuple(value[1:])) if has_aux else gradients

    return run


def get_grad(gradients: Any, identifier: Any) -> Tensor:
    """Select the gradient of one input (by position) or parameter from `return_ids=True`."""
    wanted = getattr(identifier, "name", identifier)
    for name, gradient in _pairs(gradients):
        if name == wanted:
            return gradient
    raise problem(RuntimeError, f"there is no gradient for {wanted!r}", got=repr(gradients))


class GradOperation(CheckedKeywords):
    """The gradient transform as an object; the older interface to `grad`.

    `get_all` returns the gradients of all inputs, and `get_by_list` those of parameters. With
    `sens_param`, the last argument of a call is the gradient of the output.
    """

    def __init__(
        self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False
    ) -> None:
        self.get_all = check_bool("GradOperation", "get_all", get_all)
        self.get_by_list = check_bool("GradOperation", "get_by_list", get_by_list)
        self.sens_param = check_bool("GradOperation", "sens_param", sens_param)

    def __call__(
        self, fn: Callable[..., Any], weights: Any = None, grad_position: Any = 0
    ) -> Callable[..., Any]:
        if not callable(fn):
            raise wrong_type("GradOperation", "fn", fn, "a function or a Cell")
        chosen = self._weights(fn, weights)
        single = self.get_by_list and isinstance(weights, Tensor)

        @_compiled_in_graph_mode(fn)
        def run(*args: Any, **kwargs: Any) -> Any:
            split = _with_sens(args, kwargs) if self.sens_param else (args, None, kwargs)
            inputs, sens, kwargs = split
            positions = self._positions(len(inputs), grad_position)
            pullback = record_call(fn, inputs, kwargs, positions, chosen)
            try:
                by_input, by_weight = pullback.pull(_seeds(pullback, False, sens))
            finally:
                pullback.close()
            return self._arrange(by_input, by_weight[0] if single else by_weight)

        return run

    def _weights(self, fn: Any, weights: Any) -> tuple[Tensor, ...]:
        if not self.get_by_list:
            return ()
        if weights is None and hasattr(fn, "trainable_params"):
            weights = fn.trainable_params()
        return _as_weights(weights)

    def _positions(self, count: int, grad_position: Any) -> tuple[int, ...]:
        if self.get_all:
            return tuple(range(count))
        if self.get_by_list or not count:
            return ()
        return grad_position if isinstance(grad_position, tuple) else (grad_position,)

    def _arrange(self, by_input: tuple[Any, ...], by_weight: Any) -> Any:
        if self.get_by_list:
            return (by_input, by_weight) if self.get_all else by_weight
        kept = [g for g in by_input if not _is_constant(g)]
        _warn_of_constants("GradOperation", by_input, [] if kept else by_input)
        return kept[0] if len(kept) == 1 and not self.get_all else tuple(kept)


def _check_positions(grad_position: Any, weights: Any) -> tuple[int, ...]:
    if grad_position is None:
        if weights is None:
            raise problem(
                ValueError, "`grad_position` and `weight` can not be None at the same time."
            )
        return ()
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for position in positions:
        if not isinstance(position, int) or isinstance(position, bool):
            raise wrong_type("grad", "grad_position", position, "int or tuple of ints")
        if position < 0:
            raise problem(ValueError, "grad_position must be >= 0", got=str(position))
    if len(set(positions)) < len(positions):
        raise problem(
            ValueError,
            "There are duplicate positions in `grad_position`, please check it",
            got=str(grad_position),
        )
    return positions


def _with_sens(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], Any, dict[str, Any]]:
    """Split off the gradient of the output: the last argument or the keyword `sens`."""
    if "sens" in kwargs:
        return args, kwargs["sens"], {k: v for k, v in kwargs.items() if k != "sens"}
    if not args:
        raise problem(TypeError, "sens_param=True: the gradient of the output is missing")
    return args[:-1], args[-1], kwargs


def _as_weights(weights: Any) -> tuple[Tensor, ...]:
    if weights is None:
        return ()
    if hasattr(weights, "trainable_params") or not isinstance(weights, Iterable):
        raise problem(
            TypeError,
            "grad: the weights must be Parameters",
            got=f"a {type(weights).__name__}",
            expected="a Parameter, or a list or tuple of Parameters",
            fix="pass net.trainable_params()",
        )
    listed: Sequence[Any] = (weights,) if isinstance(weights, Tensor) else tuple(weights)
    for weight in listed:
        if not isinstance(weight, Tensor):
            raise wrong_type("grad", "weights", weight, "Parameter or a list of Parameters")
    return tuple(listed)


def _seeds(pullback: AnyPullback, has_aux: bool, sens: Any) -> list[tuple[Tensor, Tensor]]:
    value = pullback.value
    if has_aux:
        if not isinstance(value, (tuple, list)) or len(value) < 2:
            raise problem(
                ValueError,
                "When 'has_aux' is True, the function must return several outputs.",
                got=f"a {type(value).__name__}",
            )
        value = value[0]
    outputs = tensors_of(value)
    if sens is None:
        return [(out, ones_like(out)) for out in outputs]
    seeds = tensors_of(sens)
    if len(seeds) != len(outputs):
        raise problem(
            ValueError,
            "the output gradients do not match the outputs",
            got=f"{len(seeds)} tensors for {len(outputs)} outputs",
        )
    for out, seed in zip(outputs, seeds, strict=True):
        check_seed("grad", out, seed)
    return list(zip(outputs, seeds, strict=True))


def check_seed(owner: str, output: Tensor, seed: Tensor) -> None:
    """Check that an output gradient has the shape and dtype of its output."""
    if output.shape != seed.shape:
        kind: type[Exception] = ValueError
    elif output.dtype is not seed.dtype:
        kind = TypeError
    else:
        return
    raise problem(
        kind,
        f"{owner}: the gradient of an output does not match the output",
        got=f"{seed.dtype}{list(seed.shape)} for an output {output.dtype}{list(output.shape)}",
        expected="the same shape and dtype",
    )


def _arrange(
    grad_position: Any,
    weights: Any,
    by_input: tuple[Any, ...],
    by_weight: tuple[Any, ...],
    return_ids: bool,
    chosen: tuple[Tensor, ...],
) -> Any:
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    _warn_of_constants("grad", positions, by_input)
    kept = [i for i, gradient in enumerate(by_input) if not _is_constant(gradient)]
    by_input = tuple([by_input[i] for i in kept])
    if return_ids:
        by_input = tuple([(positions[i], g) for i, g in zip(kept, by_input, strict=True)])
        names = [getattr(w, "name", None) for w in chosen]
        by_weight = tuple(zip(names, by_weight, strict=True))
    first: Any = by_input[0] if len(by_input) == 1 else by_input
    second: Any = by_weight[0] if isinstance(weights, Tensor) else by_weight
    if grad_position is None:
        return second
    return first if weights is None else (first, second)


def _is_constant(gradient: Any) -> bool:
    """Whether this is the placeholder for an argument that holds no tensor."""
    return isinstance(gradient, tuple) and not gradient


def _warn_of_constants(owner: str, positions: Sequence[Any], by_input: Sequence[Any]) -> None:
    """Warn about arguments without a gradient, which would otherwise go unnoticed."""
    for number, gradient in enumerate(by_input):
        if _is_constant(gradient):
            which = positions[number] if owner == "grad" else number
            log.warning(
                "%s: argument %s has no gradient: it is a constant, not a Tensor. "
                "Pass Tensor(value) to differentiate with respect to it.",
                owner,
                which,
            )


def _pairs(gradients: Any) -> list[tuple[Any, Tensor]]:
    if isinstance(gradients, tuple):
        if len(gradients) == 2 and isinstance(gradients[1], Tensor):
            return [gradients]
        return [pair for part in gradients for pair in _pairs(part)]
    return []


def _compiled_in_graph_mode(fn: Callable[..., Any]) -> Callable[[Any], Any]:
    """Name a gradient function after `fn` and compile it when it is called in graph mode."""

    if not callable(fn):
        raise problem(TypeError, "grad: fn must be a function or a Cell", got=repr(fn))

    def decorate(gradient: Any) -> Any:
        compiled = CompiledFunction(gradient, f"grad_{getattr(fn, '__name__', type(fn).__name__)}")

        def run(*args: Any, **kwargs: Any) -> Any:
            try:
                return (compiled if in_graph_mode() else gradient)(*args, **kwargs)
            except Exception as error:
                shorten(error)
                raise

        return update_wrapper(run, fn, updated=()) if hasattr(fn, "__name__") else run

    return decorate
