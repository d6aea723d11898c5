"""Samples from distributions: normal, uniform, Laplace, gamma, Poisson."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_int
from mycelia._engine.core.dtype import DType, as_dtype, float32, int32, int64
from mycelia._engine.core.error_boundary import entry_point
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.core.shape import Shape, broadcast
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.random_streams import check_seed, check_shape, stream
from mycelia.ops.argument_types import FLOATS, check_kinds
from mycelia.ops.elementwise.arithmetic import add, mul
from mycelia.ops.shapes.reshape import cast


class Drawn(Op, register=False):
    """Random values of a given shape, drawn from the key and two seeds."""

    draws = True
    differentiable = False
    static = ("shape",)
    seed: int = 0
    seed2: int = 0

    def normalize(self) -> dict[str, Any]:
        for name in ("seed", "seed2"):
            value = getattr(self, name)
            if check_int(self.name, name, value) < 0:
                raise wrong_value(self.name, name, value, "int and must >= 0")
        return {}

    def stream(self, key: Array) -> Array:
        return stream(key, self.seed, self.seed2)


class StandardNormal(Drawn):
    """Samples from the standard normal distribution."""

    examples = (case((2, 3)), case((), seed=3), case((0, 2), seed2=1))

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(float32, check_shape(self.name, shape))

    def lower(self, shape: Any, key: Array) -> Array:
        return jax.random.normal(self.stream(key), shape, jnp.float32)


class StandardLaplace(Drawn):
    """Samples from the standard Laplace distribution (mean 0, scale 1)."""

    examples = (case((2, 3)), case((), seed=3), case((0, 2), seed2=1))

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(float32, check_shape(self.name, shape))

    def lower(self, shape: Any, key: Array) -> Array:
        return jax.random.laplace(self.stream(key), shape, jnp.float32)


class UniformReal(Drawn):
    """Samples from the uniform distribution on [0, 1)."""

    examples = (case((2, 3)), case((), seed=3), case((0, 2), seed2=1))

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(float32, check_shape(self.name, shape))

    def lower(self, shape: Any, key: Array) -> Array:
        return jax.random.uniform(self.stream(key), shape, jnp.float32)


class UniformInt(Drawn):
    """Uniform random integers from [minval, maxval)."""

    examples = (
        case((2, 3), "i32[]:zeros", "i32[]:<9"),
        case((0,), "i32[]:zeros", "i32[]:<9", seed=2),
    )

    def infer(
        self, shape: Any, minval: TensorType, maxval: TensorType, key: Any = None
    ) -> TensorType:
        bounds = broadcast(minval.shape, maxval.shape, op=self.name)
        return TensorType(int32, broadcast(check_shape(self.name, shape), bounds, op=self.name))

    def lower(self, shape: Any, minval: Array, maxval: Array, key: Array) -> Array:
        full = jnp.broadcast_shapes(shape, jnp.shape(minval), jnp.shape(maxval))
        return jax.random.randint(self.stream(key), full, minval, maxval, jnp.int32)


class RandomInteger(Drawn):
    """Uniform random integers from [low, high), which are attributes."""

    low: int = 0
    high: int = 1
    dtype: DType = int64
    examples = (case((2, 3), low=-2, high=5), case((0,), high=3, dtype=int32))

    def normalize(self) -> dict[str, Any]:
        if self.low >= self.high:
            raise problem(
                RuntimeError,
                "randint: 'low' must be smaller than 'high'",
                got=f"low={self.low} and high={self.high}",
            )
        return super().normalize()

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(self.dtype, check_shape("randint", shape))

    def lower(self, shape: Any, key: Array) -> Array:
        drawn = jax.random.randint(self.stream(key), shape, self.low, self.high, jnp.int64)
        return drawn.astype(self.dtype.numpy)


class Gamma(Drawn):
    """Samples from gamma distributions with shape `alpha` and scale `beta`."""

    examples = (
        case((3, 1, 2), "f32[2,2]:positive", "f32[1]:positive"),
        case((2,), "f32[]:positive", "f32[]:positive", seed=4),
    )

    def infer(self, shape: Any, alpha: TensorType, beta: TensorType, key: Any = None) -> TensorType:
        sizes = check_shape(self.name, shape)
        return TensorType(float32, broadcast(sizes, alpha.shape, beta.shape, op=self.name))

    def lower(self, shape: Any, alpha: Array, beta: Array, key: Array) -> Array:
        full = jnp.broadcast_shapes(shape, jnp.shape(alpha), jnp.shape(beta))
        form = jnp.asarray(alpha).astype(jnp.float32)
        drawn = jax.random.gamma(self.stream(key), form, full, jnp.float32)
        return drawn * jnp.asarray(beta).astype(jnp.float32)


class RandomGamma(Drawn):
    """`shape` samples from each gamma distribution with shape `alpha` and scale 1."""

    examples = (case((2, 3), "f32[2]:positive"), case((), "f64[1]:positive", seed=4))

    def infer(self, shape: Any, alpha: TensorType, key: Any = None) -> TensorType:
        check_kinds(self.name, FLOATS, alpha=alpha)
        return alpha.with_shape((*check_shape(self.name, shape), *alpha.shape))

    def lower(self, shape: Any, alpha: Array, key: Array) -> Array:
        full = (*shape, *jnp.shape(alpha))
        form = jnp.asarray(alpha).astype(jnp.promote_types(alpha.dtype, jnp.float32))
        return jax.random.gamma(self.stream(key), form, full, form.dtype).astype(alpha.dtype)


class Poisson(Drawn):
    """Samples from Poisson distributions with the given means."""

    examples = (case((2, 3), "f32[3]:positive"), case((4,), "f32[]:positive", seed=1))

    def infer(self, shape: Any, mean: TensorType, key: Any = None) -> TensorType:
        sizes = check_shape(self.name, shape)
        return TensorType(int32, broadcast(sizes, mean.shape, op=self.name))

    def lower(self, shape: Any, mean: Array, key: Array) -> Array:
        full = jnp.broadcast_shapes(shape, jnp.shape(mean))
        return _poisson(self.stream(key), mean, full).astype(jnp.int32)


class RandomPoisson(Drawn):
    """`shape` samples from each Poisson distribution with the given rates."""

    dtype: DType = int64
    examples = (case((2, 3), "f32[2]:positive"), case((), "f32[]:positive", dtype=float32))

    def normalize(self) -> dict[str, Any]:
        super().normalize()
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, shape: Any, rate: TensorType, key: Any = None) -> TensorType:
        return TensorType(self.dtype, (*check_shape(self.name, shape), *rate.shape))

    def lower(self, shape: Any, rate: Array, key: Array) -> Array:
        full = (*shape, *jnp.shape(rate))
        return _poisson(self.stream(key), rate, full).astype(self.dtype.numpy)


class TruncatedNormal(Op):
    """Samples from the standard normal distribution truncated at two standard deviations."""

    draws = True
    differentiable = False
    static = ("shape",)
    dtype: DType = float32
    seed: int = 0
    seed2: int = 0
    examples = (case((2, 3)), case((0,), dtype=as_dtype("float64"), seed=2))

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, shape: Any, key: Any = None) -> TensorType:
        return TensorType(self.dtype, check_shape(self.name, shape))

    def lower(self, shape: Any, key: Array) -> Array:
        random = stream(key, self.seed, self.seed2)
        return jax.random.truncated_normal(random, -2.0, 2.0, shape, self.dtype.numpy)


class LogNormalReverse(Op):
    """Samples from a log-normal distribution, with the shape and dtype of the input."""

    draws = True
    differentiable = False
    mean: float = 1.0
    std: float = 2.0
    examples = (case("f32[2,3]"), case("f16[0]", mean=0.0, std=1.0))

    def infer(self, input: TensorType, key: Any = None) -> TensorType:
        return input

    def lower(self, input: Array, key: Array) -> Array:
        drawn = jax.random.normal(stream(key), input.shape, jnp.float32)
        return jnp.exp(self.mean + self.std * drawn).astype(input.dtype)


def standard_normal(shape: Any, seed: int | None = None) -> Any:
    """Samples from the standard normal distribution."""
    return StandardNormal.of(check_seed("standard_normal", seed))(_tuple("standard_normal", shape))


def standard_laplace(shape: Any, seed: int | None = None) -> Any:
    """Samples from the standard Laplace distribution (mean 0, scale 1)."""
    sizes = _tuple("standard_laplace", shape)
    return StandardLaplace.of(check_seed("standard_laplace", seed))(sizes)


def normal(shape: Any, mean: Any, stddev: Any, seed: int | None = None) -> Any:
    """Samples (float32) from normal distributions; mean and standard deviation broadcast."""
    drawn = StandardNormal.of(check_seed("normal", seed))(_tuple("normal", shape))
    return _moved(drawn, mean, stddev)


def laplace(shape: Any, mean: Any, lambda_param: Any, seed: int | None = None) -> Any:
    """Samples (float32) from Laplace distributions; mean and scale broadcast."""
    drawn = StandardLaplace.of(check_seed("laplace", seed))(_tuple("laplace", shape))
    return _moved(drawn, mean, lambda_param)


def uniform(
    shape: Any, minval: Any, maxval: Any, seed: int | None = None, dtype: Any = float32
) -> Any:
    """Samples from the uniform distribution on [minval, maxval), as float32 or int32."""
    kind = as_dtype(dtype)
    if kind not in (float32, int32):
        raise wrong_type("uniform", "dtype", dtype, "mycelia.int32 or mycelia.float32")
    for name, bound in (("minval", minval), ("maxval", maxval)):
        if not isinstance(bound, TensorProtocol) or bound.dtype is not kind:
            raise wrong_type("uniform", name, bound, f"a Tensor of dtype {kind}")
    number = check_seed("uniform", seed)
    if kind is int32:
        return UniformInt.of(number)(_tuple("uniform", shape), minval, maxval)
    drawn = UniformReal.of(number)(_tuple("uniform", shape))
    return add(mul(drawn, add(maxval, mul(minval, -1.0))), minval)


def gamma(shape: Any, alpha: Any, beta: Any, seed: int | None = None) -> Any:
    """Samples from gamma distributions with shape alpha and scale beta, which broadcast."""
    return Gamma.of(check_seed("gamma", seed))(_tuple("gamma", shape), alpha, beta)


def random_gamma(shape: Any, alpha: Any, seed: int | None = None) -> Any:
    """`shape` numbers from each of the gamma distributions of shape alpha and scale 1."""
    return RandomGamma.of(check_seed("random_gamma", seed))(shape, alpha)


def poisson(shape: Any, mean: Any, seed: int | None = None) -> Any:
    """Samples from Poisson distributions with the given means, which broadcast."""
    return Poisson.of(check_seed("poisson", seed))(_tuple("poisson", shape), mean)


def random_poisson(shape: Any, rate: Any, seed: int | None = None, dtype: Any = float32) -> Any:
    """`shape` samples from each Poisson distribution with the given rates."""
    return RandomPoisson.of(check_seed("random_poisson", seed), 0, as_dtype(dtype))(shape, rate)


@entry_point
def rand(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Uniform random tensor on [0, 1) of the given sizes (a scalar without sizes)."""
    kind = _float_dtype("rand", dtype, float32)
    return cast(UniformReal.of(check_seed("rand", seed))(_sizes("rand", size)), kind)


