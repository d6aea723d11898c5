"""Training and inference of cells."""

from __future__ import annotations

from typing import Any

from . import numbers
from .framework import NAME, ms, nn
from .protocol import Job, repeated


def initialize(net: Any) -> int:
    """Give a net the weights all frameworks start from; gives the number of parameters."""
    weights = numbers.Weights()
    parameters = net.trainable_params()
    for parameter in parameters:
        parameter.set_data(ms.Tensor(weights.initial(parameter.name, parameter.shape)))
    return sum(p.size for p in parameters)


def optimizer_of(net: Any, sizes: dict[str, Any]) -> Any:
    """The optimizer that a workload asks for."""
    weights, rate = net.trainable_params(), sizes["rate"]
    if sizes["optimizer"] == "adam":
        return nn.Adam(weights, rate, *sizes["betas"], eps=sizes["epsilon"])
    if sizes["optimizer"] == "sgd":
        return nn.SGD(weights, rate)
    return nn.Momentum(weights, rate, sizes["momentum"])


def training(net: Any, sizes: dict[str, Any]) -> Job:
    """One run is one step of a classifier, and reads the loss."""
    parameters = initialize(net)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    train = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer_of(net, sizes)).set_train()
    inputs, labels = ms.Tensor(numbers.inputs(sizes)), ms.Tensor(numbers.labels(sizes))
    if "steps" in sizes and NAME == "mycelia":
        sink = ms.data_sink(train, [(inputs, labels)], sizes["steps"])
        return Job(lambda: float(sink().asnumpy()), float, parameters)
    job = Job(lambda: float(train(inputs, labels).asnumpy()), float, parameters)
    return repeated(job, sizes)


def inference(net: Any, sizes: dict[str, Any]) -> Job:
    """One run is one forward pass."""
    parameters = initialize(net)
    net.set_train(False)
    inputs = ms.Tensor(numbers.inputs(sizes))
    return Job(lambda: net(inputs).asnumpy(), numbers.total, parameters)


def classifier(net: Any, sizes: dict[str, Any]) -> Job:
    """Training or inference, as the task says."""
    make = inference if sizes.get("task") == "infer" else training
    return make(net, sizes)
