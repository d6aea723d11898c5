"""DatasetHelper: iterates over a dataset by epoch, or feeds a network from it (sink mode)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mycelia._engine.core.checks import check_bool, check_int, check_positive_int
from mycelia._engine.core.dtype import DType, from_numpy
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia._engine.core.lazy_import import LazyModule
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor
from mycelia.transforms.sink import data_sink

if TYPE_CHECKING:
    from mycelia.dataset.api import iterators
else:
    iterators = LazyModule("mycelia.dataset.api.iterators")


class DatasetHelper(CheckedKeywords):
    """Iterates over a dataset, one iteration per epoch.

    Without `dataset_sink_mode`, each iteration yields the batches of one epoch, as lists of
    tensors. With it, each iteration yields one empty tuple: `connect_network_with_dataset` creates
    a network that consumes `sink_size` batches (-1: the whole dataset) per call.
    """

    def __init__(
        self,
        dataset: Any,
        dataset_sink_mode: bool = True,
        sink_size: int = -1,
        epoch_num: int = 1,
    ) -> None:
        owner = "DatasetHelper"
        self._sinks = check_bool(owner, "dataset_sink_mode", dataset_sink_mode)
        check_sink_size(owner, check_int(owner, "sink_size", sink_size))
        self._size = size_of(dataset)
        self._sink_size = self._size if sink_size == -1 else sink_size
        self.dataset = dataset
        self._epochs = check_positive_int(owner, "epoch_num", epoch_num)
        self._iterator: Any = None
        self._skipped = 0  # batches that the next epoch skips
        self._resumed = False  # whether the next epoch starts in the middle

    def __iter__(self) -> Iterator[Any]:
        if self._sinks:
            return iter([()])
        return self._epoch()

    def _batches(self) -> Any:
        if self._iterator is None:
            self._iterator = self.dataset.create_tuple_iterator(num_epochs=self._epochs)
        return self._iterator

    def state(self, taken: int) -> dict[str, Any]:
        """The position in the data, after `taken` batches of an epoch."""
        batches, position = self._batches(), None
        if hasattr(batches, "state"):
            position = batches.state()
            if isinstance(batches, iterators.Iterator):
                position = position | {"row": taken}  # excludes rows prefetched for a failed step
        return {"taken": taken, "iterator": position}

    def restore(self, state: dict[str, Any]) -> None:
        """Resume from a state. Iterators without state repeat the batches, which are skipped."""
        if state["iterator"] is None:
            self._skipped = state["taken"]
        else:
            self._batches().restore(state["iterator"])
            self._resumed = state["taken"] > 0

    def _epoch(self) -> Iterator[list[Any]]:
        count, skipped, resumed = 0, self._skipped, self._resumed
        self._skipped, self._resumed = 0, False
        for batch in self._batches():
            count += 1
            if count <= skipped:
                continue
            columns = batch if isinstance(batch, (tuple, list)) else [batch]
            yield [column if isinstance(column, Tensor) else Tensor(column) for column in columns]
        self._reset()
        if count == 0 and self._size > 0 and not resumed:
            raise problem(
                ValueError,
                "DatasetHelper: the dataset's iterator yielded nothing in this epoch",
                got=f"a dataset of {self._size} batches, iterated for {self._epochs} epochs",
                fix="the result of create_tuple_iterator must restart for each epoch",
            )

    def _reset(self) -> None:
        """Let a custom dataset, which may be its own iterator, prepare for the next epoch."""
        if not isinstance(self._iterator, iterators.Iterator) and hasattr(self.dataset, "reset"):
            self.dataset.reset()

    @property
    def dataset_sink_mode(self) -> bool:
        """Whether the network consumes data directly."""
        return self._sinks

    def sink_size(self) -> int:
        """The number of batches per call of the network."""
        self._check_sinks("sink_size")
        return self._sink_size

    def types_shapes(self) -> tuple[list[DType], list[Any]]:
        """The dtypes and the shapes of the columns of a batch."""
        self._check_sinks("types_shapes")
        kinds = [from_numpy(kind) for kind in self.dataset.output_types()]
        return kinds, self.dataset.output_shapes()

    def get_data_info(self) -> tuple[list[DType], list[Any]]:
        """The same as `types_shapes`, the name for data of dynamic shapes."""
        return self.types_shapes()

    def _check_sinks(self, name: str) -> None:
        if not self._sinks:
            raise problem(
                AttributeError,
                f"DatasetHelper: '{name}' needs dataset sink mode",
                fix="create it with dataset_sink_mode=True",
            )


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """A cell without arguments: each call runs `network` on the next batches of the dataset.

    It runs `sink_size` batches of the helper, and returns the last result.
    """
    if not isinstance(dataset_helper, DatasetHelper):
        raise problem(
            AttributeError,
            "connect_network_with_dataset: dataset_helper must be a DatasetHelper",
            got=type(dataset_helper).__name__,
        )
    if not dataset_helper.dataset_sink_mode:
        raise problem(
            RuntimeError,
            "connect_network_with_dataset: the helper is not in sink mode",
            fix="create it with dataset_sink_mode=True",
        )
    return _DatasetFedCell(network, dataset_helper)


class _DatasetFedCell(Cell):
    """A network that reads its arguments from a dataset."""

    def __init__(self, network: Cell, helper: DatasetHelper) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self._run = data_sink(network, helper.dataset, helper.sink_size())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._run(*args, **kwargs)


def check_sink_size(owner: str, sink_size: Any) -> None:
    """Check that a sink size is a positive number of batches, or -1 for the whole dataset."""
    if not isinstance(sink_size, int) or sink_size < -1 or sink_size == 0:
        raise problem(
            ValueError,
            f"{owner}: sink_size must be a positive number of batches",
            got=repr(sink_size),
            expected="1 or more, or -1 for the whole dataset",
        )


def size_of(dataset: Any) -> int:
    """The number of batches in a dataset."""
    if not hasattr(dataset, "get_dataset_size"):
        raise problem(
            AttributeError,
            "dataset: the object has no get_dataset_size",
            got=type(dataset).__name__,
            expected="a dataset",
        )
    size = dataset.get_dataset_size()
    if size == 0:
        raise problem(
            ValueError,
            "dataset: the dataset is empty",
            fix="look for missing files, or a batch size above the number of rows",
        )
    return size
