"""The sets of text and speech, compared with what MindSpore reads from the same files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mycelia.dataset as ds
from mycelia.dataset.formats import pieces
from tests.dataset.malformed_text_sets import MALFORMED
from tests.dataset.text_source_cases import arguments, cases
from tests.dataset.written_speech_sets import write_speech_sets, write_sph, write_wave
from tests.dataset.written_text_sets import put, write_text_sets

CASES = cases()
GOLDENS = json.loads(Path(__file__).with_name("goldens_text_sources.json").read_text())
# MindSpore gives the files of these in the order in which the folder has them.
UNORDERED = ("YesNo", "LibriTTS", "GTZAN", "Tedlium")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    root = tmp_path_factory.mktemp("sets")
    write_text_sets(root)
    write_speech_sets(root)
    return str(root)


@pytest.fixture
def copy(folder: str, tmp_path: Path) -> Path:
    """The same files, to be changed."""
    return Path(shutil.copytree(folder, tmp_path / "sets"))


def rows(dataset: ds.Dataset) -> list[list[Any]]:
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    return [[[v.dtype.kind + str(v.ndim), v.tolist()] for v in row] for row in iterator]


def first(dataset: ds.Dataset) -> list[Any]:
    return [row[0][1] for row in rows(dataset)]


def comparable(name: str, found: list[Any]) -> list[Any]:
    if name.startswith("Tedlium"):  # MindSpore's samples are all 0: only their number is compared
        found = [[len(row[0][1][0]), *row[1:]] for row in found]
    return sorted(found, key=str) if name.startswith(UNORDERED) else found


@pytest.mark.parametrize("name", CASES)
def test_a_set_is_read_as_mindspore_reads_it(name: str, folder: str):
    data, golden = CASES[name](ds, folder), GOLDENS[name]
    assert data.get_col_names() == golden["columns"]
    kinds = [np.dtype(kind) for kind in data.output_types()]
    assert [kind.kind == "U" or str(kind) for kind in kinds] == [
        kind.startswith("<U") or kind for kind in golden["types"]
    ]
    found = rows(data)
    assert comparable(name, found) == comparable(name, golden["rows"])
    assert data.get_dataset_size() == len(found)


@pytest.mark.parametrize("name", GOLDENS["arguments"])
def test_a_set_has_mindspores_arguments(name: str):
    assert arguments(getattr(ds, name)) == GOLDENS["arguments"][name]


def test_rows_of_text_are_shuffled_unless_told(tmp_path: Path):
    put(tmp_path / "wiki.train.tokens", "".join(f"{i}\n" for i in range(50)))
    put(tmp_path / "enwik9", "".join(f"{i}\n" for i in range(50)))
    wanted = [str(i) for i in range(50)]
    for data in (
        ds.WikiTextDataset(str(tmp_path), "train"),
        ds.WikiTextDataset(str(tmp_path), "train", shuffle=None),
        ds.EnWik9Dataset(str(tmp_path)),
    ):
        found = first(data)
        assert found != wanted
        assert sorted(found, key=int) == wanted
    assert first(ds.EnWik9Dataset(str(tmp_path), shuffle=ds.Shuffle.FILES)) == wanted


def test_sets_run_in_a_pipeline(folder: str):
    words = ds.AGNewsDataset(f"{folder}/agnews", "train", shuffle=False)
    upper = words.map(lambda text: np.array(str(text).upper()), "title").batch(2)
    assert first(upper.project("title")) == [["TITLE, ONE", "T2"]]
    sampler = ds.PKSampler(2)
    picked = ds.IMDBDataset(f"{folder}/imdb", "train", sampler=sampler)
    assert [row[1][1] for row in rows(picked)] == [0, 0, 1, 1]
    assert picked.num_classes() == 2
    chosen = ds.YesNoDataset(f"{folder}/yesno", sampler=ds.SubsetSampler([2]))
    assert [row[2][1] for row in rows(chosen)] == [[1, 0, 1, 0, 0, 1, 1, 0]]
    halves = [
        ds.IMDBDataset(f"{folder}/imdb", "test", num_shards=2, shard_id=i, shuffle=False)
        for i in range(2)
    ]
    assert [half.get_dataset_size() for half in halves] == [3, 3]


def test_the_last_sentence_needs_no_empty_line(tmp_path: Path):
    put(tmp_path / "train.txt", "\n\na b c\n\n\n\nd e f\ng h i")
    data = ds.CoNLL2000Dataset(str(tmp_path), "train", shuffle=False)
    assert first(data) == [["a"], ["d", "g"]]


def test_lines_are_found_across_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = '1,"a\nb ""c"" , d",e\r\n\n2,"",\n"3","x\n\ny","z"'
    put(tmp_path / "train.csv", text)
    for chunk in (1, 2, 3, 7, 100):
        monkeypatch.setattr(pieces, "_CHUNK", chunk)
        found = rows(ds.AGNewsDataset(str(tmp_path), "train", shuffle=False))
        assert [[value[1] for value in row] for row in found] == [
            ["1", 'a\nb "c" , d', "e"],
            ["2", "", ""],
            ["3", "x\n\ny", "z"],
        ]


def test_sphere_files_are_read_in_either_order_of_bytes(tmp_path: Path):
    put(tmp_path / "train/stm/A.stm", "A 1 s 0.019 0.061 <id> hi\nA 1 s 0.18 0.25 <id> end\n")
    wanted = np.random.default_rng(3).integers(-(2**15), 2**15, 20) / (2**15 - 1)
    for order in ("01", "10"):
        write_sph(tmp_path / "train/sph/A.sph", 3, count=20, order=order)
        data = ds.TedliumDataset(str(tmp_path), "release2", "train", shuffle=False)
        found = first(data)
        np.testing.assert_allclose(found[0][0], wanted[1:6], rtol=1e-6)
        np.testing.assert_allclose(found[1][0], [*wanted[18:], 0, 0, 0, 0, 0], rtol=1e-6)


def test_gtzan_parts_have_their_published_sizes(tmp_path: Path):
    write_wave(tmp_path / "one.wav", 0, rate=22050)
    genres = "blues classical country disco hiphop jazz metal pop reggae rock".split()
    for genre in genres:
        (tmp_path / genre).mkdir()
        for number in range(100):
            (tmp_path / genre / f"{genre}.{number:05}.wav").symlink_to(tmp_path / "one.wav")
    sizes = {
        u: ds.GTZANDataset(str(tmp_path), u).get_dataset_size()
        for u in ("train", "valid", "test", "all")
    }
    assert sizes == {"train": 443, "valid": 197, "test": 290, "all": 1000}


NO_SETS = [
    ("usage", lambda f: ds.SQuADDataset(f, "test")),
    ("usage", lambda f: ds.WikiTextDataset(f, "dev")),
    ("usage", lambda f: ds.SST2Dataset(f, "all")),
    ("usage", lambda f: ds.GTZANDataset(f, "dev")),
    ("usage", lambda f: ds.LibriTTSDataset(f, "train")),
    ("usage", lambda f: ds.TedliumDataset(f, "release3", "train")),
    ("release", lambda f: ds.TedliumDataset(f, "release4")),
    ("name", lambda f: ds.CMUArcticDataset(f, "abc")),
    ("task", lambda f: ds.CLUEDataset(f"{f}/clue/wsc/test.json", "abc")),
    ("usage", lambda f: ds.CLUEDataset(f"{f}/clue/wsc/test.json", "WSC", "dev")),
    ("language_pair", lambda f: ds.Multi30kDataset(f, None, ["en", "fr"])),
    ("language_pair", lambda f: ds.IWSLT2016Dataset(f, None, ["fr", "cs"])),
    ("language_pair", lambda f: ds.IWSLT2017Dataset(f, None, ("en", "fr"))),
    ("valid_set", lambda f: ds.IWSLT2016Dataset(f, valid_set="tst2015")),
    ("test_set", lambda f: ds.IWSLT2016Dataset(f, test_set="dev2012")),
]


@pytest.mark.parametrize(("argument", "call"), NO_SETS)
def test_unknown_parts_are_named_when_the_dataset_is_made(argument: str, call, folder: str):
    with pytest.raises(ValueError, match=f"unknown {argument}\n.*{argument}="):
        call(folder)


BAD_ARGUMENTS = [
    (lambda f: ds.WikiTextDataset(f"{f}/no"), ValueError, "must be a readable folder"),
    (lambda f: ds.YesNoDataset(f"{f}/no"), ValueError, "must be a readable folder"),
    (lambda f: ds.AGNewsDataset(3), TypeError, "dataset_dir: wrong type"),
    (lambda f: ds.AGNewsDataset(f, 3), TypeError, "usage: wrong type"),
    (lambda f: ds.TedliumDataset(f, "release1", extensions=3), TypeError, "extensions: wrong"),
    (lambda f: ds.TedliumDataset(f, "release1", extensions=".wav"), RuntimeError, "not read"),
    (lambda f: ds.AGNewsDataset(f, shuffle=3), TypeError, "shuffle: wrong type"),
    (lambda f: ds.AGNewsDataset(f, num_samples=-1), ValueError, "num_samples: out of range"),
    (lambda f: ds.AGNewsDataset(f, num_shards=2), ValueError, "set both or neither"),
    (lambda f: ds.AGNewsDataset(f, cache=3), TypeError, "cache: wrong type"),
    (lambda f: ds.YesNoDataset(f, shuffle=3), TypeError, "shuffle"),
    (lambda f: ds.CLUEDataset([]), ValueError, "dataset_files is empty"),
    (lambda f: ds.CLUEDataset(3), TypeError, "dataset_files: wrong type"),
    (lambda f: ds.CLUEDataset(f"{f}/no.json"), ValueError, "no files match"),
    (lambda f: ds.Multi30kDataset(f, None, "en"), TypeError, "language_pair: wrong type"),
    (lambda f: ds.Multi30kDataset(f, None, ["en"]), ValueError, "must name two languages"),
    (lambda f: ds.IWSLT2017Dataset(f, None, [1, 2]), TypeError, "language_pair: wrong type"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD_ARGUMENTS)
def test_bad_arguments_are_named(call, kind: type[Exception], message: str, folder: str):
    with pytest.raises(kind, match=message):
        call(folder)


MISSING = [
    ("train-v1.1.json or train-v2.0.json", lambda f: ds.SQuADDataset(f)),
    ("train/pos", lambda f: ds.IMDBDataset(f)),
    ("test.csv", lambda f: ds.DBpediaDataset(f)),
    ("enwik9", lambda f: ds.EnWik9Dataset(f)),
    ("training/train.de", lambda f: ds.Multi30kDataset(f, "train", ["de", "en"])),
    ("texts/de/en/de-en/train.tags.de-en.de", lambda f: ds.IWSLT2016Dataset(f)),
    ("IWSLT17.TED.dev2010.de-en.de.xml", lambda f: ds.IWSLT2017Dataset(f, "valid")),
    ("hold no row", lambda f: ds.YesNoDataset(f)),
    ("hold no row", lambda f: ds.GTZANDataset(f)),
    ("hold no row", lambda f: ds.LibriTTSDataset(f)),
    ("testing_list.txt", lambda f: ds.SpeechCommandsDataset(f, "train")),
    ("metadata.csv", lambda f: ds.LJSpeechDataset(f)),
    ("cmu_us_aew_arctic/etc/txt.done.data", lambda f: ds.CMUArcticDataset(f)),
    ("train/stm", lambda f: ds.TedliumDataset(f, "release1")),
]


@pytest.mark.parametrize(("name", "call"), MISSING)
def test_missing_files_are_named(name: str, call, tmp_path: Path):
    with pytest.raises(RuntimeError, match=name):
        call(str(tmp_path)).get_dataset_size()


@pytest.mark.parametrize(("file", "text", "call", "message"), MALFORMED)
def test_malformed_files_are_named(file: str, text: str, call, message: str, copy: Path):
    put(copy / file, text)
    with pytest.raises(RuntimeError, match=message):
        rows(call(str(copy)))


def test_an_empty_line_among_talks_is_named(copy: Path):
    talks = copy / "iwslt2016/texts/de/en/de-en"
    put(talks / "train.tags.de-en.de", "<url>x\neins\n\n")
    put(talks / "train.tags.de-en.en", "<url>x\none\ntwo\n")
    data = ds.IWSLT2016Dataset(f"{copy}/iwslt2016", "train", shuffle=False)
    assert data.get_dataset_size() == 2
    with pytest.raises(RuntimeError, match=r"(?s)de-en.de:3 and .*de-en.en:3\).*a line is empty"):
        rows(data)


BAD_WAVES = [
    ({"channels": 2, "rate": 22050}, "2 channels of 16 bits"),
    ({"width": 1, "rate": 22050}, "1 channels of 8 bits"),
    ({"rate": 8000}, "a different sample rate than the dataset"),
]


@pytest.mark.parametrize(("form", "message"), BAD_WAVES)
def test_other_sound_is_refused(form: dict[str, int], message: str, tmp_path: Path):
    path = tmp_path / "blues/blues.00000.wav"
    write_wave(path, 0, **form)
    with pytest.raises(RuntimeError, match=message):
        rows(ds.GTZANDataset(str(tmp_path)))
    write_wave(path, 0, rate=22050)
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(RuntimeError, match="truncated"):
        rows(ds.GTZANDataset(str(tmp_path)))
