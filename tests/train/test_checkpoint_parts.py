"""Checkpoints in parts, as files: what they hold, which regions are read, what is refused."""

from __future__ import annotations

import itertools
import re

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies

import mycelia as ms
from mycelia import Parameter, Tensor, nn, parallel, train
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia._engine.runtime.distributed.sharded_arrays import LocalShard
from mycelia.train import safetensors_format
from mycelia.train.distributed_checkpoint import part_file
from mycelia.train.distributed_checkpoint.catalogue import ShardCatalogue
from mycelia.train.distributed_checkpoint.index import (
    next_generation,
    part_path,
    remove,
    remove_unfinished,
    write_index,
)

WHOLE = np.arange(24, dtype=np.float32).reshape(4, 6)
TOP, BOTTOM = ("w", WHOLE, (slice(0, 2), slice(0, 6))), ("w", WHOLE, (slice(2, 4), slice(0, 6)))
SCALAR = ("s", np.array(7, np.int32), ())


def write(folder, *ranks, name="net", generation=0, own=(), finish=True):
    """A checkpoint of which each process wrote some parts: (name, whole array, region)."""
    index = folder / f"{name}.index.json"
    for rank, parts in enumerate(ranks):
        held = [
            (key, array.shape, LocalShard(tuple([s.start for s in region]), array[region]))
            for key, array, region in parts
        ]
        private = [(key, np.array(value) + rank) for key, value in own]
        content = part_file.encode(held, private, {"said": "so"} if not rank else {}, rank, 2)
        write_atomically(part_path(index, rank, generation), content)
    if finish:
        write_index(index, generation, len(ranks))
    return index


def network():
    found = nn.Cell()
    found.w = Parameter(Tensor(np.zeros((4, 6), np.float32)), name="w")
    found.s = Parameter(Tensor(np.zeros((), np.int32)), name="s")
    return found


