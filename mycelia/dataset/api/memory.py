"""In-memory sources: `GeneratorDataset`, `NumpySlicesDataset`, and `PaddedDataset`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset import config
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.iterators import TupleIterator
from mycelia.dataset.api.samplers import (
    BuiltinSampler,
    PKSampler,
    chosen_sampler,
    repeatable,
    sampler_node,
)
from mycelia.dataset.api.schema import Schema, loaded_schema, numpy_type
from mycelia.dataset.formats.values import value_of
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.ir.sources import (
    ArraySourceNode,
    ObjectSourceNode,
    SourceNode,
    StreamSourceNode,
)
from mycelia.dataset.runtime.build import drawn_order
from mycelia.tensor.tensor import Tensor


class MappableDataset(Dataset):
    """A source with random access, whose order a sampler chooses."""

    node: SourceNode

    def add_sampler(self, new_sampler: Any) -> None:
        """Apply another sampler to the rows that the current one chooses."""
        made = sampler_node(new_sampler, None)
        self.node = replace(self.node, sampler=replace(made, child=self.node.sampler))
        self.reset()

    def use_sampler(self, new_sampler: Any) -> None:
        """Replace the sampler."""
        if not isinstance(new_sampler, BuiltinSampler):
            raise problem(
                TypeError,
                "use_sampler: the argument is not a sampler",
                got=repr(new_sampler),
                expected="a sampler of mycelia.dataset",
            )
        self.node = replace(self.node, sampler=new_sampler.node())
        self.reset()


class IndexedDataset(MappableDataset):
    """An in-memory source whose rows can be indexed: `dataset[2]`."""

    _order: Any = None  # row order for indexing, drawn on first use

    def __getitem__(self, index: int) -> Any:
        """The values of a row, as the source returns them, by its index in the sampler's order."""
        if isinstance(index, bool) or not isinstance(index, int | np.number):
            raise check.wrong_type("index", index, "int")
        if not isinstance(self.node, SourceNode):
            raise problem(RuntimeError, "dataset: the source has no random access")
        if self._order is None:
            self._order = drawn_order(self.node, config.options())
        if not 0 <= index < len(self._order):
            raise problem(
                RuntimeError,
                "dataset: row index out of range",
                got=f"index {index}",
                expected=f"0 to {len(self._order) - 1}",
            )
        return self._raw_row(int(self._order[int(index)]))

    def _raw_row(self, row: int) -> Any:
        """The row as the source returns it."""
        return self.node.reader.row(row)

    def __iter__(self) -> TupleIterator:
        return super().__iter__()

    def reset(self) -> None:
        """Forget cached counts and the row order for indexing."""
        super().reset()
        self._order = None


