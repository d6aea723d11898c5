"""Minimization of functions of several variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mycelia._engine.core.errors import problem, wrong_type
from mycelia.scipy.optimize.quasi_newton import OptimizeResults, minimize_bfgs, minimize_lbfgs
from mycelia.tensor.tensor import Tensor

_METHODS: dict[str, Callable[..., OptimizeResults]] = {
    "bfgs": minimize_bfgs,
    "lbfgs": minimize_lbfgs,
}


def minimize(
    func: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    jac: Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    tol: float | None = None,
    callback: Any = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """Minimize `func(x, *args)`, starting at `x0`, with the `method` "BFGS" or "LBFGS".

    `tol` is the norm of the gradient at which to stop, unless the options contain `gtol`. Options
    are `maxiter`, `norm`, `gtol`, `line_search_maxiter`, and, for LBFGS, `history_size`.
    """
    if method is None:
        raise problem(ValueError, "minimize: method is missing", fix='method="BFGS"')
    if not isinstance(method, str) or method.lower() not in _METHODS:
        raise problem(
            ValueError, f"minimize: unknown method {method!r}", expected='"BFGS" or "LBFGS"'
        )
    if not isinstance(x0, Tensor):
        raise wrong_type("minimize", "x0", x0, "Tensor")
    if x0.ndim != 1 or not x0.dtype.is_float:
        raise problem(
            ValueError,
            "minimize: x0 must be a vector of floats",
            got=f"{x0.dtype} of shape {x0.shape}",
        )
    if not isinstance(args, tuple):
        raise wrong_type("minimize", "args", args, "tuple")
    _check_unused(
        hess=hess, hessp=hessp, bounds=bounds, constraints=constraints or None, callback=callback
    )
    chosen = dict(options or {})
    if tol is not None:
        chosen.setdefault("gtol", tol)
    gradient = None if jac is None else lambda x: jac(x, *args)
    return _METHODS[method.lower()](lambda x: func(x, *args), x0, gradient, **chosen)


def _check_unused(**given: Any) -> None:
    """Raise an error for SciPy arguments that are not supported."""
    for name, value in given.items():
        if value is not None:
            raise problem(ValueError, f"minimize: {name} is not supported by BFGS and LBFGS")