def test_an_index_and_its_folder_give_whole_parameters(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    for path in (index, tmp_path):
        found = ms.load_checkpoint(str(path))
        np.testing.assert_array_equal(found["w"].asnumpy(), WHOLE)
        assert found["s"].asnumpy() == 7 and found["said"] == "so"
    net = network()
    assert ms.load_param_into_net(net, ms.load_checkpoint(str(index), net)) == ([], ["said"])
    np.testing.assert_array_equal(net.w.asnumpy(), WHOLE)


def test_files_explain_themselves_to_any_reader(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    entries, metadata = safetensors_format.places(part_path(index, 1, 0))
    assert entries["w[2:4,0:6]"].shape == (2, 6)
    assert '"offset": [2, 0], "shape": [4, 6]' in metadata["mycelia.parts"]
    data = part_path(index, 1, 0).read_bytes()
    read = safetensors_format.decode(memoryview(data), check=False)
    np.testing.assert_array_equal(read["w[2:4,0:6]"], WHOLE[2:])


def test_a_network_is_loaded_from_an_index_a_folder_or_the_files(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    files = [str(part_path(index, rank, 0)) for rank in (1, 0)]
    for where in (
        {"unified_safetensors_dir": str(tmp_path)},
        {"unified_safetensors_dir": str(index)},
        {"checkpoint_filenames": files},
        {"checkpoint_filenames": str(index)},
    ):
        net = network()
        assert train.load_distributed_checkpoint(net, **where, format="safetensors") is None
        np.testing.assert_array_equal(net.w.asnumpy(), WHOLE)
        assert net.s.asnumpy() == 7


def test_names_are_changed_and_parameters_returned(tmp_path):
    write(tmp_path, [("old", WHOLE, TOP[2]), ("old", WHOLE, BOTTOM[2])])
    net = network()
    found = parallel.load_distributed_checkpoint(
        net,
        unified_safetensors_dir=str(tmp_path),
        name_map={"old": "w"},
        return_param_dict=True,
    )
    assert list(found) == ["w"] and found["w"] is net.w
    np.testing.assert_array_equal(net.w.asnumpy(), WHOLE)
    with pytest.raises(ValueError, match="name_map has names that are not in the checkpoint"):
        ms.load_distributed_checkpoint(
            net, unified_safetensors_dir=str(tmp_path), name_map={"none": "w"}
        )


@hypothesis.settings(deadline=None)  # files on a busy machine
@hypothesis.given(strategies.data())
def test_any_region_is_read_from_any_cut(tmp_path_factory, data):
    cuts = [data.draw(strategies.sets(strategies.integers(1, size - 1))) for size in WHOLE.shape]
    bounds = [
        list(itertools.pairwise([0, *sorted(cut), size]))
        for cut, size in zip(cuts, WHOLE.shape, strict=True)
    ]
    parts = [
        ("w", WHOLE, tuple([slice(*pair) for pair in pairs]))
        for pairs in itertools.product(*bounds)
    ]
    first = data.draw(strategies.integers(0, len(parts)))
    found = ShardCatalogue.of_index(
        write(tmp_path_factory.mktemp("cut"), parts[:first], parts[first:])
    )
    region = tuple(
        [
            slice(*sorted(data.draw(strategies.tuples(*[strategies.integers(0, size)] * 2))))
            for size in WHOLE.shape
        ]
    )
    np.testing.assert_array_equal(found.read("w", region), WHOLE[region])


def test_only_the_files_of_a_region_are_read(tmp_path):
    index = write(tmp_path, [TOP], [BOTTOM])
    found = ShardCatalogue.of_index(index)
    part_path(index, 1, 0).unlink()
    np.testing.assert_array_equal(found.read("w", (slice(1, 2), slice(2, 4))), WHOLE[1:2, 2:4])
    with pytest.raises(FileNotFoundError):
        found.read("w", (slice(1, 3), slice(2, 4)))


def test_what_is_missing_or_too_much_is_named(tmp_path):
    def fails(*ranks, match):
        index = write(tmp_path, *ranks)
        for load in (
            lambda: ms.load_checkpoint(str(index)),
            lambda: ms.load_distributed_checkpoint(
                network(), unified_safetensors_dir=str(tmp_path)
            ),
        ):
            with pytest.raises(ValueError, match=match):
                load()

    there = re.escape(f"[0:2, 0:6] in {tmp_path}/rank_0/net@0.safetensors")
    fails([TOP], [SCALAR], match=rf"shards of w are missing\n.*12 of 24 elements: {there}")
    again = ("w", WHOLE, (slice(1, 4), slice(0, 6)))
    fails([TOP], [again], match=rf"two shards of w overlap(.|\n)*{there} and .*rank_1")
    narrow = ("w", WHOLE[:, :3], (slice(0, 4), slice(0, 3)))
    fails([TOP], [narrow], match=r"the shards of w belong to different arrays\n.*\[4, 3\].*rank_1")
    whole_of_other = ("w", WHOLE[:, :3], (slice(0, 4), slice(0, 3)))
    index = write(tmp_path, [whole_of_other], [SCALAR])
    with pytest.raises(RuntimeError, match=r"w differs in shape"):
        ms.load_distributed_checkpoint(network(), checkpoint_filenames=str(index))


def test_a_missing_file_and_one_cut_off_are_named(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    file = part_path(index, 1, 0)
    data = file.read_bytes()
    file.write_bytes(data[:-20])
    with pytest.raises(
        ValueError, match=r"is truncated, or was replaced\n.*rank_1/net@0.safetensors"
    ):
        ms.load_checkpoint(str(index))
    changed = bytearray(data)
    changed[data.index(WHOLE[2:].tobytes())] ^= 1
    file.write_bytes(bytes(changed))
    with pytest.raises(ValueError, match=r"the values of w are not those saved\n.*rank_1"):
        ms.load_checkpoint(str(index))
    file.unlink()
    with pytest.raises(ValueError, match=r"is missing(.|\n)*no .*rank_1/net@0.safetensors"):
        ms.load_checkpoint(str(index))


def test_without_an_index_there_is_no_checkpoint(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM], finish=False)
    with pytest.raises(ValueError, match="does not exist"):
        ms.load_checkpoint(str(index))
    with pytest.raises(ValueError, match="contains no sharded checkpoints"):
        ms.load_checkpoint(str(tmp_path))


def test_a_save_that_is_not_finished_leaves_the_one_before(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    other = WHOLE + 1
    parts = [("w", other, TOP[2]), SCALAR], [("w", other, BOTTOM[2])]
    assert next_generation(index) == 1
    write(tmp_path, *parts, generation=1, finish=False)
    np.testing.assert_array_equal(ms.load_checkpoint(str(index))["w"].asnumpy(), WHOLE)
    assert next_generation(index) == 2
    write(tmp_path, *parts, generation=2)
    np.testing.assert_array_equal(ms.load_checkpoint(str(index))["w"].asnumpy(), other)
    left = sorted(str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*@*"))
    assert left == ["rank_0/net@2.safetensors", "rank_1/net@2.safetensors"]


def test_removing_a_checkpoint_leaves_others_and_what_is_unfinished_goes(tmp_path):
    kept = write(tmp_path, [TOP, SCALAR], [BOTTOM], name="net-1_2")
    gone = write(tmp_path, [TOP, SCALAR], [BOTTOM], name="net-1_4")
    write(tmp_path, [TOP], name="net-1_6", finish=False)
    remove(gone)
    remove_unfinished(tmp_path, "net")
    assert sorted(file.name for file in tmp_path.rglob("*@*")) == ["net-1_2@0.safetensors"] * 2
    np.testing.assert_array_equal(ms.load_checkpoint(str(kept))["w"].asnumpy(), WHOLE)


def test_what_is_asked_for_wrongly(tmp_path):
    index = write(tmp_path, [TOP, SCALAR], [BOTTOM])
    load = ms.load_distributed_checkpoint
    with pytest.raises(ValueError, match="expected either"):
        load(network())
    with pytest.raises(ValueError, match="cannot be encrypted"):
        load(network(), checkpoint_filenames=str(index), dec_key=b"0" * 16)
    with pytest.raises(ValueError, match="each process loads the shards of its own devices"):
        load(network(), checkpoint_filenames=str(index), rank_id=3)
    with pytest.raises(ValueError, match="is not supported"):
        load(network(), checkpoint_filenames=str(index), dst_safetensors_dir="x")
    with pytest.raises(ValueError, match="no parameter of the network is in the checkpoint"):
        load(nn.Dense(2, 3), checkpoint_filenames=str(index))
    (tmp_path / "plain.ckpt").touch()
    with pytest.raises(ValueError, match="has no layouts"):
        load(network(), checkpoint_filenames=[str(tmp_path / "plain.ckpt")])
    with pytest.raises(ValueError, match="is missing"):
        load(network(), checkpoint_filenames=[str(tmp_path / "none.safetensors")])
    with pytest.raises(ValueError, match="are not in the checkpoint"):
        more = network()
        more.other = Parameter(Tensor([1.0]), name="other")
        load(more, checkpoint_filenames=str(index), strict_load=True)


def test_one_device_alone_saves_a_file_as_ever(tmp_path):
    ms.save_checkpoint(network(), str(tmp_path / "net"), integrated_save=False)
    assert [file.name for file in tmp_path.iterdir()] == ["net.ckpt"]


def test_parts_become_one_file(tmp_path):
    write(tmp_path / "in", [TOP, SCALAR], [BOTTOM], name="net-1")
    write(tmp_path / "in", [TOP, SCALAR], name="net-2", finish=False)
    out = tmp_path / "out"
    ms.unified_safetensors(str(tmp_path / "in"), None, str(out))
    found = ms.load_checkpoint(str(out / "net-1.safetensors"), format="safetensors")
    np.testing.assert_array_equal(found["w"].asnumpy(), WHOLE)
    net = network()
    ms.load_distributed_checkpoint(net, unified_safetensors_dir=str(out))
    np.testing.assert_array_equal(net.w.asnumpy(), WHOLE)
    assert net.s.asnumpy() == 7


def test_parts_become_files_of_chosen_and_renamed_parameters(tmp_path):
    for name in ("net-1", "net-2"):
        write(tmp_path, [TOP, SCALAR], [BOTTOM], name=name)
    merge = ms.parallel.unified_safetensors
    out = str(tmp_path / "out")
    with pytest.raises(ValueError, match="contains 2 sharded checkpoints"):
        merge(str(tmp_path), None, out)
    merge(str(tmp_path), None, out, file_suffix="2", choice_func=lambda n: n == "w" and "weight")
    found = ms.load_checkpoint(f"{out}/net-2.safetensors", format="safetensors")
    assert list(found) == ["weight"]
    for number in (1, 2):
        merge(str(tmp_path), None, out, file_suffix="1", split_dst_file=(number, 2))
    one, two = (
        ms.load_checkpoint(f"{out}/net-1-{n}-of-00002.safetensors", format="safetensors")
        for n in ("00001", "00002")
    )
    assert sorted([*one, *two]) == ["s", "w"] and len(one) == 1


def test_files_with_some_parameters_each_are_loaded_together(tmp_path):
    ms.save_checkpoint({"w": Tensor(WHOLE)}, str(tmp_path / "a.ckpt"))
    ms.save_checkpoint({"s": Tensor(7, ms.int32)}, str(tmp_path / "b.ckpt"))
    net = network()
    assert set(ms.load_segmented_checkpoints(str(tmp_path), net)) == {"w", "s"}
    np.testing.assert_array_equal(net.w.asnumpy(), WHOLE)
    with pytest.raises(ValueError, match="there is no .ckpt file"):
        ms.load_segmented_checkpoints(str(tmp_path / "none"))


def test_parts_of_a_parameter_are_merged_as_a_plan_cuts_it(tmp_path):
    rows = [Parameter(Tensor(WHOLE[n : n + 2]), name="w") for n in (0, 2)]
    np.testing.assert_array_equal(ms.merge_sliced_parameter(rows).asnumpy(), WHOLE)
    net = nn.Dense(8, 16)
    net.weight.layout = (2, 4)
    x = Tensor(np.ones((8, 8), np.float32))
    file = str(tmp_path / "plans" / "one.json")
    parallel.plan(net, x, devices=8, mode="semi_auto_parallel").save(file)
    ms.merge_pipeline_strategys(str(tmp_path / "plans"), str(tmp_path / "all.json"))
    strategy = ms.build_searched_strategy(str(tmp_path / "all.json"))
    mesh, placement = strategy["weight"]
    assert [mesh.degree(dim) for dim in placement.dims] == [2, 4]
    whole = np.arange(128, dtype=np.float32).reshape(16, 8)
    parts: list[Parameter] = []
    for device in range(8):
        at = np.unravel_index(device, mesh.sizes)
        row, column = (
            int(np.ravel_multi_index([at[a] for a in dim], [mesh.sizes[a] for a in dim]))
            for dim in placement.dims
        )
        part = whole[row * 8 : row * 8 + 8, column * 2 : column * 2 + 2]
        parts.append(Parameter(Tensor(part), name="weight"))
    merged = ms.merge_sliced_parameter(parts, strategy)
    np.testing.assert_array_equal(merged.asnumpy(), whole)
    with pytest.raises(ValueError, match="do not match the strategy"):
        ms.merge_sliced_parameter(parts[:4], strategy)
    with pytest.raises(ValueError, match="the folder contains no strategy files"):
        ms.merge_pipeline_strategys(str(tmp_path / "none"), str(tmp_path / "all.json"))


@pytest.mark.parametrize(
    "name",
    ["../secret.safetensors", "rank_0/../../secret.safetensors", "/etc/secret.safetensors",
     "secret.safetensors", "rank_0/../secret.safetensors", "rank_0//secret.safetensors"],
)  # fmt: skip
def test_an_index_names_only_files_of_processes(tmp_path, name):
    index = write(tmp_path / "run", [TOP, SCALAR], [BOTTOM])
    part = part_path(index, 0, 0)
    for place in (tmp_path, tmp_path / "run"):
        (place / "secret.safetensors").write_bytes(part.read_bytes())
    index.write_text(index.read_text().replace("rank_0/net@0.safetensors", name))
    with pytest.raises(ValueError, match="index of the checkpoint cannot be read"):
        ms.load_checkpoint(str(index))


def test_a_part_is_no_link_to_a_file_elsewhere(tmp_path):
    index = write(tmp_path / "run", [TOP, SCALAR], [BOTTOM])
    part = part_path(index, 0, 0)
    part.rename(tmp_path / "elsewhere.safetensors")
    part.symlink_to(tmp_path / "elsewhere.safetensors")
    with pytest.raises(ValueError, match="is outside of its folder"):
        ms.load_checkpoint(str(index))
