"""Sound files of 16-bit samples: WAV, and NIST's SPHERE."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count

_LARGEST = np.float32(2**15 - 1)
_ORDERS = {"01": "<i2", "10": ">i2"}


def read_wave(path: Path) -> tuple[np.ndarray, int]:
    """The samples of a WAV file as an array (1, n) between -1 and 1, and how many a second has."""
    try:
        with wave.open(str(path), "rb") as file:
            head = file.getparams()
            data = file.readframes(head.nframes)
    except FileNotFoundError as error:
        raise problem(RuntimeError, "the sound file is missing", got=str(path)) from error
    except (wave.Error, EOFError) as error:
        raise problem(
            RuntimeError, "the file is no WAV file of plain samples", got=f"{path}: {error}"
        ) from error
    if (head.nchannels, head.sampwidth) != (1, 2):
        raise problem(
            RuntimeError,
            "the WAV file has another form than speech",
            got=f"{path}: {head.nchannels} channels of {8 * head.sampwidth} bits",
            expected="1 channel of 16 bits",
        )
    if len(data) != 2 * head.nframes:
        raise problem(RuntimeError, "the WAV file is cut off", got=str(path))
    return _scaled(np.frombuffer(data, "<i2")), head.framerate


def read_sphere(path: Path, start: float, end: float) -> tuple[np.ndarray, int]:
    """The samples between two seconds of a SPHERE file, and how many a second has.

    What lies behind the end of the file is silence.
    """
    size, head = _sphere_head(path)
    rate = int(head["sample_rate"])
    first, last = int(start * rate), int(end * rate)
    samples = np.fromfile(
        path, _ORDERS[head["sample_byte_format"]], max(last - first, 0), offset=size + 2 * first
    )
    if not len(samples):
        raise problem(
            RuntimeError,
            "no sample lies between the times",
            got=f"{path}: {start} to {end} seconds",
        )
    return _scaled(np.pad(samples, (0, last - first - len(samples)))), rate


def _scaled(samples: np.ndarray) -> np.ndarray:
    return (samples.astype(np.float32) / _LARGEST)[None]


def _sphere_head(path: Path) -> tuple[int, dict[str, str]]:
    """How many bytes the head has, and what it says."""
    if not path.is_file():
        raise problem(RuntimeError, "the sound file is missing", got=str(path))
    with open(path, "rb") as file:
        mark, size = file.readline().strip(), file.readline().strip()
        if mark != b"NIST_1A" or not is_count(size):
            raise problem(RuntimeError, "the file is no SPHERE file", got=f"{path}: {mark!r:.40}")
        left = min(int(size), path.stat().st_size) - file.tell()
        lines = file.read(max(left, 0)).decode("latin-1").split("\n")
    entries = [line.split(" ", 2) for line in lines]
    head = {entry[0]: entry[2].strip() for entry in entries if len(entry) == 3}
    wanted = {"channel_count": ("1",), "sample_n_bytes": ("2",), "sample_byte_format": _ORDERS}
    wrong = [key for key, values in wanted.items() if head.get(key) not in values]
    if wrong or not is_count(head.get("sample_rate", "")) or head.get("sample_coding") != "pcm":
        raise problem(
            RuntimeError,
            "the head of the SPHERE file tells of another form than speech",
            got=f"{path}: {head}",
            expected="1 channel of plain samples (pcm) of 2 bytes, and a rate",
        )
    return int(size), head
