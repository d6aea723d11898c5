"""Translation datasets: columns `text` and `translation`."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.samplers import Shuffle
from mycelia.dataset.api.text_sets import folder_arguments, text_sampler
from mycelia.dataset.ir import text_sets as T


class Multi30kDataset(Dataset):
    """Multi30k, image captions in English and German."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        language_pair: Any = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        sampler = text_sampler(num_samples, shuffle, num_shards, shard_id, num_parallel_workers)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, sampler, usage=usage)
        super().__init__(T.Multi30k(**given, **_languages(language_pair)))


class IWSLT2016Dataset(Dataset):
    """IWSLT 2016 talks in English and Arabic, Czech, French or German."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        language_pair: Any = None,
        valid_set: str | None = None,
        test_set: str | None = None,
        num_samples: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        num_parallel_workers: int | None = None,
        cache: Any = None,
    ) -> None:
        given = folder_arguments(
            dataset_dir,
            num_parallel_workers,
            cache,
            text_sampler(num_samples, shuffle, num_shards, shard_id, num_parallel_workers),
            usage=usage,
            valid_set=valid_set,
            test_set=test_set,
        )
        super().__init__(T.IWSLT2016(**given, **_languages(language_pair)))


class IWSLT2017Dataset(Dataset):
    """IWSLT 2017 talks in two of Dutch, English, German, Italian and Romanian."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        language_pair: Any = None,
        num_samples: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        num_parallel_workers: int | None = None,
        cache: Any = None,
    ) -> None:
        sampler = text_sampler(num_samples, shuffle, num_shards, shard_id, num_parallel_workers)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, sampler, usage=usage)
        super().__init__(T.IWSLT2017(**given, **_languages(language_pair)))


def _languages(pair: Any) -> dict[str, Any]:
    """The argument `language_pair` as a tuple, if given."""
    if pair is None:
        return {}
    if not isinstance(pair, (list, tuple)):
        raise check.wrong_type("language_pair", pair, "list or tuple")
    if len(pair) != 2:
        raise problem(ValueError, "language_pair: must name two languages", got=repr(list(pair)))
    return {"language_pair": tuple(check.text("language_pair", name) for name in pair)}
