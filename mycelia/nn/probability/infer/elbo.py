"""The evidence lower bound as a loss."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.checks import check_string
from mycelia.nn.cell import Cell
from mycelia.nn.probability.distribution.normal import normal_divergence
from mycelia.ops.elementwise.arithmetic import square
from mycelia.ops.reduction.reduction import sum as total


class ELBO(Cell):
    """The squared error of a reconstruction plus the divergence of the codes, both summed.

    `data` is what a VAE gives: (reconstruction, x, mean, standard deviation). The label is there
    for cells that join a network with its loss; it is not used.
    """

    def __init__(self, latent_prior: str = "Normal", output_prior: str = "Normal") -> None:
        super().__init__()
        self.latent_prior = check_string("ELBO", "latent_prior", latent_prior, ["Normal"])
        self.output_prior = check_string("ELBO", "output_prior", output_prior, ["Normal"])

    def construct(self, data: Any, label: Any) -> Any:
        reconstruction, x, mean, deviation = data
        divergence = normal_divergence(mean, deviation, 0.0, 1.0)
        return total(square(x - reconstruction)) + total(divergence)
