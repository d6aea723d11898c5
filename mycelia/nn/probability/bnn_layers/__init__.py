"""Bayesian layers: layers with learned weight distributions."""

from mycelia.nn.probability.bnn_layers.bnn_cell_wrapper import WithBNNLossCell as WithBNNLossCell
from mycelia.nn.probability.bnn_layers.conv_variational import ConvReparam as ConvReparam
from mycelia.nn.probability.bnn_layers.dense_variational import (
    DenseLocalReparam as DenseLocalReparam,
)
from mycelia.nn.probability.bnn_layers.dense_variational import DenseReparam as DenseReparam
from mycelia.nn.probability.bnn_layers.layer_distribution import NormalPosterior as NormalPosterior
from mycelia.nn.probability.bnn_layers.layer_distribution import NormalPrior as NormalPrior
