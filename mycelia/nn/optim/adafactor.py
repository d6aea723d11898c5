"""The AdaFactor optimizer: Adam with factored second moments."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import (
    check_bool,
    check_instance,
    check_non_negative_float,
    check_range,
)
from mycelia._engine.core.errors import problem
from mycelia.nn.float_checks import non_negative_float
from mycelia.nn.optim.optimizer import Optimizer, checked_target
from mycelia.nn.optim.per_parameter_rate import each_rate
from mycelia.ops.elementwise.arithmetic import add, div, maximum, minimum, mul, square, sub
from mycelia.ops.elementwise.exponential import rsqrt, sqrt
from mycelia.ops.elementwise.power import pow
from mycelia.ops.indexing.assign import assign
from mycelia.ops.reduction.reduction import mean
from mycelia.ops.shapes.creation import zeros
from mycelia.ops.shapes.reshape import cast, expand_dims, reshape
from mycelia.tensor.parameter import Parameter, ParameterTuple
from mycelia.tensor.tensor import Tensor

_UNUSED = (1,)  # the shape of a state that a parameter does not need


class AdaFactor(Optimizer):
    """The AdaFactor optimizer, which stores row and column means of a matrix's second moments.

    With `relative_step` the learning rate falls automatically as 1 / sqrt(step), after a slow
    start with `warmup_init`; `scale_parameter` scales it by the size of each parameter.
    `compression` stores second moments that are not factored in half precision (Shazeer and
    Stern, 2018).
    """

    def __init__(
        self,
        params: Any,
        learning_rate: Any = None,
        eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0,
        decay_rate: float = 0.8,
        beta1: float | None = 0.9,
        weight_decay: float = 0.0,
        scale_parameter: bool = True,
        relative_step: bool = True,
        warmup_init: bool = False,
        compression: bool = False,
        loss_scale: float = 1.0,
    ) -> None:
        owner = "AdaFactor"
        _check_rate(learning_rate, relative_step, warmup_init)
        check_instance(owner, "weight_decay", weight_decay, float)
        super().__init__(
            0.0 if learning_rate is None else learning_rate, params, weight_decay, loss_scale
        )
        self.eps = _checked_eps(eps)
        self.clip_threshold = non_negative_float(owner, "clip_threshold", clip_threshold)
        check_instance(owner, "decay_rate", decay_rate, float)
        self.decay_rate = check_range(owner, "decay_rate", decay_rate, 0.0, 1.0, closed="none")
        self.beta1 = (
            None if beta1 is None else check_non_negative_float(owner, "beta1", float(beta1))
        )
        self.scale_parameter = check_bool(owner, "scale_parameter", scale_parameter)
        self.relative_step = check_bool(owner, "relative_step", relative_step)
        self.warmup_init = check_bool(owner, "warmup_init", warmup_init)
        self.compression = check_bool(owner, "compression", compression)
        self.init_ada_factor_state(self.beta1)
        self.step = Parameter(Tensor([0.0], dtypes.float32), name="afactor_step")

    def init_ada_factor_state(self, beta1: float | None) -> None:
        """Create the moments, all zero."""
        self.use_first_moment = bool(beta1)
        self.exp_avg = self.parameters.clone("exp_avg", "zeros") if beta1 else ()
        self.exp_avg_sq_row = self._states(
            "exp_avg_sq_row", lambda s: s[:-1] if len(s) > 1 else _UNUSED
        )
        self.exp_avg_sq_col = self._states(
            "exp_avg_sq_col", lambda s: (*s[:-2], s[-1]) if len(s) > 1 else _UNUSED
        )
        self.exp_avg_sq = self._states("exp_avg_sq", lambda s: _UNUSED if len(s) > 1 else s)

    def _states(self, prefix: str, shape_of: Any) -> ParameterTuple:
        def dtype_of(parameter: Parameter) -> Any:
            small = self.compression and prefix == "exp_avg_sq" and parameter.ndim < 2
            return dtypes.float16 if small else parameter.dtype

        return ParameterTuple(
            Parameter(zeros(shape_of(p.shape), dtype=dtype_of(p)), name=f"{prefix}_{p.name}")
            for p in self.parameters
        )

    @property
    def supports_memory_efficient_fp16(self) -> bool:
        """Whether parameters may be in half precision."""
        return True

    @property
    def supports_flat_params(self) -> bool:
        """Whether parameters may be joined into one vector: no, that would lose their rows."""
        return False

    def construct(self, gradients: Any) -> Any:
        # The loss scale stays in the gradients: normalizing them cancels it.
        gradients = self.gradients_centralization(self.checked(gradients))
        step = add(reshape(self.step, ()), 1.0)
        assign(self.step, reshape(step, (1,)))
        rates = each_rate(self.get_lr(), self.param_length)
        for index, (gradient, rate) in enumerate(zip(gradients, rates, strict=True)):
            self._update(index, cast(gradient, dtypes.float32), rate, step)
        return self.finish_step()

    def _update(self, index: int, gradient: Any, given_rate: Any, step: Any) -> None:
        parameter = self.parameters[index]
        old = cast(parameter, dtypes.float32)
        rate = self._rate(old, given_rate, step)
        change = self._normalized(index, gradient, step)
        change = div(change, maximum(div(_size(change), self.clip_threshold), 1.0))
        change = mul(change, rate)
        if self.beta1:
            average = self.exp_avg[index]
            change = add(mul(average, self.beta1), mul(change, 1.0 - self.beta1))
            assign(average, cast(change, average.dtype))
        decays = self.fixed_decays()
        if decays and decays[index]:
            old = sub(old, mul(mul(old, rate), decays[index]))
        assign(parameter, cast(sub(old, change), parameter.dtype))

    def _rate(self, parameter: Any, given_rate: Any, step: Any) -> Any:
        rate = given_rate
        if self.relative_step:
            limit = mul(step, 1e-6) if self.warmup_init else 1e-2
            rate = minimum(rsqrt(step), limit)
        if self.scale_parameter:
            rate = mul(rate, maximum(_size(parameter), self.eps[1]))
        return rate

    def _normalized(self, index: int, gradient: Any, step: Any) -> Any:
        """The gradient divided by the root of its second moment, which this updates."""
        beta2 = sub(1.0, pow(step, -self.decay_rate))
        new = add(square(gradient), self.eps[0])
        if gradient.ndim < 2:
            moment = _blended(self.exp_avg_sq[index], new, beta2)
            return mul(gradient, rsqrt(moment))
        rows = _blended(self.exp_avg_sq_row[index], mean(new, -1), beta2)
        columns = _blended(self.exp_avg_sq_col[index], mean(new, -2), beta2)
        by_row = rsqrt(div(rows, mean(rows, -1, True)))
        return mul(mul(gradient, expand_dims(by_row, -1)), expand_dims(rsqrt(columns), -2))

    def _may_decay(self, parameter: Parameter) -> bool:
        return True

    def _set_target(self, value: str) -> None:
        self._target = checked_target("AdaFactor", value, ("CPU", "Ascend", "GPU"))


def _blended(state: Any, new: Any, beta: Any) -> Any:
    """Update a running mean with `new`, and return it."""
    blended = add(mul(cast(state, dtypes.float32), beta), mul(new, sub(1.0, beta)))
    assign(state, cast(blended, state.dtype))
    return blended


def _size(values: Any) -> Any:
    """The root mean square."""
    return sqrt(mean(square(values)))


def _check_rate(rate: Any, relative: Any, warmup: Any) -> None:
    if rate is not None and relative:
        raise problem(
            ValueError, "AdaFactor: relative_step needs learning_rate=None", got=f"{rate!r}"
        )
    if rate is None and not relative:
        raise problem(ValueError, "AdaFactor: relative_step=False needs a learning_rate")
    if warmup and not relative:
        raise problem(ValueError, "AdaFactor: warmup_init needs relative_step=True")


def _checked_eps(eps: Any) -> tuple[float, float]:
    if not isinstance(eps, (tuple, list)):
        raise problem(TypeError, "AdaFactor: eps must be a pair", got=type(eps).__name__)
    if len(eps) != 2:
        raise problem(ValueError, "AdaFactor: eps must be a pair", got=repr(eps))
    first, second = (non_negative_float("AdaFactor", f"eps{n}", e) for n, e in enumerate(eps))
    return first, second
