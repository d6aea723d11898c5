"""Initializers of parameters, by name and by class."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_float
from mycelia._engine.core.errors import did_you_mean, problem, wrong_type, wrong_value
from mycelia._engine.core.seed import next_generator
from mycelia._engine.core.shape import Shape, as_shape
from mycelia.tensor.tensor import Tensor

_CLASSES: dict[str, type[Initializer]] = {}
_ALIASES = {
    "zeros": "zero",
    "ones": "one",
    "xavier_uniform": "xavieruniform",
    "xavier_normal": "xaviernormal",
    "he_uniform": "heuniform",
    "he_normal": "henormal",
}


class Initializer:
    """Base class of initializers.

    A subclass returns values from `_fill`, or fills `arr` in `_initialize`.
    """

    needs_matrix: ClassVar[bool] = False

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _CLASSES[cls.__name__.lower()] = cls

    def __call__(self, arr: np.ndarray) -> None:
        """Fill `arr` in place."""
        self._initialize(arr)

    def _initialize(self, arr: np.ndarray) -> None:
        if arr.size:
            arr[...] = self._fill(arr.shape, next_generator())

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        raise problem(
            TypeError,
            f"{type(self).__name__} does not define how to fill a tensor",
            fix="define _initialize(self, arr)",
        )


class Zero(Initializer):
    """All zeros."""

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return 0


class One(Initializer):
    """All ones."""

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return 1


class Constant(Initializer):
    """The same value for every element."""

    def __init__(self, value: Any) -> None:
        super().__init__(value=value)
        self.value = value

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return np.asarray(self.value)


class Normal(Initializer):
    """Normal distribution with mean `mean` and standard deviation `sigma`."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        super().__init__(sigma=sigma, mean=mean)
        self.sigma = check_float("Normal", "sigma", sigma)
        self.mean = check_float("Normal", "mean", mean)

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return random.normal(self.mean, self.sigma, shape)


class Uniform(Initializer):
    """Uniform distribution over (-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = check_float("Uniform", "scale", scale)

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return random.uniform(-self.scale, self.scale, shape)


class TruncatedNormal(Initializer):
    """Normal distribution truncated to between `a` and `b` standard deviations."""

    def __init__(
        self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0
    ) -> None:
        super().__init__(sigma=sigma, mean=mean, a=a, b=b)
        self.sigma, self.mean, self.a, self.b = sigma, mean, a, b

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return truncated_normal(random, shape, self.a, self.b) * self.sigma + self.mean


class XavierUniform(Initializer):
    """Glorot (Xavier) uniform initialization: variance gain² · 2 / (fan_in + fan_out)."""

    needs_matrix = True

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return random.uniform(-bound, bound, shape)


class XavierNormal(Initializer):
    """Glorot (Xavier) normal initialization: variance gain² · 2 / (fan_in + fan_out)."""

    needs_matrix = True

    def __init__(self, gain: float = 1) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return random.normal(0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))), shape)


class HeUniform(Initializer):
    """He (Kaiming) uniform initialization for a layer followed by `nonlinearity`."""

    needs_matrix = True

    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.gain = gain_of(nonlinearity, negative_slope)
        self.mode = _check_mode(mode)

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        bound = math.sqrt(3.0) * self.gain / math.sqrt(_fan(shape, self.mode))
        return random.uniform(-bound, bound, shape)


class HeNormal(Initializer):
    """He (Kaiming) normal initialization for a layer followed by `nonlinearity`."""

    needs_matrix = True

    def __init__(
        self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
    ) -> None:
        super().__init__(negative_slope=negative_slope, mode=mode, nonlinearity=nonlinearity)
        self.gain = gain_of(nonlinearity, negative_slope)
        self.mode = _check_mode(mode)

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        return random.normal(0.0, self.gain / math.sqrt(_fan(shape, self.mode)), shape)


class VarianceScaling(Initializer):
    """Variance `scale / fan`, from a normal, truncated normal or uniform distribution."""

    needs_matrix = True

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal"
    ) -> None:
        super().__init__(scale=scale, mode=mode, distribution=distribution)
        if distribution not in ("truncated_normal", "untruncated_normal", "uniform"):
            raise wrong_value(
                "VarianceScaling", "distribution", distribution, "a known distribution"
            )
        self.scale, self.mode, self.distribution = scale, mode, distribution

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        deviation = math.sqrt(self.scale / max(1.0, fan))
        if self.distribution == "uniform":
            return random.uniform(-deviation * math.sqrt(3), deviation * math.sqrt(3), shape)
        if self.distribution == "untruncated_normal":
            return random.normal(0.0, deviation, shape)
        # the standard deviation of a normal distribution truncated at two deviations
        return truncated_normal(random, shape, -2.0, 2.0) * (deviation / 0.87962566103423978)


class Identity(Initializer):
    """The identity matrix."""

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        if len(shape) != 2:
            raise problem(ValueError, "Identity: the shape must be a matrix", got=f"shape {shape}")
        return np.eye(*shape)


class Orthogonal(Initializer):
    """A matrix with orthonormal rows or columns (Saxe et al. 2013), times `gain`."""

    needs_matrix = True

    def __init__(self, gain: float = 1.0) -> None:
        super().__init__(gain=gain)
        self.gain = gain

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        rows, columns = shape[0], math.prod(shape[1:])
        tall = random.normal(size=(max(rows, columns), min(rows, columns)))
        q, r = np.linalg.qr(tall)
        q = q * np.sign(np.diag(r))
        return self.gain * (q if rows >= columns else q.T).reshape(shape)


class Dirac(Initializer):
    """Convolution weights that copy each input channel to its output channel (a Dirac kernel)."""

    def __init__(self, groups: int = 1) -> None:
        super().__init__(groups=groups)
        self.groups = groups

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise problem(
                ValueError, "Dirac: the shape must be a convolution weight", got=f"shape {shape}"
            )
        array = np.zeros(shape)
        per_group = shape[0] // self.groups
        centre = tuple(n // 2 for n in shape[2:])
        for group in range(self.groups):
            for channel in range(min(per_group, shape[1])):
                array[(group * per_group + channel, channel, *centre)] = 1
        return array


class Sparse(Initializer):
    """Normal distribution, with a fraction `sparsity` of each column set to zero."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        super().__init__(sparsity=sparsity, sigma=sigma)
        self.sparsity, self.sigma = sparsity, sigma

    def _fill(self, shape: Shape, random: np.random.Generator) -> Any:
        if len(shape) != 2:
            raise problem(ValueError, "Sparse: the shape must be a matrix", got=f"shape {shape}")
        array = random.normal(0.0, self.sigma, shape)
        zeros = math.ceil(shape[0] * self.sparsity)
        for column in range(shape[1]):
            array[random.permutation(shape[0])[:zeros], column] = 0
        return array


