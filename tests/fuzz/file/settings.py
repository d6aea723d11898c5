"""Vocabularies, models of text, images and videos read by name, and settings in JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import mycelia.dataset as ds
from mycelia.dataset import config, text, vision
from mycelia.profiler import report
from mycelia.profiler.recorder import OPERATOR, STEP, ProfileSpan
from mycelia.tune import records
from tests.fuzz.file.format import Format, plain

_SENTENCES = ["the cat sat", "on the mat", "a dog ran", "to the cat", "dogs and cats"]
_VIDEO = Path(__file__).parents[2] / "dataset" / "goldens_video.mkv"
_KINDS = {"png": "PNG", "jpg": "JPEG", "bmp": "BMP", "gif": "GIF", "webp": "WEBP", "tif": "TIFF"}


def formats() -> list[Format]:
    """All of them."""
    return [
        Format("vocabulary", "text models", _write_vocab, _read_vocab),
        Format("vectors GloVe", "text models", _write_vectors, _read_glove),
        Format("vectors FastText", "text models", _write_vectors, _read_fast_text),
        Format("sentence pieces", "text models", _write_pieces, _read_pieces),
        Format("Jieba", "text models", _write_jieba, _read_jieba),
        Format("tree of a dataset", "settings", _write_tree, _read_tree, lists_files=True),
        Format("schema", "settings", _write_schema, _read_schema),
        Format("dataset settings", "settings", _write_config, _read_config),
        Format("trials of a search", "settings", _write_trials, _read_trials),
        Format("profile", "settings", _write_profile, _read_profile),
        Format("video", "images", _write_video, _read_video),
        *[_image(suffix, kind) for suffix, kind in _KINDS.items()],
    ]


# ---- text ---------------------------------------------------------------------------------------


def _write_vocab(folder: Path) -> None:
    (folder / "vocab.txt").write_text("the,1\ncat,2\nsat,3\nmät,4\n")


def _read_vocab(folder: Path) -> Any:
    found = text.Vocab.from_file(str(folder / "vocab.txt"), ",", None, ["<unk>"])
    return found.vocab(), plain(text.Lookup(found, "<unk>")(np.array(["cat", "dog"])))


def _write_vectors(folder: Path) -> None:
    rows = "\n".join(f"{word} {i} 0.5 -1e-3" for i, word in enumerate(("the", "cat", "sat")))
    (folder / "glove.6B.3d.txt").write_text(rows + "\n")
    (folder / "vectors.vec").write_text("3 3\n" + rows + "\n")


def _read_glove(folder: Path) -> Any:
    return plain(text.ToVectors(text.GloVe.from_file(str(folder / "glove.6B.3d.txt")))("cat"))


def _read_fast_text(folder: Path) -> Any:
    return plain(text.ToVectors(text.FastText.from_file(str(folder / "vectors.vec")))("cat"))


def _write_pieces(folder: Path) -> None:
    rows = ds.NumpySlicesDataset({"t": _SENTENCES}, shuffle=False)
    kind = text.SentencePieceModel.UNIGRAM
    made = text.SentencePieceVocab.from_dataset(rows, ["t"], 20, 0.9995, kind, {})
    text.SentencePieceVocab.save_model(made, str(folder), "m.model")


def _read_pieces(folder: Path) -> Any:
    kind = text.SPieceTokenizerOutType.INT
    return plain(text.SentencePieceTokenizer(str(folder / "m.model"), kind)("the cat ran"))


def _write_jieba(folder: Path) -> None:
    (folder / "dict").write_text("中国 3 n\n人 5 n\n中 2 n\n")
    chances = "\n".join(["中:-1.5,国:-2.5,人:-3.5"] * 4)
    rows = "\n".join(["-0.26 -3.14e+100 -3.14e+100 -1.46"] * 5)
    (folder / "hmm").write_text(f"#start\n{rows}\n#emissions\n{chances}\n")


def _read_jieba(folder: Path) -> Any:
    made = text.JiebaTokenizer(str(folder / "hmm"), str(folder / "dict"))
    return plain(made("中国人中x"))


# ---- settings -----------------------------------------------------------------------------------


def _write_tree(folder: Path) -> None:
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(_made(folder / "images" / "a") / "0.png")
    data = ds.ImageFolderDataset(str(folder / "images"), shuffle=False, decode=True)
    data = data.map(vision.Resize(3), ["image"]).batch(2).repeat(2)
    ds.serialize(data, str(folder / "tree.json"))


def _read_tree(folder: Path) -> Any:
    data = ds.deserialize(json_filepath=str(folder / "tree.json"))
    return plain(list(data.create_tuple_iterator(num_epochs=1, output_numpy=True)))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def _write_schema(folder: Path) -> None:
    columns = {"label": {"type": "int32", "rank": 1}, "x": {"type": "float32", "shape": [2]}}
    content = {"datasetType": "TF", "numRows": 3, "columns": columns}
    (folder / "schema.json").write_text(json.dumps(content))


def _read_schema(folder: Path) -> Any:
    return str(ds.Schema(str(folder / "schema.json")))


def _write_config(folder: Path) -> None:
    content = {"numParallelWorkers": 2, "seed": 3, "opConnectorSize": 4}
    (folder / "config.json").write_text(json.dumps(content))


def _read_config(folder: Path) -> Any:
    before = config.get_num_parallel_workers(), config.get_seed(), config.get_prefetch_size()
    try:
        config.load(str(folder / "config.json"))
        return config.get_num_parallel_workers(), config.get_seed(), config.get_prefetch_size()
    finally:
        config.set_num_parallel_workers(before[0])
        config.set_seed(before[1])
        config.set_prefetch_size(before[2])


def _write_trials(folder: Path) -> None:
    heading = records.heading_of({}, "random", "min", 3)
    reports = (1, 0.75), (2, 0.5)
    trial = records.Record(0, records.FINISHED, {"rate": 0.1}, 0.5, reports, 1.5)
    records.write_whole(folder / "trials.jsonl", heading, [trial])


def _read_trials(folder: Path) -> Any:
    heading, found = records.read(folder / "trials.jsonl")
    return heading, [vars(record) for record in found]


def _write_profile(folder: Path) -> None:
    spans = [ProfileSpan(kind, "MatMul", 0.5, 0.75, 1) for kind in (OPERATOR, STEP)]
    report.write_spans(folder, spans, {"device": "CPU"})


def _read_profile(folder: Path) -> Any:
    return report.analyse_files(folder, False, None)


# ---- images -------------------------------------------------------------------------------------


def _image(suffix: str, kind: str) -> Format:
    def write(folder: Path) -> None:
        pixels = np.random.default_rng(3).integers(0, 255, (9, 7, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"a.{suffix}", kind)

    def read(folder: Path) -> Any:
        data = np.fromfile(folder / f"a.{suffix}", np.uint8)
        return plain([vision.read_image(str(folder / f"a.{suffix}")), vision.Decode()(data)])

    return Format(f"image {suffix}", "images", write, read)


def _write_video(folder: Path) -> None:
    shutil.copy(_VIDEO, folder / "a.mkv")


def _read_video(folder: Path) -> Any:
    frames, sound, _ = vision.read_video(str(folder / "a.mkv"))
    return plain([frames, sound, vision.read_video_timestamps(str(folder / "a.mkv"))])
