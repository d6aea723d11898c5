"""Trees of nodes: rewriting before and after, JSON there and back, nothing changes a node."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

import mycelia as ms
import mycelia.dataset as ds
from mycelia.dataset import transforms, vision
from mycelia.dataset.ir import operations as O
from mycelia.dataset.ir.node import DatasetNode, walk
from mycelia.dataset.ir.optimizer import numbered, optimise, prepare
from tests.dataset.written_files import write_files


def source() -> ds.Dataset:
    return ds.NumpySlicesDataset({"a": np.arange(10), "b": np.arange(10.0)}, shuffle=False)


def text(node: DatasetNode) -> str:
    """The tree from the top down, with the counts of its steps."""
    count = getattr(node, "count", "") or len(getattr(node, "operations", ())) or ""
    return " < ".join([f"{node.op_type}{count}", *(text(child) for child in node.children)])


def add(x):
    return x + 1


REWRITES = [
    (source().map(add, "a").map(add, "a"), "Map3 < NumpySlicesDataset"),
    (source().map(add, "a").map(add, "b"), "Map1 < Map1 < NumpySlicesDataset"),
    (source().map(add, "a").skip(2).take(3), "Map1 < Take3 < Skip2 < NumpySlicesDataset"),
    (source().skip(2).skip(3), "Skip5 < NumpySlicesDataset"),
    (source().take(5).take(3), "Take3 < NumpySlicesDataset"),
    (source().skip(0).take(-1).repeat(1), "NumpySlicesDataset"),
    (source().rename("a", "a").project(["a", "b"]), "NumpySlicesDataset"),
    (source().rename("a", "z").skip(1), "Rename < Skip1 < NumpySlicesDataset"),
    (source().project(["b", "a"]).project("a"), "Project < NumpySlicesDataset"),
    (source().batch(2).skip(1), "Skip1 < Batch < NumpySlicesDataset"),
    (source().shuffle(4).take(1), "Take1 < Shuffle < NumpySlicesDataset"),
]


@pytest.mark.parametrize(("dataset", "after"), REWRITES)
def test_a_rule_rewrites_the_tree(dataset: ds.Dataset, after: str):
    assert text(optimise(dataset.node)) == after


def test_rewriting_changes_no_row():
    ds.config.set_seed(4)
    crop = transforms.RandomChoice([add, lambda x: x * 3, lambda x: -x])
    data = source().shuffle(5).map(crop, "a").map(crop, "a").skip(2).take(6).rename("a", "z")
    made = [row[0].tolist() for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    from mycelia.dataset.runtime import build

    plain = build._loaded(numbered(data.node), ds.config.options())
    assert made == [row.load()[0].tolist() for row in plain.rows(0)]


def test_rows_are_not_counted_before_a_map_that_may_lose_some():
    node = source().map(add, "a").take(3).node
    assert text(prepare(node, loses_rows=True)).startswith("Take3 < Map1")


def test_what_passes_between_joined_maps_is_a_row():
    data = source().map(lambda a: [int(a), 2], "a").map(lambda a: a.sum(), "a")
    assert next(data.create_tuple_iterator(output_numpy=True))[0] == 2


def test_nodes_are_frozen_and_shared_between_datasets():
    data = source()
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.node.number = 3
    left, right = data.take(2), data.skip(8)
    both = [[int(row[0].asnumpy()) for row in part] for part in (left, right)]
    assert both == [[0, 1], [8, 9]]
    assert [node.op_type for node in walk(left.node)] == ["NumpySlicesDataset", "Take"]


def test_serialize_writes_mindspores_keys(tmp_path: Path):
    steps = [
        vision.Resize((3, 4)),
        vision.Normalize([1.0], [2.0]),
        transforms.TypeCast(ms.float32),
        vision.HWC2CHW(),
    ]
    tree = ds.serialize(source().map(steps, ["a"]).shuffle(3).batch(2), str(tmp_path / "t.json"))
    assert json.loads((tmp_path / "t.json").read_text()) == tree
    assert (tree["op_type"], tree["batch_size"], tree["drop_remainder"]) == ("Batch", 2, False)
    shuffle = tree["children"][0]
    assert (shuffle["buffer_size"], shuffle["reset_each_epoch"]) == (3, True)
    operations = shuffle["children"][0]["operations"]
    assert operations[0] == {
        "tensor_op_name": "Resize",
        "tensor_op_params": {"size": [3, 4], "interpolation": 0},
    }
    assert operations[2]["tensor_op_params"] == {"data_type": "float32"}
    assert operations[3] == {"tensor_op_name": "HwcToChw", "tensor_op_params": None}


def test_a_pipeline_comes_back_from_json_and_runs_the_same(tmp_path: Path):
    (tmp_path / "x.txt").write_text("".join(f"line {i}\n" for i in range(9)))
    ds.config.set_seed(2)
    data = ds.TextFileDataset(str(tmp_path / "x.txt"), num_shards=2, shard_id=1)
    data = data.map(transforms.Fill("q"), "text").repeat(2).skip(1).rename("text", "t").batch(2)
    again = ds.deserialize(json.loads(json.dumps(ds.serialize(data))))
    assert ds.compare(data, again)
    assert not ds.compare(data, data.skip(1))
    for a, b in zip(data.create_dict_iterator(1, True), again.create_dict_iterator(1, True)):
        assert a["t"].tolist() == b["t"].tolist()


def real_tree(name: str, folder: Path) -> dict:
    """A tree that MindSpore wrote, about the files in `folder`."""
    trees = Path(__file__).with_name("mindspore_trees.json").read_text()
    return json.loads(trees.replace("@", str(folder)))[name]


def test_json_of_the_real_mindspore_runs(tmp_path: Path):
    write_files(tmp_path)
    lines = ds.deserialize(real_tree("lines", tmp_path))
    rows = list(lines.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [row["text"].tolist() for row in rows] == [["l1", "l2"], ["l3", "l4"]]
    digits = ds.deserialize(real_tree("digits", tmp_path))
    assert (digits.get_dataset_size(), digits.get_repeat_count()) == (4, 2)
    assert digits.output_shapes() == [[2, 1, 8, 8], [2]]
    assert digits.output_types() == [np.dtype("float32"), np.dtype("int32")]
    both = ds.deserialize(real_tree("both", tmp_path))
    assert both.get_col_names() == ["text", "x", "label"]
    labels = [int(row["label"]) for row in both.create_dict_iterator(1, True)]
    assert labels == [1, 3]


def test_show_prints_the_tree(capsys):
    ds.show(source().take(2), indentation=1)
    assert json.loads(capsys.readouterr().out)["op_type"] == "Take"


def test_functions_do_not_come_back_from_json():
    with pytest.raises(RuntimeError, match="'add' is a Python function"):
        ds.deserialize(
            {
                "op_type": "Map",
                "children": [],
                "operations": [{"tensor_op_name": "add", "python_module": "m"}],
            }
        )
    with pytest.raises(RuntimeError, match="cannot be created from JSON"):
        ds.deserialize(ds.serialize(source()))
    with pytest.raises(ValueError, match="exactly one"):
        ds.deserialize()
    with pytest.raises(ValueError, match="not a serialized dataset"):
        ds.deserialize({})


def test_nodes_are_checked_on_creation():
    with pytest.raises(ValueError, match="buffer_size"):
        O.ShuffleNode(children=(source().node,), buffer_size=0)
    with pytest.raises(ValueError, match="strictly increasing"):
        source().bucket_batch_by_length(["a"], [3, 2], [1, 1, 1])
    with pytest.raises(ValueError, match="one positive size more"):
        source().bucket_batch_by_length(["a"], [3], [1])


def test_a_tree_names_operations_only(tmp_path: Path):
    """A file must not call other functions of the package, such as those that write files."""
    written = tmp_path / "written"
    step = {
        "tensor_op_name": "write_file",
        "tensor_op_params": {"filename": str(written), "data": [1, 2]},
    }
    (tmp_path / "lines.txt").write_text("a\n")
    leaf = {"op_type": "TextFileDataset", "dataset_files": [str(tmp_path / "lines.txt")]}
    tree = {"op_type": "Map", "children": [leaf], "operations": [step], "input_columns": ["text"]}
    with pytest.raises((RuntimeError, ValueError), match="write_file"):
        list(ds.deserialize(tree).create_dict_iterator(num_epochs=1))
    assert not written.exists()


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "3", '{"op_type": 3}', "\xff"])
def test_files_that_hold_no_tree_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "tree.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises((ValueError, RuntimeError), match="deserialize"):
        ds.deserialize(json_filepath=str(path))
