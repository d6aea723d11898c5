"""Finds where non-finite values first appear: data, a layer, a gradient, or an update."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from mycelia._engine.core import settings
from mycelia.tensor.parameter import ParameterTuple
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.grad import value_and_grad


def first_non_finite(facts: Any, inputs: list[Any]) -> str:
    """Describe what is not finite first in a training step on `inputs`."""
    if not all_finite(inputs):
        columns = [str(i) for i, value in enumerate(inputs) if not all_finite([value])]
        return f"the batch itself contains non-finite values, in column {', '.join(columns)}"
    with _eagerly():
        network = getattr(facts.train_network, "network", facts.train_network)
        layer = _first_bad_cell(facts, network, inputs)
        if layer:
            return layer
        weights = ParameterTuple([p for p in network.trainable_params() if p.requires_grad])
        names = _bad_gradients(network, weights, inputs) if weights else []
    if names:
        return f"the network is finite, but the gradient of {_listed(names)} is not"
    return "the network and its gradients are finite, but the optimizer's update is not"


def all_finite(values: Iterable[Any]) -> bool:
    """Whether tensors and arrays of real numbers are finite; others count as finite."""
    return all(_is_finite(value) for value in values)


def _is_finite(value: Any) -> bool:
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    return array.dtype.kind in "biuOSU" or bool(np.isfinite(array.astype(np.float64)).all())


def _first_bad_cell(facts: Any, network: Any, inputs: list[Any]) -> str:
    """Describe the first layer whose result is not finite; empty if there is none."""
    names = {id(cell): name for name, cell in network.cells_and_names()}
    names |= {id(cell): name for name, cell in facts.network.cells_and_names()}
    if facts.loss_fn is not None:
        names[id(facts.loss_fn)] = "loss_fn"
    messages: list[str] = []

    def look(cell: Any, inputs: Any, result: Any) -> None:
        if not messages and not all_finite(_tensors(result)):
            name = names[id(cell)]
            source = _source(cell, inputs)
            messages.append(f"first in {type(cell).__name__} {name!r}{source}".replace(" ''", ""))

    handles = [cell.register_forward_hook(look) for _, cell in network.cells_and_names()]
    try:
        network(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return messages[0] if messages else ""


def _source(cell: Any, inputs: Any) -> str:
    """Describe the inputs and parameters of the layer."""
    parameters = [p for p in cell.get_parameters(expand=False) if not all_finite([p])]
    if parameters:
        return f", whose parameter {parameters[0].name} is not finite"
    if not all_finite(_tensors(inputs)):
        return ", whose input is already not finite because of the operations before it"
    tensors = [t for t in _tensors(inputs) if t.size]
    largest = max((float(np.abs(t.asnumpy()).max()) for t in tensors), default=0.0)
    return f", from inputs of at most {largest:.4g}"


def _bad_gradients(network: Any, weights: Any, inputs: list[Any]) -> list[str]:
    _, gradients = value_and_grad(network, None, weights)(*inputs)
    pairs = zip(weights, gradients, strict=True)
    return [weight.name for weight, gradient in pairs if not all_finite([gradient])]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)
    elif isinstance(value, dict):
        yield from _tensors(list(value.values()))


@contextmanager
def _eagerly() -> Iterator[None]:
    """Run cells in eager mode for a while."""
    before = settings.current()
    settings.change(mode=settings.PYNATIVE_MODE)
    try:
        yield
    finally:
        settings.restore(before)
