"""Curvature (K-FAC) statistics of layers: second moments of inputs and output gradients.

The Fisher matrix of a layer's weight is approximated by the Kronecker product of two second moments
(K-FAC, Martens and Grosse 2015): of the layer's inputs and of the gradients at its outputs. Each is
stored as diagonal blocks, (blocks, size, size), or for embeddings as the diagonal only. A layer's
`state` tracks the progress of its curvature estimate: see the constants from STEP on.
"""

from __future__ import annotations

from math import prod
from typing import Any

from mycelia._engine.core.shape import Shape
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op
from mycelia._engine.operators.window import Window

# Steps taken, batches sampled, step and trace of the last inversion, and whether to sample the next
# batch: 1 yes, 0 no, -1 never again.
STEP, SAMPLES, TURN, TRACE, DUE = range(5)
STATE_SIZE = 5
_MOST_ROWS = 4096  # image patches that contribute to one moment


class InputMoment(Op, register=False):
    """Updates the running moment of a layer's inputs with this batch if the state says so.

    Inputs are rows, or images under a `window`. With `bias` each row gets a 1 at its end.
    """

    writes = ("moment",)
    differentiable = False
    decay: float
    bias: bool = False
    window: Window | None = None
    data_format: str = "NCHW"
    last_fields = {"data_format": "NHWC"}

    def infer(self, x: TensorType, moment: TensorType, state: TensorType) -> Any:
        return None, (moment,)

    def lower(self, x: Array, moment: Array, state: Array) -> Any:
        def moved(old: Array) -> Array:
            rows, weight = self._rows(x)
            if self.bias:
                rows = jnp.concatenate([rows, jnp.ones((len(rows), 1), rows.dtype)], axis=1)
            return _moved(old, weight * _moment(rows, old.shape), state, self.decay)

        return None, (_when_due(state, moved, moment),)

    def _rows(self, x: Array) -> tuple[Array, float]:
        """Sampled input rows as float32, and the factor for the sum of their squares."""
        if self.window is None:
            rows = x.reshape(-1, x.shape[-1])
            return rows.astype(jnp.float32), 1 / max(len(rows), 1)
        images = x if self.data_format == "NCHW" else jnp.moveaxis(x, -1, 1)
        rows, places = _patches(images.astype(jnp.float32), self.window)
        return rows, places / max(len(rows), 1)


class TokenMoment(Op, register=False):
    """InputMoment for the indices of an embedding: the frequency of each index."""

    writes = ("moment",)
    differentiable = False
    decay: float

    def infer(self, ids: TensorType, moment: TensorType, state: TensorType) -> Any:
        return None, (moment,)

    def lower(self, ids: Array, moment: Array, state: Array) -> Any:
        def moved(old: Array) -> Array:
            counts = jnp.zeros_like(old).at[ids.reshape(-1)].add(1.0)
            return _moved(old, counts / max(ids.size, 1), state, self.decay)

        return None, (_when_due(state, moved, moment),)


