"""Datasets of images over the folders of `written_image_sets`, for MindSpore and for us."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Cases = dict[str, Callable[[], Any]]


def cases(ds: Any, folder: Path) -> Cases:
    """Name of a folder and of a case -> how the dataset is made."""
    return {
        **_annotated(ds, folder),
        **_cityscapes(ds, folder),
        **_pixels(ds, folder),
        **_matlab(ds, folder),
        **_classes(ds, folder),
        **_listed(ds, folder),
    }


def _annotated(ds: Any, folder: Path) -> Cases:
    voc, celeba = str(folder / "voc"), str(folder / "celeba")
    images, file = str(folder / "coco" / "images"), str(folder / "coco" / "{}.json")
    manifest = str(folder / "manifest" / "all.manifest")
    flickr, captions = str(folder / "flickr" / "images"), str(folder / "flickr" / "captions.token")
    tasks = ("instances", "Detection"), ("instances", "Stuff"), ("keypoints", "Keypoint")
    tasks += ("panoptic", "Panoptic"), ("captions", "Captioning")

    def named(dataset: Any) -> Any:
        return dataset.rename("_meta-filename", "file")

    made: Cases = {
        "voc/masks": lambda: ds.VOCDataset(voc, shuffle=False),
        "voc/masks decoded": lambda: ds.VOCDataset(voc, shuffle=False, decode=True),
        "voc/masks named": lambda: named(ds.VOCDataset(voc, shuffle=False, extra_metadata=True)),
        "voc/boxes": lambda: ds.VOCDataset(voc, "Detection", shuffle=False),
        "voc/boxes val": lambda: ds.VOCDataset(voc, "Detection", "val", shuffle=False),
        "voc/boxes chosen": lambda: named(
            ds.VOCDataset(voc, "Detection", "train", {"cat": 3}, shuffle=False, extra_metadata=True)
        ),
        "voc/decrypted": lambda: ds.VOCDataset(
            voc, shuffle=False, decrypt=lambda path: Path(path).read_bytes()[:9]
        ),
        "celeba/all": lambda: ds.CelebADataset(celeba, shuffle=False),
        "celeba/test": lambda: ds.CelebADataset(celeba, usage="test", extensions=[".jpg"]),
        "celeba/train": lambda: ds.CelebADataset(celeba, 1, False, "train", decode=True),
        "manifest/train": lambda: ds.ManifestDataset(manifest, shuffle=False),
        "manifest/eval": lambda: ds.ManifestDataset(manifest, "eval", decode=True),
        "manifest/chosen": lambda: ds.ManifestDataset(
            manifest, shuffle=False, class_indexing={"dog": 4, "bird": 1}
        ),
        "flickr/all": lambda: ds.FlickrDataset(flickr, captions, shuffle=False),
        "flickr/decoded": lambda: ds.FlickrDataset(flickr, captions, shuffle=False, decode=True),
    }
    for name, task in tasks:
        made[f"coco/{task}"] = lambda name=name, task=task: ds.CocoDataset(
            images, file.format(name), task, shuffle=False
        )
        made[f"coco/{task} named"] = lambda name=name, task=task: named(
            ds.CocoDataset(
                images, file.format(name), task, shuffle=False, decode=True, extra_metadata=True
            )
        )
    return made


def _cityscapes(ds: Any, folder: Path) -> Cases:
    root = str(folder / "cityscapes")
    made: Cases = {
        f"cityscapes/{usage} {task}": lambda usage=usage, task=task: ds.CityscapesDataset(
            root, usage, "fine", task, shuffle=False
        )
        for usage in ("train", "test", "val", "all")
        for task in ("instance", "semantic", "polygon", "color")
    }
    for usage in ("train", "train_extra", "val", "all"):
        made[f"cityscapes/coarse {usage}"] = lambda usage=usage: ds.CityscapesDataset(
            root, usage, "coarse", shuffle=False
        )
    made["cityscapes/decoded"] = lambda: ds.CityscapesDataset(root, shuffle=False, decode=True)
    return made


def _pixels(ds: Any, folder: Path) -> Cases:
    made: Cases = {}
    for usage in (None, "train", "test", "all"):
        made[f"kmnist/{usage}"] = lambda usage=usage: ds.KMnistDataset(
            str(folder / "kmnist"), usage, shuffle=False
        )
        made[f"emnist/letters {usage}"] = lambda usage=usage: ds.EMnistDataset(
            str(folder / "emnist"), "letters", usage, shuffle=False
        )
        made[f"usps/{usage}"] = lambda usage=usage: ds.USPSDataset(
            str(folder / "usps"), usage, num_parallel_workers=1, shuffle=False
        )
    for name in ("byclass", "bymerge", "balanced", "digits", "mnist"):
        made[f"emnist/{name}"] = lambda name=name: ds.EMnistDataset(
            str(folder / "emnist"), name, shuffle=False
        )
    for usage in (None, "train", "test", "test10k", "nist"):
        made[f"qmnist/{usage}"] = lambda usage=usage: ds.QMnistDataset(
            str(folder / "qmnist"), usage, sampler=[2, 0, 1] if usage != "nist" else [1]
        )
    made["qmnist/facts"] = lambda: ds.QMnistDataset(
        str(folder / "qmnist"), "all", False, sampler=[0, 10000, 10006, 10007]
    )
    for usage in (None, "train", "test", "unlabeled", "train+unlabeled", "all"):
        made[f"stl10/{usage}"] = lambda usage=usage: ds.STL10Dataset(
            str(folder / "stl10"), usage, shuffle=False
        )
    for name, usage in (("liberty", None), ("liberty", "test"), ("yosemite_harris", "train")):
        made[f"photo_tour/{name} {usage}"] = lambda name=name, usage=usage: ds.PhotoTourDataset(
            str(folder / "photo_tour"), name, usage, shuffle=False
        )
    made["semeion/all"] = lambda: ds.SemeionDataset(str(folder / "semeion"), shuffle=False)
    return made


def _matlab(ds: Any, folder: Path) -> Cases:
    flowers, boundaries = str(folder / "flowers102"), str(folder / "sb")
    made: Cases = {
        f"svhn/{usage}": lambda usage=usage: ds.SVHNDataset(
            str(folder / "svhn"), usage, shuffle=False
        )
        for usage in (None, "train", "test", "extra", "all")
    }
    for target in (None, "category", "annotation", "all"):
        made[f"caltech101/{target}"] = lambda target=target: ds.Caltech101Dataset(
            str(folder / "caltech101"), target, shuffle=False
        )
    for usage in ("train", "valid", "test", "all"):
        made[f"flowers102/{usage}"] = lambda usage=usage: ds.Flowers102Dataset(
            flowers, usage=usage, shuffle=False
        )
    made["flowers102/masks"] = lambda: ds.Flowers102Dataset(
        flowers, "Segmentation", shuffle=False, decode=True
    )
    for usage in ("train", "val", "train_noval", "all"):
        made[f"sb/{usage}"] = lambda usage=usage: ds.SBDataset(
            boundaries, "Segmentation", usage, shuffle=False
        )
    made["sb/edges"] = lambda: ds.SBDataset(boundaries, shuffle=False, decode=True)
    return made


def _classes(ds: Any, folder: Path) -> Cases:
    lsun = str(folder / "lsun")
    made: Cases = {
        "caltech256/all": lambda: ds.Caltech256Dataset(str(folder / "caltech256"), shuffle=False),
        "sun397/all": lambda: ds.SUN397Dataset(str(folder / "sun397"), shuffle=False, decode=True),
        "lsun/two": lambda: ds.LSUNDataset(
            lsun, "train", ["church_outdoor", "bedroom"], shuffle=False, decode=True
        ),
    }
    for usage in (None, "train", "valid", "all"):
        made[f"lsun/{usage}"] = lambda usage=usage: ds.LSUNDataset(lsun, usage, shuffle=False)
    for background in (None, True, False):
        made[f"omniglot/{background}"] = lambda background=background: ds.OmniglotDataset(
            str(folder / "omniglot"), background, shuffle=False
        )
    for usage in (None, "train", "val", "test", "all"):
        made[f"rendered_sst2/{usage}"] = lambda usage=usage: ds.RenderedSST2Dataset(
            str(folder / "rendered_sst2"), usage, shuffle=False
        )
    return made


def _listed(ds: Any, folder: Path) -> Cases:
    div2k, lfw, places = (str(folder / name) for name in ("div2k", "lfw", "places365"))
    made: Cases = {
        "sbu/all": lambda: ds.SBUDataset(str(folder / "sbu"), shuffle=False),
        "div2k/decoded": lambda: ds.DIV2KDataset(div2k, "all", shuffle=False, decode=True),
        "div2k/wild": lambda: ds.DIV2KDataset(div2k, "valid", "wild", 4, shuffle=False),
    }
    for way, scale in (("unknown", 3), ("bicubic", 8), ("mild", 4), ("difficult", 4)):
        made[f"div2k/{way}"] = lambda way=way, scale=scale: ds.DIV2KDataset(
            div2k, "train", way, scale, shuffle=False
        )
    for usage in (None, "train", "test"):
        made[f"food101/{usage}"] = lambda usage=usage: ds.Food101Dataset(
            str(folder / "food101"), usage, shuffle=False
        )
        made[f"kitti/{usage}"] = lambda usage=usage: ds.KITTIDataset(
            str(folder / "kitti"), usage, shuffle=False, decode=True
        )
    for usage in (None, "train", "test", "valid", "all"):
        made[f"wider_face/{usage}"] = lambda usage=usage: ds.WIDERFaceDataset(
            str(folder / "wider_face"), usage, shuffle=False
        )
    for task in (None, "people", "pairs"):
        for usage in (None, "train", "test", "10fold", "all"):
            made[f"lfw/{task} {usage}"] = lambda task=task, usage=usage: ds.LFWDataset(
                lfw, task, usage, shuffle=False
            )
    for images in ("original", "funneled", "deepfunneled"):
        made[f"lfw/{images}"] = lambda images=images: ds.LFWDataset(
            lfw, image_set=images, shuffle=False
        )
    for usage in (None, "train-standard", "train-challenge", "val"):
        for small in (True, False):
            made[f"places365/{usage} {small}"] = lambda usage=usage, small=small: (
                ds.Places365Dataset(places, usage, small, shuffle=False)
            )
    return made
