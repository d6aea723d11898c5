"""Text datasets."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.api import arguments as check
from mycelia.dataset.api.cache import cache_options
from mycelia.dataset.api.dataset import Dataset
from mycelia.dataset.api.files import mixed_sampler
from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import Shuffle, chosen_sampler
from mycelia.dataset.formats.lines import matching_files
from mycelia.dataset.ir import text_sets as T
from mycelia.dataset.ir.known_sets import SetFolder
from mycelia.dataset.ir.samplers import SamplerNode


def folder_arguments(
    dataset_dir: Any, workers: Any, cache: Any, sampler: SamplerNode, **texts: Any
) -> dict[str, Any]:
    """The checked arguments of a dataset in a folder, and those `texts` that are not None."""
    given = {name: check.text(name, value) for name, value in texts.items() if value is not None}
    return {
        "dataset_dir": check.text("dataset_dir", dataset_dir),
        "num_parallel_workers": check.workers(workers),
        "cache": cache_options(cache),
        "sampler": sampler,
        **given,
    }


def text_sampler(
    num_samples: int | None,
    shuffle: Any,
    num_shards: int | None,
    shard_id: int | None,
    workers: int | None,
) -> SamplerNode:
    """The sampler of a text dataset; shuffle=None also shuffles all rows."""
    order = Shuffle.GLOBAL if shuffle is None else shuffle
    return mixed_sampler(num_samples, order, num_shards, shard_id, workers)


class _TextDataset(Dataset):
    """A text dataset in a folder."""

    _kind: type[SetFolder]

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
        sampler = text_sampler(num_samples, shuffle, num_shards, shard_id, num_parallel_workers)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, sampler, usage=usage)
        super().__init__(self._kind(**given))


class _ReorderedTextDataset(_TextDataset):
    """A text dataset whose constructor has its arguments in another order."""

    def __init__(
        self,
        dataset_dir: str,
        usage: str | None = None,
        num_samples: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        num_parallel_workers: int | None = None,
        cache: Any = None,
    ) -> None:
        super().__init__(
            dataset_dir,
            usage,
            num_samples,
            num_parallel_workers,
            shuffle,
            num_shards,
            shard_id,
            cache,
        )


class CLUEDataset(Dataset):
    """CLUE, Chinese language understanding tasks in JSON files: columns depend on `task`."""

    def __init__(
        self,
        dataset_files: Any,
        task: str = "AFQMC",
        usage: str = "train",
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = Shuffle.GLOBAL,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        patterns = [dataset_files] if isinstance(dataset_files, str) else dataset_files
        if not isinstance(patterns, list):
            raise check.wrong_type("dataset_files", dataset_files, "str or list")
        if not patterns:
            raise problem(ValueError, "CLUEDataset: dataset_files is empty")
        super().__init__(
            T.Clue(
                dataset_files=matching_files(
                    [check.text("dataset_files", pattern) for pattern in patterns]
                ),
                task=task,
                usage=usage,
                num_parallel_workers=check.workers(num_parallel_workers),
                cache=cache_options(cache),
                sampler=text_sampler(
                    num_samples, shuffle, num_shards, shard_id, num_parallel_workers
                ),
            )
        )


class SQuADDataset(_TextDataset):
    """SQuAD, questions about paragraphs: columns `context`, `question`, `text`, `answer_start`."""

    _kind = T.Squad


class IMDBDataset(MappableDataset):
    """IMDB film reviews: columns `text` and `label` (1 for positive)."""

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
        chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, chosen, usage=usage)
        super().__init__(T.Imdb(**given))


class WikiTextDataset(_TextDataset):
    """WikiText, lines of good Wikipedia articles: column `text`."""

    _kind = T.WikiText


class YelpReviewDataset(_ReorderedTextDataset):
    """Yelp reviews of businesses: columns `label` and `text`."""

    _kind = T.YelpReview


class AmazonReviewDataset(_TextDataset):
    """Amazon product reviews: columns `label`, `title`, `content`."""

    _kind = T.AmazonReview


class AGNewsDataset(_TextDataset):
    """AG News, four topics: columns `index`, `title`, `description`."""

    _kind = T.AGNews


class DBpediaDataset(_TextDataset):
    """DBpedia articles of 14 classes: columns `class`, `title`, `content`."""

    _kind = T.DBpedia


class YahooAnswersDataset(_TextDataset):
    """Yahoo Answers, questions of ten topics: columns `class`, `title`, `content`, `answer`."""

    _kind = T.YahooAnswers


class SogouNewsDataset(_ReorderedTextDataset):
    """Sogou, Chinese news of five topics: columns `index`, `title`, `content`."""

    _kind = T.SogouNews


class UDPOSDataset(_ReorderedTextDataset):
    """UD English POS tags: columns `word`, `universal`, `stanford`."""

    _kind = T.UDPOS


class PennTreebankDataset(_TextDataset):
    """Penn Treebank, lines of the Wall Street Journal: column `text`."""

    _kind = T.PennTreebank


class EnWik9Dataset(Dataset):
    """enwik9, the lines of the first 10^9 bytes of Wikipedia: column `text`."""

    def __init__(
        self,
        dataset_dir: str,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: Any = True,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        sampler = text_sampler(num_samples, shuffle, num_shards, shard_id, num_parallel_workers)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, sampler)
        super().__init__(T.EnWik9(**given))


class CoNLL2000Dataset(_ReorderedTextDataset):
    """CoNLL-2000, words, POS tags, and chunks: columns `word`, `pos_tag`, `chunk_tag`."""

    _kind = T.CoNLL2000


class SST2Dataset(_TextDataset):
    """SST-2 sentences about films: columns `sentence` and, except for the test set, `label`."""

    _kind = T.SST2
