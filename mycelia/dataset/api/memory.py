"""The datasets of rows in memory: user objects, numpy arrays, samples for padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mycelia.core.dtype import as_dtype
from mycelia.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.samplers import Sampler, check_shards, chosen_sampler, sampler_node
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.ir.sources import Arrays, Object, Source, Stream
from mycelia.tensor.tensor import Tensor


class MappableDataset(Dataset):
    """A dataset whose rows can be read in any order, which a sampler chooses."""

    node: Source

    def add_sampler(self, new_sampler: Any) -> None:
        """Let one more sampler choose among what the present one chose."""
        made = sampler_node(new_sampler, None)
        self.node = replace(self.node, sampler=replace(made, child=self.node.sampler))
        self.reset()

    def use_sampler(self, new_sampler: Any) -> None:
        """Choose rows by another sampler."""
        if new_sampler is None:
            raise problem(TypeError, "use_sampler: None is no sampler")
        _tell_size(new_sampler, len(self.node.reader))
        self.node = replace(self.node, sampler=sampler_node(new_sampler, None))
        self.reset()


class GeneratorDataset(MappableDataset):
    """Rows of a user's generator function, iterable, or object with random access."""

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
        max_rowsize: Any = None,
        batch_sampler: Any = None,
        collate_fn: Callable[..., Any] | None = None,
    ) -> None:
        if schema is not None:
            raise problem(
                NotImplementedError,
                "GeneratorDataset: schema is not read",
                fix="name the columns with column_names, their types with column_types",
            )
        if column_names is None:
            raise problem(ValueError, "GeneratorDataset: the columns have no names")
        self.source = source
        names = check.names("column_names", column_names)
        types = _types(column_types, names)
        workers = check.workers(num_parallel_workers)
        has_access = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        if has_access and batch_sampler is None:
            chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
            _tell_size(sampler, len(source))
            node = Object(
                data=source, names=names, types=types, sampler=chosen, num_parallel_workers=workers
            )
            super().__init__(node)
            return
        if not has_access and (sampler is not None or batch_sampler is not None):
            raise problem(
                ValueError,
                "GeneratorDataset: a sampler needs a source with random access",
                got=type(source).__name__,
                expected="an object with __getitem__ and __len__",
            )
        if batch_sampler is not None:
            if any(given is not None for given in (num_samples, sampler, shuffle, num_shards)):
                raise problem(
                    ValueError,
                    "batch_sampler is mutually exclusive with num_samples, shuffle, sampler, "
                    "num_shards and shard_id.",
                )
            source = _Batches(source, batch_sampler, collate_fn)
        elif collate_fn is not None:
            raise problem(ValueError, "collate_fn can be specified only when batch_sampler is set.")
        check_shards(num_shards, shard_id)
        Dataset.__init__(
            self,
            Stream(
                start=_starter(source),
                names=names,
                types=types,
                length=len(source) if hasattr(source, "__len__") else None,
                num_samples=num_samples,
                num_shards=num_shards,
                shard_id=shard_id,
                num_parallel_workers=workers,
            ),
        )


class _Batches:
    """The batches of rows that a batch sampler lists, joined by a function."""

    def __init__(self, source: Any, batch_sampler: Any, collate: Callable[..., Any] | None) -> None:
        self._source = source
        self._sampler = batch_sampler
        self._collate = collate or _stacked

    def __iter__(self) -> Iterator[Any]:
        for indices in self._sampler:
            yield self._collate([self._source[index] for index in indices])

    def __len__(self) -> int:
        if hasattr(self._sampler, "__len__"):
            return len(self._sampler)
        return sum(1 for _ in self._sampler)


def _stacked(samples: list[Any]) -> tuple[np.ndarray, ...]:
    rows = [sample if isinstance(sample, tuple) else (sample,) for sample in samples]
    return tuple(np.stack([np.asarray(value) for value in column]) for column in zip(*rows))


class NumpySlicesDataset(MappableDataset):
    """Slices of arrays along their first axis: one array, a tuple or a dict of columns."""

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
        columns, names = _columns(data, column_names)
        lengths = {len(column) for column in columns}
        if len(lengths) != 1:
            raise problem(
                ValueError,
                "NumpySlicesDataset: the columns have different lengths",
                got=str([len(column) for column in columns]),
            )
        chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
        _tell_size(sampler, len(columns[0]))
        super().__init__(
            Arrays(
                arrays=tuple(columns),
                names=names,
                sampler=chosen,
                num_parallel_workers=check.workers(num_parallel_workers),
            )
        )


class PaddedDataset(MappableDataset):
    """Samples that fill up another dataset."""

    def __init__(self, padded_samples: list[dict[str, Any]]) -> None:
        if not isinstance(padded_samples, list):
            raise check.wrong_type("padded_samples", padded_samples, "list")
        if not padded_samples or not all(isinstance(s, dict) for s in padded_samples):
            raise problem(
                ValueError, "padded_samples must be dicts, at least one", got=repr(padded_samples)
            )
        names = tuple(padded_samples[0])
        if any(tuple(sample) != names for sample in padded_samples):
            raise problem(ValueError, "padded_samples must have the same columns")
        columns = tuple([sample[name] for sample in padded_samples] for name in names)
        super().__init__(Arrays(arrays=columns, names=names, sampler=S.Sequential()))
        self.padded_samples = padded_samples


def _columns(data: Any, column_names: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of data as arrays (or lists, where rows differ in shape), and their names."""
    if not isinstance(data, (list, tuple, dict, np.ndarray, Tensor)):
        raise check.wrong_type("data", data, "list, tuple, dict or numpy.ndarray")
    if len(data) == 0:
        raise problem(ValueError, "NumpySlicesDataset: there is no data")
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
            "NumpySlicesDataset: not one name for each column",
            got=f"{len(names)} names for {len(columns)} columns",
        )
    return [_column(column) for column in columns], names


def _column(column: Any) -> Any:
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


def _types(column_types: Any, names: tuple[str, ...]) -> tuple[np.dtype[Any], ...] | None:
    if column_types is None:
        return None
    if len(column_types) != len(names):
        raise problem(
            ValueError,
            "GeneratorDataset: column_types and column_names differ in number",
            got=f"{len(column_types)} and {len(names)}",
        )
    return tuple(as_dtype(kind).numpy for kind in column_types)


def _starter(source: Any) -> Callable[[], Iterable[Any]]:
    """A function that starts the rows of `source` anew."""
    if callable(source):
        return source
    if hasattr(source, "__iter__"):
        return lambda: iter(source)
    if hasattr(source, "__next__"):
        return lambda: iter(source.__next__, object())
    raise problem(
        TypeError,
        "GeneratorDataset: the source gives no rows",
        got=type(source).__name__,
        expected="a generator function, an iterable, or an object with __getitem__ and __len__",
    )


def _tell_size(sampler: Any, size: int) -> None:
    if isinstance(sampler, Sampler):
        sampler.dataset_size = size
