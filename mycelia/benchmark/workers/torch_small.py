"""Chains of operators, gradients and loops in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch.func import grad, jvp
from torch.nn import functional

from . import numbers
from .protocol import Job
from .torch_training import initialize, optimizer_of


def optionally(compiled: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function itself, or what torch.compile makes of it."""
    return torch.compile(function) if compiled else function


def elementwise(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one pass over two arrays."""
    x = torch.from_numpy(numbers.normal(0, *sizes["inputs"]))
    y = torch.from_numpy(numbers.normal(1, *sizes["inputs"]))

    def chain(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a = torch.maximum(x * y + x, -y)
        b = torch.exp(-torch.abs(a)) - torch.tanh(x)
        return torch.sqrt(b * b + 1) / (2 + torch.sigmoid(y))

    program = optionally(compiled, chain)
    return Job(lambda: program(x, y), numbers.total, 0)


def layernorm_gelu(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one pass forward and back, for the input and both parameters."""
    rows, width = sizes["inputs"]
    norm = nn.LayerNorm(width)
    parameters = initialize(norm)
    x = torch.from_numpy(numbers.normal(0, rows, width)).requires_grad_()
    weights = torch.from_numpy(numbers.normal(1, rows, width))
    layer = optionally(compiled, lambda x: (functional.gelu(norm(x)) * weights).mean())

    def run() -> Any:
        return torch.autograd.grad(layer(x), (x, norm.weight, norm.bias))

    return Job(run, lambda gradients: numbers.total(*gradients), parameters)


def softmax_ce(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one pass forward and back, for the logits."""
    logits = torch.from_numpy(numbers.inputs(sizes)).requires_grad_()
    labels = torch.from_numpy(numbers.labels(sizes)).long()
    loss = optionally(compiled, functional.cross_entropy)

    def run() -> Any:
        value = loss(logits, labels)
        return value.detach(), *torch.autograd.grad(value, logits)

    return Job(run, lambda results: numbers.total(*results), 0)


def embedding(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one step of a table whose chosen rows shall become small."""
    net = nn.Embedding(sizes["vocabulary"], sizes["width"])
    parameters = initialize(net)
    optimizer = optimizer_of(net, sizes)
    chosen = torch.from_numpy(numbers.inputs(sizes))
    layer = optionally(compiled, lambda chosen: net(chosen).square().sum(-1).mean())

    def run() -> float:
        optimizer.zero_grad()
        loss = layer(chosen)
        loss.backward()
        optimizer.step()
        return loss.item()

    return Job(run, float, parameters)


def hessian(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is the Hessian of a loss times a vector, in all weights at once."""
    make = numbers.Weights()
    weights = tuple(torch.from_numpy(make(b, a)) for a, b in pairwise(sizes["widths"]))
    vectors = tuple(torch.from_numpy(make(b, a)) for a, b in pairwise(sizes["widths"]))
    inputs = torch.from_numpy(numbers.inputs(sizes))

    def loss(weights: tuple[torch.Tensor, ...]) -> torch.Tensor:
        x = inputs
        for weight in weights[:-1]:
            x = torch.tanh(x @ weight.T)
        return (x @ weights[-1].T).square().mean()

    def product(weights: Any, vectors: Any) -> Any:
        return jvp(grad(loss), (weights,), (vectors,))[1]

    program = optionally(compiled, product)
    parameters = sum(w.numel() for w in weights)
    return Job(lambda: program(weights, vectors), lambda result: numbers.total(*result), parameters)


def solver(sizes: dict[str, Any], compiled: bool) -> Job:
    """One run inverts a matrix by Newton's iteration, until the residual is small enough."""
    matrix, start = (torch.from_numpy(v) for v in numbers.system(sizes["size"]))
    identity = torch.eye(sizes["size"])

    def improve(x: torch.Tensor, residual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = x + x @ residual
        return x, identity - matrix @ x

    step = optionally(compiled, improve)

    def run() -> torch.Tensor:
        x, residual = start, identity - matrix @ start
        while residual.square().sum() > sizes["tolerance"]:
            x, residual = step(x, residual)
        return x

    return Job(run, numbers.total, 0)


BUILDERS = {
    "elementwise": elementwise,
    "layernorm_gelu": layernorm_gelu,
    "softmax_ce": softmax_ce,
    "embedding": embedding,
    "hvp": hessian,
    "solver": solver,
}
