"""Optimizers with PyTorch's arguments and parameter groups; call them with the gradients."""

from mycelia.mint.optim.adam import Adam as Adam
from mycelia.mint.optim.adam import AdamW as AdamW
from mycelia.mint.optim.adam import FusedAdamW as FusedAdamW
from mycelia.mint.optim.sgd import SGD as SGD
