"""Wrong folders, missing files and damaged annotations of the known sets of images."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

import mycelia.dataset as ds
from tests.dataset.image_set_writing import put
from tests.dataset.image_source_cases import cases
from tests.dataset.written_image_sets import WRITERS

FIRST = {name.partition("/")[0]: name for name in reversed(cases(ds, Path("nowhere")))}


@pytest.fixture(scope="module")
def sets(tmp_path_factory) -> Path:
    """Every set, to be read only."""
    folder = tmp_path_factory.mktemp("sets")
    for name, write in WRITERS.items():
        write(folder / name)
    return folder


@pytest.fixture
def fresh(tmp_path: Path):
    """Writes one set, to be damaged."""

    def write(name: str) -> Path:
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        WRITERS[name](tmp_path / name)
        return tmp_path / name

    return write


def read(dataset: ds.Dataset) -> int:
    return sum(1 for _ in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))


@pytest.mark.parametrize("name", sorted(FIRST))
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, name: str):
    with pytest.raises(ValueError, match=str(tmp_path)):
        cases(ds, tmp_path)[FIRST[name]]()


@pytest.mark.parametrize("name", sorted(set(FIRST) - {"manifest", "coco", "flickr"}))
def test_an_empty_folder_has_no_images(tmp_path: Path, name: str):
    (tmp_path / name).mkdir()
    with pytest.raises((RuntimeError, ValueError, FileNotFoundError), match=str(tmp_path / name)):
        read(cases(ds, tmp_path)[FIRST[name]]())


@pytest.mark.parametrize(
    "make",
    [
        lambda root: ds.VOCDataset(f"{root}/voc", task="x"),
        lambda root: ds.VOCDataset(f"{root}/voc", usage="x"),
        lambda root: ds.VOCDataset(f"{root}/voc", class_indexing={"cat": 0}),
        lambda root: ds.CocoDataset(f"{root}/coco/images", f"{root}/coco/instances.json", "x"),
        lambda root: ds.CocoDataset(f"{root}/coco/images", f"{root}/coco/none.json"),
        lambda root: ds.CelebADataset(f"{root}/celeba", usage="x"),
        lambda root: ds.CityscapesDataset(f"{root}/cityscapes", "x"),
        lambda root: ds.CityscapesDataset(f"{root}/cityscapes", "test", "coarse"),
        lambda root: ds.CityscapesDataset(f"{root}/cityscapes", task="x"),
        lambda root: ds.KMnistDataset(f"{root}/kmnist", "x"),
        lambda root: ds.EMnistDataset(f"{root}/emnist", "x"),
        lambda root: ds.PhotoTourDataset(f"{root}/photo_tour", "x"),
        lambda root: ds.DIV2KDataset(f"{root}/div2k", "train", "mild", 2),
        lambda root: ds.DIV2KDataset(f"{root}/div2k", scale=5),
        lambda root: ds.LSUNDataset(f"{root}/lsun", classes=["x"]),
        lambda root: ds.LFWDataset(f"{root}/lfw", "x"),
        lambda root: ds.KITTIDataset(f"{root}/kitti", "all"),
        lambda root: ds.Flowers102Dataset(f"{root}/flowers102", "x"),
        lambda root: ds.SBDataset(f"{root}/sb", usage="x"),
    ],
)
def test_arguments_must_be_known(sets: Path, make):
    with pytest.raises(ValueError, match=r"unknown|no such|a file is missing|only|at this scale"):
        make(sets)


def test_arguments_have_types(fresh):
    with pytest.raises(TypeError, match="class_indexing"):
        ds.VOCDataset(str(fresh("voc")), "Detection", class_indexing=[1])
    with pytest.raises(TypeError, match="dataset_dir"):
        ds.SVHNDataset(3)
    with pytest.raises(TypeError, match="classes"):
        ds.LSUNDataset(str(fresh("lsun")), classes="bedroom")
    with pytest.raises(TypeError, match="background"):
        ds.OmniglotDataset(str(fresh("omniglot")), "x")
    with pytest.raises(TypeError, match="cache"):
        ds.SBUDataset(str(fresh("sbu")), cache=3)
    with pytest.raises(TypeError, match="decode"):
        ds.SBUDataset(str(fresh("sbu")), decode=1)


_BOX = "<bndbox><xmin>{}</xmin><ymin>2</ymin><xmax>3</xmax><ymax>4</ymax></bndbox>"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("garbage", "invalid XML"),
        ("<annotation></annotation>", "no object"),
        ("<annotation><object><name>a</name></object></annotation>", "without a bndbox"),
        (f"<a><object><name>a</name>{_BOX.format(0)}</object></a>", "empty or outside"),
        (f"<a><object><name>a</name>{_BOX.format(3)}</object></a>", "empty or outside"),
        (f"<a><object><name>a</name>{_BOX.format('q')}</object></a>", "not a number"),
    ],
)
def test_damaged_xml_is_named(fresh, text: str, what: str):
    folder = fresh("voc")
    put(folder / "Annotations" / "000.xml", text)
    with pytest.raises(RuntimeError, match=what) as error:
        read(ds.VOCDataset(str(folder), "Detection"))
    assert "000.xml" in str(error.value)


def test_missing_images_are_named(fresh):
    folder = fresh("voc")
    (folder / "JPEGImages" / "000.jpg").unlink()
    with pytest.raises(RuntimeError, match="000.jpg"):
        read(ds.VOCDataset(str(folder)))
    (folder / "Annotations" / "000.xml").unlink()
    with pytest.raises(RuntimeError, match="000.xml"):
        read(ds.VOCDataset(str(folder), "Detection"))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda told: told["annotations"][0].pop("bbox"), "'bbox' is missing"),
        (lambda told: told["annotations"][0].pop("category_id"), "'category_id' is missing"),
        (lambda told: told["annotations"][0].update(category_id=99), "not among the categories"),
        (lambda told: told["annotations"][0].update(image_id=99), "unlisted image"),
        (lambda told: told["annotations"][0].update(bbox=["q"]), "must hold numbers"),
        (lambda told: told.update(annotations=[]), "no images found"),
        (lambda told: told.pop("images"), "'images' is missing"),
        (lambda told: told.pop("categories"), "'categories' is missing"),
    ],
)
def test_damaged_coco_annotations_are_named(fresh, change, what: str):
    file = fresh("coco") / "instances.json"
    told = json.loads(file.read_text())
    change(told)
    file.write_text(json.dumps(told))
    with pytest.raises(RuntimeError, match=what) as error:
        read(ds.CocoDataset(str(file.parent / "images"), str(file)))
    assert "instances.json" in str(error.value)


def test_short_polygons_are_filled_up(fresh):
    file = fresh("coco") / "instances.json"
    told = json.loads(file.read_text())
    told["annotations"][0]["segmentation"] = [[1, 2], [3, 4, 5, 6]]
    file.write_text(json.dumps(told))
    data = ds.CocoDataset(str(file.parent / "images"), str(file), "Stuff", sampler=[1])
    ((_, polygons, _),) = data.create_tuple_iterator(num_epochs=1, output_numpy=True)
    wanted = [[1, 2, -1, -1, -1, -1], [3, 4, 5, 6, -1, -1], [1, 1, 2, 2, 3, 3]]
    assert polygons.tolist() == wanted


@pytest.mark.parametrize(
    ("name", "file", "text", "what"),
    [
        ("manifest", "all.manifest", "garbage", "all.manifest:1 is not valid JSON"),
        ("manifest", "all.manifest", '{"source": "x"}', "no 'usage'"),
        ("manifest", "all.manifest", '{"source": "x", "usage": "train"}', "no 'annotation'"),
        ("celeba", "list_attr_celeba.txt", "x\n", "list_attr_celeba.txt"),
        ("celeba", "list_attr_celeba.txt", "1\nA B\n000001.jpg q 1\n", "list_attr_celeba.txt"),
        ("flickr", "captions.token", "0.jpg b\n", "captions.token"),
        ("flickr", "captions.token", "none.jpg#0\tb\n", "none.jpg"),
        ("kmnist", "t10k-images-idx3-ubyte", "x", "t10k-images"),
        ("emnist", "emnist-letters-test-labels-idx1-ubyte", "x", "emnist-letters-test-labels"),
        ("qmnist", "qmnist-train-labels-idx2-int", "x", "qmnist-train-labels"),
        ("usps", "usps", "7 1:0 2:0\n", "a line of .*usps"),
        ("usps", "usps", "x 1:0\n", "a line of .*usps"),
        ("semeion", "semeion.data", "1 0 0\n", "semeion.data"),
        ("semeion", "semeion.data", "x\n", "semeion.data"),
        ("stl10", "test_X.bin", "xy", "test_X.bin: 2 bytes"),
        ("stl10", "test_y.bin", "x", "numbers of images and labels differ"),
        ("svhn", "train_32x32.mat", "x", "train_32x32.mat"),
        ("flowers102", "setid.mat", "x", "setid.mat"),
        ("sb", "cls/2008_01.mat", "x", "2008_01.mat"),
        ("cityscapes", "gtFine/train/bonn/bonn_000000_000019_gtFine_polygons.json", "{", "bonn"),
        ("food101", "meta/train.txt", "waffles/none\n", "none.jpg"),
        ("kitti", "data_object_label_2/training/label_2/000000.txt", "Car 1 2\n", "000000.txt"),
        ("places365", "places365_train_standard.txt", "/b/barn/1.jpg\n", "places365_train"),
        ("places365", "places365_train_standard.txt", "/none/1.jpg 0\n", "none/1.jpg"),
        ("sbu", "SBU_captioned_photo_dataset_captions.txt", "one\n", "numbers of URLs"),
        ("sun397", "ClassName.txt", "/a/none\n", "a/none"),
        ("wider_face", "wider_face_split/wider_face_train_bbx_gt.txt", "a.jpg\n2\n1 2\n", "a.jpg"),
        ("wider_face", "wider_face_split/wider_face_train_bbx_gt.txt", "a.jpg\nq\n", "a.jpg"),
        ("lfw", "peopleDevTrain.txt", "1\nZed\t1\n", "Zed"),
        ("lfw", "peopleDevTrain.txt", "1\nAnn_B\t9\n", "Ann_B_0004.jpg"),
        ("photo_tour", "liberty/patches0000.bmp", "x", "Decode"),
    ],
)
def test_damaged_files_are_named(fresh, name: str, file: str, text: str, what: str):
    folder = fresh(name)
    put(folder / file, text)
    case = {"cityscapes": "cityscapes/train polygon"}.get(name, FIRST[name])
    with pytest.raises(RuntimeError, match=what):
        read(cases(ds, folder.parent)[case]())


@pytest.mark.parametrize(
    ("name", "file", "kind"),
    [
        ("svhn", "train_32x32.mat", FileNotFoundError),
        ("sb", "train.txt", FileNotFoundError),
        ("flowers102", "imagelabels.mat", ValueError),
        ("sbu", "SBU_captioned_photo_dataset_urls.txt", ValueError),
        ("celeba", "list_attr_celeba.txt", RuntimeError),
        ("lfw", "lfw-names.txt", RuntimeError),
        ("div2k", "DIV2K_train_LR_bicubic/X2/0001x2.png", RuntimeError),
        ("kitti", "data_object_label_2/training/label_2/000001.txt", RuntimeError),
        ("photo_tour", "liberty/info.txt", RuntimeError),
    ],
)
def test_missing_lists_are_named(fresh, name: str, file: str, kind: type[Exception]):
    folder = fresh(name)
    (folder / file).unlink()
    with pytest.raises(kind, match=Path(file).name):
        read(cases(ds, folder.parent)[FIRST[name]]())


def test_matlab_files_need_no_scipy(fresh, monkeypatch):
    folder = fresh("svhn")
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    assert ds.SVHNDataset(str(folder)).get_dataset_size() > 0
