"""Finding what first gave numbers that are not finite: data, a layer, a gradient, an update."""

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
    """What in a training step on `inputs` is not finite first, in words."""
    if not all_finite(inputs):
        places = [str(i) for i, value in enumerate(inputs) if not all_finite([value])]
        return f"the batch itself has numbers that are not finite, in column {', '.join(places)}"
    with _eagerly():
        network = getattr(facts.train_network, "network", facts.train_network)
        layer = _first_bad_cell(facts, network, inputs)
        if layer:
            return layer
        weights = ParameterTuple([p for p in network.trainable_params() if p.requires_grad])
        names = _bad_gradients(network, weights, inputs) if weights else []
    if names:
        return f"the network is finite, but not the gradient of {_listed(names)}"
    return "the network and its gradients are finite, but not what the optimizer made of them"


def all_finite(values: Iterable[Any]) -> bool:
    """Whether tensors and arrays of real numbers are finite; others are."""
    return all(_is_finite(value) for value in values)


def _is_finite(value: Any) -> bool:
    array = value.asnumpy() if isinstance(value, Tensor) else np.asarray(value)
    return array.dtype.kind in "biuOSU" or bool(np.isfinite(array.astype(np.float64)).all())


def _first_bad_cell(facts: Any, network: Any, inputs: list[Any]) -> str:
    """The first layer whose result is not finite, in words; nothing if there is none."""
    names = {id(cell): name for name, cell in network.cells_and_names()}
    names |= {id(cell): name for name, cell in facts.network.cells_and_names()}
    if facts.loss_fn is not None:
        names[id(facts.loss_fn)] = "loss_fn"
    found: list[str] = []

    def look(cell: Any, given: Any, result: Any) -> None:
        if not found and not all_finite(_tensors(result)):
            name = names[id(cell)]
            source = _source(cell, given)
            found.append(f"first in {type(cell).__name__} {name!r}{source}".replace(" ''", ""))

    handles = [cell.register_forward_hook(look) for _, cell in network.cells_and_names()]
    try:
        network(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found[0] if found else ""


def _source(cell: Any, given: Any) -> str:
    """What the layer was given: good numbers, or bad ones of its own."""
    own = [p for p in cell.get_parameters(expand=False) if not all_finite([p])]
    if own:
        return f", whose parameter {own[0].name} is not finite"
    if not all_finite(_tensors(given)):
        return ", whose input is not finite: the operations before it made it so"
    most = max((float(np.abs(t.asnumpy()).max()) for t in _tensors(given) if t.size), default=0.0)
    return f", from inputs of at most {most:.4g}"


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
    """Run cells one by one for a while."""
    before = settings.current()
    settings.change(mode=settings.PYNATIVE_MODE)
    try:
        yield
    finally:
        settings.restore(before)
