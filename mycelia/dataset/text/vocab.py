"""Vocabularies: from lists, dicts, files, and datasets; and the transform from words to ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_lines
from mycelia.dataset.text.conversion import numeric_type
from mycelia.dataset.text.strings import TextTransform, check_text
from mycelia.dataset.transforms.checks import check_bool, check_int, wrong_type

_MOST = 2**31 - 1


class Vocab:
    """A mapping between words and ids; created by one of the `from_` methods."""

    def __init__(self) -> None:
        self._ids: dict[str, int] | None = None
        self._words: dict[int, str] = {}

    @classmethod
    def from_list(
        cls,
        word_list: list[str],
        special_tokens: list[str] | None = None,
        special_first: bool = True,
    ) -> Self:
        """Create a vocabulary from a list, with special tokens before or after the words."""
        words = _different_words("word_list", word_list)
        special = _special_words(special_tokens, special_first)
        _check_new(ValueError, special, set(words))
        return cls._of(_joined(words, special, special_first))

    @classmethod
    def from_dict(cls, word_dict: dict[str, int]) -> Self:
        """Create a vocabulary from a dict of words to ids."""
        if not isinstance(word_dict, dict):
            raise wrong_type("word_dict", word_dict, "dict")
        for word, number in word_dict.items():
            check_text("word", word)
            check_int("word_id", number, 0, _MOST)
        return cls._made(dict(word_dict))

    @classmethod
    def from_file(
        cls,
        file_path: str,
        delimiter: str = "",
        vocab_size: int | None = None,
        special_tokens: list[str] | None = None,
        special_first: bool = True,
    ) -> Self:
        """Create it from a file: one word per line, up to `delimiter`; at most `vocab_size`."""
        check_text("file_path", file_path)
        check_text("delimiter", delimiter)
        if vocab_size is not None:
            check_int("vocab_size", vocab_size, 1)
        special = _special_words(special_tokens, special_first)
        words = list(islice(_first_words(file_path, delimiter), vocab_size))
        if twice := _repeated(words):
            raise problem(
                RuntimeError, f"from_file: duplicate word in {file_path}", got=repr(twice)
            )
        _check_new(RuntimeError, special, set(words))
        return cls._of(_joined(words, special, special_first))

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        columns: str | list[str] | None = None,
        freq_range: tuple[int | None, int | None] | None = None,
        top_k: int | None = None,
        special_tokens: list[str] | None = None,
        special_first: bool = True,
    ) -> Self:
        """Create it from columns of a dataset, ordered by frequency, then alphabetically."""
        low, high = _frequencies(freq_range)
        if top_k is not None:
            check_int("top_k", top_k, 1)
        special = _special_words(special_tokens, special_first)
        counts = Counter(column_strings("from_dataset", dataset, _column_names(columns)))
        _check_new(RuntimeError, special, set(counts))
        often = [word for word, count in counts.items() if low <= count <= high]
        often.sort(key=lambda word: (-counts[word], word))
        return cls._of(_joined(often[:top_k], special, special_first))

    @classmethod
    def _of(cls, words: list[str]) -> Self:
        return cls._made({word: number for number, word in enumerate(words)})

    @classmethod
    def _made(cls, ids: dict[str, int]) -> Self:
        made = cls()
        made._ids = ids
        made._words = {number: word for word, number in ids.items()}
        return made

    def vocab(self) -> dict[str, int]:
        """A copy of the mapping from words to ids."""
        return dict(self.ids)

    @property
    def ids(self) -> dict[str, int]:
        """The mapping from words to ids, read-only."""
        if self._ids is None:
            raise problem(
                RuntimeError,
                "Vocab: the vocabulary is empty",
                fix="Vocab.from_list(...), from_dict, from_file or from_dataset",
            )
        return self._ids

    @property
    def is_built(self) -> bool:
        """Whether it was created by one of the `from_` methods."""
        return self._ids is not None

    def tokens_to_ids(self, tokens: Any) -> int | list[int]:
        """The id of a word, or of each word of a list; -1 for unknown words."""
        if not isinstance(tokens, (str, list, np.ndarray)):
            raise wrong_type("tokens", tokens, "str, list or numpy.ndarray")
        given = tokens.tolist() if isinstance(tokens, np.ndarray) else tokens
        if isinstance(given, str):
            return self.ids.get(given, -1)
        for position, token in enumerate(given):
            check_text(f"tokens[{position}]", token)
        return [self.ids.get(token, -1) for token in given]

    def ids_to_tokens(self, ids: Any) -> str | list[str]:
        """The word of an id, or of each id of a list; "" for unknown ids."""
        if isinstance(ids, bool) or not isinstance(ids, (int, list, np.ndarray)):
            raise wrong_type("ids", ids, "int, list or numpy.ndarray")
        given: Any = ids.tolist() if isinstance(ids, np.ndarray) else ids
        _ = self.ids
        if is_int(given):
            return self._words.get(check_int("ids", given, 0, _MOST), "")
        numbers = [check_int(f"ids[{position}]", i, 0, _MOST) for position, i in enumerate(given)]
        return [self._words.get(number, "") for number in numbers]


def column_strings(owner: str, dataset: Any, columns: list[str]) -> Iterator[str]:
    """All strings in columns (none: all columns) of one epoch of a dataset."""
    present = dataset.get_col_names()
    if absent := [name for name in columns if name not in present]:
        raise problem(
            RuntimeError,
            f"{owner}: unknown column {absent[0]!r}",
            expected=f"one of {', '.join(map(repr, present))}",
        )
    names = columns or present
    rows = dataset.create_tuple_iterator(columns=names, num_epochs=1, output_numpy=True)
    for row in rows:
        for name, value in zip(names, row):
            if value.dtype.kind != "U":
                raise problem(
                    RuntimeError,
                    f"{owner}: column {name!r} must hold text",
                    got=str(value.dtype),
                )
            yield from value.ravel().tolist()


def check_vocab(owner: str, vocab: Any) -> Vocab:
    """Check for a vocabulary that has words."""
    if not isinstance(vocab, Vocab) or not vocab.is_built:
        raise problem(
            TypeError,
            f"{owner}: vocab must be a Vocab created by one of its from_ methods",
            got=type(vocab).__name__,
            fix="text.Vocab.from_list([...])",
        )
    return vocab


def _first_words(file_path: str, delimiter: str) -> Iterator[str]:
    if not Path(file_path).is_file():
        raise problem(RuntimeError, "from_file: the file does not exist", got=file_path)
    end = re.compile(f"[\n{re.escape(delimiter)}]")
    for line in read_lines(file_path, "from_file", newline="\n"):
        yield end.split(line, maxsplit=1)[0]


def _column_names(columns: Any) -> list[str]:
    if columns is None:
        return []
    names = list(columns) if isinstance(columns, (list, tuple)) else [columns]
    return [check_text(f"columns[{position}]", name) for position, name in enumerate(names)]


def _frequencies(freq_range: Any) -> tuple[float, float]:
    if freq_range is None:
        return 0, np.inf
    if not isinstance(freq_range, tuple):
        raise wrong_type("freq_range", freq_range, "tuple")
    if len(freq_range) != 2 or not all(part is None or is_int(part) for part in freq_range):
        raise problem(
            ValueError,
            "freq_range: must be a pair of ints or None",
            got=repr(freq_range),
            expected="(minimum, maximum), None for no bound",
        )
    low, high = (bound if part is None else part for part, bound in zip(freq_range, (0, np.inf)))
    if not 0 <= low <= high:
        raise problem(
            ValueError,
            "freq_range: the minimum is negative or exceeds the maximum",
            got=repr(freq_range),
        )
    return low, high


def _different_words(argument: str, words: Any) -> list[str]:
    if not isinstance(words, list):
        raise wrong_type(argument, words, "list of str")
    for word in words:
        check_text(argument, word)
    if twice := _repeated(words):
        raise problem(ValueError, f"{argument}: duplicate word", got=repr(twice))
    return words


def _repeated(words: list[str]) -> list[str]:
    if len(set(words)) == len(words):
        return []
    return [word for word, count in Counter(words).items() if count > 1]


def _special_words(special_tokens: Any, special_first: Any) -> list[str]:
    check_bool("special_first", special_first)
    return [] if special_tokens is None else _different_words("special_tokens", special_tokens)


def _check_new(kind: type[Exception], special: list[str], words: set[str]) -> None:
    if both := [word for word in special if word in words]:
        raise problem(kind, "special_tokens: a special token is also a word", got=repr(both))


def _joined(words: list[str], special: list[str], special_first: bool) -> list[str]:
    return special + words if special_first else words + special


@dataclass(frozen=True, eq=False)
class Lookup(TextTransform):
    """Looks up the ids of words."""

    vocab: Vocab
    unknown_token: str | None = None
    data_type: Any = dtypes.int32

    def __post_init__(self) -> None:
        check_vocab("Lookup", self.vocab)
        numeric_type("data_type", self.data_type)
        if self.unknown_token is None:
            return
        if check_text("unknown_token", self.unknown_token) not in self.vocab.ids:
            raise problem(
                RuntimeError,
                "Lookup: unknown_token is not in the vocab",
                got=repr(self.unknown_token),
            )

    def change(self, array: np.ndarray) -> np.ndarray:
        ids = self.vocab.ids
        unknown = None if self.unknown_token is None else ids[self.unknown_token]
        words = array.ravel().tolist()
        found = [ids.get(word, unknown) for word in words]
        if unknown is None and None in found:
            raise problem(
                RuntimeError,
                "Lookup: a word is not in the vocab",
                got=repr(words[found.index(None)]),
                fix="pass unknown_token, a word of the vocab that replaces unknown words",
            )
        return np.array(found, np.int64).reshape(array.shape).astype(self.data_type.numpy)

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"vocab": self.vocab.vocab()}
