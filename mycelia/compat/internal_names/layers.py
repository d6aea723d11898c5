"""Names of `mindspore.nn` for layers that live elsewhere."""

from mycelia.mint.nn import Linear as Linear
