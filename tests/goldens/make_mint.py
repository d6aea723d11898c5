"""Run the cases of mint on torch and store what came out in mint.npz.

Run from the top of the repository with a Python that has torch 2.13:
`python -m tests.goldens.make_mint`. For case N these are the results `N.out.K` and the gradients
`N.grad.K`; for a layer `name.out`, `name.grad.K`, `name.weight.P` and its statistics `name.state.P`;
for an optimizer `name.param.K`.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.goldens.mint_cases import (
    CASES,
    LAYERS,
    OPTIMIZERS,
    Case,
    arrays_of,
    places_of,
    seed_of,
    training_of,
    weights_of,
)


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for number, case in enumerate(CASES):
        found |= results_of(number, case)
    for number, (name, case) in enumerate(LAYERS.items()):
        found |= layer_results_of(number, name, case)
    for name, make in OPTIMIZERS.items():
        found |= trained(name, make)
    grads = len({key.split(".")[0] for key in found if ".grad." in key})
    print(
        f"{len(CASES)} cases, {len(LAYERS)} layers, {len(OPTIMIZERS)} optimizers; {grads} with gradients"
    )
    np.savez_compressed(Path(__file__).with_name("mint.npz"), **found)


def results_of(number: int, case: Case) -> dict[str, np.ndarray]:
    inputs = leaves(number, case)
    outputs = parts(case.call(torch, *inputs))
    found = {f"{number}.out.{k}": array(out) for k, out in enumerate(outputs)}
    first = outputs[0]
    if not isinstance(first, torch.Tensor) or not first.requires_grad:
        return found
    first.backward(torch.from_numpy(seed_of(number, array(first))))
    grads = {k: x.grad for k, x in enumerate(inputs) if x.grad is not None}
    return found | {f"{number}.grad.{k}": array(grad) for k, grad in grads.items()}


def layer_results_of(number: int, name: str, case: Case) -> dict[str, np.ndarray]:
    layer = case.call(torch)
    weights = dict(layer.named_parameters())
    drawn = weights_of(number, {key: tuple(w.shape) for key, w in weights.items()})
    for key, weight in weights.items():
        weight.data = torch.from_numpy(drawn[key])
    inputs = leaves(number, case)
    out = layer(*inputs)
    out.backward(torch.from_numpy(seed_of(number, array(out))))
    found = {f"{name}.out": array(out)}
    found |= {f"{name}.grad.{k}": array(x.grad) for k, x in enumerate(inputs) if x.requires_grad}
    found |= {f"{name}.weight.{key}": array(w.grad) for key, w in weights.items()}
    return found | {f"{name}.state.{key}": array(b) for key, b in layer.named_buffers()}


def trained(name: str, make: Any) -> dict[str, np.ndarray]:
    values, steps = training_of(name)
    params = [torch.nn.Parameter(torch.from_numpy(v)) for v in values]
    optimizer = make(torch, params)
    for gradients in steps:
        for param, gradient in zip(params, gradients):
            param.grad = torch.from_numpy(gradient)
        optimizer.step()
    return {f"{name}.param.{k}": array(param) for k, param in enumerate(params)}


def leaves(number: int, case: Case) -> list[torch.Tensor]:
    arrays = arrays_of(number, case)
    places = places_of(case, arrays)
    return [torch.from_numpy(a).requires_grad_(n in places) for n, a in enumerate(arrays)]


def parts(result: Any) -> tuple[Any, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def array(value: Any) -> np.ndarray:
    return value.detach().numpy() if isinstance(value, torch.Tensor) else np.asarray(value)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
