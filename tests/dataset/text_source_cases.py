"""The sets of text and speech, each read as users read it, by name: functions of (ds, folder)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_PLAIN: dict[str, Any] = {"shuffle": False, "num_parallel_workers": 1}


def cases() -> dict[str, Callable[[Any, str], Any]]:
    """What to read: a dataset for each name."""
    made: dict[str, Callable[[Any, str], Any]] = {}
    for task in ("AFQMC", "CMNLI", "CSL", "IFLYTEK", "TNEWS", "WSC"):
        for usage, file in (("train", "train"), ("eval", "train"), ("test", "test")):
            place = f"clue/{task.lower()}/{file}.json"
            made[f"CLUE {task} {usage}"] = _call(
                lambda ds, f, t, u, p: ds.CLUEDataset(f"{f}/{p}", t, u, **_PLAIN),
                task,
                usage,
                place,
            )
    for name, (read, usages) in _SETS.items():
        for usage in usages:
            made[f"{name} {usage}"] = _call(read, usage)
    return made | _SPECIAL


def arguments(kind: type) -> list[str]:
    """The arguments of a class and their defaults."""
    given = inspect.signature(kind).parameters.values()
    return [a.name if a.default is a.empty else f"{a.name}={a.default!r}" for a in given]


def _call(function: Callable[..., Any], *given: Any) -> Callable[[Any, str], Any]:
    return lambda ds, folder: function(ds, folder, *given)


_TWO = ("train", "test", "all", None)
_THREE = ("train", "valid", "test", "all", None)
_SETS: dict[str, tuple[Callable[..., Any], tuple[str | None, ...]]] = {
    "SQuAD 1": (
        lambda ds, f, u: ds.SQuADDataset(f"{f}/squad1", u, **_PLAIN),
        ("train", "dev", "all", None),
    ),
    "SQuAD 2": (lambda ds, f, u: ds.SQuADDataset(f"{f}/squad2", u, **_PLAIN), ("train", "dev")),
    "IMDB": (lambda ds, f, u: ds.IMDBDataset(f"{f}/imdb", u, **_PLAIN), _TWO),
    "WikiText": (lambda ds, f, u: ds.WikiTextDataset(f"{f}/wikitext", u, **_PLAIN), _THREE),
    "PennTreebank": (lambda ds, f, u: ds.PennTreebankDataset(f"{f}/penn", u, **_PLAIN), _THREE),
    "YelpReview": (lambda ds, f, u: ds.YelpReviewDataset(f"{f}/yelp", u, **_PLAIN), _TWO),
    "AmazonReview": (lambda ds, f, u: ds.AmazonReviewDataset(f"{f}/amazon", u, **_PLAIN), _TWO),
    "AGNews": (lambda ds, f, u: ds.AGNewsDataset(f"{f}/agnews", u, **_PLAIN), _TWO),
    "DBpedia": (lambda ds, f, u: ds.DBpediaDataset(f"{f}/dbpedia", u, **_PLAIN), _TWO),
    "YahooAnswers": (lambda ds, f, u: ds.YahooAnswersDataset(f"{f}/yahoo", u, **_PLAIN), _TWO),
    "SogouNews": (lambda ds, f, u: ds.SogouNewsDataset(f"{f}/sogou", u, **_PLAIN), _TWO),
    "SST2": (
        lambda ds, f, u: ds.SST2Dataset(f"{f}/sst2", u, **_PLAIN),
        ("train", "dev", "test", None),
    ),
    "UDPOS": (lambda ds, f, u: ds.UDPOSDataset(f"{f}/udpos", u, **_PLAIN), _THREE),
    "CoNLL2000": (lambda ds, f, u: ds.CoNLL2000Dataset(f"{f}/conll", u, **_PLAIN), _TWO),
    "Multi30k": (lambda ds, f, u: ds.Multi30kDataset(f"{f}/multi30k", u, **_PLAIN), _THREE),
    "IWSLT2016": (lambda ds, f, u: ds.IWSLT2016Dataset(f"{f}/iwslt2016", u, **_PLAIN), _THREE),
    "IWSLT2017": (lambda ds, f, u: ds.IWSLT2017Dataset(f"{f}/iwslt2017", u, **_PLAIN), _THREE),
    "SpeechCommands": (
        lambda ds, f, u: ds.SpeechCommandsDataset(f"{f}/commands", u, **_PLAIN),
        _THREE,
    ),
    "LibriTTS": (
        lambda ds, f, u: ds.LibriTTSDataset(f"{f}/libri", u, **_PLAIN),
        ("dev-clean", "train-clean-100", "all", None),
    ),
    "GTZAN": (lambda ds, f, u: ds.GTZANDataset(f"{f}/gtzan", u, **_PLAIN), _THREE),
    "CMUArctic": (
        lambda ds, f, u: ds.CMUArcticDataset(f"{f}/arctic", u, **_PLAIN),
        ("aew", "slt", None),
    ),
    "Tedlium 1": (
        lambda ds, f, u: ds.TedliumDataset(f"{f}/ted1", "release1", u, **_PLAIN),
        ("train", "test", "dev", "all", None),
    ),
    "Tedlium 3": (
        lambda ds, f, u: ds.TedliumDataset(f"{f}/ted3", "release3", u, ".sph", **_PLAIN),
        ("all", None),
    ),
}
_SPECIAL: dict[str, Callable[[Any, str], Any]] = {
    "CLUE files": lambda ds, f: ds.CLUEDataset(
        [f"{f}/clue/afqmc/train.json", f"{f}/clue/afqmc/dev.json"], **_PLAIN
    ),
    "CLUE shard": lambda ds, f: ds.CLUEDataset(
        f"{f}/clue/afqmc/[td][re]*.json", num_shards=2, shard_id=1, **_PLAIN
    ),
    "EnWik9": lambda ds, f: ds.EnWik9Dataset(f"{f}/enwik9", **_PLAIN),
    "Multi30k de-en": lambda ds, f: ds.Multi30kDataset(
        f"{f}/multi30k", "train", ("de", "en"), **_PLAIN
    ),
    "IWSLT2016 en-fr": lambda ds, f: ds.IWSLT2016Dataset(
        f"{f}/iwslt2016", "all", ["en", "fr"], "dev2010", "tst2012", **_PLAIN
    ),
    "IWSLT2016 earlier test": lambda ds, f: ds.IWSLT2016Dataset(
        f"{f}/iwslt2016", test_set="dev2010", **_PLAIN
    ),
    "SQuAD both": lambda ds, f: ds.SQuADDataset(f"{f}/squad", **_PLAIN),
    "IWSLT2017 it-ro": lambda ds, f: ds.IWSLT2017Dataset(
        f"{f}/iwslt2017", "train", ("it", "ro"), **_PLAIN
    ),
    "YesNo": lambda ds, f: ds.YesNoDataset(f"{f}/yesno", **_PLAIN),
    "LJSpeech": lambda ds, f: ds.LJSpeechDataset(f"{f}/lj", **_PLAIN),
    "WikiText two": lambda ds, f: ds.WikiTextDataset(
        f"{f}/wikitext", "test", num_samples=2, **_PLAIN
    ),
    "AGNews shard": lambda ds, f: ds.AGNewsDataset(
        f"{f}/agnews", "test", num_shards=2, shard_id=0, **_PLAIN
    ),
}
