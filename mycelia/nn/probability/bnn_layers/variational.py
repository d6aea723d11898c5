"""The base of Bayesian layers: priors and posteriors of weight and bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia._engine.core.checks import check_bool, check_instance
from mycelia._engine.core.errors import wrong_type
from mycelia.nn.cell import Cell
from mycelia.ops.linalg.matmul import BiasAdd
from mycelia.ops.reduction.reduction import sum as total


class Variational(Cell):
    """A layer whose weight and bias are sampled from their posteriors at each call."""

    def _set_distributions(
        self,
        shape: tuple[int, ...],
        has_bias: bool,
        weight_prior_fn: Any,
        weight_posterior_fn: Callable[..., Cell],
        bias_prior_fn: Any,
        bias_posterior_fn: Callable[..., Cell],
    ) -> None:
        owner = type(self).__name__
        self.has_bias = check_bool(owner, "has_bias", has_bias)
        self.weight_prior = _prior(owner, "weight_prior_fn", weight_prior_fn)
        self.weight_posterior = _posterior(
            owner, "weight_posterior_fn", weight_posterior_fn, shape, "bnn_weight"
        )
        if has_bias:
            self.bias_prior = _prior(owner, "bias_prior_fn", bias_prior_fn)
            self.bias_posterior = _posterior(
                owner, "bias_posterior_fn", bias_posterior_fn, shape[:1], "bnn_bias"
            )
            self.bias_add = BiasAdd.of()

    def apply_variational_bias(self, inputs: Any) -> Any:
        """Add a bias sampled from its posterior."""
        return self.bias_add(inputs, self.bias_posterior("sample"))

    def compute_kl_loss(self) -> Any:
        """KL(prior || posterior), summed over the weight and the bias.

        This is the direction in which MindSpore asks: its numbers are kept.
        """
        found = _divergence(self.weight_prior, self.weight_posterior)
        if self.has_bias:
            found = found + _divergence(self.bias_prior, self.bias_posterior)
        return found

    def _weights_repr(self) -> str:
        text = (
            f"weight_mean={self.weight_posterior.mean}, "
            f"weight_std={self.weight_posterior.untransformed_std}, has_bias={self.has_bias}"
        )
        if self.has_bias:
            posterior = self.bias_posterior
            text += f", bias_mean={posterior.mean}, bias_std={posterior.untransformed_std}"
        return text


def _prior(owner: str, argument: str, prior: Any) -> Cell:
    """A prior from a Cell, or from a class or function that creates one."""
    if isinstance(prior, Cell):
        return prior
    if not callable(prior):
        raise wrong_type(owner, argument, prior, "a Cell or a function that returns one")
    return check_instance(owner, argument, prior(), Cell)


def _posterior(owner: str, argument: str, make: Any, shape: tuple[int, ...], name: str) -> Cell:
    if not callable(make):
        raise wrong_type(owner, argument, make, "a function of name and shape that gives a Cell")
    return check_instance(owner, argument, make(shape=shape, name=name), Cell)


def _divergence(prior: Cell, posterior: Cell) -> Any:
    learned = posterior("get_dist_args")
    return total(prior("kl_loss", posterior("get_dist_type"), *learned))