class GradientProbe(Op, register=False):
    """Identity whose `probe` receives, as its "gradient", the moment of the value's gradients.

    The moment is divided by the root of its trace, so that dividing all gradients by a loss scale
    unscales it too; `moment_of_probe` undoes the division.
    """

    data_format: str = ""
    last_fields = {"data_format": "NHWC"}

    def infer(self, x: TensorType, probe: TensorType, state: TensorType) -> Any:
        return x

    def lower(self, x: Array, probe: Array, state: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, probe: Any, state: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return dout, GradientMoment.of(self.data_format)(dout, probe, state), None

    def last(self) -> Op | None:
        return super().last() if self.data_format else None


class GradientMoment(Op, register=False):
    """The "gradient" of a probe: see GradientProbe. Zeros if the batch is not sampled."""

    differentiable = False
    data_format: str = ""
    last_fields = {"data_format": "NHWC"}

    def infer(self, dout: TensorType, probe: TensorType, state: TensorType) -> Any:
        return probe

    def lower(self, dout: Array, probe: Array, state: Array) -> Array:
        def found(_: Array) -> Array:
            last = jnp.moveaxis(dout, 1, -1) if self.data_format == "NCHW" else dout
            rows = last.astype(jnp.float32).reshape(-1, last.shape[-1])
            count = last.shape[0] if self.data_format else len(rows)
            moment = _moment(rows, probe.shape)
            total = jnp.sqrt(_trace(moment))
            return moment * (count / jnp.sqrt(len(rows)) / jnp.where(total > 0, total, 1))

        return lax.cond(state[DUE] > 0, found, jnp.zeros_like, probe)

    def last(self) -> Op | None:
        return super().last() if self.data_format else None


class ScaleProbe(Op, register=False):
    """Scale and shift whose `probe` receives, as its "gradient", the squared gradients.

    They are the gradients for the scale (times `normal`, the value before scaling) and the shift,
    divided by the root of their sum as in GradientProbe.
    """

    def infer(self, x: TensorType, normal: Any, probe: TensorType, state: TensorType) -> Any:
        return x

    def lower(self, x: Array, normal: Array, probe: Array, state: Array) -> Array:
        return jnp.asarray(x)

    def grad(self, x: Any, normal: Any, probe: Any, state: Any, out: Any, dout: Any) -> Any:
        return dout, None, ScaleMoment.of()(dout, normal, probe, state), None


class ScaleMoment(Op, register=False):
    """The "gradient" of a ScaleProbe's probe."""

    differentiable = False

    def infer(self, dout: Any, normal: Any, probe: TensorType, state: Any) -> Any:
        return probe

    def lower(self, dout: Array, normal: Array, probe: Array, state: Array) -> Array:
        def found(_: Array) -> Array:
            rows = dout.astype(jnp.float32).reshape(-1, probe.shape[1])
            by_scale = rows * normal.astype(jnp.float32).reshape(rows.shape)
            squares = jnp.stack([jnp.square(by_scale).sum(0), jnp.square(rows).sum(0)])
            total = jnp.sqrt(squares.sum())
            return squares * (jnp.sqrt(len(rows)) / jnp.where(total > 0, total, 1))

        return lax.cond(state[DUE] > 0, found, jnp.zeros_like, probe)


def moment_of_probe(probe: Array) -> Array:
    """The moment behind the "gradient" of a probe."""
    return probe * (_trace(probe) if probe.ndim == 3 else probe.sum())


# ---- arithmetic of moments ------------------------------------------------------------------


def apply_blocks(values: Array, blocks: Array) -> Array:
    """Rows of values times a matrix stored as diagonal blocks or as a diagonal."""
    if blocks.ndim == 1:
        return values * blocks
    count, size, _ = blocks.shape
    if count == 1:
        return values @ blocks[0]
    width = values.shape[1]
    padded = jnp.pad(values, ((0, 0), (0, count * size - width)))
    split = padded.reshape(-1, count, size).transpose(1, 0, 2)
    joined = (split @ blocks).transpose(1, 0, 2)
    return joined.reshape(len(values), count * size)[:, :width]


def inverse_blocks(moment: Array, shift: Array) -> Array:
    """Inverse of a moment with `shift` added to its diagonal."""
    if moment.ndim == 1:
        return 1 / (moment + shift)
    unit = jnp.eye(moment.shape[-1], dtype=moment.dtype)
    lower = jnp.linalg.cholesky(moment + shift * unit)
    units = jnp.broadcast_to(unit, moment.shape)
    turned = lax.linalg.triangular_solve(lower, units, left_side=True, lower=True)
    return jnp.swapaxes(turned, 1, 2) @ turned


def trace_of(moment: Array) -> Array:
    """Trace of a moment."""
    return moment.sum() if moment.ndim == 1 else _trace(moment)


def _trace(blocks: Array) -> Array:
    return jnp.trace(blocks, axis1=1, axis2=2).sum()


def _moment(rows: Array, shape: Shape) -> Array:
    """Sum over rows of the outer product with themselves, as blocks of `shape`."""
    count, size, _ = shape
    if count == 1:
        return (rows.T @ rows)[None]
    padded = jnp.pad(rows, ((0, 0), (0, count * size - rows.shape[1])))
    split = padded.reshape(-1, count, size).transpose(1, 0, 2)
    return jnp.swapaxes(split, 1, 2) @ split


def _patches(images: Array, window: Window) -> tuple[Array, int]:
    """Sampled patches of images (N, C, H, W) as rows, and the number of patches per image."""
    sizes = images.shape[2:]
    places = window.output(sizes)
    step = _thinning(len(images), places)
    chosen = images[: max(1, _MOST_ROWS // prod(-(-n // step) for n in places))]
    padded = jnp.pad(chosen, ((0, 0), (0, 0), *window.padding(sizes)))
    pieces = [
        padded[:, :, *_under(window, places, step, at)]
        for at in _positions(window.kernel)
    ]  # fmt: skip
    stacked = jnp.stack(pieces, axis=2)  # (N, C, kernel, h, w)
    rows = stacked.transpose(0, 3, 4, 1, 2)
    return rows.reshape(prod(rows.shape[:3]), -1), prod(places)


def _thinning(count: int, places: Shape) -> int:
    """Strides over an image's positions that limit the number of patches in the batch."""
    step = 1
    while step < max(places) and count * prod(-(-n // step) for n in places) > _MOST_ROWS:
        step += 1
    return step


def _positions(kernel: Shape) -> list[Shape]:
    return [(row, column) for row in range(kernel[0]) for column in range(kernel[1])]


def _under(window: Window, places: Shape, step: int, at: Shape) -> tuple[slice, ...]:
    """Slices of a padded image under one position of the kernel."""
    found = []
    for axis, begin in enumerate(at):
        stride = window.strides[axis]
        start = begin * window.dilation[axis]
        found.append(slice(start, start + (places[axis] - 1) * stride + 1, stride * step))
    return tuple(found)


def _when_due(state: Array, change: Any, value: Array) -> Array:
    return lax.cond(state[DUE] > 0, change, lambda old: old, value)


def _moved(old: Array, new: Array, state: Array, decay: float) -> Array:
    """Running mean: a plain mean of the first batches, then an exponential moving average."""
    kept = kept_share(state, decay)
    return kept * old + (1 - kept) * new


def kept_share(state: Array, decay: float) -> Array:
    """Weight of the previous moment when another batch is sampled."""
    return jnp.minimum(decay, state[SAMPLES] / (state[SAMPLES] + 1))
