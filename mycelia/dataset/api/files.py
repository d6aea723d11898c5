"""File datasets: image folders, MNIST, CIFAR, text files, and CSV files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset import config
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import Shuffle, check_shards, chosen_sampler
from mycelia.dataset.formats.lines import matching_files
from mycelia.dataset.ir import files as F
from mycelia.dataset.ir import samplers as S
from mycelia.dataset.ir.known_sets import KnownSet
from mycelia.dataset.vision.codecs import Decode


class _FolderImageDataset(MappableDataset):
    """An image dataset in a folder."""

    _kind: type[KnownSet]

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(
            self._kind(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                usage="all" if usage is None else check.text("usage", usage),
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id),
            )
        )


class MnistDataset(_FolderImageDataset):
    """MNIST handwritten digits: columns `image` (28, 28, 1) and `label`."""

    _kind = F.Mnist


class FashionMnistDataset(_FolderImageDataset):
    """Fashion-MNIST clothing: columns `image` (28, 28, 1) and `label`."""

    _kind = F.FashionMnist


class Cifar10Dataset(_FolderImageDataset):
    """CIFAR-10 color images: columns `image` (32, 32, 3) and `label`."""

    _kind = F.Cifar10


class Cifar100Dataset(_FolderImageDataset):
    """CIFAR-100 color images: columns `image`, `coarse_label`, `fine_label`."""

    _kind = F.Cifar100


class ImageFolderDataset(MappableDataset):
    """Image files in one folder per class: columns `image` and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        extensions: list[str] | None = None,
        class_indexing: dict[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
        decrypt: Callable[..., bytes] | None = None,
    ) -> None:
        if extensions is not None and not isinstance(extensions, list):
            raise check.wrong_type("extensions", extensions, "list")
        if class_indexing is not None and not isinstance(class_indexing, dict):
            raise check.wrong_type("class_indexing", class_indexing, "dict")
        super().__init__(
            F.ImageFolder(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                extensions=None if extensions is None else tuple(extensions),
                indexing=class_indexing,
                decode=check.flag("decode", decode),
                decoder=Decode(),
                decrypt=decrypt,
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id),
            )
        )


class TextFileDataset(Dataset):
    """The lines of text files: column `text`."""

    def __init__(
        self,
        dataset_files: Any,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(
            F.TextFile(
                dataset_files=_files(dataset_files),
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=mixed_sampler(
                    num_samples, shuffle, num_shards, shard_id, num_parallel_workers
                ),
            )
        )


class CSVDataset(Dataset):
    """CSV files: the columns are named by `column_names` or by the first line."""

    def __init__(
        self,
        dataset_files: Any,
        field_delim: str = ",",
        column_defaults: list[Any] | None = None,
        column_names: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        if len(check.text("field_delim", field_delim)) != 1 or field_delim in '"\r\n':
            raise problem(ValueError, "CSVDataset: invalid field_delim", got=repr(field_delim))
        if column_defaults is not None and not isinstance(column_defaults, list):
            raise problem(
                TypeError, "CSVDataset: column_defaults must be a list", got=repr(column_defaults)
            )
        for default in column_defaults or []:
            if isinstance(default, bool) or not isinstance(default, (int, float, str)):
                raise problem(
                    TypeError,
                    "CSVDataset: a default must be a number or a string",
                    got=repr(default),
                )
        super().__init__(
            F.CSV(
                dataset_files=_files(dataset_files),
                field_delim=field_delim,
                column_defaults=None if column_defaults is None else tuple(column_defaults),
                column_names=check.names("column_names", column_names) or None,
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=mixed_sampler(
                    num_samples, shuffle, num_shards, shard_id, num_parallel_workers
                ),
            )
        )


def mixed_sampler(
    num_samples: int | None,
    shuffle: Any,
    num_shards: int | None,
    shard_id: int | None,
    workers: int | None = None,
) -> S.SamplerNode:
    """The sampler of sources that MindSpore reads sequentially: a shard is a range of rows."""
    check_shards(num_shards, shard_id)
    if not isinstance(shuffle, (bool, Shuffle, type(None))):
        raise problem(
            TypeError,
            "shuffle: wrong type",
            got=repr(shuffle),
            expected="a bool, or one of Shuffle, such as Shuffle.FILES",
        )
    lanes = S.InterleavedFilesNode(
        lanes=lane_count(workers),
        num_shards=num_shards or 1,
        shard_id=shard_id or 0,
        mixes_files=shuffle == Shuffle.FILES,
    )
    if shuffle is False or shuffle == Shuffle.FILES:
        return replace(lanes, num_samples=num_samples)
    return S.RandomSamplerNode(num_samples=num_samples, child=None if num_shards is None else lanes)


def lane_count(workers: int | None) -> int:
    """How many files are read in parallel: the number of workers."""
    return check.workers(workers) or config.get_num_parallel_workers()


def _files(value: Any) -> tuple[str, ...]:
    patterns = [value] if isinstance(value, str) else value
    if not isinstance(patterns, list) or not patterns:
        raise check.wrong_type("dataset_files", value, "str or a non-empty list")
    return matching_files([check.text("dataset_files", pattern) for pattern in patterns])