class GeneratorDataset(IndexedDataset):
    """Rows of a user's generator function, iterable, or object with random access.

    A Python iterator, such as a generator or `map(...)`, is stored while it is read, so that
    later epochs have the same rows. `dataset[2]` is the third row in the sampler's order.
    """

    def __init__(
        self,
        source: Any,
        column_names: Any = None,
        column_types: Any = None,
        schema: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        python_multiprocessing: bool = True,
        max_rowsize: int | None = None,
        batch_sampler: Any = None,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        check.flag("python_multiprocessing", python_multiprocessing)
        check.row_size(max_rowsize)
        source = list(source) if isinstance(source, zip) else repeatable(source)
        self.source = source
        names, types = _described(column_names, column_types, schema)
        workers = check.workers(num_parallel_workers)
        choices = (num_samples, sampler, shuffle, num_shards, shard_id)
        given: dict[str, Any] = {"names": names, "types": types, "num_parallel_workers": workers}
        if batch_sampler is not None or collate_fn is not None:
            _check_batches(batch_sampler, collate_fn, choices)
            batches = _SampledBatches(source, repeatable(batch_sampler), collate_fn)
            length = len(batches) if hasattr(batch_sampler, "__len__") else None
            node: Any = StreamSourceNode(
                start=batches.__iter__, length=length, samples_of_a_row=-1, **given
            )
        elif hasattr(source, "__getitem__"):
            if isinstance(sampler, PKSampler):
                raise problem(
                    ValueError, "GeneratorDataset: PKSampler requires an image dataset with labels"
                )
            chosen = chosen_sampler(
                num_samples, sampler, shuffle, num_shards, shard_id, in_memory=True
            )
            node = ObjectSourceNode(data=source, sampler=chosen, **given)
        else:
            start = _starter(source)
            _check_without_access(num_samples, sampler, shuffle, num_shards)
            node = StreamSourceNode(
                start=start,
                length=len(source) if hasattr(source, "__len__") else None,
                num_samples=num_samples,
                **given,
            )
        Dataset.__init__(self, node)
        self.column_names = list(names)
        self.column_types = [] if types is None else list(types)
        self.sampler = sampler
        self.num_parallel_workers = workers or config.get_num_parallel_workers()
        self.python_multiprocessing = python_multiprocessing
        self.max_rowsize = -1 if max_rowsize is None else max_rowsize
        self.schema = schema

    def _raw_row(self, row: int) -> Any:
        return self.source[row]

    def __getitem__(self, index: int) -> Any:
        """A row, as the source returns it, by its index in the sampler's order."""
        return super().__getitem__(index)


def _described(
    column_names: Any, column_types: Any, schema: Any
) -> tuple[tuple[str, ...], tuple[np.dtype[Any] | None, ...] | None]:
    """The column names and, where a schema or `column_types` sets them, the types."""
    if schema is not None:
        if not isinstance(schema, str | Schema):
            raise problem(
                ValueError,
                "GeneratorDataset: schema must be a Schema or the path of one",
                got=repr(schema),
            )
        columns = loaded_schema(schema).columns
        return tuple(c.name for c in columns), tuple(c.numpy for c in columns)
    if column_names is None:
        raise problem(ValueError, "GeneratorDataset: column_names or schema is required")
    names = check.names("column_names", column_names)
    if not names:
        raise problem(ValueError, "GeneratorDataset: column_names is empty")
    return names, _types(column_types, names)


def _check_without_access(num_samples: Any, sampler: Any, shuffle: Any, num_shards: Any) -> None:
    """Reject arguments that require a source with random access."""
    for name, value in (("sampler", sampler), ("num_shards", num_shards)):
        if value is not None:
            raise problem(
                ValueError,
                f"GeneratorDataset: {name} requires a source with random access",
                got=f"{name}={value!r}, and a source without __getitem__",
                expected="an object with __getitem__ and __len__",
            )
    chosen_sampler(num_samples, None, shuffle, None, None)


def _check_batches(batch_sampler: Any, collate_fn: Any, choices: Sequence[Any]) -> None:
    if batch_sampler is None:
        raise problem(ValueError, "collate_fn can be specified only when batch_sampler is set.")
    if not hasattr(batch_sampler, "__getitem__") and not hasattr(batch_sampler, "__iter__"):
        raise problem(
            TypeError,
            "GeneratorDataset: batch_sampler must be iterable",
            got=repr(batch_sampler),
            expected="lists of row indices, with __iter__ or __getitem__",
        )
    if any(given is not None for given in choices):
        raise problem(
            ValueError,
            "batch_sampler is mutually exclusive with num_samples, shuffle, sampler, "
            "num_shards and shard_id.",
        )
    if collate_fn is not None and not callable(collate_fn):
        raise problem(TypeError, "collate_fn should be callable.", got=repr(collate_fn))


class _SampledBatches:
    """The batches of row indices that a batch sampler lists, joined by `collate_fn`."""

    def __init__(self, source: Any, batch_sampler: Any, collate: Callable[..., Any] | None) -> None:
        self._source = source
        self._sampler = batch_sampler
        self._collate = collate or _stacked

    def __iter__(self) -> Iterator[Any]:
        batches = islice(self._sampler, len(self)) if self._has_length else iter(self._sampler)
        is_empty = True
        for indices in batches:
            is_empty = False
            yield self._collate(*self._columns(indices))
        if is_empty:
            raise problem(RuntimeError, "batch_sampler: no batches")

    def _columns(self, indices: Any) -> list[list[Any]]:
        """The values of a batch, as one list per column."""
        if isinstance(indices, str) or not isinstance(indices, Iterable):
            raise problem(
                RuntimeError,
                "batch_sampler: a batch must be a list of row indices",
                got=repr(indices),
            )
        samples = [self._source[index] for index in indices]
        rows = [sample if isinstance(sample, tuple) else (sample,) for sample in samples]
        return [[value_of(value) for value in column] for column in zip(*rows)]

    @property
    def _has_length(self) -> bool:
        return hasattr(self._sampler, "__len__")

    def __len__(self) -> int:
        return len(self._sampler)


def _stacked(*columns: list[Any]) -> tuple[np.ndarray, ...]:
    return tuple(np.stack(column) for column in columns)


class NumpySlicesDataset(IndexedDataset):
    """Slices of arrays along the first axis: one array, or a tuple or dict of columns."""

    def __init__(
        self,
        data: Any,
        column_names: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        raw, names = _columns(data, column_names)
        self._raw = raw
        columns = [_column(column) for column in raw]
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise problem(
                ValueError,
                "NumpySlicesDataset: the columns have different lengths",
                got=str([len(column) for column in columns]),
            )
        chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id, in_memory=True)
        super().__init__(
            ArraySourceNode(
                arrays=tuple(columns),
                names=names,
                sampler=chosen,
                num_parallel_workers=check.workers(num_parallel_workers),
            )
        )

    def _raw_row(self, row: int) -> Any:
        return tuple(column[row] for column in self._raw)


class PaddedDataset(MappableDataset):
    """Samples that pad another dataset to a required number of rows."""

    def __init__(self, padded_samples: list[dict[str, Any]]) -> None:
        if not isinstance(padded_samples, list):
            raise check.wrong_type("padded_samples", padded_samples, "list")
        if not padded_samples or not all(isinstance(s, dict) for s in padded_samples):
            raise problem(
                ValueError,
                "padded_samples must be a non-empty list of dicts",
                got=repr(padded_samples),
            )
        names = tuple(padded_samples[0])
        if any(tuple(sample) != names for sample in padded_samples):
            raise problem(ValueError, "padded_samples must have the same columns")
        columns = tuple([sample[name] for sample in padded_samples] for name in names)
        super().__init__(
            ArraySourceNode(arrays=columns, names=names, sampler=S.SequentialSamplerNode())
        )
        self.padded_samples = padded_samples


def _columns(data: Any, column_names: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of the data and their names."""
    if not isinstance(data, (list, tuple, dict, np.ndarray, Tensor)):
        raise check.wrong_type("data", data, "list, tuple, dict or numpy.ndarray")
    if len(data) == 0:
        raise problem(ValueError, "NumpySlicesDataset: data is empty")
    if isinstance(data, dict):
        columns, default = list(data.values()), tuple(str(key) for key in data)
    elif isinstance(data, tuple):
        columns, default = list(data), tuple(f"column_{i}" for i in range(len(data)))
    else:
        columns, default = [data], ("column_0",)
    names = check.names("column_names", column_names) or default
    if len(names) != len(columns):
        raise problem(
            ValueError,
            "NumpySlicesDataset: column_names must name every column",
            got=f"{len(names)} names for {len(columns)} columns",
        )
    return columns, names


def _column(column: Any) -> Any:
    """A column as an array, or as a list if the rows differ in shape."""
    if isinstance(column, np.ndarray):
        return column
    if isinstance(column, Tensor):
        return column.asnumpy()
    if not hasattr(column, "__len__"):
        raise check.wrong_type("data", column, "list or numpy.ndarray")
    shapes = {np.shape(entry) for entry in column} if _is_regular(column) else set()
    return np.array(column) if len(shapes) == 1 else list(column)


def _is_regular(column: Any) -> bool:
    try:
        for entry in column:
            np.shape(entry)
    except ValueError:
        return False
    return True


def _types(column_types: Any, names: tuple[str, ...]) -> tuple[np.dtype[Any] | None, ...] | None:
    """The NumPy types of columns; None accepts any type."""
    if column_types is None:
        return None
    if not isinstance(column_types, list | tuple):
        raise check.wrong_type("column_types", column_types, "list")
    if not column_types:
        return None
    if len(column_types) != len(names):
        raise problem(
            ValueError,
            "GeneratorDataset: column_types and column_names differ in length",
            got=f"{len(column_types)} and {len(names)}",
        )
    return tuple(None if kind is None else numpy_type(kind) for kind in column_types)


def _starter(source: Any) -> Callable[[], Iterable[Any]]:
    """A function that starts a new iteration over `source`."""
    if callable(source):
        return source
    if hasattr(source, "__iter__"):
        return lambda: iter(source)
    raise problem(
        TypeError,
        "GeneratorDataset: the source is not iterable",
        got=type(source).__name__,
        expected="a generator function, an iterable, or an object with __getitem__ and __len__",
    )
