"""A function of the user that fails in the middle of a training step costs that step alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mycelia import Tensor, nn, ops

pytestmark = pytest.mark.usefixtures("graph_mode")


class _Checked(nn.Cell):
    """A layer whose output goes through a function on the host."""

    def __init__(self, check: Callable[[Any], Any]) -> None:
        super().__init__()
        self.dense = nn.Dense(256, 256, weight_init="normal")
        self.check = ops.Custom(
            check,
            out_shape=lambda shape: shape,
            out_dtype=lambda dtype: dtype,
            func_type="pyfunc",
            bprop=lambda x, out, dout: (dout,),
        )

    def construct(self, x: Any) -> Any:
        return self.check(self.dense(x))


def test_parameters_survive():
    fails = False

    def check(x: Any) -> Any:
        if fails:
            raise ValueError("on purpose")
        return x

    net, x = _Checked(check), Tensor(np.ones((4, 256), np.float32))
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    first = float(step(x, x).asnumpy())
    before = [p.asnumpy().copy() for p in optimizer.get_parameters()]
    step(x, x)  # its parameters are the engine's own arrays from now on
    fails = True
    with pytest.raises(ValueError, match="on purpose"):
        step(x, x)
    fails = False
    assert float(step(x, x).asnumpy()) < first
    after = [p.asnumpy() for p in optimizer.get_parameters()]
    assert all(np.isfinite(a).all() for a in after)
    assert any((a != b).any() for a, b in zip(after, before, strict=True))
