"""`mindspore._c_expression`: the few names of the C++ core that scripts import."""

from mycelia.nn.cell import Cell as Cell_
from mycelia.ops.control.composite import HyperMap as HyperMap_
from mycelia.ops.control.composite import MultitypeFuncGraph as MultitypeFuncGraph_
from mycelia.tensor.tensor import Tensor

__all__ = ["Cell_", "HyperMap_", "MultitypeFuncGraph_", "Tensor"]
