"""A small network to put words on, what its plan says, and running checks of them."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

import mycelia as ms
from mycelia import Parameter, Tensor, nn, ops
from mycelia._engine.distributed.plan.plan import Plan, PlanRow
from mycelia.parallel import plans_of

SIZE = 24 * 7  # every number of devices here divides it


def numbers(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


class Dense(nn.Cell):
    """x @ weight, with operators to put words on."""

    def __init__(self, width: int = SIZE) -> None:
        super().__init__()
        self.weight = Parameter(numbers(width, width, seed=1), name="weight")
        self.matmul = ops.MatMul()
        self.tanh = ops.Tanh()

    def construct(self, x: Tensor) -> Tensor:
        return self.tanh(self.matmul(x, self.weight))


class Loss(nn.Cell):
    def __init__(self, network: nn.Cell) -> None:
        super().__init__(auto_prefix=False)
        self.network = network

    def construct(self, x: Tensor) -> Tensor:
        return ops.mean(ops.square(self.network(x)))


def spread(devices: int, mode: str = "semi_auto_parallel", **more: Any) -> None:
    """Graph mode on so many devices."""
    ms.set_context(mode=ms.GRAPH_MODE)
    settings = {"parallel_mode": mode, "device_num": devices, "full_batch": True}
    ms.set_auto_parallel_context(**settings | more)


def the_plan(fn: Any) -> Plan:
    (found,) = plans_of(fn)
    return found


def row(plan: Plan, name: str) -> PlanRow:
    return next(r for r in plan.rows if r.name == name)


def placed(plan: Plan, name: str, *, inputs: bool = True) -> list[str]:
    """How the tensors of an operator lie, as "(a, -)"."""
    found = row(plan, name)
    return [text.split(" ", 1)[1] for text in (found.inputs if inputs else found.outputs)]


def expected(x: Tensor) -> np.ndarray:
    """What `Dense` gives; its weight is not asked, so that it stays on its devices."""
    return np.tanh(x.asnumpy() @ numbers(SIZE, SIZE, seed=1).asnumpy())


def close(found: Tensor, wanted: np.ndarray) -> None:
    np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-4, atol=1e-4)


def fails(kind: type[Exception], *words: str, at: Callable[[], Any]) -> None:
    """The call raises this error, and its message has all these words."""
    try:
        at()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return
    raise AssertionError(f"no {kind.__name__}")


def run(checks: dict[str, Any], prefixes: list[str]) -> None:
    """Run the checks of a file whose names begin so, and print what came of each."""
    for name, check in checks.items():
        if name.startswith("_") or getattr(check, "__module__", "") != "__main__":
            continue
        if isinstance(check, type) or not name.startswith(tuple(prefixes)):
            continue
        ms.reset_auto_parallel_context()
        ms.reset_algo_parameters()
        try:
            check()
            print("passed", name, flush=True)
        except Exception:
            print("FAILED", name, repr(traceback.format_exc()), flush=True)
