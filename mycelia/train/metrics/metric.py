"""The base classes of metrics, and checks of their inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, Self

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.tracebacks import shorten
from mycelia.tensor.tensor import Tensor

KINDS = ("classification", "multilabel")


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of `update`: passes only the arguments that `set_indexes` selected, in order."""

    @wraps(func)
    def run(self: Any, *inputs: Any) -> Any:
        indexes = self.indexes
        try:
            return func(self, *(inputs if indexes is None else [inputs[i] for i in indexes]))
        except Exception as error:
            shorten(error)
            raise

    return run


def plain(value: Any) -> Any:
    """Convert NumPy scalars, whose repr includes their types, to Python numbers."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    if isinstance(value, Tensor) and value.ndim == 0:
        return value.item()
    if type(value) in (tuple, list):
        return type(value)(map(plain, value))
    return {k: plain(v) for k, v in value.items()} if type(value) is dict else value


def _with_plain_numbers(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(evaluate)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        return plain(evaluate(self, *args, **kwargs))

    return run


class Metric(CheckedKeywords, ABC):
    """Base class of metrics: call `clear`, `update` with each batch, then `eval`."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let `eval` return Python numbers, also in custom metrics."""
        super().__init_subclass__(**options)
        own = cls.__dict__.get("eval")
        if callable(own) and not getattr(own, "__isabstractmethod__", False):
            cls.eval = _with_plain_numbers(own)  # type: ignore[method-assign]

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """The indices of the arguments that `update` uses, or None for all."""
        return self._indexes

    def set_indexes(self, indexes: list[int]) -> Self:
        """Select and order the arguments of `update` by index."""
        if not isinstance(indexes, list) or not all(is_int(index) for index in indexes):
            raise problem(
                ValueError,
                "set_indexes: indexes must be a list of ints",
                got=repr(indexes),
                expected="a list of ints",
            )
        self._indexes = indexes
        return self

    @abstractmethod
    def clear(self) -> None:
        """Reset the metric."""

    @abstractmethod
    def eval(self) -> Any:
        """The value over all batches since `clear`."""

    @abstractmethod
    def update(self, *inputs: Any) -> None:
        """Add one batch."""

    def _arrays(
        self, inputs: tuple[Any, ...], names: tuple[str, ...] = ("y_pred", "y")
    ) -> list[np.ndarray]:
        """The arguments of `update` as arrays, one for each name."""
        self._check_count(inputs, names)
        return [as_array(value) for value in inputs]

    def _check_count(self, inputs: tuple[Any, ...], names: tuple[str, ...]) -> None:
        if len(inputs) != len(names):
            raise problem(
                ValueError,
                f"{type(self).__name__}: wrong number of inputs to update",
                got=str(len(inputs)),
                expected=f"{len(names)}: {', '.join(names)}",
            )

    def _check_updated(self, is_updated: Any) -> None:
        """Raise an error if `eval` is called before `update`."""
        if not is_updated:
            raise problem(
                RuntimeError,
                f"{type(self).__name__}: eval needs data",
                fix="call update before eval",
            )


class LabelMetric(Metric):
    """A metric of predicted labels: one class per position, or several at the same time."""

    def __init__(self, eval_type: str) -> None:
        super().__init__()
        if eval_type not in KINDS:
            raise problem(
                TypeError,
                f"{type(self).__name__}: unknown eval_type",
                got=repr(eval_type),
                expected=" or ".join(map(repr, KINDS)),
            )
        self._type = eval_type
        self._class_num = 0

    def _classes(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted and true classes, flattened; scores are along axis 1."""
        if y.ndim == y_pred.ndim and y.ndim > 1:
            y = y.argmax(axis=1)
        if y_pred.ndim != y.ndim + 1:
            raise problem(
                ValueError,
                f"{type(self).__name__}: the shapes of scores and classes do not match",
                got=f"scores {y_pred.shape} and classes {y.shape}",
                expected="scores with one axis more, for the classes",
            )
        return y_pred.argmax(axis=1).reshape(-1), y.reshape(-1)

    def _label_sets(self, y_pred: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predicted and true labels, 0 or 1, with one row for each position."""
        if y_pred.shape != y.shape:
            raise problem(
                ValueError,
                f"{type(self).__name__}: predicted and true labels have different shapes",
                got=f"{y_pred.shape} and {y.shape}",
            )
        if not (np.isin(y_pred, (0, 1)).all() and np.isin(y, (0, 1)).all()):
            raise problem(
                ValueError,
                f"{type(self).__name__}: labels must be 0 or 1",
                expected="only 0 and 1 in predictions and labels",
            )
        return tuple(np.moveaxis(v, 1, -1).reshape(-1, v.shape[1]) for v in (y_pred, y))  # type: ignore[return-value]

    def _keep_class_count(self, count: int) -> None:
        if self._class_num not in (0, count):
            raise problem(
                ValueError,
                f"{type(self).__name__}: the number of classes differs between batches",
                got=f"{count} classes",
                expected=f"{self._class_num}, as in earlier batches",
            )
        self._class_num = count


def as_array(value: Any) -> np.ndarray:
    """Convert a tensor or list to an array."""
    if isinstance(value, Tensor):
        return value.asnumpy()
    if isinstance(value, list):
        return np.array(value)
    if isinstance(value, np.ndarray):
        return value
    raise problem(
        TypeError,
        "metrics: an input is not an array",
        got=type(value).__name__,
        expected="a Tensor, a list or a numpy array",
    )


def one_hot(classes: np.ndarray, count: int) -> np.ndarray:
    """One-hot rows of the classes."""
    return np.eye(count)[classes.astype(np.int64)]
