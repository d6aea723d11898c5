"""Source nodes of speech and music datasets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats import speech
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.ir.known_sets import KnownSet, SetFolder, check_member

_THREE = ("train", "test", "valid", "all")


@dataclass(frozen=True, eq=False, kw_only=True)
class YesNo(SetFolder):
    """YesNo: eight times yes or no in Hebrew."""

    op_type = "YesNoNode"

    def open(self) -> RowReader:
        return speech.open_yes_no(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class SpeechCommands(KnownSet):
    """Speech Commands: single words of many speakers."""

    op_type = "SpeechCommandsDataset"
    usages = _THREE

    def open(self) -> RowReader:
        return speech.open_commands(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class GTZAN(KnownSet):
    """GTZAN: music of ten genres."""

    op_type = "kGTZANNode"
    usages = _THREE

    def open(self) -> RowReader:
        return speech.open_gtzan(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class LJSpeech(SetFolder):
    """LJ Speech: one voice reading books."""

    op_type = "LJSpeechDataset"

    def open(self) -> RowReader:
        return speech.open_lj_speech(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class LibriTTS(KnownSet):
    """LibriTTS: many voices reading books."""

    op_type = "LibriTTSDataset"
    usages = (*speech.LIBRI_PARTS, "all")

    def open(self) -> RowReader:
        return speech.open_libri(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class CMUArctic(SetFolder):
    """CMU Arctic: sentences read by one of eighteen voices."""

    op_type = "CMUArcticDataset"
    voices: ClassVar[tuple[str, ...]] = tuple(
        "aew ahw aup awb axb bdl clb eey fem gka jmk ksp ljm lnh rms rxr slp slt".split()
    )
    name: str = "aew"

    def __post_init__(self) -> None:
        check_member(self.title, "name", self.name, self.voices)
        super().__post_init__()

    def open(self) -> RowReader:
        return speech.open_arctic(self.dataset_dir, self.name)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tedlium(KnownSet):
    """TED-LIUM: talks, split into utterances."""

    op_type = "TedliumDataset"
    usages = ("train", "test", "dev", "all")
    release: str
    extensions: str = ".sph"

    def __post_init__(self) -> None:
        check_member(self.title, "release", self.release, ("release1", "release2", "release3"))
        if self.release == "release3":
            check_member(self.title, "usage", self.usage, ("all",))
        if self.extensions != ".sph":
            raise problem(
                RuntimeError,
                "TedliumDataset: unsupported sound file extension",
                got=f"extensions={self.extensions!r}",
                expected="'.sph'",
            )
        super().__post_init__()

    def open(self) -> RowReader:
        return speech.open_tedlium(self.dataset_dir, self.release, self.usage)
