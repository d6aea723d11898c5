"""Reading and decoding videos into frames and audio."""

from __future__ import annotations

import io
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.keyword_suggestions import CheckedKeywords
from mycelia.dataset.transforms.checks import wrong_type
from mycelia.dataset.transforms.transform import Transform
from mycelia.dataset.vision.backends.pyav import decoded, opened

_UNITS = ("pts", "sec")


def read_video(
    filename: str,
    start_pts: float | Fraction = 0,
    end_pts: float | Fraction | None = None,
    pts_unit: str = "pts",
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Read the frames [T, H, W, C] and audio [channels, samples] of a video, and their rates.

    `start_pts` and `end_pts` are the first and last timestamp to keep, in the video's time base
    ("pts") or in seconds ("sec"); the audio is trimmed like the frames.
    """
    path = _video_file(filename, ValueError)
    _check_unit("read_video", pts_unit, ValueError)
    for argument, value in (("start_pts", start_pts), ("end_pts", end_pts)):
        if not isinstance(value, (float, int, Fraction)) and (argument, value) != ("end_pts", None):
            raise wrong_type(argument, value, "float, int or Fraction")
    end = float("inf") if end_pts is None else end_pts
    if start_pts < 0 or end < start_pts:
        raise problem(
            ValueError,
            "read_video: invalid time range",
            got=f"start_pts={start_pts}, end_pts={end_pts}",
            expected="0 <= start_pts <= end_pts",
        )
    video = _whole("read_video", str(path))
    times = video.times(pts_unit)
    kept = [position for position, time in enumerate(times) if start_pts <= time <= end]
    rates = {"video_fps": video.fps}
    if video.sound_rate is not None:
        rates = {"audio_fps": video.sound_rate, **rates}
    return video.frames[kept], _cut(video.sound, kept, len(times)), rates


def _cut(sound: np.ndarray, kept: list[int], count: int) -> np.ndarray:
    """The audio that belongs to the selected frames."""
    if not kept:
        return sound[:, :0]
    samples = sound.shape[1] / count
    start = round(kept[0] * samples)
    return sound[:, start : start + round(len(kept) * samples)]


def read_video_timestamps(filename: str, pts_unit: str = "pts") -> tuple[list[Any], float]:
    """The timestamps of the frames of a video, and the frame rate."""
    path = _video_file(filename, RuntimeError)
    _check_unit("read_video_timestamps", pts_unit, RuntimeError)
    with opened("read_video_timestamps", str(path)) as container:
        stream = container.streams.video[0]
        ticks = [frame.pts for frame in decoded("read_video_timestamps", container, stream)]
        if pts_unit == "pts":
            return ticks, float(stream.average_rate)
        tick = float(np.float32(stream.time_base))
        return [count * tick for count in ticks], float(stream.average_rate)


@dataclass(frozen=True, eq=False)
class DecodeVideo(Transform):
    """Decodes the bytes of a video file to frames [T, H, W, C] and audio [channels, samples]."""

    def checked(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            raise wrong_type("the bytes of a video", value, "numpy.ndarray")
        return value

    def run(self, values: tuple[Any, ...], random: Any) -> tuple[np.ndarray, np.ndarray]:
        data = np.asarray(values[0])
        if len(values) != 1 or data.ndim != 1 or data.dtype != np.uint8:
            raise problem(
                RuntimeError,
                "DecodeVideo: requires one column of the bytes of video files",
                got=f"{len(values)} columns, the first {data.dtype}{list(data.shape)}",
                expected="one column of uint8[N]",
            )
        video = _whole("DecodeVideo", io.BytesIO(data.tobytes()))
        return video.frames, video.sound


class VideoDecoder(CheckedKeywords):
    """Random access to the frames of a video file, and its metadata."""

    def __init__(self, source: str) -> None:
        self.source = str(_video_file(source, ValueError))
        with opened("VideoDecoder", self.source) as container:
            stream = container.streams.video[0]
            self._size = stream.width, stream.height
            self._fps = float(stream.average_rate)
            length = None if stream.duration is None else stream.duration * stream.time_base
            self._length = None if length is None else float(length)
            self._frames = stream.frames

    @cached_property
    def _count(self) -> int:
        """The number of frames; counted if the file does not declare it."""
        return self._frames or len(read_video_timestamps(self.source)[0])

    @property
    def metadata(self) -> dict[str, Any]:
        """The size, duration, number of frames, and frame rate."""
        width, height = self._size
        length = self._count / self._fps if self._length is None else self._length
        return {
            "width": width,
            "height": height,
            "duration_seconds": length,
            "num_frames": self._count,
            "average_fps": self._fps,
        }

    def get_frames_at(self, indices: list[int]) -> np.ndarray:
        """The frames [T, H, W, C] at some indices."""
        if not isinstance(indices, list):
            raise wrong_type("indices", indices, "list")
        for position, index in enumerate(indices):
            if not is_int(index):
                raise wrong_type(f"indices[{position}]", index, "int")
            if not 0 <= index < self._count:
                raise problem(
                    ValueError,
                    "VideoDecoder: frame index out of range",
                    got=f"indices[{position}]={index}",
                    expected=f"0 to {self._count - 1}",
                )
        wanted: dict[int, np.ndarray] = {}
        with opened("VideoDecoder", self.source) as container:
            pictures = decoded("VideoDecoder", container, container.streams.video[0])
            for number, frame in enumerate(pictures):
                if number in indices:
                    wanted[number] = frame.to_ndarray(format="rgb24")
                if len(wanted) == len(set(indices)):
                    break
        shape = (len(indices), self._size[1], self._size[0], 3)
        return np.array([wanted[index] for index in indices], np.uint8).reshape(shape)


@dataclass(frozen=True)
class _Video:
    """A video in memory."""

    frames: np.ndarray
    ticks: list[int]
    tick: Fraction
    fps: float
    sound: np.ndarray
    sound_rate: int | None

    def times(self, unit: str) -> list[float]:
        """The timestamps of the frames."""
        return [float(count * self.tick) if unit == "sec" else count for count in self.ticks]


def _whole(owner: str, source: Any) -> _Video:
    with opened(owner, source) as container:
        stream = container.streams.video[0]
        spoken = container.streams.audio[0] if container.streams.audio else None
        streams = [stream] if spoken is None else [stream, spoken]
        frames, ticks, sounds = [], [], []
        for frame in decoded(owner, container, *streams):
            if hasattr(frame, "samples"):
                sounds.append(_samples(frame))
            else:
                frames.append(frame.to_ndarray(format="rgb24"))
                ticks.append(frame.pts)
        empty = np.empty((0, stream.height, stream.width, 3), np.uint8)
        return _Video(
            np.stack(frames) if frames else empty,
            ticks,
            stream.time_base,
            float(stream.average_rate),
            np.concatenate(sounds, axis=1) if sounds else np.empty((1, 0), np.float32),
            None if spoken is None else spoken.sample_rate,
        )


def _samples(frame: Any) -> np.ndarray:
    """The samples of an audio frame, one row per channel."""
    values = frame.to_ndarray()
    if frame.format.is_planar:
        return values
    return values.reshape(frame.samples, -1).T


def _video_file(filename: Any, kind: type[Exception]) -> Path:
    if not isinstance(filename, str):
        raise wrong_type("filename", filename, "str")
    if not Path(filename).is_file():
        raise problem(kind, "the video file does not exist", got=filename)
    return Path(filename)


def _check_unit(owner: str, unit: Any, kind: type[Exception]) -> None:
    if not isinstance(unit, str):
        raise wrong_type("pts_unit", unit, "str")
    if unit not in _UNITS:
        raise problem(kind, f"{owner}: unknown unit", got=repr(unit), expected='"pts" or "sec"')
