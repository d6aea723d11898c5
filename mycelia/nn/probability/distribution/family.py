"""Parametric families of distributions, with parameters given at creation or at each call."""

from __future__ import annotations

from typing import Any, ClassVar

from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, broadcast
from mycelia.nn.probability.distribution.distribution import Distribution
from mycelia.nn.probability.parameters import Limit, check_limit, check_other_type
from mycelia.ops.elementwise.arithmetic import maximum
from mycelia.ops.random.distributions import StandardNormal, UniformReal
from mycelia.ops.shapes.reshape import cast

SMALLEST = 1.1754944e-38  # the smallest normal float32: lower bound of uniform samples above 0


class Family(Distribution):
    """A distribution whose parameters are known by name, with limits on their numbers.

    `labels` are the names printing uses, `arguments` those that methods take, in order; parameters
    in `not_single` must not be single numbers; `limits` are checked where numbers are known.
    """

    labels: ClassVar[dict[str, str]] = {}
    arguments: ClassVar[tuple[str, ...]] = ()
    limits: ClassVar[dict[str, tuple[Limit, str]]] = {}
    not_single: ClassVar[tuple[str, ...]] = ()
    whole: ClassVar[bool] = False  # samples may be integers

    def _begin(self, seed: int | None, dtype: DType, name: str, **values: Any) -> None:
        """Check and store the parameters: the body of the subclasses' `__init__`."""
        kind = as_dtype(dtype)
        if not (kind.is_float or (self.whole and kind.is_integer)):
            expected = "an int or float type" if self.whole else "a float type"
            raise wrong_type(type(self).__name__, "dtype", dtype, expected)
        described = {**values, "seed": seed, "dtype": dtype, "name": name, "param_dict": values}
        Distribution.__init__(self, seed, kind, name, described)
        for parameter, value in values.items():
            if parameter in self.not_single and isinstance(value, (int, float)):
                raise problem(
                    TypeError,
                    f"{self.name}: {parameter} is a scalar",
                    got=repr(value),
                    fix=f"pass a list: [{value}]",
                )
            tensor = self._add_parameter(value, parameter)
            setattr(self, f"_{parameter}_value", tensor)
            if parameter in self.limits:
                limit, title = self.limits[parameter]
                check_limit(limit, tensor, title)

    def _get_dist_type(self) -> str:
        return type(self).__name__

    def _get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        given = dict(zip(self.arguments, args)) | kwargs
        found = []
        for argument, name, own in zip(
            self.arguments, self.parameter_names, self.default_parameters
        ):
            value = given.get(argument)
            found.append(own if value is None else self._check_value(value, name))
        return tuple(found)

    def _check_other(self, dist: Any, *parameters: Any) -> list[Any]:
        """The parameters of the other distribution in `kl_loss`, which must be of this type."""
        check_other_type(dist, type(self).__name__)
        names = [f"{name}_b" for name in self.parameter_names]
        return [self._value(value, name) for value, name in zip(parameters, names)]

    # ---- sampling ---------------------------------------------------------------------------

    def _sample_shape(self, shape: Any, *parameters: Any) -> Shape:
        """The requested shape, followed by that of the parameters."""
        if not isinstance(shape, tuple):
            raise problem(
                TypeError, f"{self.name}: the shape must be a tuple", got=repr(shape), fix="(n,)"
            )
        return (*shape, *broadcast(*(p.shape for p in parameters), op=self.name))

    def _standard_normal(self, shape: Shape) -> Any:
        return self._as_number(StandardNormal.of(self.seed)(shape))

    def _uniform(self, shape: Shape) -> Any:
        """Uniform samples from [0, 1)."""
        return UniformReal.of(self.seed)(shape)

    def _open_uniform(self, shape: Shape) -> Any:
        """Uniform samples from (0, 1)."""
        return maximum(self._uniform(shape), SMALLEST)

    def _as_sample(self, drawn: Any) -> Any:
        return drawn if drawn.dtype is self.dtype else cast(drawn, self.dtype)

    def extend_repr(self) -> str:
        if self.batch_shape:
            return f"batch_shape = {self.batch_shape}"
        titles = (self.labels.get(name, name) for name in self.parameter_names)
        return ", ".join(f"{t} = {value}" for t, value in zip(titles, self.default_parameters))
