"""Source nodes of text datasets."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from pathlib import Path
from typing import ClassVar

from mycelia.dataset.formats import clue, imdb, squad, tables_of_text, translations
from mycelia.dataset.formats.reader import RowReader
from mycelia.dataset.ir.known_sets import KnownSet, SetFolder, check_member
from mycelia.dataset.ir.sources import SourceNode

_THREE = ("train", "test", "valid", "all")


@dataclass(frozen=True, eq=False, kw_only=True)
class Clue(SourceNode):
    """CLUE: Chinese language understanding tasks in JSON files."""

    op_type = "CLUEDataset"
    dataset_files: tuple[str, ...] = field(metadata={"name": "dataset_dir"})
    task: str = "AFQMC"
    usage: str = "train"

    def __post_init__(self) -> None:
        check_member(self.op_type, "task", self.task, list(clue.TASKS))
        check_member(self.op_type, "usage", self.usage, clue.USAGES)

    def open(self) -> RowReader:
        return clue.open_clue(self.dataset_files, self.task, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Squad(KnownSet):
    """SQuAD: questions about paragraphs."""

    op_type = "SQuADDataset"
    usages = ("train", "dev", "all")

    def open(self) -> RowReader:
        return squad.open_squad(self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class Imdb(KnownSet):
    """IMDB: positive and negative film reviews."""

    op_type = "IMDBDataset"

    def open(self) -> RowReader:
        return imdb.open_imdb(self.dataset_dir, self.usage)

    def num_classes(self) -> int | None:
        return 2


@dataclass(frozen=True, eq=False, kw_only=True)
class TextTable(KnownSet):
    """A dataset described in `formats.tables_of_text`."""

    def open(self) -> RowReader:
        return tables_of_text.open_text_set(self.title, self.dataset_dir, self.usage)


@dataclass(frozen=True, eq=False, kw_only=True)
class WikiText(TextTable):
    """WikiText: lines of good Wikipedia articles."""

    op_type = "WikiTextDataset"
    usages = _THREE


@dataclass(frozen=True, eq=False, kw_only=True)
class PennTreebank(TextTable):
    """Penn Treebank: lines of the Wall Street Journal."""

    op_type = "PennTreebankDataset"
    usages = _THREE


@dataclass(frozen=True, eq=False, kw_only=True)
class YelpReview(TextTable):
    """Yelp: reviews of businesses."""

    op_type = "YelpReviewDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class AmazonReview(TextTable):
    """Amazon: reviews of products."""

    op_type = "AmazonReviewDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class AGNews(TextTable):
    """AG News: four topics."""

    op_type = "AGNewsDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class DBpedia(TextTable):
    """DBpedia: articles of fourteen classes."""

    op_type = "DBpediaDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class YahooAnswers(TextTable):
    """Yahoo Answers: questions of ten topics, with answers."""

    op_type = "YahooAnswersDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class SogouNews(TextTable):
    """Sogou: Chinese news of five topics."""

    op_type = "SogouNewsDataset"


@dataclass(frozen=True, eq=False, kw_only=True)
class SST2(TextTable):
    """SST-2: positive and negative sentences about films."""

    op_type = "SST2Dataset"
    usages = ("train", "test", "dev")
    usage: str = "train"


@dataclass(frozen=True, eq=False, kw_only=True)
class UDPOS(TextTable):
    """UD English POS: words with part-of-speech tags."""

    op_type = "UDPOSNode"
    usages = _THREE


@dataclass(frozen=True, eq=False, kw_only=True)
class CoNLL2000(TextTable):
    """CoNLL-2000: words, POS tags, and chunks."""

    op_type = "CoNLL2000Node"


@dataclass(frozen=True, eq=False, kw_only=True)
class EnWik9(SetFolder):
    """enwik9: the first 10^9 bytes of Wikipedia."""

    op_type = "EnWik9Dataset"

    def open(self) -> RowReader:
        return tables_of_text.open_text_set(self.title, self.dataset_dir, "all")


@dataclass(frozen=True, eq=False, kw_only=True)
class Translation(KnownSet):
    """Parallel texts in two languages."""

    usages = _THREE
    pairs: ClassVar[tuple[tuple[str, str], ...]]
    language_pair: tuple[str, str] = ("de", "en")

    def __post_init__(self) -> None:
        check_member(self.title, "language_pair", self.language_pair, self.pairs)
        super().__post_init__()


@dataclass(frozen=True, eq=False, kw_only=True)
class Multi30k(Translation):
    """Multi30k: image captions."""

    op_type = "Multi30kDataset"
    pairs = (("en", "de"), ("de", "en"))
    language_pair: tuple[str, str] = ("en", "de")

    def open(self) -> RowReader:
        return translations.open_multi30k(self.dataset_dir, self.usage, self.language_pair)


@dataclass(frozen=True, eq=False, kw_only=True)
class IWSLT2016(Translation):
    """IWSLT 2016: talks in English and four other languages."""

    op_type = "IWSLT2016Dataset"
    pairs = tuple(
        pair for other in ("ar", "de", "fr", "cs") for pair in (("en", other), (other, "en"))
    )
    talks: ClassVar[tuple[str, ...]] = ("dev2010", *(f"tst{year}" for year in range(2010, 2015)))
    valid_set: str = "tst2013"
    test_set: str = "tst2014"

    def __post_init__(self) -> None:
        check_member(self.title, "valid_set", self.valid_set, self.talks)
        check_member(self.title, "test_set", self.test_set, self.talks)
        super().__post_init__()

    def open(self) -> RowReader:
        folder = Path(self.dataset_dir, "texts", *self.language_pair, "-".join(self.language_pair))
        sets = {"valid": self.valid_set, "test": self.test_set}
        return translations.open_iwslt(
            self.title, folder, self.language_pair, "IWSLT16", sets, self.usage
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class IWSLT2017(Translation):
    """IWSLT 2017: talks in five languages."""

    op_type = "IWSLT2017Dataset"
    pairs = tuple(permutations(("de", "en", "it", "nl", "ro"), 2))

    def open(self) -> RowReader:
        many = "DeEnItNlRo"
        folder = Path(self.dataset_dir, "texts", many, many, f"{many}-{many}")
        sets = {"valid": "dev2010", "test": "tst2010"}
        return translations.open_iwslt(
            self.title, folder, self.language_pair, "IWSLT17", sets, self.usage
        )