def initializer(init: Any, shape: Any = None, dtype: Any = dtypes.float32) -> Tensor:
    """Create a tensor of `shape` from `init`: a name, a number, an Initializer, or a Tensor."""
    if isinstance(init, Tensor):
        if shape is not None and as_shape(shape, "initializer") != init.shape:
            raise problem(
                ValueError,
                "initializer: the shape of the tensor differs from the requested shape",
                got=f"{init.shape} and {tuple(shape)}",
            )
        return init
    wanted = as_shape(shape, "initializer") if shape is not None else ()
    for size in wanted:
        if size <= 0:
            raise wrong_value("initializer", "shape", shape, "a tuple of positive ints")
    array = np.zeros(wanted, dtypes.as_dtype(dtype).numpy)
    rule = _rule(init)
    if rule.needs_matrix and len(wanted) < 2:
        raise problem(
            ValueError,
            f"{type(rule).__name__} needs a shape of at least two dimensions",
            got=f"shape {wanted}",
        )
    rule(array)
    tensor = Tensor._wrap(array)
    tensor.__dict__["init"] = rule
    return tensor


def _rule(init: Any) -> Initializer:
    if isinstance(init, Initializer):
        return init
    if isinstance(init, str):
        name = init.lower()
        found = _CLASSES.get(_ALIASES.get(name, name))
        if found is None or name in ("initializer", "constant"):
            raise problem(
                ValueError,
                f"For 'initializer', the class corresponding to '{init}' was not found.",
                expected=f"one of {', '.join(sorted({*_CLASSES, *_ALIASES} - {'initializer'}))}",
                fix=did_you_mean(name, (*_CLASSES, *_ALIASES)),
            )
        return found()
    if isinstance(init, (int, float)) and not isinstance(init, bool):
        return Constant(init)
    raise wrong_type("initializer", "init", init, "a name, a number, an Initializer or a Tensor")


def fans(shape: Shape) -> tuple[int, int]:
    """The fan-in and fan-out of a weight: the numbers of inputs and outputs of each unit."""
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def _fan(shape: Shape, mode: str) -> int:
    return fans(shape)[0 if mode == "fan_in" else 1]


def _check_mode(mode: str) -> str:
    if mode not in ("fan_in", "fan_out"):
        raise wrong_value("initializer", "mode", mode, "'fan_in' or 'fan_out'")
    return mode


def gain_of(nonlinearity: str, slope: float = 0.01) -> float:
    """The recommended gain of the weights before a nonlinearity."""
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0)}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity in gains:
        return gains[nonlinearity]
    if nonlinearity in ("sigmoid", "linear") or nonlinearity.startswith("conv"):
        return 1.0
    raise wrong_value("initializer", "nonlinearity", nonlinearity, "a known nonlinearity")


def truncated_normal(random: np.random.Generator, shape: Shape, low: float, high: float) -> Any:
    """Standard normal values between `low` and `high`, by rejection sampling."""
    values = random.standard_normal(shape)
    outside = (values < low) | (values > high)
    while np.any(outside):
        values[outside] = random.standard_normal(int(outside.sum()))
        outside = (values < low) | (values > high)
    return values
