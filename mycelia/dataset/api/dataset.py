"""The `Dataset` class, whose methods build a pipeline step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.error_boundary import entry_points
from mycelia._engine.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options, key_of
from mycelia.dataset.api.iterators import TupleIterator
from mycelia.dataset.api.readable import ReadableDataset
from mycelia.dataset.api.save import save
from mycelia.dataset.api.split import split
from mycelia.dataset.api.transfer import DeviceTransfer
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.cache import CacheOptions
from mycelia.dataset.ir.node import DatasetNode, walk
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.runtime.sync_gate import Gate


@entry_points
class Dataset(ReadableDataset):
    """A data pipeline: rows of named columns from a source, changed by chained steps.

    Methods such as `map` and `batch` return a new dataset. Nothing runs until it is iterated.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        """Shorten the tracebacks of constructors, which check their arguments."""
        super().__init_subclass__(**options)
        entry_points(cls)

    def batch(
        self,
        batch_size: int | Callable[[Any], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Stack `batch_size` rows into one batch; `per_batch_map` may change them first."""
        known = {
            "per_batch_map",
            "input_columns",
            "output_columns",
            "python_multiprocessing",
            "max_rowsize",
        }
        _no_others("batch", kwargs, known)
        check.row_sizes(kwargs.get("max_rowsize"))
        function = kwargs.get("per_batch_map")
        taken = check.names("input_columns", kwargs.get("input_columns"))
        if function is not None and not callable(function):
            raise problem(ValueError, "batch: per_batch_map must be a function", got=repr(function))
        if function is None and taken:
            raise problem(ValueError, "batch: input_columns requires a per_batch_map")
        return Dataset(
            O.BatchNode(
                children=(self.node,),
                batch=_batch_size("batch", batch_size),
                drop_remainder=check.flag("drop_remainder", drop_remainder),
                num_parallel_workers=check.workers(num_parallel_workers),
                per_batch_map=function,
                input_columns=taken,
                output_columns=check.names("output_columns", kwargs.get("output_columns")),
                python_multiprocessing=check.flag(
                    "python_multiprocessing", kwargs.get("python_multiprocessing", False)
                ),
            )
        )

    def padded_batch(
        self,
        batch_size: int | Callable[[Any], int],
        drop_remainder: bool = False,
        num_parallel_workers: int | None = None,
        pad_info: dict[str, Any] | None = None,
    ) -> Dataset:
        """Pad rows to one shape and batch them: `pad_info` maps a column to (shape, value)."""
        return Dataset(
            O.BatchNode(
                children=(self.node,),
                batch=_batch_size("padded_batch", batch_size),
                drop_remainder=check.flag("drop_remainder", drop_remainder),
                num_parallel_workers=check.workers(num_parallel_workers),
                pad_info=check.pad_info(pad_info),
            )
        )

    def bucket_batch_by_length(
        self,
        column_names: Sequence[str],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., int] | None = None,
        pad_info: dict[str, Any] | None = None,
        pad_to_bucket_boundary: bool = False,
        drop_remainder: bool = False,
    ) -> Dataset:
        """Batch rows of similar length together; each length bucket has its own batch size."""
        if not isinstance(column_names, list):
            raise check.wrong_type("column_names", column_names, "list")
        if element_length_function is not None and not callable(element_length_function):
            raise check.wrong_type("element_length_function", element_length_function, "a function")
        return Dataset(
            O.BucketBatchNode(
                children=(self.node,),
                length_columns=check.names("column_names", column_names),
                boundaries=check.integers("bucket_boundaries", bucket_boundaries),
                sizes=check.integers("bucket_batch_sizes", bucket_batch_sizes),
                length_of=element_length_function,
                pad_info=check.pad_info(pad_info),
                pad_to_bucket_boundary=check.flag("pad_to_bucket_boundary", pad_to_bucket_boundary),
                drop_remainder=check.flag("drop_remainder", drop_remainder),
            )
        )

    def map(
        self,
        operations: Any,
        input_columns: Any = None,
        output_columns: Any = None,
        num_parallel_workers: int | None = None,
        **kwargs: Any,
    ) -> Dataset:
        """Apply functions or transforms, in order, to columns of every row.

        User functions run in threads, or in processes with `python_multiprocessing=True`, for
        functions that hold the GIL. `offload` and `max_rowsize` have no effect.
        """
        known = {"python_multiprocessing", "cache", "callbacks", "max_rowsize", "offload"}
        _no_others("map", kwargs, known)
        check.row_sizes(kwargs.get("max_rowsize"))
        steps = tuple(operations) if isinstance(operations, (list, tuple)) else (operations,)
        for step in steps:
            if not callable(step) and not isinstance(step, Operation):
                raise problem(
                    ValueError,
                    "map: every operation must be a function or a transform",
                    got=repr(step),
                )
        if not steps:
            raise problem(ValueError, "map: operations is empty")
        node = O.MapNode(
            children=(self.node,),
            operations=steps,
            input_columns=check.names("input_columns", input_columns),
            output_columns=check.names("output_columns", output_columns),
            num_parallel_workers=check.workers(num_parallel_workers),
            python_multiprocessing=check.flag(
                "python_multiprocessing", kwargs.get("python_multiprocessing", False)
            ),
            callbacks=check.callbacks(kwargs.get("callbacks")),
        )
        kept = cache_options(kwargs.get("cache"))
        return Dataset(node if kept is None else O.CacheNode(children=(node,), cache_options=kept))

    def filter(
        self,
        predicate: Callable[..., bool],
        input_columns: Any = None,
        num_parallel_workers: int | None = None,
    ) -> Dataset:
        """Keep the rows for which `predicate` returns True."""
        if not callable(predicate):
            raise problem(
                TypeError,
                "filter: predicate must be a function",
                got=repr(predicate),
            )
        return Dataset(
            O.FilterNode(
                children=(self.node,),
                predicate=predicate,
                input_columns=check.names("input_columns", input_columns),
                num_parallel_workers=check.workers(num_parallel_workers),
            )
        )

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """Map each row to a dataset with `func` and concatenate the results."""
        if not callable(func):
            raise problem(TypeError, "flat_map: func must be a function", got=repr(func))

        def made(*values: Any) -> DatasetNode:
            dataset = func(*values)
            if not isinstance(dataset, Dataset):
                raise TypeError(f"flat_map: func must return a Dataset, got {dataset!r}")
            return dataset.node

        first = TupleIterator(self.node, None, 1, True, False)
        row = next(first, None)
        first.release()
        names = self.node.columns() if row is None else made(*row).columns()
        return Dataset(O.FlatMapNode(children=(self.node,), function=made, names=names))

    def shuffle(self, buffer_size: int) -> Dataset:
        """Shuffle rows: draw each one at random from a buffer of `buffer_size` rows."""
        size = check.integer("buffer_size", buffer_size)
        return Dataset(O.ShuffleNode(children=(self.node,), buffer_size=size))

    def repeat(self, count: int | None = None) -> Dataset:
        """Repeat all rows `count` times; None or -1 repeats forever."""
        times = -1 if count is None else check.integer("count", count)
        return Dataset(O.RepeatNode(children=(self.node,), count=times))

    def skip(self, count: int) -> Dataset:
        """Skip the first `count` rows."""
        return Dataset(O.SkipNode(children=(self.node,), count=check.integer("count", count)))

    def take(self, count: int = -1) -> Dataset:
        """Keep only the first `count` rows; -1 keeps all."""
        return Dataset(O.TakeNode(children=(self.node,), count=check.integer("count", count)))

    def zip(self, datasets: Any) -> Dataset:
        """Join the columns of this dataset and others, row by row."""
        others = datasets if isinstance(datasets, tuple) else (datasets,)
        return zip_datasets((self, *others))

    def concat(self, datasets: Any) -> Dataset:
        """Append the rows of other datasets."""
        others = datasets if isinstance(datasets, list) else [datasets]
        if not others:
            raise problem(RuntimeError, "concat: the list of datasets is empty")
        for other in others:
            if not isinstance(other, Dataset):
                raise check.wrong_type("datasets", other, "Dataset or list of Dataset")
        return ConcatDataset([self, *others])

    def __add__(self, datasets: Any) -> Dataset:
        return self.concat(datasets)

    def project(self, columns: Any) -> Dataset:
        """Keep only these columns, in this order."""
        names = check.some_names("columns", columns)
        return Dataset(O.ProjectNode(children=(self.node,), names=names))

    def rename(self, input_columns: Any, output_columns: Any) -> Dataset:
        """Rename columns."""
        return Dataset(
            O.RenameNode(
                children=(self.node,),
                input_columns=check.some_names("input_columns", input_columns),
                output_columns=check.some_names("output_columns", output_columns),
            )
        )

    def split(
        self, sizes: Sequence[int] | Sequence[float], randomize: bool = True
    ) -> tuple[Dataset, ...]:
        """Split the rows into disjoint datasets of these sizes, or fractions that sum to 1."""
        flag = check.flag("randomize", randomize)
        parts = split(self.node, sizes, flag, self.get_dataset_size())
        return tuple(Dataset(node) for node in parts)

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Call `apply_func` with this dataset and return the dataset that it returns."""
        if not callable(apply_func):
            raise problem(TypeError, "apply: apply_func must be a function", got=repr(apply_func))
        made = apply_func(self)
        if not isinstance(made, Dataset):
            raise problem(TypeError, "apply: apply_func must return a Dataset", got=repr(made))
        return made

    def cache(
        self, megabytes: int = 0, spilling: bool = True, folder: str | None = None
    ) -> Dataset:
        """Cache the rows for later epochs: in memory up to `megabytes` (0: no limit), then in a
        temporary file. With a `folder`, the cache is stored in files whose names depend on the
        earlier steps and their data, so later processes find it again.
        """
        key = "" if folder is None else key_of(self.node)
        kept = CacheOptions(check.not_negative("megabytes", megabytes), spilling, folder, key)
        return Dataset(O.CacheNode(children=(self.node,), cache_options=kept))

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """Write one epoch to MindRecord files."""
        save(self, file_name, num_files, file_type)

    def sync_wait(
        self, condition_name: str, num_batch: int = 1, callback: Callable[[Any], Any] | None = None
    ) -> Dataset:
        """Pass `num_batch` rows, then wait for `sync_update`, which calls `callback`."""
        name = check.text("condition_name", condition_name)
        if any(isinstance(n, O.SyncWaitNode) and n.condition_name == name for n in walk(self.node)):
            raise problem(RuntimeError, "sync_wait: the name is already in use", got=repr(name))
        count = check.integer("num_batch", num_batch)
        gate = Gate(count, callback)
        return Dataset(
            O.SyncWaitNode(children=(self.node,), condition_name=name, num_batch=count, gate=gate)
        )

    def sync_update(
        self, condition_name: str, num_batch: int | None = None, data: Any = None
    ) -> None:
        """Let `sync_wait` pass more rows."""
        gates = {n.condition_name: n.gate for n in walk(self.node) if isinstance(n, O.SyncWaitNode)}
        if condition_name not in gates:
            raise problem(
                RuntimeError,
                "sync_update: no sync_wait has this name",
                got=repr(condition_name),
                expected=", ".join(map(repr, gates)) or "an earlier sync_wait",
            )
        if num_batch is not None and (not is_int(num_batch) or num_batch <= 0):
            raise problem(
                RuntimeError,
                "sync_update: num_batch must be a positive number of batches",
                got=repr(num_batch),
                expected="1 or more, or None for the num_batch of sync_wait",
            )
        gates[condition_name].release(num_batch, data)

    def disable_sync(self) -> None:
        """Let every `sync_wait` pass all rows."""
        for node in walk(self.node):
            if isinstance(node, O.SyncWaitNode):
                node.gate.open()

    def device_que(
        self,
        send_epoch_end: bool = True,
        create_data_info_queue: bool = False,
        queue_name: str = "",
    ) -> TransferDataset:
        """The same rows, prefetched to the device.

        The arguments configure MindSpore's accelerator queue. They are stored and have no effect
        here.
        """
        check.flag("send_epoch_end", send_epoch_end)
        check.flag("create_data_info_queue", create_data_info_queue)
        made = TransferDataset(self.node)
        made.queue_name = check.text("queue_name", queue_name)
        return made


class TransferDataset(DeviceTransfer, Dataset):
    """A dataset whose rows are prefetched to the device."""


class ConcatDataset(Dataset):
    """Concatenated datasets; a sampler may choose among all their rows."""

    def __init__(self, datasets: list[Dataset], sampler: Any = None) -> None:
        nodes = tuple(dataset.node for dataset in datasets)
        for index, node in enumerate(nodes):
            if node.size() == 0:
                raise problem(ValueError, "concat: a dataset is empty", got=f"number {index}")
        super().__init__(O.ConcatNode(children=nodes, sampler=sampler))

    def use_sampler(self, sampler: Any) -> None:
        """Choose among all rows with a DistributedSampler or another sampler."""
        self.node = O.ConcatNode(children=self.node.children, sampler=sampler.node())
        self.reset()


def zip_datasets(datasets: tuple[Dataset, ...]) -> Dataset:
    """Join the columns of several datasets, row by row."""
    if not isinstance(datasets, tuple):
        raise problem(TypeError, "zip: datasets must be a tuple of datasets", got=repr(datasets))
    if len(datasets) <= 1:
        raise problem(
            ValueError, "zip: requires two or more datasets", got=f"{len(datasets)} datasets"
        )
    for dataset in datasets:
        if not isinstance(dataset, Dataset):
            raise check.wrong_type("datasets", dataset, "tuple of Dataset")
    return Dataset(O.ZipNode(children=tuple(dataset.node for dataset in datasets)))


def _batch_size(method: str, size: Any) -> int | Callable[[Any], int]:
    if isinstance(size, bool) or is_int(size):
        return int(size)
    if callable(size):
        _check_one_argument(method, size)
    else:
        raise problem(
            TypeError,
            f"{method}: batch_size must be a number",
            got=repr(size),
            expected="an int, or a function that returns one",
        )
    return size


def _check_one_argument(method: str, function: Callable[..., Any]) -> None:
    """Check that a function for batch_size accepts one argument, a BatchInfo."""
    try:
        signature(function).bind(None)
    except TypeError as wrong:
        raise problem(
            ValueError,
            f"{method}: a function for batch_size must accept one argument, the BatchInfo",
            got=str(wrong),
        ) from wrong
    except ValueError:
        return  # a built-in function, whose signature is unknown


def _no_others(method: str, given: dict[str, Any], known: set[str]) -> None:
    for name in given:
        if name not in known:
            raise problem(
                TypeError,
                f"{method}: unexpected argument {name!r}",
                expected=", ".join(sorted(known)),
            )
