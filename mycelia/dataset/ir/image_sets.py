"""Base classes of image dataset nodes, and the datasets stored in few pixel files."""

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
    """An image dataset in a folder; `choices` lists the valid values of its arguments."""

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {}
    dataset_dir: str

    @property
    def title(self) -> str:
        """The name of the public class."""
        return self.op_type.replace("Node", "Dataset")

    def __post_init__(self) -> None:
        check_choices(self, self.choices)
        if not Path(self.dataset_dir).is_dir():
            raise problem(
                ValueError,
                f"{self.title}: dataset_dir must be a readable folder",
                got=str(self.dataset_dir),
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class FileImages(ImageSetNode):
    """A dataset with one file per image."""

    decode: bool = False
    decoder: Decoder | None = field(default=None, metadata={"json": False})

    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return ("image", "label")

    def rows(self) -> Rows:
        """The values of each row, with images as paths."""
        raise NotImplementedError

    def open(self) -> RowReader:
        return ImageRows(self.names(), self.rows(), self.title, self.used_decoder())

    def used_decoder(self) -> Decoder | None:
        """The function that decodes the bytes of image files, if requested."""
        return self.decoder if self.decode else None


def check_choices(node: Any, choices: dict[str, tuple[Any, ...]]) -> None:
    """Check that the arguments of a node have valid values."""
    for name, known in choices.items():
        value = getattr(node, name)
        if value not in known:
            raise problem(
                ValueError,
                f"{node.title}: unknown {name}",
                got=repr(value),
                expected=f"one of {', '.join(map(repr, known))}",
            )


@dataclass(frozen=True, eq=False, kw_only=True)
class KMnist(ImageSetNode):
    """KMNIST, handwritten Kuzushiji, in MNIST's file format."""

    op_type = "KMnistDataset"
    choices = {"usage": ("train", "test", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return idx.open_mnist(self.dataset_dir, self.usage, self.title)


@dataclass(frozen=True, eq=False, kw_only=True)
class EMnist(ImageSetNode):
    """EMNIST handwritten letters and digits, in MNIST's file format."""

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
    """QMNIST: MNIST's digits with information about their writers."""

    op_type = "QMnistDataset"
    choices = {"usage": ("train", "test", "test10k", "test50k", "nist", "all")}
    usage: str = "all"
    compat: bool = True

    def open(self) -> RowReader:
        return digits.open_qmnist(self.dataset_dir, self.usage, self.compat)


@dataclass(frozen=True, eq=False, kw_only=True)
class USPS(ImageSetNode):
    """USPS digits from envelopes."""

    op_type = "USPSDataset"
    choices = {"usage": ("train", "test", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return usps.open_usps(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Semeion(ImageSetNode):
    """Semeion handwritten digits in black and white."""

    op_type = "SemeionDataset"

    def open(self) -> RowReader:
        return semeion.open_semeion(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class STL10(ImageSetNode):
    """STL-10: color images of ten classes, many of them unlabeled."""

    op_type = "STL10Dataset"
    choices = {"usage": ("train", "test", "unlabeled", "train+unlabeled", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return stl10.open_stl10(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class SVHN(ImageSetNode):
    """SVHN: digits of house numbers."""

    op_type = "SVHNDataset"
    choices = {"usage": ("train", "test", "extra", "all")}
    usage: str = "all"

    def open(self) -> RowReader:
        return svhn.open_svhn(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class PhotoTour(ImageSetNode):
    """Photo Tour: patches of photos of three sights."""

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
