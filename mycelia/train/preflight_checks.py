"""Whether data, network, loss and metrics go together: looked at before the first step."""

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
    """What values are, in short: `Float32[4,3], Int32[4]`."""
    return ", ".join(
        f"{value.dtype}{list(value.shape)}".replace(" ", "")
        if isinstance(value, Tensor)
        else type(value).__name__
        for value in values
    )


def check_columns(inputs: list[Any]) -> None:
    """Refuse a batch for a network with a loss that is not data and labels."""
    if len(inputs) != 2:
        raise problem(
            ValueError,
            "Model: with a loss_fn, a batch is data and labels",
            got=f"a batch of {len(inputs)} columns",
            expected="2 columns",
            fix="project the dataset to two columns, or put the loss into the network",
        )


def check_labels(network: Cell, loss_fn: Any, inputs: list[Any]) -> None:
    """Refuse labels that are no classes of what the network gives, if the loss wants classes."""
    if not _wants_classes(loss_fn) or inputs[1].dtype.kind not in ("int", "uint"):
        return
    labels = inputs[1].asnumpy()
    labels = labels[labels != getattr(loss_fn, "ignore_index", None)]
    classes = _classes(network, inputs[0])
    if not labels.size or classes is None:
        return
    least, most = int(labels.min()), int(labels.max())
    if least >= 0 and most < classes:
        return
    error = problem(
        ValueError,
        f"Model: {type(loss_fn).__name__} meets labels that are no classes of the network",
        got=f"labels from {least} to {most} in the first batch, a network of {classes} classes",
        expected=f"labels from 0 to {classes - 1}",
        fix="count classes from 0, and let the last layer have one output for each",
    )
    if isinstance(loss_fn, SoftmaxCrossEntropyWithLogits) and loss_fn.reduction != "mean":
        logger.warning("%s", error)  # they count as rows without a class there
        return
    raise error


def check_metrics(evaluation: EvaluationLoop, dataset: Any) -> None:
    """Let the metrics hear of one batch, so that a training does not fail at its first evaluation.

    The random state and the metrics are as before, and no callback hears of it.
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
            given = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
            error.add_note(f"  before training: metric {name!r}, told {kinds_of(given)}")
            raise
        metric.clear()
    seed.restore(before)


def _first_batch(dataset: Any) -> list[Any]:
    """A batch of an iterator that ends with this."""
    return next(iter(DatasetHelper(dataset, False)))


def _wants_classes(loss_fn: Any) -> bool:
    if isinstance(loss_fn, SoftmaxCrossEntropyWithLogits):
        return loss_fn.sparse
    return isinstance(loss_fn, (CrossEntropyLoss, NLLLoss))


def _classes(network: Cell, data: Any) -> int | None:
    """How many classes a network tells apart: the size of axis 1 of its result, if it has one."""
    try:
        shape = _shape_of_result(network, data)
    except Exception:  # the first step meets the same error, and tells it better
        return None
    return shape[min(1, len(shape) - 1)] if shape else None


def _shape_of_result(network: Cell, data: Any) -> tuple[int, ...] | None:
    if settings.current().mode == settings.GRAPH_MODE:
        form = trace_for(network, (data,)).read.result
        return form.type.shape if isinstance(form, TensorStructure) else None
    before = seed.state()
    set_training(network, False)
    try:
        found = network(data)
    finally:
        set_training(network, True)
        seed.restore(before)
    return found.shape if isinstance(found, Tensor) else None
