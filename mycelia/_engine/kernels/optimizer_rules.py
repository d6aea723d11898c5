"""The update rules of the optimizers, as pure functions on arrays.

Each takes float arrays of one working precision and returns the new values in the order in which
the operators write them. The operators (`optimizer_updates`, `apply_updates`) convert dtypes.
"""

from __future__ import annotations

from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.kernels.sums import summed


def momentum_rule(
    param: Array, moment: Array, gradient: Array, rate: Array, *, momentum: Array, nesterov: bool
) -> tuple[Array, Array]:
    """Heavy-ball momentum; `nesterov` looks one step ahead."""
    moment = moment * momentum + gradient
    step = gradient + moment * momentum if nesterov else moment
    return param - rate * step, moment


def sgd_rule(
    param: Array,
    accumulator: Array,
    first: Array,
    gradient: Array,
    rate: Array,
    *,
    momentum: Array,
    dampening: float,
    nesterov: bool,
) -> tuple[Array, Array, Array]:
    """Stochastic gradient descent; `first` is 1 until the accumulator holds its first gradient."""
    damped = accumulator * momentum + (1.0 - dampening) * gradient
    moved = jnp.where(first > 0, gradient, damped)
    step = gradient + momentum * moved if nesterov else moved
    active = momentum > 0
    return (
        param - rate * jnp.where(active, step, gradient),
        jnp.where(active, moved, accumulator),
        jnp.where(active, jnp.zeros_like(first), first),
    )


def moments_rule(
    moment1: Array, moment2: Array, gradient: Array, beta1: Array, beta2: Array
) -> tuple[Array, Array]:
    """Running means of the gradient and of its square."""
    keep1, keep2 = jnp.asarray(beta1, gradient.dtype), jnp.asarray(beta2, gradient.dtype)
    first = moment1 + (gradient - moment1) * (1 - keep1)
    second = moment2 + (gradient * gradient - moment2) * (1 - keep2)
    return first, second


def corrected_rate(rate: Array, beta1_power: Array, beta2_power: Array) -> Array:
    """Adam's learning rate with bias correction for both running means."""
    return rate * jnp.sqrt(1 - beta2_power) / (1 - beta1_power)


def adam_rule(
    param: Array,
    moment1: Array,
    moment2: Array,
    gradient: Array,
    rate: Array,
    *,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    nesterov: bool,
) -> tuple[Array, Array, Array]:
    """Adam with an already corrected learning rate (Kingma and Ba, 2015)."""
    first, second = moments_rule(moment1, moment2, gradient, beta1, beta2)
    direction = first * beta1 + (1 - beta1) * gradient if nesterov else first
    return param - rate * direction / (jnp.sqrt(second) + epsilon), first, second


def amsgrad_rule(
    param: Array,
    moment1: Array,
    moment2: Array,
    largest: Array,
    gradient: Array,
    rate: Array,
    *,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
) -> tuple[Array, Array, Array, Array]:
    """Adam that divides by the largest second moment so far (Reddi et al., 2018)."""
    first, second = moments_rule(moment1, moment2, gradient, beta1, beta2)
    largest = jnp.maximum(largest, second)
    return param - rate * first / (jnp.sqrt(largest) + epsilon), first, second, largest


def adam_weight_decay_rule(
    param: Array,
    moment1: Array,
    moment2: Array,
    gradient: Array,
    rate: Array,
    *,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    decay: Array,
) -> tuple[Array, Array, Array]:
    """Adam without bias correction, with decay added to the step, not to the gradient."""
    first, second = moments_rule(moment1, moment2, gradient, beta1, beta2)
    step = first / (jnp.sqrt(second) + epsilon) + decay * param
    return param - rate * step, first, second


def lamb_rule(
    param: Array,
    moment1: Array,
    moment2: Array,
    gradient: Array,
    rate: Array,
    *,
    step: Array,
    beta1: float,
    beta2: float,
    epsilon: float,
    decay: Array,
) -> tuple[Array, Array, Array]:
    """LAMB: Adam's direction, scaled to the norm of the parameter (You et al., 2020)."""
    first, second = moments_rule(moment1, moment2, gradient, beta1, beta2)
    unbiased1 = first / (1 - jnp.power(beta1, step))
    unbiased2 = second / (1 - jnp.power(beta2, step))
    direction = unbiased1 / (jnp.sqrt(unbiased2) + epsilon) + decay * param
    ratio = _trust_ratio(_norm(param), _norm(direction))
    return param - rate * ratio * direction, first, second


def _trust_ratio(weight: Array, direction: Array) -> Array:
    usable = (weight > 0) & (direction > 0)
    ratio = jnp.where(usable, weight / jnp.where(usable, direction, 1), 1)
    return jnp.clip(ratio, 0, 10)


def _norm(x: Array) -> Array:
    return jnp.sqrt(summed(x * x))


