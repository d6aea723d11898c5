"""Probabilistic programming: distributions, bijectors, Bayesian layers, variational inference."""

from mycelia.nn.probability import bijector as bijector
from mycelia.nn.probability import bnn_layers as bnn_layers
from mycelia.nn.probability import distribution as distribution
from mycelia.nn.probability import dpn as dpn
from mycelia.nn.probability import infer as infer
