"""Small folders in the layout of the known sets of text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_text_sets(root: Path) -> None:
    """One folder below `root` for each set."""
    for write in (_clue, _squad, _imdb, _lines, _tables, _tagged, _translations):
        write(root)


def put(path: Path, text: str) -> None:
    """Write a file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _json_lines(path: Path, *rows: Any) -> None:
    put(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


_PAIRS = [
    {"sentence1": "蚂蚁借呗等额还款", "sentence2": "借呗有\t先息到期", "label": "0"},
    {"sentence1": 'says "so"', "sentence2": "b", "label": "1"},
]
_SPANS = {"span2_index": 37, "span1_index": 5, "span1_text": "床", "span2_text": "它"}


def _clue(root: Path) -> None:
    folder = root / "clue"
    _json_lines(folder / "afqmc/train.json", *_PAIRS)
    _json_lines(folder / "afqmc/dev.json", _PAIRS[1])
    _json_lines(folder / "afqmc/test.json", {"id": 3, "sentence1": "x", "sentence2": "y"})
    _json_lines(
        folder / "cmnli/train.json",
        {"sentence1": "从概念上看", "sentence2": "产品", "label": "neutral"},
        {"sentence1": "a", "sentence2": "b", "label": "entailment"},
    )
    _json_lines(folder / "cmnli/test.json", {"id": 0, "sentence1": "x", "sentence2": "y"})
    _json_lines(
        folder / "csl/train.json",
        {"id": 1, "abst": "为解决", "keyword": ["水声", "谱估计", "x"], "label": "0"},
        {"id": 2, "abst": "two", "keyword": ["one", "more"], "label": "1"},
    )
    _json_lines(folder / "csl/test.json", {"id": 2, "abst": "给出", "keyword": ["a", "b"]})
    _json_lines(
        folder / "iflytek/train.json",
        {"label": "110", "label_des": "社区超市", "sentence": "朴朴快送"},
    )
    _json_lines(folder / "iflytek/test.json", {"id": 7, "sentence": "超市"})
    _json_lines(
        folder / "tnews/train.json",
        {"label": "108", "label_desc": "news_edu", "sentence": "上课时", "keywords": ""},
        {"label": "104", "label_desc": "news_x", "sentence": "new", "keywords": "a,b"},
    )
    _json_lines(folder / "tnews/test.json", {"id": 4, "sentence": "s", "keywords": "k,l"})
    _json_lines(
        folder / "wsc/train.json",
        {"target": _SPANS, "idx": 0, "label": "false", "text": "裂开的床"},
    )
    _json_lines(folder / "wsc/test.json", {"target": _SPANS, "idx": 12, "text": "它"})


def _squad(root: Path) -> None:
    def answer(text: str, start: int) -> dict[str, Any]:
        return {"text": text, "answer_start": start}

    def question(text: str, *answers: dict[str, Any]) -> dict[str, Any]:
        return {"question": text, "id": "5733", "answers": list(answers)}

    train = {
        "version": "1.1",
        "data": [
            {
                "title": "University",
                "paragraphs": [
                    {
                        "context": 'It has a "Gold Dome"\nand é.',
                        "qas": [
                            question("What?", answer("Gold", 10)),
                            question("Which?", answer("é", 24), answer("Dome", 15)),
                        ],
                    },
                    {"context": "Second", "qas": [question("Who?", answer("Sec", 0))]},
                ],
            },
            {
                "title": "T2",
                "paragraphs": [{"context": "Third", "qas": [question("Where?", answer("T", 0))]}],
            },
        ],
    }
    unanswered = {"question": "Why?", "id": "1", "is_impossible": True, "answers": []}
    two = {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": "c"}]}]}
    two["data"][0]["paragraphs"][0]["qas"] = [unanswered, question("How?", answer("c", 0))]
    put(root / "squad1/train-v1.1.json", json.dumps(train))
    put(root / "squad1/dev-v1.1.json", json.dumps({"data": train["data"][1:], "version": "1.1"}))
    put(root / "squad2/train-v2.0.json", json.dumps(two))
    put(root / "squad2/dev-v2.0.json", json.dumps({"data": two["data"], "version": "v2.0"}))
    for part in ("train-v1.1", "train-v2.0", "dev-v1.1", "dev-v2.0"):
        paragraph = {"context": "c", "qas": [question(part, answer("c", 0))]}
        put(root / f"squad/{part}.json", json.dumps({"data": [{"paragraphs": [paragraph]}]}))


def _imdb(root: Path) -> None:
    for usage in ("train", "test"):
        for label, count in (("pos", 3), ("neg", 2)):
            for number in (10, 2, 1)[:count]:
                text = f"{usage} {label} {number}<br />é " + "\n" * (number % 2)
                put(root / "imdb" / usage / label / f"{number}_{number % 7}.txt", text)
    put(root / "imdb/train/urls_pos.txt", "http://x\n")
    put(root / "imdb/train/unsup/0_0.txt", "unlabelled")


def _lines(root: Path) -> None:
    for usage in ("train", "valid", "test"):
        text = f" \n = Title {usage} = \n \n A line , \t with é <unk> \n\n \tX\n"
        put(root / f"wikitext/wiki.{usage}.tokens", text)
        put(root / f"penn/ptb.{usage}.txt", f" no it was n't black monday {usage} \n\n n <unk>\n")
    put(root / "enwik9/enwik9", "<mediawiki>\n\n  <page é>  \r\n \n</page>")


def _tables(root: Path) -> None:
    two = '"1","A ""quoted"" text, with comma\\n and \\""x\\"""\n"2","é\ntwo lines"\n3,plain\r\n'
    three = '"3","Title, one","Some \\$4 ""text"""\n"4","t2","d2"\n'
    four = '"5","why doesn\'t it", ,"An answer<br />"\n"10","b","c, d","e"\n'
    tables = {"yelp": two, "amazon": three, "agnews": three, "dbpedia": three, "sogou": three}
    for name, text in {**tables, "yahoo": four}.items():
        put(root / name / "train.csv", text)
        put(root / name / "test.csv", text.replace('""', "").replace("t", "T") + "\n\n")
    put(root / "sst2/train.tsv", 'sentence\tlabel\nhide new \t0\n"contains , no ""wit"" "\t1\n')
    put(root / "sst2/dev.tsv", "sentence\tlabel\nit 's a é\t1\n")
    put(root / "sst2/test.tsv", "index\tsentence\n0\tuneasy mishmash\n1\tit , too\n")


def _tagged(root: Path) -> None:
    for usage in ("train", "dev", "test"):
        text = f"Al\tPROPN\tNNP\n-\tPUNCT\tHYPH\n{usage}\tX\tFW\n\nOne\tNUM\tCD\n\n"
        put(root / f"udpos/en-ud-tag.v2.{usage}.txt", text)
    for usage in ("train", "test"):
        text = f"Confidence NN B-NP\nin IN B-PP\n{usage} DT I-NP\n\n. . O\n\n"
        put(root / f"conll/{usage}.txt", text)


_TAGS = """<url>http://www.ted.com/talks/x_{0}</url>
<keywords>talks, {0}</keywords>
<speaker>David {0}</speaker>
<talkid>535</talkid>
<title>Title {0}</title>
<description>About {0}</description>
 First line & more {0}
<reviewer></reviewer>
<translator href="x">T</translator>
Second line é {0}\x20
"""
_XML = """<?xml version="1.0" encoding="UTF-8"?>
<mteval>
<{1} setid="iwslt" srclang="english" trglang="german">
<doc docid="535" genre="lectures">
<url>http://www.ted.com</url>
<title>Title</title>
<seg id="1"> Seg one {0} &amp; x </seg>
<seg id="2">Seg two é {0}</seg>
</doc>
<doc docid="2" genre="lectures">
<seg id="1"> Third {0} </seg>
</doc>
</{1}>
</mteval>
"""


def _translations(root: Path) -> None:
    for language in ("en", "de"):
        texts = {"training/train": "train", "validation/val": "val"}
        texts["mmt16_task1_test/test"] = "test"
        for place, word in texts.items():
            put(root / f"multi30k/{place}.{language}", f"{word} {language} 1. \n\n {word} 2 é\n")
    for pair in (("de", "en"), ("en", "de"), ("en", "fr"), ("en", "cs")):
        folder = root / "iwslt2016/texts" / pair[0] / pair[1] / "-".join(pair)
        _iwslt(folder, "16", pair, ("dev2010", "tst2010", "tst2012", "tst2013", "tst2014"))
    many = root / "iwslt2017/texts/DeEnItNlRo/DeEnItNlRo/DeEnItNlRo-DeEnItNlRo"
    for pair in (("de", "en"), ("it", "ro")):
        _iwslt(many, "17", pair, ("dev2010", "tst2010"))


def _iwslt(folder: Path, year: str, pair: tuple[str, str], sets: tuple[str, ...]) -> None:
    joined = "-".join(pair)
    for kind, language in zip(("srcset", "refset"), pair):
        put(folder / f"train.tags.{joined}.{language}", _TAGS.format(language))
        for name in sets:
            text = _XML.format(f"{name} {language}", kind)
            put(folder / f"IWSLT{year}.TED.{name}.{joined}.{language}.xml", text)
