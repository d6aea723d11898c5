"""File formats of speech datasets: their sound files, labels, and transcripts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count, read_text
from mycelia.dataset.formats.gtzan import recordings
from mycelia.dataset.formats.parts import ConcatenatedReader, ListedRows, PieceRows, Row, present
from mycelia.dataset.formats.pieces import filled_lines
from mycelia.dataset.formats.waves import read_sphere, read_wave

_SOUND = ("waveform", "sample_rate")
_COMMAND = re.compile(r"([^_]+)_nohash_(\d+)\.wav")
_LISTS = {"test": "testing_list.txt", "valid": "validation_list.txt"}
_ARCTIC = re.compile(r'\(\s*(arctic_(\S+))\s+"([^"]*)"\s*\)')
_LIBRI = re.compile(r"((\d+)_(\d+)_\d+_\d+)\t([^\t]*)\t(.*)")
LIBRI_PARTS = (
    "dev-clean",
    "dev-other",
    "test-clean",
    "test-other",
    "train-clean-100",
    "train-clean-360",
    "train-other-500",
)


def open_yes_no(folder: str) -> ConcatenatedReader:
    """Eight times yes (1) or no (0), encoded in the file name."""
    files = sorted(Path(folder).glob("*.wav"))
    rows = ListedRows([_listed(path, _answers(path)) for path in files], _wave_row)
    return ConcatenatedReader("YesNoDataset", (*_SOUND, "label"), [rows])


def _answers(path: Path) -> np.ndarray:
    answers = path.stem.split("_")
    if not all(is_count(answer) for answer in answers):
        raise problem(
            RuntimeError,
            "YesNoDataset: the file name does not encode the answers",
            got=str(path),
            expected="numbers, as in 0_0_1_0_1_0_0_1.wav",
        )
    return np.array(answers).astype(np.int32)


def open_commands(folder: str, usage: str) -> ConcatenatedReader:
    """Single words; lists in the folder name the files for validation and test."""
    owner = "SpeechCommandsDataset"
    root = Path(folder)
    if usage in _LISTS:
        files = sorted(present(owner, root / name) for name in _named(owner, root, usage))
    else:
        taken = {n for part in _LISTS if usage == "train" for n in _named(owner, root, part)}
        found = (p for p in sorted(root.glob("*/*.wav")) if p.parent.name != "_background_noise_")
        files = [path for path in found if str(path.relative_to(root)) not in taken]
    rows = ListedRows([_listed(path, *_command(owner, path)) for path in files], _wave_row)
    return ConcatenatedReader(owner, (*_SOUND, "label", "speaker_id", "utterance_number"), [rows])


def _named(owner: str, root: Path, usage: str) -> list[str]:
    text = read_text(present(owner, root / _LISTS[usage]), owner)
    return [line.strip() for line in text.splitlines() if line.strip()]


def _command(owner: str, path: Path) -> tuple[str, str, np.ndarray]:
    match = _COMMAND.fullmatch(path.name)
    if match is None:
        raise problem(
            RuntimeError,
            f"{owner}: the file name does not encode a speaker and a number",
            got=str(path),
            expected="a name like 0a7c2a8d_nohash_0.wav",
        )
    return path.parent.name, match[1], np.array(match[2]).astype(np.int32)


def open_gtzan(folder: str, usage: str) -> ConcatenatedReader:
    """Music of ten genres."""
    named = [(Path(folder, genre, name), genre) for genre, name in recordings(usage)]
    rows = [_listed(path, genre) for path, genre in named if path.is_file()]
    heard = partial(_wave_row, kind=np.uint32, expected=22050)
    return ConcatenatedReader("GTZANDataset", (*_SOUND, "label"), [ListedRows(rows, heard)])


def open_lj_speech(folder: str) -> ConcatenatedReader:
    """One voice reading books; `metadata.csv` holds the transcripts."""
    root = Path(folder)
    lines = filled_lines(present("LJSpeechDataset", root / "metadata.csv"))

    def parse(line: str) -> Row:
        fields = line.split("|")
        if len(fields) < 3:
            raise _malformed(line, "a name and two texts, between |")
        return _wave_row(root / "wavs" / f"{fields[0]}.wav", fields[1], fields[2])

    columns = (*_SOUND, "transcription", "normalized_transcription")
    return ConcatenatedReader("LJSpeechDataset", columns, [PieceRows(lines, parse)])


def open_arctic(folder: str, name: str) -> ConcatenatedReader:
    """One of several voices reading the same sentences."""
    root = Path(folder) / f"cmu_us_{name}_arctic"
    lines = filled_lines(present("CMUArcticDataset", root / "etc" / "txt.done.data"))

    def parse(line: str) -> Row:
        match = _ARCTIC.fullmatch(line.strip())
        if match is None:
            raise _malformed(line, '( arctic_a0001 "text" )')
        path = root / "wav" / f"{match[1]}.wav"
        return _wave_row(path, match[3], match[2], kind=np.uint32, expected=16000)

    columns = (*_SOUND, "transcript", "utterance_id")
    return ConcatenatedReader("CMUArcticDataset", columns, [PieceRows(lines, parse)])


def open_libri(folder: str, usage: str) -> ConcatenatedReader:
    """Many voices reading books; each chapter has a transcript file."""
    names = LIBRI_PARTS if usage == "all" else (usage,)
    files = [p for name in names for p in sorted(Path(folder, name).glob("*/*/*.trans.tsv"))]
    parts = [PieceRows(filled_lines(path), partial(_libri_row, path.parent)) for path in files]
    texts = ("original_text", "normalized_text", "speaker_id", "chapter_id", "utterance_id")
    return ConcatenatedReader("LibriTTSDataset", (*_SOUND, *texts), parts)


def _libri_row(folder: Path, line: str) -> Row:
    match = _LIBRI.fullmatch(line)
    if match is None:
        raise _malformed(line, "a name as in 84_121123_000007_000001 and two texts, between tabs")
    name, speaker, chapter, original, normal = match.groups()
    numbers = np.array([int(speaker), int(chapter)], np.uint32)
    return _wave_row(
        folder / f"{name}.wav", original, normal, *numbers, name, kind=np.uint32, expected=24000
    )


def open_tedlium(folder: str, release: str, usage: str) -> ConcatenatedReader:
    """Talks split into utterances; a file next to each talk holds times and transcripts."""
    names: Iterable[str] = ("train", "test", "dev") if usage == "all" else (usage,)
    parts = []
    for name in ("data",) if release == "release3" else names:
        root = Path(folder) / name
        if not (root / "stm").is_dir():
            raise problem(
                RuntimeError,
                "TedliumDataset: a folder of the dataset is missing",
                got=f"{root}/stm",
            )
        for path in sorted((root / "stm").glob("*.stm")):
            parts.append(PieceRows(filled_lines(path), partial(_tedlium_row, root / "sph")))
    columns = (*_SOUND, "transcript", "talk_id", "speaker_id", "identifier")
    return ConcatenatedReader("TedliumDataset", columns, parts)


def _tedlium_row(folder: Path, line: str) -> Row:
    fields = line.split(" ", 6)
    try:
        talk, _, speaker, start, end, identifier, said = fields
        times = float(start), float(end)
    except ValueError as error:
        raise _malformed(line, "talk, channel, speaker, start, end, identifier and text") from error
    samples, rate = read_sphere(folder / f"{talk}.sph", *times)
    return samples, np.array(rate, np.int32), said, talk, speaker, identifier


def _listed(path: Path, *values: Any) -> tuple[str, Row]:
    return str(path), (path, *values)


def _wave_row(
    path: Path, *values: Any, kind: type[np.integer[Any]] = np.int32, expected: int | None = None
) -> Row:
    """A row that starts with the content of a WAV file."""
    samples, rate = read_wave(path)
    if expected not in (None, rate):
        raise problem(
            RuntimeError,
            "the WAV file has a different sample rate than the dataset",
            got=f"{path}: {rate}",
            expected=str(expected),
        )
    return samples, np.array(rate, kind), *values


def _malformed(line: str, expected: str) -> RuntimeError:
    return problem(
        RuntimeError, "the line cannot be parsed", got=f"{line!r:.80}", expected=expected
    )
