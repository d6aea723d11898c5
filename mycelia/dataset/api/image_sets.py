"""Datasets of labeled images in pixel files, class folders, and lists."""

from __future__ import annotations

from typing import Any

from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.files import mixed_sampler
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import Shuffle, chosen_sampler
from mycelia.dataset.formats.class_folders import LSUN_CLASSES
from mycelia.dataset.ir import image_sets as P
from mycelia.dataset.ir import image_sets_listed as L
from mycelia.dataset.vision.codecs import Decode


def row_arguments(
    num_samples: int | None,
    num_parallel_workers: int | None,
    shuffle: bool | None,
    sampler: Any,
    num_shards: int | None,
    shard_id: int | None,
    cache: Any = None,
) -> dict[str, Any]:
    """Node arguments for the order and number of rows."""
    return {
        "num_parallel_workers": check.workers(num_parallel_workers),
        "cache": cache_options(cache),
        "sampler": chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id),
    }


def decode_arguments(decode: bool | None) -> dict[str, Any]:
    """Node arguments for decoding images."""
    flag = False if decode is None else check.flag("decode", decode)
    return {"decode": flag, "decoder": Decode()}


def text_arguments(**texts: str | None) -> dict[str, Any]:
    """The arguments that are not None, which must be strings."""
    return {name: check.text(name, text) for name, text in texts.items() if text is not None}


class _PixelDataset(MappableDataset):
    """A dataset in few files, of which `usage` selects some."""

    _kind: type[P.ImageSetNode]

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
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        folder = check.text("dataset_dir", dataset_dir)
        super().__init__(
            self._kind(dataset_dir=folder, **text_arguments(usage=usage), **row_arguments(*order))
        )


class KMnistDataset(_PixelDataset):
    """KMNIST, handwritten Kuzushiji: columns `image` (28, 28, 1) and `label`."""

    _kind = P.KMnist


class STL10Dataset(_PixelDataset):
    """STL-10: columns `image` (96, 96, 3) and `label`, -1 if unlabeled."""

    _kind = P.STL10


class EMnistDataset(MappableDataset):
    """EMNIST handwritten letters and digits: columns `image` (28, 28, 1) and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        name: str,
        usage: str | None = None,
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
            P.EMnist(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                name=check.text("name", name),
                **text_arguments(usage=usage),
                **row_arguments(*order),
            )
        )


class QMnistDataset(MappableDataset):
    """QMNIST digits: columns `image` and `label`, one number, or eight without `compat`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        compat: bool = True,
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
            P.QMnist(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                compat=check.flag("compat", compat),
                **text_arguments(usage=usage),
                **row_arguments(*order),
            )
        )


class USPSDataset(Dataset):
    """USPS digits from envelopes: columns `image` (16, 16, 1) and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(
            P.USPS(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                **text_arguments(usage=usage),
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=mixed_sampler(
                    num_samples, shuffle, num_shards, shard_id, num_parallel_workers
                ),
            )
        )


class SVHNDataset(MappableDataset):
    """SVHN, digits of house numbers: columns `image` (32, 32, 3) and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
    ) -> None:
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id)
        folder = check.text("dataset_dir", dataset_dir)
        super().__init__(
            P.SVHN(dataset_dir=folder, **text_arguments(usage=usage), **row_arguments(*order))
        )
        self.node.columns()  # raises now if a file is missing


class SemeionDataset(MappableDataset):
    """Semeion digits in black and white: columns `image` (16, 16) and `label`."""

    def __init__(
        self,
        dataset_dir: str,
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
            P.Semeion(dataset_dir=check.text("dataset_dir", dataset_dir), **row_arguments(*order))
        )


class PhotoTourDataset(MappableDataset):
    """Photo Tour patches: column `image`, or `image1`, `image2`, and `matches` for tests."""

    def __init__(
        self,
        dataset_dir: str,
        name: str,
        usage: str | None = None,
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
            P.PhotoTour(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                name=check.text("name", name),
                decoder=Decode(),
                **text_arguments(usage=usage),
                **row_arguments(*order),
            )
        )


class _ImageFileDataset(MappableDataset):
    """A dataset of image files."""

    _kind: type[P.FileImages]

    def __init__(
        self,
        dataset_dir: str,
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
        folder = check.text("dataset_dir", dataset_dir)
        super().__init__(
            self._kind(dataset_dir=folder, **decode_arguments(decode), **row_arguments(*order))
        )


class Caltech256Dataset(_ImageFileDataset):
    """Caltech 256 objects and a clutter class: columns `image` and `label`."""

    _kind = L.Caltech256


class SBUDataset(_ImageFileDataset):
    """SBU photos from Flickr: columns `image` and `caption`."""

    _kind = L.SBU


class SUN397Dataset(_ImageFileDataset):
    """SUN397 scenes: columns `image` and `label`."""

    _kind = L.SUN397


class SplitImageFileDataset(MappableDataset):
    """A dataset of image files, of which `usage` selects some."""

    _kind: type[P.FileImages]

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
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
        made = self._kind(
            dataset_dir=check.text("dataset_dir", dataset_dir),
            **text_arguments(usage=usage),
            **decode_arguments(decode),
            **row_arguments(*order),
        )
        super().__init__(made)


class Food101Dataset(SplitImageFileDataset):
    """Food-101 dishes: columns `image` and `label`, the name of the class."""

    _kind = L.Food101


class RenderedSST2Dataset(SplitImageFileDataset):
    """Rendered SST-2, sentences as images: columns `image` and `label`, 1 for positive."""

    _kind = L.RenderedSST2


class LSUNDataset(MappableDataset):
    """LSUN, scenes of ten classes: columns `image` and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        classes: list[str] | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        decode: bool = False,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        if classes is not None and not isinstance(classes, list):
            raise check.wrong_type("classes", classes, "list")
        order = (num_samples, num_parallel_workers, shuffle, sampler, num_shards, shard_id, cache)
        super().__init__(
            L.LSUN(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                classes=tuple(classes) if classes else LSUN_CLASSES,
                **text_arguments(usage=usage),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )


class OmniglotDataset(MappableDataset):
    """Omniglot, characters of many alphabets: columns `image` and `label`."""

    def __init__(
        self,
        dataset_dir: str,
        background: bool | None = None,
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
            L.Omniglot(
                dataset_dir=check.text("dataset_dir", dataset_dir),
                background=background is None or check.flag("background", background),
                **decode_arguments(decode),
                **row_arguments(*order),
            )
        )
