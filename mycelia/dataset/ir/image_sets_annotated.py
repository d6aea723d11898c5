"""Source nodes of annotated images: boxes, masks, attributes, or captions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mycelia._engine.core.errors import problem
from mycelia.dataset.formats import (
    caltech101,
    celeba,
    cityscapes,
    coco,
    flickr,
    flowers102,
    kitti,
    manifest,
    sb,
    voc,
    wider_face,
)
from mycelia.dataset.formats.image_rows import Decoder, ImageRows, Rows, needed_file
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.ir.image_sets import FileImages, check_choices
from mycelia.dataset.ir.sources import SourceNode

_META = "_meta-filename"


@dataclass(frozen=True, eq=False, kw_only=True)
class Annotated(FileImages):
    """Images with an optional column of file names and an optional decryption function."""

    extra_metadata: bool = False
    decrypt: Callable[[str], bytes] | None = field(default=None, metadata={"json": False})

    def open(self) -> RowReader:
        columns, rows = self.names(), self.rows()
        if not self.extra_metadata:
            columns, rows = columns[:-1], [row[:-1] for row in rows]
        return ImageRows(columns, rows, self.title, self.used_decoder(), self.decrypt)


@dataclass(frozen=True, eq=False, kw_only=True)
class VOC(Annotated):
    """PASCAL VOC: class masks, or boxes around objects."""

    op_type = "VOCDataset"
    choices = {"task": ("Segmentation", "Detection")}
    task: str = "Segmentation"
    usage: str = "train"
    indexing: dict[str, int] | None = field(default=None, metadata={"name": "class_indexing"})

    def __post_init__(self) -> None:
        super().__post_init__()
        needed_file(voc.list_file(self.dataset_dir, self.task, self.usage), voc.NAME, ValueError)
        if self.task == "Segmentation" and self.indexing is not None:
            raise problem(ValueError, f"{voc.NAME}: class_indexing is only valid for Detection")

    def names(self) -> tuple[str, ...]:
        if self.task == "Segmentation":
            return ("image", "target", _META)
        return ("image", "bbox", "label", "difficult", "truncate", _META)

    @cached_property
    def _objects(self) -> dict[str, list[voc.Object]]:
        return voc.detection_objects(self.dataset_dir, self.usage)

    def rows(self) -> Rows:
        if self.task == "Segmentation":
            return voc.segmentation_rows(self.dataset_dir, self.usage)
        return voc.detection_rows(self.dataset_dir, self._objects, self.class_indexing())

    def class_indexing(self) -> dict[str, Any]:
        if self.task == "Segmentation":
            raise problem(NotImplementedError, f"{voc.NAME}: only Detection has class names")
        if self.indexing is not None:
            return dict(self.indexing)
        found = {entry[0] for objects in self._objects.values() for entry in objects if entry[0]}
        return {name: label for label, name in enumerate(sorted(found))}


@dataclass(frozen=True, eq=False, kw_only=True)
class Coco(Annotated):
    """COCO: boxes, polygons, keypoints, segments, or captions."""

    op_type = "CocoDataset"
    choices = {"task": tuple(coco.TASKS)}
    annotation_file: str
    task: str = "Detection"

    def __post_init__(self) -> None:
        super().__post_init__()
        needed_file(Path(self.annotation_file), coco.NAME, ValueError)

    def names(self) -> tuple[str, ...]:
        return ("image", *coco.TASKS[self.task], _META)

    @cached_property
    def _annotations(self) -> coco.Annotations:
        return coco.Annotations(self.annotation_file, self.task)

    def rows(self) -> Rows:
        return self._annotations.rows(self.dataset_dir)

    def class_indexing(self) -> dict[str, Any]:
        if self.task not in ("Detection", "Panoptic"):
            raise problem(
                NotImplementedError, f"{coco.NAME}: only Detection and Panoptic have class names"
            )
        return dict(self._annotations.classes())


@dataclass(frozen=True, eq=False, kw_only=True)
class CelebA(FileImages):
    """CelebA faces with forty attributes."""

    op_type = "CelebADataset"
    choices = {"usage": ("all", "train", "valid", "test")}
    usage: str = "all"
    extensions: tuple[str, ...] | None = None
    decrypt: Callable[[str], bytes] | None = field(default=None, metadata={"json": False})

    def open(self) -> RowReader:
        rows = celeba.celeba_rows(self.dataset_dir, self.usage, self.extensions)
        return ImageRows(("image", "attr"), rows, self.title, self.used_decoder(), self.decrypt)


@dataclass(frozen=True, eq=False, kw_only=True)
class Manifest(SourceNode):
    """Images listed in a manifest file."""

    op_type = "ManifestDataset"
    title = "ManifestDataset"
    dataset_file: str
    usage: str = "train"
    indexing: dict[str, int] | None = field(default=None, metadata={"name": "class_indexing"})
    decode: bool = False
    decoder: Decoder | None = field(default=None, metadata={"json": False})

    def __post_init__(self) -> None:
        needed_file(Path(self.dataset_file), manifest.NAME, ValueError)
        if self.usage not in ("train", "eval", "inference"):
            raise problem(
                RuntimeError,
                f"{manifest.NAME}: unknown usage",
                got=repr(self.usage),
                expected="one of 'train', 'eval', 'inference'",
            )

    @cached_property
    def _entries(self) -> list[manifest.ManifestEntry]:
        return manifest.manifest_entries(self.dataset_file, self.usage)

    def open(self) -> RowReader:
        rows = manifest.manifest_rows(self._entries, self.class_indexing(), self.dataset_file)
        decoder = self.decoder if self.decode else None
        return ImageRows(("image", "label"), rows, self.title, decoder)

    def class_indexing(self) -> dict[str, Any]:
        return dict(self.indexing) if self.indexing else self._found()

    def num_classes(self) -> int | None:
        return len(self._found().keys() & self.class_indexing().keys())

    def _found(self) -> dict[str, int]:
        names = {name for entry in self._entries for name in entry.labels}
        return {name: label for label, name in enumerate(sorted(names))}


@dataclass(frozen=True, eq=False, kw_only=True)
class Cityscapes(FileImages):
    """Cityscapes street scenes with masks or polygons."""

    op_type = "CityscapesDataset"
    choices = {"task": tuple(cityscapes.TASKS), "quality_mode": tuple(cityscapes.USAGES)}
    usage: str = "train"
    quality_mode: str = "fine"
    task: str = "instance"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choices(self, {"usage": cityscapes.USAGES[self.quality_mode]})

    def names(self) -> tuple[str, ...]:
        return ("image", "task")

    def rows(self) -> Rows:
        return cityscapes.cityscapes_rows(
            self.dataset_dir, self.usage, self.quality_mode, self.task
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Flickr(FileImages):
    """Flickr photos with captions."""

    op_type = "FlickrDataset"
    annotation_file: str

    def __post_init__(self) -> None:
        super().__post_init__()
        needed_file(Path(self.annotation_file), flickr.NAME, ValueError)

    def names(self) -> tuple[str, ...]:
        return ("image", "annotation")

    def rows(self) -> Rows:
        return flickr.flickr_rows(self.dataset_dir, self.annotation_file)


@dataclass(frozen=True, eq=False, kw_only=True)
class KITTI(FileImages):
    """KITTI street scenes with boxes in 2D and 3D."""

    op_type = "KITTIDataset"
    choices = {"usage": ("train", "test")}
    usage: str = "train"

    def names(self) -> tuple[str, ...]:
        return kitti.COLUMNS if self.usage == "train" else kitti.COLUMNS[:1]

    def rows(self) -> Rows:
        if self.usage == "test":
            return kitti.image_rows(self.dataset_dir)
        return kitti.labelled_rows(self.dataset_dir)


@dataclass(frozen=True, eq=False, kw_only=True)
class WIDERFace(FileImages):
    """WIDER FACE photos with boxes around faces."""

    op_type = "WIDERFaceDataset"
    choices = {"usage": ("train", "test", "valid", "all")}
    usage: str = "all"

    def names(self) -> tuple[str, ...]:
        return wider_face.COLUMNS[:1] if self.usage == "test" else wider_face.COLUMNS

    def rows(self) -> Rows:
        if self.usage == "test":
            return wider_face.image_rows(self.dataset_dir)
        return wider_face.face_rows(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Caltech101(FileImages):
    """Caltech 101 objects with their contours."""

    op_type = "Caltech101Dataset"
    choices = {"target_type": ("category", "annotation", "all")}
    target_type: str = "category"

    def names(self) -> tuple[str, ...]:
        return caltech101.COLUMNS[self.target_type]

    def rows(self) -> Rows:
        return caltech101.caltech101_rows(self.dataset_dir, self.target_type)

    def class_indexing(self) -> dict[str, Any]:
        names = caltech101.caltech101_classes(self.dataset_dir)
        return {name: label for label, name in enumerate(names)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Flowers102(FileImages):
    """Flowers 102: flowers of 102 species."""

    op_type = "Flowers102Dataset"
    choices = {
        "usage": ("train", "valid", "test", "all"),
        "task": ("Classification", "Segmentation"),
    }
    task: str = "Classification"
    usage: str = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        flowers102.check_folders(self.dataset_dir, self.task)

    def names(self) -> tuple[str, ...]:
        return flowers102.COLUMNS[self.task]

    def rows(self) -> Rows:
        return flowers102.flowers102_rows(self.dataset_dir, self.task, self.usage)

    def class_indexing(self) -> dict[str, Any]:
        return {name: label for label, name in enumerate(flowers102.CLASSES)}


@dataclass(frozen=True, eq=False, kw_only=True)
class SB(FileImages):
    """Semantic Boundaries: images of PASCAL VOC with masks or boundaries."""

    op_type = "SBDataset"
    choices = {
        "usage": ("train", "val", "train_noval", "all"),
        "task": ("Boundaries", "Segmentation"),
    }
    task: str = "Boundaries"
    usage: str = "all"

    def names(self) -> tuple[str, ...]:
        return ("image", "task")

    def rows(self) -> Rows:
        return sb.sb_rows(self.dataset_dir, self.task, self.usage)
