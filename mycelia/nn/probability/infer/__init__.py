"""Variational inference."""

from mycelia.nn.probability.infer.elbo import ELBO as ELBO
from mycelia.nn.probability.infer.svi import SVI as SVI
