"""Image datasets in file lists or paired folders, and synthetic datasets."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.dataset import config
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.image_sets import decode_arguments, row_arguments, text_arguments
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import chosen_sampler
from mycelia.dataset.api.schema import loaded_schema
from mycelia.dataset.formats.random_rows import random_columns
from mycelia.dataset.formats.schema import chosen_columns
from mycelia.dataset.ir import image_sets_listed as L
from mycelia.dataset.ir import image_sets_made as M

_MOST_ROWS = 100


class Places365Dataset(MappableDataset):
    """Places365 scenes: columns `image` and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        small: bool = True,
        decode: bool = False,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            L.Places365(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                small=check.flag("small", small),
                **text_arguments(usage=usage),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class DIV2KDataset(MappableDataset):
    """DIV2K photos in high and low resolution: columns `hr_image` and `lr_image`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str = "train",
        downgrade: str = "bicubic",
        scale: int = 2,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        decode: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            L.DIV2K(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                usage=check.text("usage", usage),
                downgrade=check.text("downgrade", downgrade),
                scale=check.integer("scale", scale),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class LFWDataset(MappableDataset):
    """LFW, photos of people: `image` and `label`, or `image1`, `image2`, and `label` for pairs."""

    def __init__(
        self,
        dataset_dir: str,
        task: str | None = None,
        usage: str | None = None,
        image_set: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            L.LFW(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                **text_arguments(task=task, usage=usage, image_set=image_set),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class FakeImageDataset(MappableDataset):
    """Synthetic images: columns `image` and `label`, reproducible by `base_seed`."""

    def __init__(
        self,
        num_images: int = 1000,
        image_size: Any = (224, 224, 3),
        num_classes: int = 10,
        base_seed: int = 0,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        if not isinstance(image_size, (list, tuple)):
            raise check.wrong_type("image_size", image_size, "list or tuple")
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            M.FakeImage(
                num_images=check.integer("num_images", num_images),
                image_size=tuple(check.integer("image_size", size) for size in image_size),
                classes=check.integer("num_classes", num_classes),
                base_seed=check.integer("base_seed", base_seed),
                **row_arguments(*order),
            )
        )


class RandomDataset(Dataset):
    """Random values in the columns of a schema, or in randomly chosen columns."""

    def __init__(
        self,
        total_rows: int | None = None,
        schema: Any = None,
        columns_list: list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        cache: Any = None,
        shuffle: bool | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        if columns_list is not None and not isinstance(columns_list, list):
            raise check.wrong_type("columns_list", columns_list, "list")
        rows = 0 if total_rows is None else check.not_negative("total_rows", total_rows)
        seed = config.options().seed
        told = None if schema is None else loaded_schema(schema)
        columns = random_columns(seed) if told is None else told.columns
        if not columns:
            raise problem(RuntimeError, "RandomDataset: the schema has no columns")
        known = 0 if told is None else told.num_rows
        some = int(np.random.default_rng(seed).integers(1, _MOST_ROWS))
        super().__init__(
            M.RandomColumns(
                total_rows=rows or known or some,
                schema=chosen_columns(columns, check.names("columns_list", columns_list)),
                seed=seed,
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=chosen_sampler(num_samples, None, shuffle, num_shards, shard_id),
            )
        )