def adagrad_rule(
    param: Array, accumulator: Array, gradient: Array, rate: Array, *, update: bool
) -> tuple[Array, Array]:
    """Adagrad: the rate falls with the sum of squared gradients (Duchi et al., 2011)."""
    if update:
        accumulator = accumulator + gradient * gradient
    return param - rate * gradient * lax.rsqrt(accumulator), accumulator


def rms_prop_rule(
    param: Array,
    mean_square: Array,
    moment: Array,
    gradient: Array,
    rate: Array,
    *,
    decay: Array,
    momentum: Array,
    epsilon: Array,
) -> tuple[Array, Array, Array]:
    """RMSProp: divide by the running root mean square of the gradient."""
    mean_square = mean_square * decay + gradient * gradient * (1 - decay)
    moment = moment * momentum + rate * gradient * lax.rsqrt(mean_square + epsilon)
    return param - moment, mean_square, moment


def centered_rms_prop_rule(
    param: Array,
    mean_gradient: Array,
    mean_square: Array,
    moment: Array,
    gradient: Array,
    rate: Array,
    *,
    decay: Array,
    momentum: Array,
    epsilon: Array,
) -> tuple[Array, Array, Array, Array]:
    """RMSProp that divides by the running standard deviation of the gradient."""
    mean_square = mean_square * decay + gradient * gradient * (1 - decay)
    mean_gradient = mean_gradient * decay + gradient * (1 - decay)
    spread = mean_square - mean_gradient * mean_gradient + epsilon
    moment = moment * momentum + rate * gradient * lax.rsqrt(spread)
    return param - moment, mean_gradient, mean_square, moment


def ftrl_rule(
    param: Array,
    accumulator: Array,
    linear: Array,
    gradient: Array,
    rate: Array,
    *,
    l1: Array,
    l2: Array,
    power: Array,
) -> tuple[Array, Array, Array]:
    """FTRL, follow the regularized leader (McMahan et al., 2013)."""
    grown = accumulator + gradient * gradient
    new, old = jnp.power(grown, -power), jnp.power(accumulator, -power)
    linear = linear + gradient - (new - old) / rate * param
    pulled = jnp.sign(linear) * l1 - linear
    param = jnp.where(jnp.abs(linear) > l1, pulled / (new / rate + 2 * l2), 0)
    return param, grown, linear


def lars_rule(
    param: Array,
    gradient: Array,
    param_square: Array,
    gradient_square: Array,
    decay: Array,
    rate: Array,
    *,
    epsilon: float,
    coefficient: float,
    use_clip: bool,
) -> Array:
    """LARS: the gradient scaled to the norm of the parameter (You et al., 2017)."""
    weight = jnp.sqrt(param_square)
    trust = coefficient * weight / (jnp.sqrt(gradient_square) + decay * weight + epsilon)
    if use_clip:
        trust = jnp.clip(trust / rate, 0, 1)
    return trust * (gradient + decay * param)


def adamax_rule(
    param: Array,
    moment1: Array,
    moment2: Array,
    gradient: Array,
    rate: Array,
    *,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
) -> tuple[Array, Array, Array]:
    """AdaMax with an already corrected rate: Adam with the infinity norm."""
    first = beta1 * moment1 + (1 - beta1) * gradient
    second = jnp.maximum(beta2 * moment2, jnp.abs(gradient))
    return param - rate * first / (second + epsilon), first, second


def adadelta_rule(
    param: Array,
    accumulator: Array,
    accumulated_step: Array,
    gradient: Array,
    rate: Array,
    *,
    rho: Array,
    epsilon: Array,
) -> tuple[Array, Array, Array]:
    """Adadelta: steps in the units of the parameter (Zeiler, 2012)."""
    accumulator = rho * accumulator + (1 - rho) * gradient * gradient
    step = jnp.sqrt(accumulated_step + epsilon) * lax.rsqrt(accumulator + epsilon) * gradient
    accumulated_step = rho * accumulated_step + (1 - rho) * step * step
    return param - rate * step, accumulator, accumulated_step


def proximal_adagrad_rule(
    param: Array, accumulator: Array, gradient: Array, rate: Array, *, l1: Array, l2: Array
) -> tuple[Array, Array]:
    """Adagrad followed by shrinking towards zero (Duchi and Singer, 2009)."""
    accumulator = accumulator + gradient * gradient
    adapted = rate * lax.rsqrt(accumulator)
    return proximal(param - adapted * gradient, adapted, l1, l2), accumulator


def proximal(param: Array, rate: Array, l1: Array, l2: Array) -> Array:
    """Shrink towards zero by `rate * l1`, then by the factor 1 / (1 + rate * l2)."""
    shrunk = jnp.sign(param) * jnp.maximum(jnp.abs(param) - rate * l1, 0)
    return shrunk / (1 + rate * l2)
