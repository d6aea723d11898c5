"""Experimental interfaces: optimizers with parameter groups, and their schedulers."""

from mycelia.experimental import optim as optim
