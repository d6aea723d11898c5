"""Checks before the first step: whether data, network, loss, and metrics match."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.compiler.frontend.value_structure import TensorStructure
from mycelia._engine.core import seed, settings
from mycelia._engine.core.errors import problem
from mycelia._engine.core.warn_once import logger
from mycelia.nn.cell import Cell
from mycelia.nn.loss.classification import (
    CrossEntropyLoss,
    NLLLoss,
    SoftmaxCrossEntropyWithLogits,
)
from mycelia.tensor.tensor import Tensor
from mycelia.train.dataset_helper import DatasetHelper
from mycelia.train.evaluation_loop import EvaluationLoop, set_training
from mycelia.transforms.show import trace_for


def kinds_of(values: Iterable[Any]) -> str:
    """A short description of values: `Float32[4,3], Int32[4]`."""
    return ", ".join(
        f"{value.dtype}{list(value.shape)}".replace(" ", "")
        if isinstance(value, Tensor)
        else type(value).__name__
        for value in values
    )


def check_columns(inputs: list[Any]) -> None:
    """Check that a batch for a network with a loss consists of data and labels."""
    if len(inputs) != 2:
        raise problem(
            ValueError,
            "Model: with a loss_fn, a batch must be data and labels",
            got=f"a batch of {len(inputs)} columns",
            expected="2 columns",
            fix="project the dataset to two columns, or put the loss into the network",
        )


def check_labels(network: Cell, loss_fn: Any, inputs: list[Any]) -> None:
    """Check that labels are valid class indices, if the loss expects class indices."""
    if not _wants_classes(loss_fn) or inputs[1].dtype.kind not in ("int", "uint"):
        return
    labels = inputs[1].asnumpy()
    labels = labels[labels != getattr(loss_fn, "ignore_index", None)]
    classes = _classes(network, inputs[0])
    if not labels.size or classes is None:
        return
    smallest, largest = int(labels.min()), int(labels.max())
    if smallest >= 0 and largest < classes:
        return
    error = problem(
        ValueError,
        f"Model: {type(loss_fn).__name__} received labels outside of the network's classes",
        got=f"labels from {smallest} to {largest} in the first batch, "
        f"and a network with {classes} classes",
        expected=f"labels from 0 to {classes - 1}",
        fix="number classes from 0, and give the last layer one output per class",
    )
    if isinstance(loss_fn, SoftmaxCrossEntropyWithLogits) and loss_fn.reduction != "mean":
        logger.warning("%s", error)  # there, such rows have no class
        return
    raise error


def check_metrics(evaluation: EvaluationLoop, dataset: Any) -> None:
    """Try the metrics on one batch, so that training does not fail at its first evaluation.

    The random state and the metrics are restored, and callbacks are not notified.
    """
    before = seed.state()
    inputs = _first_batch(dataset)
    set_training(evaluation.network, False)
    try:
        outputs = evaluation.network(*inputs)
    except Exception as error:
        error.add_note(f"  before training: the eval_network, on a batch of {kinds_of(inputs)}")
        raise
    for name, metric in evaluation.metrics.items():
        metric.clear()
        try:
            evaluation.update(outputs, [metric])
        except Exception as error:
            values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            error.add_note(f"  before training: metric {name!r}, updated with {kinds_of(values)}")
            raise
        metric.clear()
    seed.restore(before)


def _first_batch(dataset: Any) -> list[Any]:
    """The first batch, from a temporary iterator."""
    return next(iter(DatasetHelper(dataset, False)))


def _wants_classes(loss_fn: Any) -> bool:
    if isinstance(loss_fn, SoftmaxCrossEntropyWithLogits):
        return loss_fn.sparse
    return isinstance(loss_fn, (CrossEntropyLoss, NLLLoss))


def _classes(network: Cell, data: Any) -> int | None:
    """The number of classes of a network: the size of axis 1 of its result, if any."""
    try:
        shape = _shape_of_result(network, data)
    except Exception:  # the first step raises the same error, with a better message
        return None
    return shape[min(1, len(shape) - 1)] if shape else None


def _shape_of_result(network: Cell, data: Any) -> tuple[int, ...] | None:
    if settings.current().mode == settings.GRAPH_MODE:
        structure = trace_for(network, (data,)).read.result
        return structure.type.shape if isinstance(structure, TensorStructure) else None
    before = seed.state()
    set_training(network, False)
    try:
        result = network(data)
    finally:
        set_training(network, True)
        seed.restore(before)
    return result.shape if isinstance(result, Tensor) else None
