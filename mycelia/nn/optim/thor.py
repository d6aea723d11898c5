"""The THOR optimizer: natural gradients with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_positive_int
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.float_checks import positive_float
from mycelia.nn.layer.curvature import BLOCK_SIZE, DECAY, ScaleCurvatureProbe, watched_layers
from mycelia.nn.optim.learning_rates import make_rate
from mycelia.nn.optim.momentum import Momentum
from mycelia.ops.elementwise.arithmetic import add, div, minimum, mul
from mycelia.ops.elementwise.exponential import sqrt
from mycelia.ops.optimizer.clip_by_norm import clip_by_global_norm
from mycelia.ops.optimizer.natural_gradient import NaturalGradient, NaturalScaleGradient
from mycelia.ops.reduction.reduction import sum as sum_of
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

_TRACE_RULE = (0.01, 0.001)


class Thor(Momentum):
    """Momentum on natural gradients; recomputes a layer's curvature when its trace has changed.

    `parameters` are those of the network, followed by one probe for each watched layer. The
    "gradients" of probes are second moments of the gradients inside the network, so compute
    gradients for all of `parameters`, as TrainOneStepCell does.
    """

    def __init__(
        self,
        net: Cell,
        learning_rate: Any,
        damping: Any,
        momentum: float,
        weight_decay: float = 0.0,
        loss_scale: float = 1.0,
        use_nesterov: bool = False,
        decay_filter: Callable[[Parameter], bool] | None = None,
        enable_clip_grad: bool = False,
        frequency: int = 100,
        sampling: int | None = None,
        block_size: int = BLOCK_SIZE,
        trace_rule: tuple[float, float] = _TRACE_RULE,
        radius: float = 1.0,
    ) -> None:
        self.watched = tuple(watched_layers(net, block_size))
        weights = net.trainable_params()
        grouped = _by_decay(weights, decay_filter, weight_decay)
        super().__init__(grouped, learning_rate, momentum, weight_decay, loss_scale, use_nesterov)
        self._weights = self.parameters
        probes = tuple(layer.matrix_g for layer in self.watched)
        self.parameters = ParameterTuple((*weights, *probes))
        self.param_length = len(self.parameters)
        self.damping = make_rate("thor", damping, "damping")
        self.enable_clip_grad = check_bool("thor", "enable_clip_grad", enable_clip_grad)
        self.frequency = check_positive_int("thor", "frequency", frequency)
        self.radius = positive_float("thor", "radius", radius)
        self._adopt_layers(weights, sampling or max(1, frequency // 10), trace_rule)

    def _adopt_layers(self, weights: Any, sampling: int, trace_rule: Any) -> None:
        """Set each layer's operator, inverses, and the indices of its weights."""
        indices = {id(weight): index for index, weight in enumerate(weights)}
        fields = (self.frequency, sampling, DECAY, self.loss_scale, trace_rule)
        self._indices = tuple(
            tuple(indices[id(w)] for w in layer.weights) for layer in self.watched
        )
        self._operators = tuple(
            (NaturalScaleGradient if isinstance(layer, ScaleCurvatureProbe) else NaturalGradient)(
                *fields
            )
            for layer in self.watched
        )
        factored = [layer for layer in self.watched if not isinstance(layer, ScaleCurvatureProbe)]
        self.input_inverses = _inverses("matrix_a_inv", [layer.matrix_a for layer in factored])
        self.gradient_inverses = _inverses("matrix_g_inv", [layer.matrix_g for layer in factored])

    def construct(self, gradients: Any) -> Any:
        values = list(self.checked(gradients))
        plain, probes = values[: len(self._weights)], values[len(self._weights) :]
        if self.enable_clip_grad:
            plain = list(clip_by_global_norm(plain, self.loss_scale))
        steps = self._bounded(self._natural(plain, probes), plain)
        self.update(
            self._weights, self.moments, tuple(steps), self.get_lr(), self.momentum,
            self.decays_now(),
        )  # fmt: skip
        return self.finish_step()

    def _natural(self, gradients: list[Any], probes: list[Any]) -> list[Any]:
        """The gradients, with those of watched layers preconditioned by their curvature."""
        result, factored = list(gradients), 0
        damping = self.damping_now()
        for layer, operator, indices, probe in zip(
            self.watched, self._operators, self._indices, probes, strict=True
        ):
            own = tuple(gradients[index] for index in indices)
            if isinstance(layer, ScaleCurvatureProbe):
                new = operator(own, probe, layer.matrix_g, layer.curvature, damping)
            else:
                new = operator(
                    own, probe, layer.matrix_a, layer.matrix_g, self.input_inverses[factored],
                    self.gradient_inverses[factored], layer.curvature, damping,
                )  # fmt: skip
                factored += 1
            for index, step in zip(indices, new, strict=True):
                result[index] = step
        return result

    def damping_now(self) -> Any:
        """The damping of this step."""
        if isinstance(self.damping, Cell):
            return reshape(self.damping(self.global_step), ())
        return self.damping

    def _bounded(self, steps: list[Any], gradients: list[Any]) -> list[Any]:
        """The steps, scaled down if their joint length in the curvature metric exceeds `radius`."""
        square = Tensor(0.0, dtypes.float32)
        for step, gradient in zip(steps, gradients, strict=True):
            square = add(square, sum_of(cast(mul(step, gradient), dtypes.float32)))
        length = add(sqrt(square), 1e-30)
        share = minimum(div(self.radius * self.loss_scale, length), 1.0)
        return [mul(step, cast(share, step.dtype)) for step in steps]


