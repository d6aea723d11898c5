"""Pooling under MindSpore's names: maxima, averages and power averages of windows."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from math import prod
from typing import Any

from mycelia.core.checks import check_bool, check_non_negative_int, check_string, is_int
from mycelia.core.errors import problem, wrong_type, wrong_value
from mycelia.ir.example import case
from mycelia.ir.primitive import freeze
from mycelia.ir.types import TensorType
from mycelia.ops.engine import Array, jnp
from mycelia.ops.op import Op
from mycelia.ops.shaping import reshape
from mycelia.ops.window import Window, read_window
from mycelia.ops.window_average import average
from mycelia.ops.window_pooling import WindowAverage, WindowMaximum, pooled_type


class _Pooling(Op, register=False):
    """MindSpore's fields in front of an operator that pools over any window."""

    def normalize(self) -> dict[str, Any]:
        check_string(self.name, "data_format", self.data_format, ("NCHW", "NHWC", "NCDHW"))
        self.window_pooling()
        names = ("kernel_size", "strides", "pad", "pad_list")
        return {n: freeze(v) for n, v in vars(self).items() if n in names}

    @abstractmethod
    def window_pooling(self) -> Any:
        """The operator that does the work."""

    @cached_property
    def work(self) -> Any:
        return self.window_pooling()

    @property
    def channels_last(self) -> bool:
        return self.data_format == "NHWC"

    def infer(self, x: TensorType) -> TensorType:
        return pooled_type(self.name, x, self.work.window, self.channels_last)

    def lower(self, x: Array) -> Array:
        return self.work.lower(x)

    def grad(self, x: Any, out: Any, dout: Any) -> tuple[Any, ...]:
        return self.work.grad(x, out, dout)
