"""Training and inference of PyTorch modules."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from . import numbers
from .protocol import Job, repeated


def initialize(net: nn.Module) -> int:
    """Give a net the weights all frameworks start from; gives the number of parameters."""
    weights = numbers.Weights()
    with torch.no_grad():
        for name, parameter in net.named_parameters():
            parameter.copy_(torch.from_numpy(weights.initial(name, tuple(parameter.shape))))
    return sum(p.numel() for p in net.parameters())


def optimizer_of(net: nn.Module, sizes: dict[str, Any]) -> torch.optim.Optimizer:
    """The optimizer that a workload asks for."""
    rate = sizes["rate"]
    if sizes["optimizer"] == "adam":
        betas = tuple(sizes["betas"])
        return torch.optim.Adam(net.parameters(), rate, betas=betas, eps=sizes["epsilon"])
    return torch.optim.SGD(net.parameters(), rate, momentum=sizes.get("momentum", 0))


def training(net: nn.Module, sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one step of a classifier, and reads the loss."""
    parameters = initialize(net)
    optimizer = optimizer_of(net, sizes)
    inputs = torch.from_numpy(numbers.inputs(sizes))
    labels = torch.from_numpy(numbers.labels(sizes)).long()
    model = torch.compile(net) if compiled else net

    def run() -> float:
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.item()

    return repeated(Job(run, float, parameters), sizes)


def inference(net: nn.Module, sizes: dict[str, Any], compiled: bool) -> Job:
    """One run is one forward pass."""
    parameters = initialize(net)
    net.eval()
    inputs = torch.from_numpy(numbers.inputs(sizes))
    model = torch.compile(net) if compiled else net

    def run() -> Any:
        with torch.no_grad():
            return model(inputs)

    return Job(run, numbers.total, parameters)


def classifier(net: nn.Module, sizes: dict[str, Any], compiled: bool) -> Job:
    """Training or inference, as the task says."""
    make = inference if sizes.get("task") == "infer" else training
    return make(net, sizes, compiled)
