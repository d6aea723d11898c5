"""Source nodes of image files with labels from folders or lists."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats import class_folders, lfw, listed_images
from mycelia.dataset.formats.image_rows import Rows, folder_names, needed_file
from mycelia.dataset.ir.image_sets import FileImages


@dataclass(frozen=True, eq=False, kw_only=True)
class Classes(FileImages):
    """Images in one folder per class."""

    def num_classes(self) -> int | None:
        return class_folders.labels_of_rows(self._found)

    def rows(self) -> Rows:
        return self._found

    @cached_property
    def _found(self) -> Rows:
        return self.find()

    def find(self) -> Rows:
        """Find the images."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class Caltech256(Classes):
    """Caltech 256: objects of 256 classes and a clutter class."""

    op_type = "Caltech256Dataset"

    def find(self) -> Rows:
        return class_folders.caltech256_rows(self.dataset_dir)

    def num_classes(self) -> int | None:
        return len(folder_names(Path(self.dataset_dir)))


@dataclass(frozen=True, eq=False, kw_only=True)
class Omniglot(Classes):
    """Omniglot: characters of fifty alphabets."""

    op_type = "OmniglotDataset"
    background: bool = True

    def find(self) -> Rows:
        return class_folders.omniglot_rows(self.dataset_dir, self.background)


@dataclass(frozen=True, eq=False, kw_only=True)
class LSUN(Classes):
    """LSUN: scenes of ten classes."""

    op_type = "LSUNDataset"
    choices = {"usage": ("train", "test", "valid", "all")}
    usage: str = "all"
    classes: tuple[str, ...] = class_folders.LSUN_CLASSES

    def __post_init__(self) -> None:
        super().__post_init__()
        unknown = [name for name in self.classes if name not in class_folders.LSUN_CLASSES]
        if unknown:
            raise problem(
                ValueError,
                f"{self.title}: unknown classes",
                got=", ".join(unknown),
                expected=f"some of {', '.join(class_folders.LSUN_CLASSES)}",
            )

    def find(self) -> Rows:
        return class_folders.lsun_rows(self.dataset_dir, self.usage, self.classes)

    def num_classes(self) -> int | None:
        return len(set(self.classes))


@dataclass(frozen=True, eq=False, kw_only=True)
class RenderedSST2(Classes):
    """Rendered SST-2: sentences as images, with their sentiment."""

    op_type = "RenderedSST2Dataset"
    choices = {"usage": ("train", "val", "test", "all")}
    usage: str = "all"

    def find(self) -> Rows:
        return class_folders.sst2_rows(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class SUN397(FileImages):
    """SUN397: scenes of 397 classes."""

    op_type = "SUN397Dataset"

    def rows(self) -> Rows:
        return class_folders.sun397_rows(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class Food101(FileImages):
    """Food-101: dishes of 101 classes."""

    op_type = "Food101Dataset"
    choices = {"usage": ("train", "test", "all")}
    usage: str = "all"

    def rows(self) -> Rows:
        return listed_images.food101_rows(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Places365(FileImages):
    """Places365: scenes of 365 classes."""

    op_type = "Places365Dataset"
    choices = {"usage": ("train-standard", "train-challenge", "val")}
    usage: str = "train-standard"
    small: bool = True

    def rows(self) -> Rows:
        return listed_images.places365_rows(self.dataset_dir, self.usage, self.small)


@dataclass(frozen=True, eq=False, kw_only=True)
class SBU(FileImages):
    """SBU: photos with a caption."""

    op_type = "SBUDataset"

    def __post_init__(self) -> None:
        super().__post_init__()
        for path in listed_images.sbu_files(self.dataset_dir):
            needed_file(path, self.title, ValueError)

    def names(self) -> tuple[str, ...]:
        return ("image", "caption")

    def rows(self) -> Rows:
        return listed_images.sbu_rows(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class DIV2K(FileImages):
    """DIV2K: photos in high and low resolution."""

    op_type = "DIV2KDataset"
    choices = {
        "usage": ("train", "valid", "all"),
        "scale": (2, 3, 4, 8),
        "downgrade": ("bicubic", "unknown", "mild", "difficult", "wild"),
    }
    usage: str = "train"
    downgrade: str = "bicubic"
    scale: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        four = self.downgrade in ("mild", "difficult", "wild")
        if (four and self.scale != 4) or (self.downgrade != "bicubic" and self.scale == 8):
            raise problem(
                ValueError,
                f"{self.title}: this downgrade does not exist at this scale",
                got=f"downgrade={self.downgrade!r}, scale={self.scale}",
                expected="4 for mild, difficult and wild; 8 for bicubic only",
            )

    def names(self) -> tuple[str, ...]:
        return ("hr_image", "lr_image")

    def rows(self) -> Rows:
        return listed_images.div2k_rows(self.dataset_dir, self.usage, self.downgrade, self.scale)


@dataclass(frozen=True, eq=False, kw_only=True)
class LFW(FileImages):
    """LFW: photos of known people."""

    op_type = "LFWDataset"
    choices = {
        "task": ("people", "pairs"),
        "usage": ("10fold", "train", "test", "all"),
        "image_set": tuple(lfw.FOLDERS),
    }
    task: str = "people"
    usage: str = "all"
    image_set: str = "funneled"

    def names(self) -> tuple[str, ...]:
        return ("image", "label") if self.task == "people" else ("image1", "image2", "label")

    def rows(self) -> Rows:
        find = lfw.people_rows if self.task == "people" else lfw.pair_rows
        return find(self.dataset_dir, self.usage, self.image_set)
