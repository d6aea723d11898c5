"""Speech and music datasets: columns `waveform`, `sample_rate`, and labels or transcripts."""

from __future__ import annotations

from typing import Any

from mycelia.dataset.api.memory import MappableDataset
from mycelia.dataset.api.samplers import chosen_sampler
from mycelia.dataset.api.text_sets import folder_arguments
from mycelia.dataset.ir import speech_sets as H
from mycelia.dataset.ir.known_sets import SetFolder


class _UnsplitSpeechDataset(MappableDataset):
    """A speech dataset without a train/test split."""

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
    """A speech dataset with parts such as train and test."""

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
    """YesNo, eight times yes or no in Hebrew, with `label`: 1 for each yes."""

    _kind = H.YesNo


class LJSpeechDataset(_UnsplitSpeechDataset):
    """LJ Speech, one voice reading books, with `transcription` and `normalized_transcription`."""

    _kind = H.LJSpeech


class SpeechCommandsDataset(_SpeechDataset):
    """Speech Commands, single words, with `label`, `speaker_id`, `utterance_number`."""

    _kind = H.SpeechCommands


class LibriTTSDataset(_SpeechDataset):
    """LibriTTS, many voices reading books.

    With `original_text`, `normalized_text`, `speaker_id`, `chapter_id`, `utterance_id`.
    """

    _kind = H.LibriTTS


class GTZANDataset(_SpeechDataset):
    """GTZAN, music of ten genres, with `label`: the name of the genre."""

    _kind = H.GTZAN


class CMUArcticDataset(MappableDataset):
    """CMU Arctic, sentences read by one of 18 voices, with `transcript` and `utterance_id`."""

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
    """TED-LIUM talks, with `transcript`, `talk_id`, `speaker_id`, `identifier`."""

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
