"""Audio files with 16-bit samples: WAV and NIST SPHERE."""

from __future__ import annotations

import wave
from pathlib import Path

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import is_count

_LARGEST = np.float32(2**15 - 1)
_ORDERS = {"01": "<i2", "10": ">i2"}


def read_wave(path: Path) -> tuple[np.ndarray, int]:
    """The samples of a WAV file as an array (1, n) in [-1, 1], and the sample rate."""
    try:
        with wave.open(str(path), "rb") as file:
            head = file.getparams()
            data = file.readframes(head.nframes)
    except FileNotFoundError as error:
        raise problem(RuntimeError, "the sound file is missing", got=str(path)) from error
    except (wave.Error, EOFError) as error:
        raise problem(
            RuntimeError, "the file is not a PCM WAV file", got=f"{path}: {error}"
        ) from error
    if (head.nchannels, head.sampwidth) != (1, 2):
        raise problem(
            RuntimeError,
            "unsupported WAV format",
            got=f"{path}: {head.nchannels} channels of {8 * head.sampwidth} bits",
            expected="1 channel of 16 bits",
        )
    if len(data) != 2 * head.nframes:
        raise problem(RuntimeError, "the WAV file is truncated", got=str(path))
    return _scaled(np.frombuffer(data, "<i2")), head.framerate


def read_sphere(path: Path, start: float, end: float) -> tuple[np.ndarray, int]:
    """The samples between two times (in seconds) of a SPHERE file, and the sample rate.

    Samples after the end of the file are silence.
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
            "no samples lie between the times",
            got=f"{path}: {start} to {end} seconds",
        )
    return _scaled(np.pad(samples, (0, last - first - len(samples)))), rate


def _scaled(samples: np.ndarray) -> np.ndarray:
    return (samples.astype(np.float32) / _LARGEST)[None]


def _sphere_head(path: Path) -> tuple[int, dict[str, str]]:
    """The size of the header in bytes, and its fields."""
    if not path.is_file():
        raise problem(RuntimeError, "the sound file is missing", got=str(path))
    with open(path, "rb") as file:
        mark, size = file.readline().strip(), file.readline().strip()
        if mark != b"NIST_1A" or not is_count(size):
            raise problem(
                RuntimeError, "the file is not a SPHERE file", got=f"{path}: {mark!r:.40}"
            )
        left = min(int(size), path.stat().st_size) - file.tell()
        lines = file.read(max(left, 0)).decode("latin-1").split("\n")
    entries = [line.split(" ", 2) for line in lines]
    head = {entry[0]: entry[2].strip() for entry in entries if len(entry) == 3}
    wanted = {"channel_count": ("1",), "sample_n_bytes": ("2",), "sample_byte_format": _ORDERS}
    wrong = [key for key, values in wanted.items() if head.get(key) not in values]
    if wrong or not is_count(head.get("sample_rate", "")) or head.get("sample_coding") != "pcm":
        raise problem(
            RuntimeError,
            "unsupported SPHERE format",
            got=f"{path}: {head}",
            expected="1 channel of 2-byte PCM samples, and a sample rate",
        )
    return int(size), head
