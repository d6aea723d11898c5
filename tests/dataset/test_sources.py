"""Sources of rows in files, and the samplers that choose among rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mycelia.dataset as ds
from tests.dataset.written_files import write_files


@pytest.fixture(autouse=True)
def _seeded():
    before = dict(ds.config._now)
    ds.config.set_seed(3)
    yield
    ds.config._now.clear()
    ds.config._now.update(before)


def rows(dataset: ds.Dataset) -> list[list]:
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[value.tolist() for value in row] for row in iterator]


def first(dataset: ds.Dataset) -> list:
    return [row[0] for row in rows(dataset)]


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    write_files(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", [ds.MnistDataset, ds.FashionMnistDataset])
def test_mnist_files_are_read(mnist: Path, kind):
    data = kind(str(mnist), "train", shuffle=False)
    assert (data.get_dataset_size(), data.get_col_names()) == (5, ["image", "label"])
    assert data.output_shapes() == [[28, 28, 1], []]
    assert data.output_types() == [np.dtype("uint8"), np.dtype("uint32")]
    raw = (mnist / "train-images-idx3-ubyte").read_bytes()[16:]
    assert np.array(first(data), np.uint8).tobytes() == raw
    labels = [row[1] for row in rows(kind(str(mnist), shuffle=False))]
    assert labels == [0, 1, 2, 0, 1, 2, 3, 4]
    assert ds.MnistDataset(str(mnist), "test").get_dataset_size() == 3


def test_bad_mnist_files_are_named(mnist: Path):
    with pytest.raises(ValueError, match="must be a readable folder"):
        ds.MnistDataset("/no/such/folder")
    with pytest.raises(ValueError, match="unknown usage"):
        ds.MnistDataset(str(mnist), "foo")
    path = mnist / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(RuntimeError, match="does not match its header"):
        ds.MnistDataset(str(mnist), "train").get_dataset_size()


def test_cifar_files_are_read(tmp_path: Path):
    draw = np.random.default_rng(0)
    for name in [*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin"]:
        (tmp_path / name).write_bytes(draw.integers(0, 10, (2, 3073)).astype(np.uint8).tobytes())
    data = ds.Cifar10Dataset(str(tmp_path), "train", shuffle=False)
    assert data.get_dataset_size() == 10
    assert data.output_shapes() == [[32, 32, 3], []]
    raw = np.fromfile(tmp_path / "data_batch_1.bin", np.uint8).reshape(2, 3073)
    image, label = rows(data)[1]
    np.testing.assert_array_equal(image, raw[1, 1:].reshape(3, 32, 32).transpose(1, 2, 0))
    assert label == raw[1, 0]
    assert ds.Cifar10Dataset(str(tmp_path)).get_dataset_size() == 12
    (tmp_path / "train.bin").write_bytes(bytes([7, 9]) + bytes(3072))
    fine = ds.Cifar100Dataset(str(tmp_path), "train")
    assert fine.get_col_names() == ["image", "coarse_label", "fine_label"]
    assert rows(fine)[0][1:] == [7, 9]
    (tmp_path / "train.bin").write_bytes(bytes(10))
    with pytest.raises(RuntimeError, match="truncated"):
        ds.Cifar100Dataset(str(tmp_path), "train").get_dataset_size()


def test_image_folders_are_classes(tmp_path: Path):
    images = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = np.random.default_rng(0).integers(0, 255, (4, 8, 9, 3)).astype(np.uint8)
    for place, name in enumerate(["cat/0", "cat/1", "dog/0", "dog/1"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        images.fromarray(pixels[place]).save(tmp_path / f"{name}.png")
    data = ds.ImageFolderDataset(str(tmp_path), decode=True, shuffle=False)
    assert data.get_class_indexing() == {"cat": 0, "dog": 1}
    assert data.num_classes() == 2
    assert data.output_types() == [np.dtype("uint8"), np.dtype("int32")]
    np.testing.assert_array_equal(first(data), pixels)
    encoded = ds.ImageFolderDataset(str(tmp_path), shuffle=False).map(ds.vision.Decode(), "image")
    np.testing.assert_array_equal(first(encoded), pixels)
    chosen = ds.ImageFolderDataset(str(tmp_path), class_indexing={"dog": 7}, extensions=[".png"])
    assert [row[1] for row in rows(chosen)] == [7, 7]
    picked = ds.ImageFolderDataset(str(tmp_path), sampler=ds.PKSampler(3))
    assert picked.get_dataset_size() == 6
    assert [row[1] for row in rows(picked)] == [0, 0, 0, 1, 1, 1]
    (tmp_path / "cat" / "1.png").write_bytes(b"no image")
    with pytest.raises(RuntimeError, match=r"row 1 of ImageFolderDataset \(.*cat/1.png\)"):
        rows(data)


def test_text_files_give_their_lines(tmp_path: Path):
    (tmp_path / "b.txt").write_text("one\n\ntwo  \nthree")
    (tmp_path / "a.txt").write_text("zero\n")
    both = ds.TextFileDataset(str(tmp_path / "*.txt"), shuffle=False)
    assert first(both) == ["zero", "one", "two  ", "three"]
    assert both.get_col_names() == ["text"]
    assert sorted(first(ds.TextFileDataset([str(tmp_path / "b.txt")]))) == ["one", "three", "two  "]
    shard = ds.TextFileDataset(str(tmp_path / "b.txt"), shuffle=False, num_shards=2, shard_id=1)
    assert first(shard) == ["three", "one"]
    assert shard.get_dataset_size() == 2
    with pytest.raises(ValueError, match="no files match"):
        ds.TextFileDataset(str(tmp_path / "c.txt"))


def test_csv_files_give_typed_columns(tmp_path: Path):
    (tmp_path / "a.csv").write_text('a,b,c\n1,2.5,x\n3,,"y,z"\n')
    path = str(tmp_path / "a.csv")
    plain = ds.CSVDataset(path, shuffle=False)
    assert plain.get_col_names() == ["a", "b", "c"]
    assert rows(plain) == [["1", "2.5", "x"], ["3", "", "y,z"]]
    typed = ds.CSVDataset(path, column_defaults=[0, 1.5, "q"], shuffle=False)
    assert rows(typed) == [[1, 2.5, "x"], [3, 1.5, "y,z"]]
    assert typed.output_types()[:2] == [np.dtype("int32"), np.dtype("float32")]
    named = ds.CSVDataset(path, column_names=["p", "q", "r"], shuffle=False, num_samples=1)
    assert rows(named) == [["a", "b", "c"]]
    with pytest.raises(RuntimeError, match="a.csv:2: a field is not a valid int"):
        rows(ds.CSVDataset(path, column_defaults=[0, 0, ""], shuffle=False))
    with pytest.raises(RuntimeError, match="a different number of fields"):
        rows(ds.CSVDataset(path, column_names=["p", "q"], shuffle=False))


def numbers(count: int = 7, **options) -> ds.Dataset:
    return ds.NumpySlicesDataset(list(range(count)), **options)


class EverySecond(ds.Sampler):
    def __iter__(self):
        yield from range(0, self.dataset_size, 2)


def test_samplers_without_chance_choose_as_mindspore_does():
    assert first(numbers(sampler=ds.SequentialSampler(1, 10))) == [1, 2, 3, 4, 5, 6]
    assert first(numbers(sampler=ds.DistributedSampler(3, 2, False))) == [2, 5, 1]
    shards = [ds.DistributedSampler(3, i, False, offset=1) for i in range(3)]
    assert [first(numbers(sampler=s)) for s in shards] == [[2, 5], [0, 3, 6], [1, 4]]
    assert first(numbers(num_shards=3, shard_id=1, shuffle=False, num_samples=2)) == [1, 4]
    assert first(numbers(sampler=ds.SubsetSampler([4, 2], num_samples=1))) == [4]
    assert first(numbers(sampler=EverySecond())) == [0, 2, 4, 6]
    assert first(numbers(sampler=ds.IterSampler([3, 3, 1]))) == [3, 3, 1]
    assert len(first(numbers(num_samples=0))) == 7


def test_a_child_sampler_chooses_first():
    parent, child = ds.SubsetSampler([2, 0]), ds.SequentialSampler(2, 3)
    parent.add_child(child)
    assert parent.get_child() is child
    data = numbers(sampler=parent)
    assert (first(data), data.get_dataset_size()) == ([4, 2], 2)
    with pytest.raises(RuntimeError, match="already has a child"):
        parent.add_child(child)
    added = numbers(shuffle=False)
    added.add_sampler(ds.SubsetSampler([6, 5, 4]))
    assert first(added) == [6, 5, 4]
    added.use_sampler(ds.SequentialSampler(5))
    assert first(added) == [5, 6]


def test_random_samplers_follow_the_seed_and_the_epoch():
    data = numbers(50, sampler=ds.RandomSampler())
    iterator = data.create_tuple_iterator(num_epochs=2, output_numpy=True)
    epochs = [[int(row[0]) for row in iterator] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(50))
    assert epochs[0] != epochs[1]
    assert first(data) == epochs[0]
    assert len(set(first(numbers(50, sampler=ds.RandomSampler(True, 50))))) < 50
    assert sorted(first(numbers(sampler=ds.SubsetRandomSampler([1, 5, 3])))) == [1, 3, 5]
    weighted = first(numbers(3, sampler=ds.WeightedRandomSampler([0, 1.0, 0], 9)))
    assert weighted == [1] * 9
    halves = [first(numbers(8, sampler=ds.DistributedSampler(2, i))) for i in range(2)]
    assert sorted(halves[0] + halves[1]) == list(range(8))


BAD = [
    (lambda: ds.RandomSampler(num_samples=-1), ValueError, "out of range"),
    (lambda: ds.SubsetSampler([1.5]), TypeError, "must be int"),
    (lambda: ds.DistributedSampler(0, 0).parse(), RuntimeError, "num_shards is out of range"),
    (lambda: numbers(sampler=ds.DistributedSampler(2, 5)), RuntimeError, "shard_id is out of"),
    (lambda: numbers(sampler=ds.DistributedSampler(4, 1, offset=5)), RuntimeError, "offset is out"),
    (lambda: numbers(sampler=ds.RandomSampler(shuffle=ds.Shuffle.FILES)), RuntimeError, "mode"),
    (lambda: numbers(sampler="ab"), TypeError, "not a sampler"),
    (lambda: ds.PKSampler(0), ValueError, "num_val must be positive"),
    (lambda: first(numbers(sampler=ds.SubsetSampler([9]))), RuntimeError, "row index out of range"),
    (lambda: first(numbers(sampler=ds.PKSampler(1))), RuntimeError, "no such column"),
    (lambda: numbers(sampler=3), TypeError, "not a sampler"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_samplers_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_shuffle_names_its_kinds():
    assert ds.Shuffle.GLOBAL == "global"
    assert ds.Shuffle.FILES == "files"


def test_files_are_mixed_as_a_whole(tmp_path):
    for name in "abcdef":
        (tmp_path / f"{name}.txt").write_text("".join(f"{name}{i}\n" for i in range(4)))
    files = str(tmp_path / "*.txt")
    data = ds.TextFileDataset(files, shuffle=ds.Shuffle.FILES, num_parallel_workers=1)
    ds.config.set_seed(5)
    found = [str(text) for text in first(data)]
    assert sorted(found) == [f"{name}{i}" for name in "abcdef" for i in range(4)]
    assert found != sorted(found)
    assert all(found[k : k + 4] == [f"{found[k][0]}{i}" for i in range(4)] for k in range(0, 24, 4))


def test_shards_fit_together_without_a_seed():
    ds.config._now["seed"] = None
    shards = [
        ds.NumpySlicesDataset(np.arange(8), shuffle=True, num_shards=2, shard_id=k) for k in (0, 1)
    ]
    for _ in range(3):
        parts = [{int(x) for x in first(shard)} for shard in shards]
        assert parts[0].isdisjoint(parts[1]) and len(parts[0] | parts[1]) == 8


def test_a_single_row_is_what_the_source_gives():
    class Bare:
        def __getitem__(self, place):
            return np.array(place)

        def __len__(self):
            return 4

    row = ds.GeneratorDataset(Bare(), ["a"], shuffle=False)[2]
    assert isinstance(row, np.ndarray) and int(row) == 2


def test_samplers_that_cannot_work_raise_where_they_are_used():
    for sampler in (
        ds.SequentialSampler(-1),
        ds.WeightedRandomSampler([], 2),
        ds.WeightedRandomSampler([-1.0, 2.0], 2),
    ):
        with pytest.raises(RuntimeError):
            list(ds.NumpySlicesDataset([1, 2, 3], sampler=sampler))
    with pytest.raises(TypeError, match="start_index"):
        ds.SequentialSampler(1.5)
    assert ds.SequentialSampler().parse_for_minddataset() is not None