def rand_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Uniform random tensor on [0, 1) with the shape (and dtype) of input."""
    kind = _float_dtype("rand_like", dtype, input.dtype)
    return cast(UniformReal.of(check_seed("rand_like", seed))(input.shape), kind)


@entry_point
def randn(*size: Any, dtype: Any = None, seed: int | None = None) -> Any:
    """Standard normal random tensor of the given sizes."""
    kind = _float_dtype("randn", dtype, float32)
    return cast(StandardNormal.of(check_seed("randn", seed))(_sizes("randn", size)), kind)


def randn_like(input: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Standard normal random tensor with the shape of input."""
    default = input.dtype if input.dtype.is_float else float32
    kind = _float_dtype("randn_like", dtype, default)
    return cast(StandardNormal.of(check_seed("randn_like", seed))(input.shape), kind)


@entry_point
def randint(low: int, high: int, size: Any, seed: int | None = None, *, dtype: Any = None) -> Any:
    """Uniform random integers from [low, high)."""
    return _integers("randint", low, high, _tuple("randint", size), seed, dtype or int64)


def randint_like(
    input: Any, low: int, high: int, seed: int | None = None, *, dtype: Any = None
) -> Any:
    """Uniform random integers from [low, high) with the shape (and dtype) of input."""
    return _integers("randint_like", low, high, input.shape, seed, dtype or input.dtype)


