"""Write experimental.npz with MindSpore: weights after each step, learning rates after each epoch."""

from __future__ import annotations

from pathlib import Path

import mindspore
import numpy as np
from experimental_cases import (
    OPTIMIZERS,
    RATE_STEPS,
    SCHEDULERS,
    gradients,
    title,
    weights,
)
from mindspore.experimental import optim


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for number, (name, options) in enumerate(OPTIMIZERS):
        parameters = [
            mindspore.Parameter(mindspore.Tensor(w), name=f"p{i}") for i, w in enumerate(weights())
        ]
        groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 0.02}]
        optimizer = getattr(optim, name)(groups, **options)
        for step, each in enumerate(gradients()):
            optimizer(tuple(mindspore.Tensor(g) for g in each))
            for i, parameter in enumerate(parameters):
                found[f"{title(name, number)}-{step}-{i}"] = parameter.asnumpy().copy()
    for number, (name, options) in enumerate(SCHEDULERS):
        parameters = [
            mindspore.Parameter(mindspore.Tensor(w), name=f"p{i}") for i, w in enumerate(weights())
        ]
        groups = [{"params": [parameters[0]]}, {"params": [parameters[1]], "lr": 0.02}]
        optimizer = optim.SGD(groups, lr=0.3)
        scheduler = getattr(optim.lr_scheduler, name)(optimizer, **options)
        rates = []
        for _ in range(RATE_STEPS):
            rates.append([float(g["lr"]) for g in optimizer.param_groups])
            scheduler.step()
        found[title(name, number)] = np.array(rates, np.float32)
    np.savez_compressed(Path(__file__).with_name("experimental.npz"), **found)


if __name__ == "__main__":
    main()
