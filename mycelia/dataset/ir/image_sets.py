"""What the sources of known sets of images share, and the sets in a few files of pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats import digits, idx, photo_tour, semeion, stl10, svhn, usps
from mycelia.dataset.formats.image_rows import Decoder, ImageRows, Rows
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.ir.sources import SourceNode


@dataclass(frozen=True, eq=False, kw_only=True)
class ImageSetNode(SourceNode):
    """A known set in one folder; `choices` lists what its arguments may be."""

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    dataset_dir: str

    @property
    def title(self) -> str:
        """The name of the class that users know."""
        return self.op_type.replace("Node", "Dataset")

    def __post_init__(self) -> None:
        check_choices(self, self.choices)
        if not Path(self.dataset_dir).is_dir():
            raise problem(
                ValueError,
                f"{self.title}: dataset_dir is no folder that can be read",
                got=str(self.dataset_dir),
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class FileImages(ImageSetNode):
    """A set with a file for each image."""

    decode: bool = False
    decoder: Decoder | None = field(default=None, metadata={"json": False})

    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("image", "label")

    def rows(self) -> Rows:
        """The parts of each row, with images as paths."""
        raise NotImplementedError

    def open(self) -> RowReader:
        return ImageRows(self.names(), self.rows(), self.title, self.used_decoder())

    def used_decoder(self) -> Decoder | None:
        """What turns the bytes of files into pixels, if that is asked for."""
        return self.decoder if self.decode else None


def check_choices(node: Any, choices: dict[str, tuple[Any, ...]]) -> None:
    """The arguments of a node must be among those it knows."""
    for name, known in choices.items():
        value = getattr(node, name)
        if value not in known:
            raise problem(
                ValueError,
                f"{node.title}: no such {name}",
                got=repr(value),
                expected=f"one of {', '.join(map(repr, known))}",
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class KMnist(ImageSetNode):
    """Handwritten Kuzushiji, in MNIST's form."""

    op_type = "KMnistDataset"
    choices = {"usage": ("train", "test", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return idx.open_mnist(self.dataset_dir, self.usage, self.title)


@dataclass(frozen=True, eq=False, kw_only=True)
class EMnist(ImageSetNode):
    """Handwritten letters and digits, in MNIST's form."""

    op_type = "EMnistNode"
    choices = {
        "name": ("byclass", "bymerge", "balanced", "letters", "digits", "mnist"),
        "usage": ("train", "test", "all"),
    }
    name: str
    usage: str = "all"

    def open(self) -> RowReader:
        return digits.open_emnist(self.dataset_dir, self.name, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class QMnist(ImageSetNode):
    """MNIST's digits with what is known of their writers."""

    op_type = "QMnistDataset"
    choices = {"usage": ("train", "test", "test10k", "test50k", "nist", "all")}
    usage: str = "all"
    compat: bool = True

    def open(self) -> RowReader:
        return digits.open_qmnist(self.dataset_dir, self.usage, self.compat)


@dataclass(frozen=True, eq=False, kw_only=True)
class USPS(ImageSetNode):
    """Digits from envelopes."""

    op_type = "USPSDataset"
    choices = {"usage": ("train", "test", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return usps.open_usps(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Semeion(ImageSetNode):
    """Handwritten digits in black and white."""

    op_type = "SemeionDataset"

    def open(self) -> RowReader:
        return semeion.open_semeion(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class STL10(ImageSetNode):
    """Colour images of ten classes, many without a label."""

    op_type = "STL10Dataset"
    choices = {"usage": ("train", "test", "unlabeled", "train+unlabeled", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return stl10.open_stl10(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class SVHN(ImageSetNode):
    """Digits of house numbers."""

    op_type = "SVHNDataset"
    choices = {"usage": ("train", "test", "extra", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return svhn.open_svhn(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class PhotoTour(ImageSetNode):
    """Patches of photos of three places."""

    op_type = "PhotoTourDataset"
    choices = {
        "name": (
            "notredame", "yosemite", "liberty",
            "notredame_harris", "yosemite_harris", "liberty_harris",
        ),
        "usage": ("train", "test"),
    }  # fmt: skip
    name: str
    usage: str = "train"
    decoder: Decoder = field(metadata={"json": False})

    def open(self) -> RowReader:
        folder = Path(self.dataset_dir) / self.name
        sheets = photo_tour.Sheets(folder, self.decoder)
        if self.usage == "train":
            return ImageRows(("image",), photo_tour.patch_rows(folder, sheets), self.title)
        columns = ("image1", "image2", "matches")
        return ImageRows(columns, photo_tour.pair_rows(folder, sheets), self.title)