def _integers(owner: str, low: Any, high: Any, shape: Shape, seed: Any, dtype: Any) -> Any:
    kind = as_dtype(dtype)
    if not kind.is_integer:
        raise wrong_value(owner, "dtype", kind, "an int type")
    bounds = check_int(owner, "low", low), check_int(owner, "high", high)
    return RandomInteger.of(check_seed(owner, seed), 0, *bounds, kind)(shape)


def _poisson(random: Array, mean: Array, shape: Shape) -> Array:
    rate = jnp.broadcast_to(jnp.asarray(mean).astype(jnp.float32), shape)
    return jax.random.poisson(random, rate, shape, jnp.int32)


def _moved(drawn: Any, mean: Any, scale: Any) -> Any:
    """drawn * scale + mean as float32."""
    moved = add(mul(drawn, _as_float(scale)), _as_float(mean))
    return cast(moved, float32)


def _as_float(value: Any) -> Any:
    return cast(value, float32) if isinstance(value, TensorProtocol) else float(value)


def _float_dtype(owner: str, dtype: Any, default: DType) -> DType:
    kind = default if dtype is None else as_dtype(dtype)
    if not kind.is_float:
        raise wrong_value(owner, "dtype", kind, "a float type")
    return kind


def _sizes(owner: str, size: tuple[Any, ...]) -> Shape:
    """Shape from the calls `rand(2, 3)`, `rand((2, 3))`, and `rand()` (a scalar)."""
    if not size:
        return (1,)
    return check_shape(owner, size[0] if len(size) == 1 else size)


def _tuple(owner: str, shape: Any) -> Any:
    """Shape from a tuple, a list, or a Tensor, but not from a single int."""
    if not isinstance(shape, (tuple, list, TensorProtocol)):
        raise wrong_type(owner, "shape", shape, "tuple")
    return shape
