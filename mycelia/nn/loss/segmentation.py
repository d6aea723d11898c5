"""Segmentation losses: the Dice loss and its multi-class form."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.dtype import float32, uint8
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.layer.activation import get_activation
from mycelia.nn.loss.base import LossBase, check_optional_tensor, check_real_float
from mycelia.ops.reduction.reduction import ReduceSum
from mycelia.ops.shapes.reshape import cast, reshape
from mycelia.tensor.tensor import Tensor

_ACTIVATIONS = ("softmax", "logsoftmax", "relu", "relu6", "tanh", "sigmoid")
_SMOOTH = 1e-5
_sum = ReduceSum.of()


class DiceLoss(LossBase):
    """Dice loss: 1 - 2 sum(logits * label) / (sum(logits^2) + sum(label^2) + smooth)."""

    def __init__(self, smooth: float = _SMOOTH) -> None:
        super().__init__()
        self.smooth = check_real_float("DiceLoss", "smooth", smooth)
        if smooth <= 0:
            raise wrong_value("DiceLoss", "smooth", smooth, "float and must > 0")

    def construct(self, logits: Any, label: Any) -> Any:
        _check_inputs("DiceLoss", logits, label)
        return _dice(logits, label, (), self.smooth)


class MultiClassDiceLoss(LossBase):
    """Mean over classes (axis 1) of the weighted Dice loss of each class."""

    def __init__(
        self,
        weights: Any = None,
        ignore_indiex: int | None = None,
        activation: str | Cell | None = "softmax",
    ) -> None:
        super().__init__()
        check_optional_tensor("MultiClassDiceLoss", "weights", weights)
        if weights is not None and weights.ndim != 2:
            raise problem(
                ValueError,
                "For 'MultiClassDiceLoss', the dimension of 'weights' must be 2",
                got=f"shape {weights.shape}",
            )
        self.weights = weights
        if ignore_indiex is not None:
            check_int("MultiClassDiceLoss", "ignore_indiex", ignore_indiex)
        self.ignore_indiex = ignore_indiex
        self.activation = _activation(activation)

    def construct(self, logits: Any, label: Any) -> Any:
        _check_inputs("MultiClassDiceLoss", logits, label)
        self._check_classes(label.shape)
        if self.activation is not None:
            logits = self.activation(logits)
        classes = label.shape[1]
        losses = _dice(logits, label, (0, *range(2, label.ndim)), _SMOOTH)
        if self.ignore_indiex is not None:
            losses = losses * Tensor(np.arange(classes) != self.ignore_indiex, losses.dtype)
        if self.weights is not None:
            losses = reshape(losses, (classes, 1)) * self.weights
        return _sum(losses, 0) / classes

    def _check_classes(self, shape: tuple[int, ...]) -> None:
        if len(shape) < 2:
            raise problem(
                ValueError,
                "For 'MultiClassDiceLoss', the 'logits' dimension must be greater than 1",
                got=f"shape {shape}",
            )
        if self.weights is not None and self.weights.shape[0] != shape[1]:
            raise problem(
                ValueError,
                "For 'MultiClassDiceLoss', there must be one row of 'weights' for each class",
                got=f"weights {self.weights.shape} for {shape[1]} classes",
            )


def _activation(activation: Any) -> Any:
    if activation is None:
        return None
    if isinstance(activation, str):
        if activation not in _ACTIVATIONS:
            raise wrong_value(
                "MultiClassDiceLoss", "activation", activation, f"one of {list(_ACTIVATIONS)}"
            )
        return get_activation(activation)
    return check_instance("MultiClassDiceLoss", "activation", activation, (str, Cell))


def _dice(logits: Any, label: Any, axes: tuple[int, ...], smooth: float) -> Any:
    """The Dice loss over `axes` (all if empty)."""
    if not logits.dtype.is_float:
        logits = cast(logits, float32)
    label = cast(label, logits.dtype)
    common = _sum(logits * label, axes)
    total = _sum(logits * logits, axes) + _sum(label * label, axes)
    return 1.0 - common * 2.0 / (total + smooth)


def _check_inputs(owner: str, logits: Any, label: Any) -> None:
    if logits.shape != label.shape:
        raise problem(
            ValueError,
            f"{owner}: logits and label have different shapes",
            got=f"logits {logits.shape} and label {label.shape}",
        )
    for argument, value in (("logits", logits), ("labels", label)):
        if value.dtype is uint8:
            raise problem(TypeError, f"For '{owner}', the dtype of '{argument}' can not be uint8.")
