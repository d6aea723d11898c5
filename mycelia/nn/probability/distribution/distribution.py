"""The base class of distributions: their queries, and how these derive from each other."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_instance, check_non_negative_int
from mycelia._engine.core.dtype import DType, as_dtype
from mycelia._engine.core.errors import problem, wrong_type
from mycelia._engine.core.shape import Shape, broadcast
from mycelia._engine.ir.handlers import call_user_function
from mycelia.nn.cell import Cell
from mycelia.nn.probability.bijector.bijector import Bijector
from mycelia.nn.probability.distribution.likelihood import (
    CUMULATIVE,
    DENSITY,
    LikelihoodForm,
    rewritten,
)
from mycelia.nn.probability.parameters import (
    broadcast_all,
    check_tensor,
    parameter_dtype,
    parameter_tensor,
)
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.elementwise.where import where
from mycelia.ops.shapes.reshape import broadcast_to, cast


class Distribution(Cell):
    """The base class. A subclass defines hooks such as `_log_prob`, `_mean` or `_sample`.

    What has no hook of its own follows from others: `prob` from `_log_prob`, `survival_function`
    from `_cdf`, `sd` from `_var`, and so on. A distribution called with the name of a method and
    its arguments calls that method.
    """

    def __init__(self, seed: int | None, dtype: DType, name: str, param: dict[str, Any]) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise wrong_type(type(self).__name__, "name", name, "str")
        self._name = name
        self._seed = 0 if seed is None else check_non_negative_int(name, "seed", seed)
        self._dtype = as_dtype(dtype)
        self._described = {k: v for k, v in param.items() if k not in ("self", "__class__")}
        given = self._described.get("param_dict", {}).values()
        self.parameter_type = parameter_dtype(given, self._dtype)
        self.default_parameters: list[Any] = []
        self.parameter_names: list[str] = []
        self._batch_shape: Shape | None = ()
        self._is_scalar_batch = True

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        """The dtype of samples."""
        return self._dtype

    @property
    def seed(self) -> int:
        return self._seed

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the distribution."""
        return self._described

    @property
    def is_scalar_batch(self) -> bool:
        """Whether the parameters are scalars (or not given)."""
        return self._is_scalar_batch

    @property
    def batch_shape(self) -> Shape | None:
        """The broadcast shape of the parameters; None if they are not all given."""
        return self._batch_shape

    @property
    def broadcast_shape(self) -> Shape | None:
        return self._batch_shape

    # ---- densities and cumulative probabilities ---------------------------------------------

    def log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Log-density at the value."""
        return self._probability("log_prob", DENSITY, value, args, kwargs)

    def prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Density at the value."""
        return self._probability("prob", DENSITY, value, args, kwargs)

    def cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Cumulative distribution function."""
        return self._probability("cdf", CUMULATIVE, value, args, kwargs)

    def log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Logarithm of the cumulative distribution function."""
        return self._probability("log_cdf", CUMULATIVE, value, args, kwargs)

    def survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Survival function: the probability of larger values."""
        return self._probability("survival_function", CUMULATIVE, value, args, kwargs)

    def log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        """Logarithm of the survival function."""
        return self._probability("log_survival", CUMULATIVE, value, args, kwargs)

    # ---- statistics -------------------------------------------------------------------------

    def mean(self, *args: Any, **kwargs: Any) -> Any:
        return self._run("mean", args, kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Any:
        """Mode: the most likely value."""
        return self._run("mode", args, kwargs)

    def sd(self, *args: Any, **kwargs: Any) -> Any:
        """Standard deviation."""
        if not hasattr(self, "_sd") and hasattr(self, "_var"):
            return sqrt(self._run("var", args, kwargs))
        return self._run("sd", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Any:
        """Variance."""
        if not hasattr(self, "_var") and hasattr(self, "_sd"):
            return square(self._run("sd", args, kwargs))
        return self._run("var", args, kwargs)

    def entropy(self, *args: Any, **kwargs: Any) -> Any:
        return self._run("entropy", args, kwargs)

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """KL(self || other), with the other distribution's type name and parameters."""
        return self._run("kl_loss", (dist, *args), kwargs)

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Any:
        """Cross entropy: the entropy plus KL(self || other)."""
        if hasattr(self, "_cross_entropy") or not hasattr(self, "_kl_loss"):
            return self._run("cross_entropy", (dist, *args), kwargs)
        own = args[len(self.parameter_names) :]
        named = {k.removesuffix("_a"): v for k, v in kwargs.items() if not k.endswith("_b")}
        return self.entropy(*own, **named) + self.kl_loss(dist, *args, **kwargs)

    def sample(self, *args: Any, **kwargs: Any) -> Any:
        """Samples of the given shape followed by the batch shape."""
        return self._run("sample", args, kwargs)

    def get_dist_args(self, *args: Any, **kwargs: Any) -> Any:
        """The parameters, with given ones instead of the defaults."""
        return self._run("get_dist_args", args, kwargs)

    def get_dist_type(self) -> Any:
        """The type name, for `kl_loss` and `cross_entropy`."""
        return self._run("get_dist_type", (), {})

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method by name."""
        return getattr(self, name)(*args, **kwargs)

    def transformed_by(self, bijector: Bijector, **kwargs: Any) -> TransformedDistribution:
        """The distribution of this one's samples after `bijector.forward`."""
        return TransformedDistribution(bijector, self, **kwargs)

    # ---- for subclasses ---------------------------------------------------------------------

    def _add_parameter(self, value: Any, name: str) -> Any:
        """Convert a parameter to a tensor (or None), and store it as the default."""
        tensor = parameter_tensor(value, self.parameter_type)
        self.default_parameters.append(tensor)
        self.parameter_names.append(name)
        if tensor is None or self._batch_shape is None:
            self._batch_shape = None
        else:
            self._batch_shape = broadcast(self._batch_shape, tensor.shape, op=self.name)
        self._is_scalar_batch = not self._batch_shape
        return tensor

    def _check_param_type(self, *args: Any) -> Any:
        """The parameters in their broadcast shape; a single one is not in a list."""
        found = broadcast_all(self._chosen(args), self.name)
        return found[0] if len(found) == 1 else found

    def _chosen(self, args: tuple[Any, ...]) -> list[Any]:
        """The given parameters, or the defaults where they are None."""
        pairs = zip(args, self.parameter_names, self.default_parameters)
        return [self._one(given, name, own) for given, name, own in pairs]

    def _one(self, given: Any, name: str, own: Any) -> Any:
        value = own if given is None else self._check_value(given, name)
        if value is None:
            raise problem(
                TypeError,
                f"{self.name}: {name} is not specified",
                fix=f"pass {name} to {self.name}, or to the method",
            )
        return self._as_number(value)

    def _check_value(self, value: Any, name: str) -> Any:
        return check_tensor(value, name)

    def _as_number(self, value: Any) -> Any:
        return value if value.dtype is self.parameter_type else cast(value, self.parameter_type)

    def _value(self, value: Any, name: str = "value") -> Any:
        """A user's tensor in the dtype of the parameters."""
        return self._as_number(self._check_value(value, name))

    # ---- dispatch from queries to hooks -----------------------------------------------------

    def _probability(
        self, what: str, forms: dict[str, LikelihoodForm], value: Any, args: Any, kwargs: Any
    ) -> Any:
        """The hook itself, or an equivalent one, preferably not the complement."""
        wanted = forms["_" + what]
        hooks = sorted(
            (hook for hook in forms if hasattr(self, hook)),
            key=lambda hook: (forms[hook] != wanted, forms[hook].complement != wanted.complement),
        )
        if not hooks:
            raise self._not_implemented(what)
        found = call_user_function(getattr(self, hooks[0]), value, *args, **kwargs)
        return rewritten(found, forms[hooks[0]], wanted)

    def _run(self, what: str, args: Any, kwargs: Any) -> Any:
        hook = getattr(self, "_" + what, None)
        if hook is None:
            raise self._not_implemented(what)
        return call_user_function(hook, *args, **kwargs)

    def _not_implemented(self, what: str) -> NotImplementedError:
        return problem(NotImplementedError, f"{self.name}: has no {what}")


