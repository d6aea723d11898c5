"""Questions to distributions and bijectors, asked of the real MindSpore and of this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Case = Callable[[Any, Any, Any], Any]

ABOVE = [0.3, 0.8, 1.5, 2.5]
ANYWHERE = [-1.5, 0.3, 0.8, 2.5]
COUNTS = [0.0, 1.0, 2.0, 5.0]
# name: parameters, values to ask about, parameters of another one
FAMILIES: dict[str, Any] = {
    "Normal": (([0.5, -1.0, 0.0, 2.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, ([0.1], [1.5])),
    "LogNormal": (([0.5, -1.0, 0.0, 1.0], [1.0, 0.5, 0.7, 0.3]), ABOVE, ([0.1], [1.5])),
    "Cauchy": (([0.5, -1.0, 0.0, 2.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, ([0.1], [1.5])),
    "Logistic": (([0.5, -1.0, 0.0, 2.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, None),
    "Gumbel": (([0.5, -1.0, 0.0, 2.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, ([0.1], [1.5])),
    "Exponential": (([0.5, 1.0, 2.0, 3.0],), [-1.0, 0.0, 0.8, 2.5], ([0.7],)),
    "Uniform": (([0.0, -1.0, 1.0, 0.5], [2.0, 0.5, 2.0, 3.0]), ANYWHERE, ([-2.0], [4.0])),
    "Gamma": (([0.5, 1.0, 2.0, 3.0], [1.0, 0.5, 2.0, 3.0]), ABOVE, ([1.2], [0.7])),
    "Beta": (([0.5, 1.0, 2.0, 3.0], [1.0, 0.5, 2.0, 3.0]), [0.1, 0.3, 0.5, 0.9], ([1.2], [0.7])),
    "Poisson": (([0.5, 1.0, 2.0, 3.5],), COUNTS, None),
    "Bernoulli": (([0.1, 0.3, 0.6, 0.9],), [0.0, 1.0, 1.0, 0.0], ([0.4],)),
    "Geometric": (([0.1, 0.3, 0.6, 0.9],), [-1.0, 0.0, 1.5, 4.0], ([0.4],)),
    "HalfNormal": (([0.0, 0.0, 0.0, 0.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, None),
    "Laplace": (([0.5, -1.0, 0.0, 2.0], [1.0, 0.5, 2.0, 3.0]), ANYWHERE, None),
    "StudentT": (
        ([3.0, 1.0, 2.0, 9.0], [0.0, 1.0, -1.0, 0.5], [1.0, 2.0, 0.5, 3.0]),
        ANYWHERE,
        None,
    ),
    "Categorical": (([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],), [0, 2], ([[0.3, 0.3, 0.4]],)),
}
OF_VALUES = ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival")
OF_NONE = ("mean", "mode", "sd", "var", "entropy")
OF_OTHERS = ("kl_loss", "cross_entropy")
BIJECTORS: dict[str, Any] = {
    "Exp": {},
    "PowerTransform": {"power": [0.0, 0.5, 2.0]},
    "ScalarAffine": {"scale": [1.0, -2.0, 0.5], "shift": [0.5]},
    "Softplus": {"sharpness": [0.5, 1.0, 3.0]},
    "GumbelCDF": {"loc": [0.2], "scale": [0.5, 1.0, 2.0]},
}
MAPS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")


def cases() -> dict[str, Case]:
    """Functions of (mindspore, its distributions, its bijectors) by name."""
    found: dict[str, Case] = {}
    for name, (parameters, values, other) in FAMILIES.items():
        for what in OF_VALUES:
            found[f"{name}.{what}"] = _asked(name, parameters, what, values)
        for what in OF_NONE:
            found[f"{name}.{what}"] = _asked(name, parameters, what)
        for what in OF_OTHERS if other else ():
            found[f"{name}.{what}"] = _compared(name, parameters, what, other)
    for name, options in BIJECTORS.items():
        for what in MAPS:
            found[f"{name}.{what}"] = _mapped(name, options, what, inverted=False)
            found[f"Invert.{name}.{what}"] = _mapped(name, options, what, inverted=True)
    return found | _transformed() | _later()


def _tensor(ms: Any, value: Any) -> Any:
    return ms.Tensor(np.asarray(value, np.float32))


def _asked(name: str, parameters: Any, what: str, *values: Any) -> Case:
    def ask(ms: Any, msd: Any, msb: Any) -> Any:
        made = getattr(msd, name)(*parameters)
        return getattr(made, what)(*[_tensor(ms, v) for v in values])

    return ask


def _compared(name: str, parameters: Any, what: str, other: Any) -> Case:
    def ask(ms: Any, msd: Any, msb: Any) -> Any:
        made = getattr(msd, name)(*parameters)
        return getattr(made, what)(name, *[_tensor(ms, p) for p in other])

    return ask


def _mapped(name: str, options: Any, what: str, *, inverted: bool) -> Case:
    def ask(ms: Any, msd: Any, msb: Any) -> Any:
        made = getattr(msb, name)(**options)
        return getattr(msb.Invert(made) if inverted else made, what)(_tensor(ms, [0.2, 0.5, 0.9]))

    return ask


def _transformed() -> dict[str, Case]:
    def asked(what: str, *values: Any) -> Case:
        def ask(ms: Any, msd: Any, msb: Any) -> Any:
            affine = msb.ScalarAffine([2.0, 0.5], [1.0, -1.0])
            made = msd.TransformedDistribution(affine, msd.Normal([0.5], [1.5]))
            return getattr(made, what)(*[_tensor(ms, v) for v in values])

        return ask

    found = {f"TransformedDistribution.{w}": asked(w, [0.3, 2.0]) for w in OF_VALUES}
    return found | {"TransformedDistribution.mean": asked("mean")}


def _later() -> dict[str, Case]:
    """Distributions made without parameters, which come with the question."""

    def asked(name: str) -> Case:
        parameters, values, _ = FAMILIES[name]

        def ask(ms: Any, msd: Any, msb: Any) -> Any:
            given = [_tensor(ms, p) for p in parameters]
            return getattr(msd, name)().log_prob(_tensor(ms, values), *given)

        return ask

    return {f"{name}.later": asked(name) for name in FAMILIES if name != "Gumbel"}
