"""Weight distributions: priors, and learned posteriors."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_number
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.probability.distribution.normal import Normal
from mycelia.ops.activation.smooth import softplus
from mycelia.tensor.initializer import Normal as NormalInit
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter


class NormalPrior(Cell):
    """A fixed normal prior for all weights of a layer."""

    def __init__(self, dtype: DType = dtypes.float32, mean: Any = 0, std: Any = 0.1) -> None:
        super().__init__()
        self.normal = Normal(mean, std, dtype=dtype)

    def construct(self, *inputs: Any) -> Any:
        """Query the distribution: `prior("log_prob", value)`."""
        return self.normal(*inputs)


class NormalPosterior(Cell):
    """A normal distribution for each weight, its mean and deviation learned.

    The deviation is log(1 + exp(untransformed_std)), so that it stays positive.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: DType = dtypes.float32,
        loc_mean: float = 0,
        loc_std: float = 0.1,
        untransformed_scale_mean: float = -5,
        untransformed_scale_std: float = 0.1,
    ) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise _wrong("name", name, "a str")
        if not isinstance(shape, (tuple, list)):
            raise _wrong("shape", shape, "a tuple or a list")
        means = {"loc_mean": loc_mean, "untransformed_scale_mean": untransformed_scale_mean}
        spreads = {"loc_std": loc_std, "untransformed_scale_std": untransformed_scale_std}
        for argument, value in (means | spreads).items():
            if not is_number(value):
                raise _wrong(argument, value, "a number")
        for argument, value in spreads.items():
            if value <= 0:
                raise _wrong(argument, value, "a number above 0")
        self.mean = Parameter(
            initializer(NormalInit(loc_std, loc_mean), shape, dtype), name=name + "_mean"
        )
        spread = NormalInit(untransformed_scale_std, untransformed_scale_mean)
        self.untransformed_std = Parameter(
            initializer(spread, shape, dtype), name=name + "_untransformed_std"
        )
        self.normal = Normal()

    def construct(self, *inputs: Any) -> Any:
        """Query the distribution with the learned parameters: `posterior("sample")`."""
        what, *rest = inputs
        if what == "get_dist_type":
            return self.normal.get_dist_type()
        learned = self.mean, softplus(self.untransformed_std)
        if what == "sample" and not rest:
            rest = [()]
        return self.normal(what, *rest, *learned)


def normal_post_fn(name: str, shape: Any) -> NormalPosterior:
    """The default posterior of a layer's weights."""
    return NormalPosterior(name=name, shape=shape)


def _wrong(argument: str, value: Any, expected: str) -> TypeError:
    return problem(
        TypeError, f"NormalPosterior: wrong {argument}", got=repr(value), expected=expected
    )
