"""Random sampling: categorical draws, permutations, masked positions, Bernoulli."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import (
    check_bool,
    check_int,
    check_non_negative_int,
    check_positive_float,
    check_positive_int,
)
from mycelia._engine.core.dtype import DType, as_dtype, bool_, int32, int64
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.core.shape import normalize_axis, size
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import TensorProtocol
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.random_streams import check_seed, stream
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import NUMBERS, REALS, check_kinds, check_shape


class Multinomial(Op):
    """Samples class indices in proportion to the rows of `x`, with replacement."""

    draws = True
    differentiable = False
    static = ("num_samples",)
    seed: int = 0
    seed2: int = 0
    dtype: DType = int32
    examples = (
        case("f32[2,4]:positive", 3),
        case("f32[4]:positive", 5, dtype=int64, seed=2),
        case("i32[2,3]:<5", 0),
    )

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, x: TensorType, num_samples: Any, key: Any = None) -> TensorType:
        return TensorType(self.dtype, _drawn_shape(self.name, x, num_samples))

    def lower(self, x: Array, num_samples: Any, key: Array) -> Array:
        random = stream(key, self.seed, self.seed2)
        return _draw_with_repeats(random, widened(x), num_samples).astype(self.dtype.numpy)


class MultinomialOnce(Op):
    """Samples class indices in proportion to the rows of `x`, without replacement."""

    draws = True
    differentiable = False
    static = ("num_samples",)
    seed: int = 0
    examples = (case("f32[2,4]:positive", 3), case("f32[4]:positive", 4, seed=2))

    def infer(self, x: TensorType, num_samples: Any, key: Any = None) -> TensorType:
        return TensorType(int32, _drawn_shape("multinomial", x, num_samples, once=True))

    def lower(self, x: Array, num_samples: Any, key: Array) -> Array:
        random = stream(key, self.seed)
        return _draw_once(random, jnp.log(widened(x)), num_samples).astype(jnp.int32)


class MultinomialWithReplacement(Op):
    """Samples class indices in proportion to the rows of `x`; a seed makes it reproducible."""

    draws = True
    differentiable = False
    static = ("seed", "offset")
    numsamples: int
    replacement: bool = False
    examples = (
        case("f32[2,4]:positive", 2, 1, numsamples=3, replacement=True),
        case("f32[4]:positive", -1, 0, numsamples=2),
    )

    def infer(self, x: TensorType, seed: Any, offset: Any, key: Any = None) -> TensorType:
        once = not self.replacement
        return TensorType(int64, _drawn_shape(self.name, x, self.numsamples, once=once))

    def lower(self, x: Array, seed: Any, offset: Any, key: Array) -> Array:
        random = _repeatable(key, seed, offset)
        if self.replacement:
            return _draw_with_repeats(random, widened(x), self.numsamples).astype(jnp.int64)
        return _draw_once(random, jnp.log(widened(x)), self.numsamples).astype(jnp.int64)


class RandomCategorical(Op):
    """Samples class indices from the softmax of the logits; a seed makes it reproducible."""

    draws = True
    differentiable = False
    static = ("num_sample", "seed")
    dtype: DType = int64
    examples = (case("f32[2,4]", 3, 0), case("f32[1,2]", 5, 7, dtype=int32))

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(
        self, logits: TensorType, num_sample: Any, seed: Any = 0, key: Any = None
    ) -> TensorType:
        if logits.ndim != 2:
            raise problem(
                ValueError,
                f"{self.name}: the logits must have 2 dimensions",
                got=str(logits),
                expected="one row of logits per draw",
            )
        return TensorType(self.dtype, _drawn_shape(self.name, logits, num_sample))

    def lower(self, logits: Array, num_sample: Any, seed: Any, key: Array) -> Array:
        weights = jax.nn.softmax(widened(logits), axis=-1)
        drawn = _draw_with_repeats(_repeatable(key, seed, 0), weights, num_sample)
        return drawn.astype(self.dtype.numpy)


class RandomChoiceWithMask(Op):
    """Indices of `count` random True elements, and a mask of those that are not padding."""

    draws = True
    differentiable = False
    count: int = 256
    seed: int = 0
    seed2: int = 0
    examples = (
        case("bool[3,4]", count=5),
        case("bool[4]", count=2, seed=1),
        case("bool[0]", count=2),
    )

    def normalize(self) -> dict[str, Any]:
        return {"count": check_positive_int(self.name, "count", self.count)}

    def infer(self, input_x: TensorType, key: Any = None) -> tuple[TensorType, TensorType]:
        if not input_x.dtype.is_bool:
            raise unsupported_dtype(self.name, input_x, "a bool tensor")
        if not 1 <= input_x.ndim <= 5:
            raise problem(
                ValueError, f"{self.name}: the mask must have 1 to 5 dimensions", got=str(input_x)
            )
        return (
            TensorType(int32, (self.count, input_x.ndim)),
            TensorType(bool_, (self.count,)),
        )

    def lower(self, input_x: Array, key: Array) -> tuple[Array, Array]:
        mask = jnp.ravel(input_x)
        order = jax.random.uniform(stream(key, self.seed, self.seed2), mask.shape, jnp.float32)
        found = min(self.count, mask.size)
        scores, positions = lax.top_k(jnp.where(mask, order, -1.0), found)
        padding = (0, self.count - found)
        real = jnp.pad(scores >= 0, padding)
        positions = jnp.where(real, jnp.pad(positions, padding), 0)
        index = jnp.stack(jnp.unravel_index(positions, _at_least_one(input_x.shape)), axis=-1)
        return index.astype(jnp.int32), real


class Randperm(Op):
    """Random permutation of the integers 0 to n - 1, padded to `max_length`."""

    draws = True
    differentiable = False
    max_length: int = 1
    pad: int = -1
    dtype: DType = int32
    examples = (case("i32[1]:<4", max_length=5), case("i32[1]:<4", max_length=4, dtype=int64))

    def normalize(self) -> dict[str, Any]:
        check_positive_int(self.name, "max_length", self.max_length)
        return {"dtype": as_dtype(self.dtype)}

    def lower(self, n: Array, key: Array) -> Array:
        positions = jnp.arange(self.max_length, dtype=jnp.int32)
        count = jnp.reshape(n, ()).astype(jnp.int32)
        order = jax.random.uniform(stream(key), positions.shape, jnp.float32)
        shuffled = jnp.argsort(jnp.where(positions < count, order, 2.0))
        return jnp.where(positions < count, shuffled, self.pad).astype(self.dtype.numpy)


class RandpermV2(Op):
    """Random permutation of the integers 0 to n - 1."""

    draws = True
    differentiable = False
    static = ("n",)
    seed: int = 0
    offset: int = 0
    dtype: DType = int64
    examples = (case(5), case(1, seed=2, dtype=int32))

    def normalize(self) -> dict[str, Any]:
        return {"dtype": as_dtype(self.dtype)}

    def infer(self, n: Any, key: Any = None) -> TensorType:
        count = n[0] if isinstance(n, tuple) else n
        if check_int(self.name, "n", count) <= 0:
            raise wrong_value(self.name, "n", count, "int and must > 0")
        return TensorType(self.dtype, (count,))

    def lower(self, n: Any, key: Array) -> Array:
        count = n[0] if isinstance(n, tuple) else n
        random = stream(key, max(self.seed, 0), max(self.offset, 0))
        return jax.random.permutation(random, count).astype(self.dtype.numpy)


class RandomShuffle(Op):
    """Shuffles `x` along its first axis."""

    draws = True
    seed: int = 0
    seed2: int = 0
    examples = (case("f32[4,2]"), case("f32[]"), case("i32[0]", seed=3))

    def infer(self, x: TensorType, key: Any = None) -> TensorType:
        return x

    def lower(self, x: Array, key: Array) -> Array:
        if x.ndim == 0 or x.shape[0] == 0:
            return x
        order = jax.random.permutation(stream(key, self.seed, self.seed2), x.shape[0])
        return jnp.take(x, order, axis=0)


class Bernoulli(Op):
    """Bernoulli samples (1 with probability `p`, else 0) with the shape and dtype of `x`."""

    draws = True
    differentiable = False
    promotes = ("p",)
    seed: int = -1
    offset: int = 0
    examples = (case("f32[2,3]", "f32[]:unit"), case("i32[3]", "f32[3]:unit", seed=4))

    def infer(self, x: TensorType, p: TensorType, key: Any = None) -> TensorType:
        check_kinds(self.name, REALS, p=p)
        check_kinds(self.name, (*NUMBERS, "bool"), x=x)
        if size(p.shape) != 1:
            check_shape(self.name, "p", p, x.shape)
        return x

    def lower(self, x: Array, p: Array, key: Array) -> Array:
        random = _repeatable(key, self.seed, self.offset)
        drawn = jax.random.uniform(random, x.shape, jnp.float32)
        limit = jnp.asarray(p).astype(jnp.float32)
        limit = limit if limit.shape == x.shape else jnp.reshape(limit, ())
        return (drawn < limit).astype(x.dtype)


class GumbelSoftmax(Op):
    """Gumbel-softmax; `hard` returns one-hot samples with the gradient of the soft ones."""

    draws = True
    tau: float = 1.0
    hard: bool = False
    dim: int = -1
    examples = (
        case("f32[2,3]", tau=0.7),
        case("f16[2,3]", dim=0, differentiate=False),
        case("f32[2,3]", hard=True, differentiate=False),
    )

    def infer(self, logits: TensorType, key: Any = None) -> TensorType:
        if not logits.dtype.is_float:
            raise unsupported_dtype("gumbel_softmax", logits, "a float tensor")
        normalize_axis(self.dim, logits.ndim, "gumbel_softmax")
        return logits

    def lower(self, logits: Array, key: Array) -> Array:
        if not logits.size:
            return jnp.asarray(logits)
        wide = widened(logits)
        noise = jax.random.gumbel(stream(key), wide.shape, wide.dtype)
        soft = jax.nn.softmax((wide + noise) / self.tau, axis=self.dim)
        if self.hard:
            best = jnp.argmax(soft, axis=self.dim)
            chosen = jax.nn.one_hot(best, soft.shape[self.dim], dtype=soft.dtype, axis=self.dim)
            soft = lax.stop_gradient(chosen - soft) + soft
        return soft.astype(logits.dtype)


def multinomial(
    input: Any, num_samples: int, replacement: bool = True, seed: int | None = None
) -> Any:
    """Samples class indices in proportion to the rows of input, with or without replacement."""
    check_bool("multinomial", "replacement", replacement)
    number = check_seed("multinomial", seed)
    if replacement:
        return Multinomial.of(number)(input, num_samples)
    return MultinomialOnce.of(number)(input, num_samples)


def multinomial_with_replacement(
    x: Any, seed: int, offset: int, numsamples: int, replacement: bool = False
) -> Any:
    """Samples class indices in proportion to the rows of x; a seed makes it reproducible."""
    return MultinomialWithReplacement.of(numsamples, replacement)(x, seed, offset)


def random_categorical(logits: Any, num_sample: int, seed: int = 0, dtype: Any = int64) -> Any:
    """Samples class indices from the softmax of the logits; a seed makes it reproducible."""
    return RandomCategorical.of(as_dtype(dtype))(logits, num_sample, seed)


def choice_with_mask(input_x: Any, count: int = 256, seed: int | None = None) -> Any:
    """Indices of `count` random True elements, and a mask of those that are not padding."""
    return RandomChoiceWithMask.of(count, check_seed("choice_with_mask", seed))(input_x)


def randperm(n: int, seed: int = 0, offset: int = 0, dtype: Any = int64) -> Any:
    """Random permutation of the integers 0 to n - 1."""
    return RandpermV2.of(seed, offset, as_dtype(dtype))(n)


def shuffle(x: Any, seed: int | None = None) -> Any:
    """Shuffles x along its first axis."""
    return RandomShuffle.of(check_seed("shuffle", seed))(x)


def bernoulli(input: Any, p: Any = 0.5, seed: int | None = None) -> Any:
    """Bernoulli samples (1 with probability p, else 0) with the shape and dtype of input."""
    if not isinstance(p, TensorProtocol) and not 0 <= p <= 1:
        raise wrong_value("bernoulli", "p", p, "in range of [0, 1]")
    number = -1 if seed is None else check_positive_int("bernoulli", "seed", seed)
    return Bernoulli.of(number)(input, p)


def gumbel_softmax(logits: Any, tau: float = 1.0, hard: bool = False, dim: int = -1) -> Any:
    """Gumbel-softmax; `hard` returns one-hot samples with the gradient of the soft ones."""
    temperature = check_positive_float("gumbel_softmax", "tau", tau)
    check_bool("gumbel_softmax", "hard", hard)
    return GumbelSoftmax.of(temperature, hard, check_int("gumbel_softmax", "dim", dim))(logits)


def _drawn_shape(op: str, x: TensorType, count: Any, *, once: bool = False) -> tuple[int, ...]:
    """Shape of `count` classes per row; checks that a row has enough if drawn `once`."""
    if x.ndim not in (1, 2):
        raise problem(ValueError, f"{op}: the input must have 1 or 2 dimensions", got=str(x))
    if x.shape[-1] == 0:
        raise problem(ValueError, f"{op}: there are no classes to sample from", got=str(x))
    check_kinds(op, REALS, input=x)
    shape = (*x.shape[:-1], check_non_negative_int(op, "num_samples", count))
    if once and count > x.shape[-1]:
        raise problem(
            ValueError,
            f"{op}: more samples than classes, without replacement",
            got=f"num_samples={count} of {x.shape[-1]} classes",
        )
    return shape


def _draw_with_repeats(random: Array, weights: Array, count: int) -> Array:
    """`count` classes per row of weights, by inverting the cumulative sum."""
    rows = jnp.reshape(weights, (-1, weights.shape[-1]))
    sums = jnp.cumsum(rows, axis=-1, dtype=rows.dtype)
    drawn = jax.random.uniform(random, (rows.shape[0], count), rows.dtype) * sums[:, -1:]
    found = jax.vmap(lambda s, d: jnp.searchsorted(s, d, side="right"))(sums, drawn)
    last = rows.shape[1] - 1 - jnp.argmax(rows[:, ::-1] > 0, axis=-1)
    return jnp.minimum(found, last[:, None]).reshape((*weights.shape[:-1], count))


def _draw_once(random: Array, log_weights: Array, count: int) -> Array:
    """`count` distinct classes per row: the top k after adding Gumbel noise."""
    noise = jax.random.gumbel(random, log_weights.shape, log_weights.dtype)
    return lax.top_k(log_weights + noise, count)[1]


def _repeatable(key: Array, seed: int, offset: int) -> Array:
    """Key made from the seed if there is one, else the given key."""
    if seed <= 0:
        return stream(key, offset)
    return stream(jnp.zeros_like(jnp.asarray(key)), seed, offset)


def _at_least_one(shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape if size(shape) else tuple(1 for _ in shape)
