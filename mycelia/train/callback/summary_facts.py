"""The hyper-parameters and learning rates that summaries record."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia.insight.hyper_parameters import Value


def hyper_parameters_of(facts: Any) -> dict[str, Value]:
    """The hyper-parameters of a training run, as far as they are known."""
    optimizer = _optimizer_of(facts)
    rates = learning_rates_of(facts)
    values: dict[str, Any] = {
        "network": type(facts.network).__name__,
        "optimizer": None if optimizer is None else type(optimizer).__name__,
        "learning_rate": next(iter(rates.values()), None),
        "loss_function": None if facts.loss_fn is None else type(facts.loss_fn).__name__,
        "batch_size": getattr(facts.train_dataset, "get_batch_size", lambda: None)(),
        "epoch": facts.epoch_num,
        "device_num": facts.device_number,
    }
    return {name: value for name, value in values.items() if value is not None}


def learning_rates_of(facts: Any) -> dict[str, float]:
    """The learning rate of the next step by name; with grouped rates, each distinct one."""
    optimizer = _optimizer_of(facts)
    if optimizer is None:
        return {}
    rates = optimizer.get_lr()
    if not isinstance(rates, (tuple, list)):
        return {"learning_rate": _number(rates)}
    different = dict.fromkeys(_number(rate) for rate in rates)
    if len(different) == 1:
        return {"learning_rate": next(iter(different))}
    return {f"learning_rate_{index}": rate for index, rate in enumerate(different)}


def _optimizer_of(facts: Any) -> Any:
    """The optimizer of the model, or of the network if that runs the steps."""
    optimizer = facts.optimizer
    if optimizer is None:
        optimizer = getattr(facts.train_network, "optimizer", None)
    return optimizer if hasattr(optimizer, "get_lr") else None


def _number(rate: Any) -> float:
    """The shortest decimal, such as 0.1, instead of its float32 approximation."""
    return float(str(np.asarray(rate)))
