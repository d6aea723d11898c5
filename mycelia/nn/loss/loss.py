"""Re-exports the losses under the module name that many scripts import."""

from mycelia.nn.loss import *  # noqa: F403
