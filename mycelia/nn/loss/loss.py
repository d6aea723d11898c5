"""The losses under the name of the module that many scripts import them from."""

from mycelia.nn.loss import *  # noqa: F403
