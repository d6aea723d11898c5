"""The known sets of images, read from small folders in their layouts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from tests.dataset.image_set_writing import told
from tests.dataset.image_source_cases import cases
from tests.dataset.written_image_sets import WRITERS

GOLDENS = json.loads(Path(__file__).with_name("goldens_image_sources.json").read_text())
CASES = sorted(cases(ds, Path("nowhere")))


@pytest.fixture(scope="session")
def sets(tmp_path_factory) -> Path:
    """Every set, to be read only."""
    folder = tmp_path_factory.mktemp("sets")
    for name, write in WRITERS.items():
        write(folder / name)
    return folder


def rows(dataset: ds.Dataset) -> list[list[np.ndarray]]:
    return list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))


@pytest.mark.parametrize("case", CASES)
def test_rows_are_those_of_mindspore(sets: Path, case: str):
    assert told(cases(ds, sets)[case]()) == GOLDENS[case]


def test_every_case_has_a_golden():
    assert sorted(set(GOLDENS) - {"fake"}) == CASES


# Class names ------------------------------------------------------------------------------------


def test_class_names_have_labels(sets: Path):
    voc = ds.VOCDataset(str(sets / "voc"), "Detection")
    assert voc.get_class_indexing() == {"cat": 0, "dog": 1}
    chosen = ds.VOCDataset(str(sets / "voc"), "Detection", class_indexing={"cat": 3})
    assert chosen.batch(1).get_class_indexing() == {"cat": 3}
    manifest = ds.ManifestDataset(str(sets / "manifest" / "all.manifest"))
    assert manifest.get_class_indexing() == {"bird": 0, "cat": 1, "dog": 2}
    assert manifest.num_classes() == 3
    caltech = ds.Caltech101Dataset(str(sets / "caltech101"))
    assert caltech.get_class_indexing() == {"Faces": 0, "Motorbikes": 1, "accordion": 2}
    flowers = ds.Flowers102Dataset(str(sets / "flowers102")).get_class_indexing()
    assert (len(flowers), flowers["pink primrose"], flowers["blackberry lily"]) == (102, 0, 101)
    assert ds.Caltech256Dataset(str(sets / "caltech256")).num_classes() == 4
    assert ds.OmniglotDataset(str(sets / "omniglot")).num_classes() == 3
    assert ds.RenderedSST2Dataset(str(sets / "rendered_sst2")).num_classes() == 2
    assert ds.LSUNDataset(str(sets / "lsun"), "train").num_classes() == 10


def test_coco_tells_the_numbers_of_its_classes(sets: Path):
    images, file = str(sets / "coco" / "images"), str(sets / "coco" / "{}.json")
    found = ds.CocoDataset(images, file.format("instances")).get_class_indexing()
    assert found == {"cat": [7], "person": [1], "dog": [3]}
    things = ds.CocoDataset(images, file.format("panoptic"), "Panoptic").get_class_indexing()
    assert things == {"cat": [7, 0], "person": [1, 1], "dog": [3, 0]}
    with pytest.raises(NotImplementedError, match="only Detection and Panoptic"):
        ds.CocoDataset(images, file.format("captions"), "Captioning").get_class_indexing()
    with pytest.raises(NotImplementedError, match="only Detection"):
        ds.VOCDataset(str(sets / "voc")).get_class_indexing()


def test_the_name_of_the_file_is_a_column_if_asked_for(sets: Path):
    plain = ds.VOCDataset(str(sets / "voc"), extra_metadata=True)
    assert plain.get_col_names() == ["image", "target", "_meta-filename"]
    named = plain.rename("_meta-filename", "file").project(["file"])
    assert sorted(row[0].item() for row in rows(named)) == ["000", "001"]


# Pipelines --------------------------------------------------------------------------------------


def test_images_go_through_a_pipeline(sets: Path):
    data = ds.VOCDataset(str(sets / "voc"), "Detection", shuffle=False)
    data = data.map([ds.vision.Decode(), ds.vision.HWC2CHW()], ["image"])
    images = rows(data.project(["image"]).batch(2))
    decoded = rows(ds.VOCDataset(str(sets / "voc"), "Detection", shuffle=False, decode=True))
    wanted = np.stack([row[0].transpose(2, 0, 1) for row in decoded])
    np.testing.assert_array_equal(images[0][0], wanted)


def test_samplers_and_shards_choose_rows(sets: Path):
    folder = str(sets / "lsun")
    labels = [int(r[1]) for r in rows(ds.LSUNDataset(folder, "train", sampler=[3, 0]))]
    assert labels == [2, 0]
    part = ds.LSUNDataset(folder, "train", shuffle=False, num_shards=2, shard_id=1)
    assert [int(r[1]) for r in rows(part)] == [0, 2, 4, 6, 8, 0]
    same = ds.LSUNDataset(folder, "train", sampler=ds.PKSampler(1))
    assert sorted(int(r[1]) for r in rows(same)) == list(range(10))
    few = ds.USPSDataset(str(sets / "usps"), "train", num_samples=2)
    assert len(rows(few)) == few.get_dataset_size() == 2
    with pytest.raises(RuntimeError, match="conflicts with the other arguments"):
        ds.LSUNDataset(folder, sampler=[1], shuffle=True)


def test_scenes_for_tests_have_no_class(sets: Path):
    data = ds.LSUNDataset(str(sets / "lsun"), "test")
    assert [int(row[1]) for row in rows(data)] == [0]
    assert data.get_dataset_size() == 1


def test_trees_of_sets_name_their_arguments(sets: Path):
    tree = ds.serialize(ds.EMnistDataset(str(sets / "emnist"), "mnist"))
    assert (tree["op_type"], tree["name"], tree["usage"]) == ("EMnistNode", "mnist", "all")
    tree = ds.serialize(ds.VOCDataset(str(sets / "voc"), "Detection", class_indexing={"cat": 0}))
    assert (tree["task"], tree["class_indexing"], tree["decode"]) == (
        "Detection",
        {"cat": 0},
        False,
    )


# Rows that are made up --------------------------------------------------------------------------


def test_fake_images_are_those_of_mindspore():
    data = ds.FakeImageDataset(3, (4, 4, 3), 10, 3, shuffle=False)
    made = [(image.reshape(-1).view(np.float64), int(label)) for image, label in rows(data)]
    for (image, label), (wanted, number) in zip(made, GOLDENS["fake"], strict=True):
        np.testing.assert_allclose(image, wanted, rtol=1e-14)
        assert label == number
    assert data.num_classes() == 10
    assert ds.FakeImageDataset().output_shapes() == [[224, 224, 3], []]
    odd = rows(ds.FakeImageDataset(2, [5, 3, 1], 4, -1, shuffle=False))
    assert odd[0][0].shape == (5, 3, 1)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"num_images": 0}, "num_images is out of range"),
        ({"image_size": (2, 3)}, "must have three values"),
        ({"image_size": (2, 0, 1)}, r"image_size\[1\] is out of range"),
        ({"num_classes": 0}, "num_classes is out of range"),
    ],
)
def test_fake_images_need_sizes(given, what: str):
    with pytest.raises(ValueError, match=what):
        ds.FakeImageDataset(**given)
    with pytest.raises(TypeError, match="image_size"):
        ds.FakeImageDataset(image_size=3)


def test_random_rows_follow_a_schema():
    schema = ds.Schema()
    schema.add_column("a", ms.int32, [2, 3])
    schema.add_column("b", "float32")
    schema.add_column("c", ms.bool_, [])
    schema.add_column("d", ms.uint8, [-1])
    data = ds.RandomDataset(50, schema)
    found = rows(data)
    assert (len(found), data.get_col_names()) == (50, ["a", "b", "c", "d"])
    assert [value.dtype.name for value in found[0]] == ["int32", "float32", "bool", "uint8"]
    assert [value.shape for value in found[0]][:3] == [(2, 3), (), ()]
    assert len({row[3].shape for row in found}) > 5
    assert len({int(row[0][0, 0]) for row in found}) > 20
    for row in found:
        assert len(set(row[0].tobytes())) == 1  # one byte, over and over
    assert ds.RandomDataset(5, schema, ["c", "a"]).get_col_names() == ["c", "a"]
    assert ds.RandomDataset(7).get_dataset_size() == 7
    with pytest.raises(RuntimeError, match="no such column"):
        ds.RandomDataset(5, schema, ["z"])
    with pytest.raises(TypeError, match="columns_list"):
        ds.RandomDataset(5, schema, "a")
    schema.add_column("t", "string")
    with pytest.raises(RuntimeError, match="requires numeric columns"):
        ds.RandomDataset(5, schema).get_col_names()


def test_random_rows_come_again_with_the_seed():
    before = dict(ds.config._now)
    schema = ds.Schema()
    schema.add_column("a", ms.int64, [2])
    try:
        ds.config.set_seed(5)
        first = rows(ds.RandomDataset(9, schema, shuffle=False))
        np.testing.assert_array_equal(first, rows(ds.RandomDataset(9, schema, shuffle=False)))
    finally:
        ds.config._now.clear()
        ds.config._now.update(before)


# The schema -------------------------------------------------------------------------------------


def test_a_schema_is_written_as_json():
    schema = ds.Schema()
    assert json.loads(schema.to_json()) == {"columns": None}
    schema.add_column("a", ms.int32, [2])
    schema.add_column("b", "float32")
    schema.add_column("c", ms.string, [-1, 3])
    assert json.loads(str(schema))["columns"] == [
        {"name": "a", "rank": 1, "shape": [2], "type": "int32"},
        {"name": "b", "rank": 1, "type": "float32"},
        {"name": "c", "rank": 2, "shape": [-1, 3], "type": "string"},
    ]


def test_a_schema_is_read_from_json(tmp_path: Path):
    schema = ds.Schema()
    schema.parse_columns(
        [{"name": "q", "type": "int8"}, {"name": "p", "type": "uint8", "shape": [2]}]
    )
    assert [column["name"] for column in json.loads(schema.to_json())["columns"]] == ["q", "p"]
    schema.parse_columns({"q": {"type": "int8"}, "p": {"type": "uint8", "shape": [2]}})
    assert [column["name"] for column in json.loads(schema.to_json())["columns"]] == ["p", "q"]
    whole = {"datasetType": "TF", "numRows": 5, "columns": {"a": {"type": "int8", "rank": 0}}}
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(whole))
    from_file = ds.Schema(str(file))
    schema.from_json(whole)
    assert from_file.to_json() == schema.to_json()
    assert json.loads(schema.to_json()) == {
        "columns": [{"name": "a", "rank": 0, "shape": [], "type": "int8"}],
        "datasetType": "TF",
        "numRows": 5,
    }
    assert ds.Schema.get_num_rows(from_file) == ds.Schema.get_num_rows(str(file)) == 5
    assert ds.RandomDataset(schema=from_file).get_dataset_size() == 5


def test_bad_schemas_are_told(tmp_path: Path):
    schema = ds.Schema()
    for name, kind, shape in (("", ms.int32, None), (1, ms.int32, None), ("x", "foo", None)):
        with pytest.raises(TypeError):
            schema.add_column(name, kind, shape)
    for shape in ("2", (2, 3), [2.5]):
        with pytest.raises(TypeError, match="shape"):
            schema.add_column("x", ms.int32, shape)
    for columns in (1, [1], [{"name": "q"}], {"q": {}}, {"q": {"type": "foo"}}):
        with pytest.raises(RuntimeError, match="Schema"):
            schema.parse_columns(columns)
    for whole in (
        {},
        {"foo": 1, "columns": {}},
        1,
        {"numRows": -1, "columns": {"a": {"type": "int8"}}},
    ):
        with pytest.raises(RuntimeError, match="Schema"):
            schema.from_json(whole)
    with pytest.raises(ValueError, match="file does not exist"):
        ds.Schema(str(tmp_path / "none.json"))
    (tmp_path / "bad.json").write_text("{x")
    with pytest.raises(RuntimeError, match="bad.json"):
        ds.Schema(str(tmp_path / "bad.json"))