def thor(
    net: Cell,
    learning_rate: Any,
    damping: Any,
    momentum: float,
    weight_decay: float = 0.0,
    loss_scale: float = 1.0,
    batch_size: int = 32,
    use_nesterov: bool = False,
    decay_filter: Callable[[Parameter], bool] = lambda x: True,
    split_indices: Any = None,
    enable_clip_grad: bool = False,
    frequency: int = 100,
    **options: Any,
) -> Thor:
    """The THOR optimizer (Chen et al. 2020): natural gradients at a fraction of the usual cost.

    It watches the Dense, Conv2d, Embedding, and LayerNorm layers of `net`; all other parameters
    follow their plain gradients. `damping` is added to the curvature: one value, or one per step.
    The curvature is inverted at most every `frequency` steps. `batch_size` and `split_indices`
    have no effect: the batch size is read from the batch.

    Options that MindSpore does not have: `sampling`, how often (in steps) curvature is measured;
    `block_size`, the largest curvature factor that is not split into blocks; `trace_rule`, the
    changes of the trace below which a layer keeps its inverses for now, and permanently; `radius`,
    the longest step before the learning rate, in the curvature metric: a step changes the outputs
    by a divergence of at most half the square of rate times radius.
    """
    check_positive_int("thor", "batch_size", batch_size)
    return Thor(
        net, learning_rate, damping, momentum, weight_decay, loss_scale, use_nesterov,
        decay_filter, enable_clip_grad, frequency, **options,
    )  # fmt: skip


def _by_decay(
    weights: list[Parameter], decay_filter: Callable[[Parameter], bool] | None, decay: float
) -> list[Any]:
    """The parameters, in groups if only some of them decay."""
    if not weights:
        raise problem(ValueError, "thor: the network has no trainable parameters")
    if decay_filter is None or decay == 0 or all(decay_filter(weight) for weight in weights):
        return weights
    decayed = [weight for weight in weights if decay_filter(weight)]
    free = [weight for weight in weights if not decay_filter(weight)]
    groups: list[Any] = [{"params": decayed, "weight_decay": decay}] if decayed else []
    return [*groups, {"params": free, "weight_decay": 0.0}, {"order_params": weights}]


def _inverses(name: str, moments: list[Parameter]) -> ParameterTuple:
    """One parameter for the inverse of each curvature factor."""
    return ParameterTuple(
        Parameter(
            Tensor(np.zeros(moment.shape, np.float32)),
            name=f"{moment.name.rpartition('.')[0]}.{name}",
            requires_grad=False,
        )
        for moment in moments
    )
