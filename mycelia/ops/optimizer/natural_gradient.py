"""Natural gradients: layer gradients times the inverse of a periodically updated curvature."""

from __future__ import annotations

from typing import Any

from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia.ops.optimizer.curvature import (
    DUE,
    SAMPLES,
    STEP,
    TRACE,
    TURN,
    apply_blocks,
    inverse_blocks,
    kept_share,
    moment_of_probe,
    trace_of,
)


class _Curved(Op, register=False):
    """Base of natural gradients: when to sample a batch, when to invert, and when to stop.

    A layer is sampled every `sampling` steps; its moments are inverted every `frequency` steps, and
    more often at first. THOR's rule (Chen et al. 2020) compares the trace of the curvature with the
    trace at the last inversion: a change below the first value of `trace_rule` skips the inversion,
    and a change below the second one stops updates of this layer.
    """

    differentiable = False
    frequency: int
    sampling: int
    decay: float
    loss_scale: float = 1.0
    trace_rule: tuple[float, float] = (0.0, 0.0)

    def infer(self, *args: Any) -> Any:
        given = dict(zip(self.arguments.names, args, strict=False))
        return given["gradients"], tuple(given[name] for name in self.writes)

    def moved(self, moment: Array, probe: Array, state: Array) -> Array:
        """Moment of gradients after this batch."""
        kept = kept_share(state, self.decay)
        new = moment_of_probe(probe.astype(moment.dtype) / self.loss_scale)
        return jnp.where(state[DUE] > 0, kept * moment + (1 - kept) * new, moment)

    def judged(self, state: Array, trace: Array) -> tuple[Array, Array]:
        """Whether to invert now, and the state for the next step."""
        step, turn, last = state[STEP], state[TURN], state[TRACE]
        is_turn = (state[DUE] > 0) & self._is_turn(step, turn)
        turn = jnp.where(is_turn, step, turn)
        change = jnp.abs(trace - last) / jnp.maximum(last, jnp.finfo(last.dtype).tiny)
        inverts = is_turn & ((step == 0) | (change > self.trace_rule[0]))
        is_settled = is_turn & (self._pause(step) == self.frequency)
        stops = (state[DUE] < 0) | (is_settled & (change < self.trace_rule[1]))
        following = step + 1
        pause = jnp.minimum(self.sampling, 1 + following // 16)
        due = (jnp.mod(following, pause) == 0) | self._is_turn(following, turn)
        looked = state[SAMPLES] + (state[DUE] > 0)
        due = jnp.where(stops, -1.0, due)
        trace = jnp.where(inverts, trace, last)
        return inverts, jnp.stack([following, looked, turn, trace, due]).astype(state.dtype)

    def _is_turn(self, step: Array, last: Array) -> Array:
        return (step == 0) | (step - last >= self._pause(last))

    def _pause(self, turn: Array) -> Array:
        """Steps between two inversions: few at first, when the curvature changes fast."""
        return jnp.minimum(self.frequency, 1 + turn // 4)


class NaturalGradient(_Curved, register=False):
    """Gradients of a layer's weight (and bias) times the inverse of its curvature.

    `damping` is added to the curvature, split between its two factors by their traces.
    """

    writes = ("gradient_moment", "input_inverse", "gradient_inverse", "state")

    def lower(
        self,
        gradients: tuple[Array, ...],
        probe: Array,
        input_moment: Array,
        gradient_moment: Array,
        input_inverse: Array,
        gradient_inverse: Array,
        state: Array,
        damping: Array,
    ) -> Any:
        moment = self.moved(gradient_moment, probe, state)
        inverts, after = self.judged(state, trace_of(input_moment) * trace_of(moment))
        inverses = lax.cond(
            inverts,
            lambda: damped_inverses(input_moment, moment, jnp.reshape(damping, ())),
            lambda: (input_inverse, gradient_inverse),
        )
        return natural(gradients, *inverses), (moment, *inverses, after)


class NaturalScaleGradient(_Curved, register=False):
    """Gradients of a scale and a shift divided elementwise by their curvature."""

    writes = ("gradient_moment", "state")

    def lower(
        self,
        gradients: tuple[Array, ...],
        probe: Array,
        gradient_moment: Array,
        state: Array,
        damping: Array,
    ) -> Any:
        moment = self.moved(gradient_moment, probe, state)
        after = self.judged(state, moment.sum())[1]
        parts = zip(gradients, moment, strict=True)
        found = tuple(
            (g / (m.reshape(g.shape) + jnp.reshape(damping, ()))).astype(g.dtype) for g, m in parts
        )
        return found, (moment, after)


def damped_inverses(inputs: Array, outputs: Array, damping: Array) -> tuple[Array, Array]:
    """Inverses of both factors, each with its share of the root of the damping."""
    mean_in = trace_of(inputs) / _size(inputs)
    mean_out = trace_of(outputs) / _size(outputs)
    tiny = jnp.finfo(inputs.dtype).tiny
    balance = jnp.sqrt(jnp.maximum(mean_in, tiny) / jnp.maximum(mean_out, tiny))
    balance = jnp.where((mean_in > 0) & (mean_out > 0), balance, 1.0)
    root = jnp.sqrt(damping)
    return inverse_blocks(inputs, root * balance), inverse_blocks(outputs, root / balance)


def natural(
    gradients: tuple[Array, ...], input_inverse: Array, gradient_inverse: Array
) -> tuple[Array, ...]:
    """Weight gradient (the bias gradient as its last column) multiplied by both inverses."""
    weight, *bias = gradients
    is_table = input_inverse.ndim == 1
    matrix = weight.reshape(weight.shape[0], -1).astype(input_inverse.dtype)
    if is_table:  # (tokens, size): the inputs count the tokens
        found = apply_blocks(matrix, gradient_inverse) * input_inverse[:, None]
        return (found.astype(weight.dtype),)
    if bias:
        matrix = jnp.concatenate([matrix, bias[0].astype(matrix.dtype)[:, None]], axis=1)
    found = apply_blocks(apply_blocks(matrix, input_inverse).T, gradient_inverse).T
    if not bias:
        return (found.reshape(weight.shape).astype(weight.dtype),)
    split = found[:, :-1].reshape(weight.shape).astype(weight.dtype)
    return split, found[:, -1].astype(bias[0].dtype)


def _size(moment: Array) -> int:
    return int(moment.size if moment.ndim == 1 else moment.shape[0] * moment.shape[1])
