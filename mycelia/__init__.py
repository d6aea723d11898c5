"""Mycelia: an all-scenario deep-learning framework with MindSpore's interface on XLA."""

from mycelia.ops import arithmetic as _arithmetic
from mycelia.runtime.eager import dispatch as _dispatch
from mycelia.tensor.tensor import Tensor as Tensor
