"""Connectionist temporal classification (CTC) losses of unaligned label sequences.

The forward algorithm of Graves et al. (2006) in log space, as one scan over time. Between any two
labels, and at both ends, lies an optional blank: a sequence of S labels has 2 S + 1 states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.dtype import int32, int64
from mycelia._engine.core.errors import problem, wrong_value
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jax, jnp, lax
from mycelia._engine.operators.index_bounds import IndexBound
from mycelia._engine.operators.operator import Op, unsupported_dtype
from mycelia._engine.operators.working_precision import widened
from mycelia.ops.argument_types import INTEGERS, check_kinds, check_shape
from mycelia.ops.elementwise.arithmetic import mul
from mycelia.ops.loss.support import check_rank, check_reduction
from mycelia.ops.shapes.reshape import reshape

_NEVER = -1e30  # log-probability of an impossible event; finite, so that gradients are finite too
_LARGEST = 60.0  # bound of unnormalized scores: sums of their exponentials stay finite


class CTCLossV2(Op):
    """CTC loss of padded label rows under log-probabilities, and the forward log-probabilities.

    As in MindSpore, the gradient is with respect to the logits behind the log-probabilities.
    """

    blank: int = 0
    reduction: str = "none"
    zero_infinity: bool = False
    promotes = ("input_lengths", "target_lengths")
    examples = (
        case("f32[4,2,3]", "i32[2,2]:<3", "i32[2]:<5", "i32[2]:<3", differentiate=False),
        case(
            "f64[3,1,2]",
            "i64[1,1]:<2",
            "i64[1]:<4",
            "i64[1]:<2",
            reduction="mean",
            differentiate=False,
        ),
    )

    def normalize(self) -> dict[str, Any]:
        return {"reduction": check_reduction(self.name, self.reduction)}

    def infer(
        self, log_probs: TensorType, targets: TensorType, input_lengths: Any, target_lengths: Any
    ) -> tuple[TensorType, TensorType]:
        check_rank(self.name, "log_probs", log_probs, 3)
        check_rank(self.name, "targets", targets, 2)
        if log_probs.dtype.short not in ("f32", "f64"):
            raise unsupported_dtype(self.name, log_probs, "float32 or float64 log-probabilities")
        time, batch, classes = log_probs.shape
        _check_time(self.name, log_probs)
        if not 0 <= self.blank < classes:
            raise wrong_value(self.name, "blank", self.blank, f"in [0, {classes})")
        check_shape(self.name, "targets", targets, (batch, targets.shape[1]))
        check_kinds(self.name, INTEGERS, targets=targets)
        for name, lengths in zip(("input", "target"), (input_lengths, target_lengths)):
            check_lengths(self.name, f"{name}_lengths", lengths, batch)
        loss = log_probs.with_shape((batch,) if self.reduction == "none" else ())
        return loss, log_probs.with_shape((batch, time, 2 * targets.shape[1] + 1))

    def bounds(
        self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any
    ) -> tuple[IndexBound, ...]:
        time, _, classes = log_probs.shape
        named = IndexBound(1, 0, classes, "label", read=_counted, beside=(3,))
        return (
            named,
            *IndexBound.lengths(2, input_lengths, time),
            *IndexBound.lengths(3, target_lengths, targets.shape[1]),
        )

    def lower(
        self, log_probs: Array, targets: Array, input_lengths: Any, target_lengths: Any
    ) -> tuple[Array, Array]:
        times, counts = _vector(input_lengths), _vector(target_lengths)
        losses, forward = _forward(log_probs, targets, times, counts, self.blank, merge=True)
        # adds nothing to the value, and the probabilities to the gradient
        mass = jnp.exp(jnp.minimum(log_probs, _LARGEST))
        mass = jnp.where(_before(times, log_probs), mass, 0)
        total = jnp.sum(mass, axis=(0, 2), dtype=log_probs.dtype)
        losses = losses + (total - lax.stop_gradient(total))
        impossible = losses > -_NEVER / 10
        losses = jnp.where(impossible, 0.0 if self.zero_infinity else jnp.inf, losses)
        if self.reduction == "mean":
            losses = jnp.mean(losses / jnp.maximum(counts, 1), dtype=losses.dtype)
        elif self.reduction == "sum":
            losses = jnp.sum(losses, dtype=losses.dtype)
        alpha = jnp.transpose(jnp.where(forward < _NEVER / 10, -jnp.inf, forward), (1, 0, 2))
        return losses.astype(log_probs.dtype), lax.stop_gradient(alpha)


class CTCLoss(Op):
    """CTC loss of sparse labels under logits, and its gradient; the last class is the blank."""

    preprocess_collapse_repeated: bool = False
    ctc_merge_repeated: bool = True
    ignore_longer_outputs_than_inputs: bool = False
    examples = (
        case("f32[4,2,3]", "i64[2,2]:<2", "i32[2]:<2", "i32[2]:<5", outputs=1),
        case(
            "f16[4,2,3]",
            "i64[2,2]:<2",
            "i32[2]:<2",
            "i32[2]:<5",
            preprocess_collapse_repeated=True,
            ctc_merge_repeated=False,
            differentiate=False,
        ),
    )

    def infer(
        self,
        x: TensorType,
        labels_indices: TensorType,
        labels_values: TensorType,
        sequence_length: TensorType,
    ) -> tuple[TensorType, TensorType]:
        check_rank(self.name, "x", x, 3)
        _check_time(self.name, x)
        check_rank(self.name, "labels_indices", labels_indices, 2)
        if not x.dtype.is_float:
            raise unsupported_dtype(self.name, x, "float logits")
        if labels_indices.dtype is not int64:
            raise unsupported_dtype(self.name, labels_indices, "int64 indices")
        if labels_values.dtype is not int32:
            raise unsupported_dtype(self.name, labels_values, "int32 labels")
        if labels_indices.shape != (*labels_values.shape, 2):
            raise problem(
                ValueError,
                f"{self.name}: labels_indices and labels_values differ in size",
                got=f"labels_indices {labels_indices} and labels_values {labels_values}",
                expected="labels_indices of shape (N, 2) and labels_values of shape (N,)",
            )
        if sequence_length.shape != (x.shape[1],):
            raise problem(
                ValueError,
                f"{self.name}: sequence_length must have one length per sequence",
                got=f"x {x} and sequence_length {sequence_length}",
            )
        return x.with_shape((x.shape[1],)), x

    def bounds(
        self, x: Any, labels_indices: Any, labels_values: Any, sequence_length: Any
    ) -> tuple[IndexBound, ...]:
        time, batch, classes = x.shape
        return (
            IndexBound.positions(1, (batch, None), labels_indices.shape),
            IndexBound.labels(2, classes),
            *IndexBound.lengths(3, sequence_length, time),
        )

    def lower(
        self, x: Array, labels_indices: Array, labels_values: Array, sequence_length: Array
    ) -> tuple[Array, Array]:
        logits = widened(x)
        labels, counts = _dense_labels(logits, labels_indices, labels_values)
        if self.preprocess_collapse_repeated:
            labels, counts = _collapsed(labels, counts)
        times = _vector(sequence_length)
        skipped = counts > times if self.ignore_longer_outputs_than_inputs else counts < 0

        def losses(z: Array) -> Array:
            log_probs = jax.nn.log_softmax(z, axis=-1)
            blank = x.shape[2] - 1
            found = _forward(log_probs, labels, times, counts, blank, self.ctc_merge_repeated)[0]
            return jnp.where(skipped, 0, found)

        values, pull = jax.vjp(losses, logits)
        values = jnp.where(values > -_NEVER / 10, jnp.inf, values)
        return values.astype(x.dtype), pull(jnp.ones_like(values))[0].astype(x.dtype)

    def grad(
        self,
        x: Any,
        labels_indices: Any,
        labels_values: Any,
        sequence_length: Any,
        out: Any,
        dout: Any,
    ) -> tuple[Any, ...]:
        return mul(out[1], reshape(dout[0], (1, -1, 1))), None, None, None


def _forward(
    log_probs: Array, labels: Array, times: Array, counts: Array, blank: int, merge: bool
) -> tuple[Array, Array]:
    """Loss of each sequence, and the log-probability of each state at each time step."""
    states = _with_blanks(jnp.asarray(labels), blank)
    number = jnp.arange(states.shape[1], dtype=counts.dtype)
    is_label = (number % 2 == 1)[None, :]
    real = number[None, :] < 2 * counts[:, None] + 1
    before = jnp.pad(states, ((0, 0), (2, 0)), constant_values=-1)[:, : states.shape[1]]
    may_skip = is_label & (number >= 2)[None, :] & ((states != before) | (not merge))
    may_stay = ~is_label | merge
    emitted = jnp.take_along_axis(jnp.asarray(log_probs), states[None], axis=2)
    first = jnp.where(real & (number < 2)[None, :], emitted[0], _NEVER)

    def step(alpha: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        time, probability = now
        stay = jnp.where(may_stay, alpha, _NEVER)
        skip = jnp.where(may_skip, _shifted(alpha, 2), _NEVER)
        moved = jnp.logaddexp(jnp.logaddexp(stay, _shifted(alpha, 1)), skip) + probability
        moved = jnp.where(real, jnp.maximum(moved, _NEVER), _NEVER)
        running = (time < times)[:, None]
        return jnp.where(running, moved, alpha), jnp.where(running, moved, _NEVER)

    later = jnp.arange(1, log_probs.shape[0], dtype=times.dtype)
    last, rest = lax.scan(step, first, (later, emitted[1:]))
    ends = jnp.stack([2 * counts, jnp.maximum(2 * counts - 1, 0)], axis=1)
    final = jnp.take_along_axis(last, ends, axis=1)
    by_label = jnp.where(counts > 0, final[:, 1], _NEVER)
    return -jnp.logaddexp(final[:, 0], by_label), jnp.concatenate([first[None], rest])


def _with_blanks(labels: Array, blank: int) -> Array:
    """blank, label, blank, label, ..., blank; padding that is not a class counts as blank."""
    batch, length = labels.shape
    states = jnp.full((batch, 2 * length + 1), blank, labels.dtype)
    return states.at[:, 1::2].set(jnp.maximum(labels, 0))


def _shifted(alpha: Array, count: int) -> Array:
    padded = jnp.pad(alpha, ((0, 0), (count, 0)), constant_values=_NEVER)
    return padded[:, : alpha.shape[1]]


def _dense_labels(logits: Array, indices: Array, values: Array) -> tuple[Array, Array]:
    """Sparse labels as rows padded with 0, and the number of labels per row."""
    time, batch, _ = logits.shape
    rows, columns = jnp.asarray(indices)[:, 0], jnp.asarray(indices)[:, 1]
    length = min(time, values.shape[0])
    labels = jnp.zeros((batch, length), values.dtype).at[rows, columns].set(values, mode="drop")
    counts = jnp.zeros((batch,), jnp.int64).at[rows].add(1, mode="drop")
    return labels, jnp.minimum(counts, length)


def _collapsed(labels: Array, counts: Array) -> tuple[Array, Array]:
    """Rows of labels without consecutive repeats."""
    positions = jnp.arange(labels.shape[1], dtype=counts.dtype)[None, :]
    before = jnp.pad(labels, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    kept = (positions < counts[:, None]) & (labels != before)
    target = jnp.where(kept, jnp.cumsum(kept, axis=1) - 1, labels.shape[1])
    rows = jnp.arange(labels.shape[0])[:, None]
    moved = jnp.zeros_like(labels).at[rows, target].set(labels, mode="drop")
    return moved, jnp.sum(kept, axis=1, dtype=counts.dtype)


def _before(times: Array, log_probs: Array) -> Array:
    steps = jnp.arange(log_probs.shape[0], dtype=times.dtype)
    return (steps[:, None] < times[None, :])[:, :, None]


def _counted(targets: Any, counts: Any) -> Any:
    """Rows of labels with zeros after the end of each row."""
    lengths = counts if not isinstance(counts, tuple) else jnp.stack(counts)
    positions = np.arange(targets.shape[1], dtype=np.int32)
    return targets * (positions < lengths.reshape(-1, 1)).astype(targets.dtype)


def _vector(lengths: Any) -> Array:
    """Lengths as one int64 vector; a tuple of numbers is accepted too."""
    if isinstance(lengths, tuple):
        return jnp.stack([jnp.reshape(n, ()) for n in lengths]).astype(jnp.int64)
    return jnp.asarray(lengths).astype(jnp.int64)


def check_lengths(op: str, argument: str, lengths: Any, batch: int) -> None:
    """Checks that `lengths` has one integer per sequence, in a vector or a tuple."""
    if not isinstance(lengths, tuple):
        check_shape(op, argument, lengths, (batch,))
    elif len(lengths) != batch:
        raise wrong_value(op, argument, len(lengths), f"{batch} numbers")
    for one in lengths if isinstance(lengths, tuple) else (lengths,):
        check_kinds(op, INTEGERS, **{argument: one})


def _check_time(op: str, type_: TensorType) -> None:
    if type_.shape[0] == 0:
        raise problem(ValueError, f"{op}: the input has no time steps", got=str(type_))