class TransformedDistribution(Distribution):
    """The distribution of `bijector.forward(x)` for x from `distribution`."""

    def __init__(
        self,
        bijector: Bijector,
        distribution: Distribution,
        seed: int | None = None,
        name: str = "transformed_distribution",
    ) -> None:
        owner = type(self).__name__
        check_instance(owner, "bijector", bijector, Bijector)
        check_instance(owner, "distribution", distribution, Distribution)
        param = {"bijector": bijector, "distribution": distribution, "seed": seed, "name": name}
        super().__init__(seed, distribution.dtype, name, param)
        self._bijector = bijector
        self._distribution = distribution
        self._is_linear = bijector.is_constant_jacobian
        self.parameter_type = distribution.parameter_type
        self.default_parameters = distribution.default_parameters
        self.parameter_names = distribution.parameter_names
        own = distribution.batch_shape
        self._batch_shape = None if own is None else broadcast(own, bijector.batch_shape, op=name)
        self._is_scalar_batch = not self._batch_shape

    @property
    def bijector(self) -> Bijector:
        return self._bijector

    @property
    def distribution(self) -> Distribution:
        return self._distribution

    @property
    def is_linear_transformation(self) -> bool:
        return self._is_linear

    def _log_prob(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        value = self._value(value)
        inner = self._distribution.log_prob(self._bijector.inverse(value), *args, **kwargs)
        return inner + self._bijector.inverse_log_jacobian(value)

    def _cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._below("cdf", "survival_function", value, args, kwargs)

    def _log_cdf(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._below("log_cdf", "log_survival", value, args, kwargs)

    def _survival_function(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._below("survival_function", "cdf", value, args, kwargs)

    def _log_survival(self, value: Any, *args: Any, **kwargs: Any) -> Any:
        return self._below("log_survival", "log_cdf", value, args, kwargs)

    def _below(self, rising: str, falling: str, value: Any, args: Any, kwargs: Any) -> Any:
        """`rising` of the inner distribution, or `falling` where the bijector decreases."""
        inner = self._bijector.inverse(self._value(value))
        found = getattr(self._distribution, rising)(inner, *args, **kwargs)
        direction = self._bijector.direction()
        if direction is None:
            return found
        return where(
            direction > 0.0, found, getattr(self._distribution, falling)(inner, *args, **kwargs)
        )

    def _sample(self, *args: Any, **kwargs: Any) -> Any:
        """Independent samples, also for each element of the bijector's batch."""
        shape = args[0] if args else kwargs.pop("shape", ())
        given = self._distribution.get_dist_args(*args[1:], **kwargs)
        parameters = self._distribution._chosen(given)
        shapes = [p.shape for p in parameters]
        batch = broadcast(*shapes, self._bijector.batch_shape, op=self.name)
        drawn = self._distribution.sample(shape, *[broadcast_to(p, batch) for p in parameters])
        return self._bijector.forward(drawn)

    def _mean(self, *args: Any, **kwargs: Any) -> Any:
        if not self.is_linear_transformation:
            raise problem(
                ValueError,
                f"{self.name}: no mean for a bijector that is not affine",
                fix="estimate it from samples",
            )
        return self._bijector.forward(self._distribution.mean(*args, **kwargs))
