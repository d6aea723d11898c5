"""Candidate samplers for sampled losses: the drawn classes and their expected counts."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_positive_int
from mycelia._engine.core.dtype import float32
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.random_streams import stream
from mycelia.ops.argument_types import INTEGERS, check_kinds


class CandidateSampler(Op, register=False):
    """Draws classes with fixed probabilities; also returns the expected counts of classes."""

    draws = True
    differentiable = False
    num_true = 1
    num_sampled = 1
    unique = True
    range_max = 1
    seed = 0
    removes_hits = False

    def normalize(self) -> dict[str, Any]:
        for name in ("num_true", "num_sampled", "range_max"):
            check_positive_int(self.name, name, getattr(self, name))
        if self.unique and self.num_sampled > self.range_max:
            raise problem(
                ValueError,
                f"{self.name}: more unique candidates than classes",
                got=f"num_sampled={self.num_sampled} and range_max={self.range_max}",
            )
        return {}

    def infer(self, true_classes: TensorType, key: Any = None) -> tuple[TensorType, ...]:
        if true_classes.ndim != 2 or true_classes.shape[1] != self.num_true:
            raise problem(
                ValueError,
                f"{self.name}: true_classes has the wrong shape",
                got=str(true_classes),
                expected=f"[batch, {self.num_true}]",
            )
        check_kinds(self.name, INTEGERS, true_classes=true_classes)
        return (
            true_classes.with_shape((self.num_sampled,)),
            TensorType(float32, true_classes.shape),
            TensorType(float32, (self.num_sampled,)),
        )

    def bounds(self, true_classes: Any, key: Any = None) -> tuple[IndexBound, ...]:
        return (IndexBound.labels(0, self.range_max),)

    def lower(self, true_classes: Array, key: Array) -> tuple[Array, Array, Array]:
        weights = self.probabilities()
        random = stream(key, self.seed)
        allowed = jnp.log(weights)
        if self.removes_hits:
            allowed = allowed.at[jnp.ravel(true_classes)].set(-jnp.inf, mode="drop")
        if self.unique:
            noise = jax.random.gumbel(random, allowed.shape, jnp.float32)
            drawn = lax.top_k(allowed + noise, self.num_sampled)[1]
        else:
            drawn = jax.random.categorical(random, allowed, shape=(self.num_sampled,))
        expected = self.expected(weights)
        known = jnp.clip(true_classes, 0, self.range_max - 1)
        return (
            drawn.astype(true_classes.dtype),
            jnp.take(expected, known),
            jnp.take(expected, drawn),
        )

    def probabilities(self) -> Array:
        """Probability of each class in one draw."""
        raise problem(RuntimeError, f"{self.name} does not define probabilities")

    def expected(self, weights: Array) -> Array:
        """Expected count of each class."""
        return self.num_sampled * weights


class UniformCandidateSampler(CandidateSampler):
    """Candidates drawn uniformly from 0 to range_max - 1."""

    num_true: int
    num_sampled: int
    unique: bool
    range_max: int
    seed: int = 0
    remove_accidental_hits: bool = False
    examples = (
        case("i64[5,1]:<4", num_true=1, num_sampled=3, unique=False, range_max=4, seed=1),
        case("i32[2,2]:<9", num_true=2, num_sampled=4, unique=True, range_max=9),
    )

    @property
    def removes_hits(self) -> bool:
        return self.remove_accidental_hits

    def probabilities(self) -> Array:
        return jnp.full((self.range_max,), 1 / self.range_max, jnp.float32)


class LogUniformCandidateSampler(CandidateSampler):
    """Candidates drawn log-uniformly: low class indices are more likely."""

    num_true: int = 1
    num_sampled: int = 5
    unique: bool = True
    range_max: int = 5
    seed: int = 0
    examples = (case("i64[5,1]:<5"), case("i64[2,2]:<9", num_true=2, unique=False, range_max=9))

    def probabilities(self) -> Array:
        ranks = jnp.arange(self.range_max, dtype=jnp.float32)
        return jnp.log1p(1 / (ranks + 1)) / jnp.log(jnp.float32(self.range_max + 1))

    def expected(self, weights: Array) -> Array:
        if not self.unique:
            return self.num_sampled * weights
        return -jnp.expm1(self.num_sampled * jnp.log1p(-weights))


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int = 0,
    remove_accidental_hits: bool = False,
) -> Any:
    """Candidates drawn uniformly, and the expected counts of true classes and candidates."""
    op = UniformCandidateSampler.of(
        num_true, num_sampled, unique, range_max, seed, remove_accidental_hits
    )
    return op(true_classes)


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int = 1,
    num_sampled: int = 5,
    unique: bool = True,
    range_max: int = 5,
    seed: int = 0,
) -> Any:
    """Candidates drawn log-uniformly, and the expected counts of true classes and candidates."""
    op = LogUniformCandidateSampler.of(num_true, num_sampled, unique, range_max, seed)
    return op(true_classes)
