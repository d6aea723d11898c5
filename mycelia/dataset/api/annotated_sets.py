"""Image datasets with annotations: boxes, masks, attributes, or captions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.image_sets import (
    SplitImageFileDataset,
    decode_arguments,
    row_arguments,
    text_arguments,
)
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.ir import image_sets_annotated as A


class VOCDataset(MappableDataset):
    """PASCAL VOC: columns `image` and `target`, or `bbox`, `label`, `difficult`, `truncate`."""

    def __init__(
        self,
        dataset_dir: str,
        task: str = "Segmentation",
        usage: str = "train",
        class_indexing: dict[str, int] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
        extra_metadata: bool = False,
        decrypt: Callable[..., bytes] | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            A.VOC(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                task=check.text("task", task),
                usage=check.text("usage", usage),
                indexing=_indexing(class_indexing),
                extra_metadata=check.flag("extra_metadata", extra_metadata),
                decrypt=decrypt,
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class CocoDataset(MappableDataset):
    """COCO: column `image`, and columns of boxes, polygons, keypoints, segments, or captions."""

    def __init__(
        self,
        dataset_dir: str,
        annotation_file: str,
        task: str = "Detection",
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
        extra_metadata: bool = False,
        decrypt: Callable[..., bytes] | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            A.Coco(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                annotation_file=check.text("annotation_file", annotation_file),
                task=check.text("task", task),
                extra_metadata=check.flag("extra_metadata", extra_metadata),
                decrypt=decrypt,
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class CelebADataset(MappableDataset):
    """CelebA faces: columns `image` and `attr`, forty binary attributes."""

    def __init__(
        self,
        dataset_dir: str,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        usage: str | None = "all",
        sampler: Any = None,
        decode: bool = False,
        extensions: list[str] | None = None,
        num_samples: int | None = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
        decrypt: Callable[..., bytes] | None = None,
    ) -> None:
        if extensions is not None and not isinstance(extensions, list):
            raise check.wrong_type("extensions", extensions, "list")
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            A.CelebA(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                extensions=tuple(extensions) if extensions else None,
                decrypt=decrypt,
                **text_arguments(usage=usage),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class ManifestDataset(MappableDataset):
    """Images listed in a manifest file: columns `image` and `label`."""

    def __init__(
        self,
        dataset_file: str,
        usage: str = "train",
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        class_indexing: dict[str, int] | None = None,
        decode: bool = False,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            A.Manifest(
                dataset_file=check.text("dataset_file", dataset_file),
                usage=check.text("usage", usage),
                indexing=_indexing(class_indexing),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class CityscapesDataset(MappableDataset):
    """Cityscapes street scenes: columns `image` and `task`, a mask or the JSON of polygons."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str = "train",
        quality_mode: str = "fine",
        task: str = "instance",
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
            A.Cityscapes(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                usage=check.text("usage", usage),
                quality_mode=check.text("quality_mode", quality_mode),
                task=check.text("task", task),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class FlickrDataset(MappableDataset):
    """Flickr photos with captions: columns `image` and `annotation`."""

    def __init__(
        self,
        dataset_dir: str,
        annotation_file: str,
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
            A.Flickr(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                annotation_file=check.text("annotation_file", annotation_file),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class KITTIDataset(SplitImageFileDataset):
    """KITTI street scenes: column `image`; for training, also eight columns about objects."""

    _kind = A.KITTI


class WIDERFaceDataset(SplitImageFileDataset):
    """WIDER FACE: column `image` and, except for tests, seven columns about the faces."""

    _kind = A.WIDERFace


class Caltech101Dataset(MappableDataset):
    """Caltech 101 objects: column `image`, and `category`, `annotation`, or both."""

    def __init__(
        self,
        dataset_dir: str,
        target_type: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(
            A.Caltech101(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                **text_arguments(target_type=target_type),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )
        self.node.columns()  # raises now if a file is missing


class Flowers102Dataset(MappableDataset):
    """Flowers 102: columns `image`, `segmentation` if requested, and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        task: str = "Classification",
        usage: str = "all",
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(
            A.Flowers102(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                task=check.text("task", task),
                usage=check.text("usage", usage),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )
        self.node.columns()  # raises now if a file list is damaged


class SBDataset(MappableDataset):
    """Semantic Boundaries (images of PASCAL VOC): `image` and `task`, a mask or boundaries."""

    def __init__(
        self,
        dataset_dir: str,
        task: str = "Boundaries",
        usage: str = "all",
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        decode: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        super().__init__(
            A.SB(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                task=check.text("task", task),
                usage=check.text("usage", usage),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )
        self.node.columns()  # raises now if a file is missing


def _indexing(value: Any) -> dict[str, int] | None:
    if value is not None and not isinstance(value, dict):
        raise check.wrong_type("class_indexing", value, "dict")
    return value or None
