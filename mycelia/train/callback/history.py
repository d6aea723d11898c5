"""The History callback: record the results of each epoch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.tensor.tensor import Tensor
from mycelia.train.callback.callback import Callback


class History(Callback):
    """Records the results of each epoch: `epoch` lists the epochs, `history` values by name."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def begin(self, run_context: Any) -> None:
        self.epoch = {"epoch": []}

    def state(self) -> dict[str, Any]:
        return {"history": self.history, "epoch": self.epoch}

    def restore(self, state: dict[str, Any]) -> None:
        self.history, self.epoch = state["history"], state["epoch"]

    def epoch_end(self, run_context: Any) -> None:
        facts = run_context.original_args()
        assert self.epoch is not None
        self.epoch["epoch"].append(facts.get("cur_epoch_num", 1))
        output = facts.net_outputs
        if isinstance(output, (tuple, list)) and isinstance(output[0], Tensor):
            output = output[0]
        if isinstance(output, Tensor):
            output = np.mean(output.asnumpy())
        for name, value in {"net_output": output, **(facts.get("metrics") or {})}.items():
            self.history.setdefault(name, []).append(value)
