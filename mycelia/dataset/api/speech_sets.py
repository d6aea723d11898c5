"""The datasets of the known sets of speech: columns `waveform`, `sample_rate`, and what is said."""

from __future__ import annotations

from typing import Any

from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import chosen_sampler
from mycelia.dataset.api.text_sets import folder_arguments
from mycelia.dataset.ir import speech_sets as H
from mycelia.dataset.ir.known_sets import SetFolder


class _UnsplitSpeechDataset(MappableDataset):
    """A set of speech that has no parts."""

    _kind: type[SetFolder]

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
        chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, chosen)
        super().__init__(self._kind(**given))


class _SpeechDataset(MappableDataset):
    """A set of speech in parts."""

    _kind: type[SetFolder]

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
        super().__init__(self._kind(**given))


class YesNoDataset(_UnsplitSpeechDataset):
    """Eight times yes or no in Hebrew, with `label`: 1 for each yes."""

    _kind = H.YesNo


class LJSpeechDataset(_UnsplitSpeechDataset):
    """One voice that reads books, with `transcription` and `normalized_transcription`."""

    _kind = H.LJSpeech


class SpeechCommandsDataset(_SpeechDataset):
    """Single words, with `label`, `speaker_id`, `utterance_number`."""

    _kind = H.SpeechCommands


class LibriTTSDataset(_SpeechDataset):
    """Many voices that read books.

    With `original_text`, `normalized_text`, `speaker_id`, `chapter_id`, `utterance_id`.
    """

    _kind = H.LibriTTS


class GTZANDataset(_SpeechDataset):
    """Music of ten genres, with `label`: the name of the genre."""

    _kind = H.GTZAN


class CMUArcticDataset(MappableDataset):
    """Sentences read by one of eighteen voices, with `transcript` and `utterance_id`."""

    def __init__(
        self,
        dataset_dir: str,
        name: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        chosen = chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id)
        given = folder_arguments(dataset_dir, num_parallel_workers, cache, chosen, name=name)
        super().__init__(H.CMUArctic(**given))


class TedliumDataset(MappableDataset):
    """Talks, with `transcript`, `talk_id`, `speaker_id`, `identifier`."""

    def __init__(
        self,
        dataset_dir: str,
        release: str,
        usage: str | None = None,
        extensions: str | None = None,
        num_samples: int | None = None,
        num_parallel_workers: int | None = None,
        shuffle: bool | None = None,
        sampler: Any = None,
        num_shards: int | None = None,
        shard_id: int | None = None,
        cache: Any = None,
    ) -> None:
        given = folder_arguments(
            dataset_dir,
            num_parallel_workers,
            cache,
            chosen_sampler(num_samples, sampler, shuffle, num_shards, shard_id),
            release=release,
            usage=usage,
            extensions=extensions,
        )
        super().__init__(H.Tedlium(**given))
