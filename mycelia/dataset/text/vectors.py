"""Word vectors: GloVe, fastText, and character n-grams; and the transform that looks them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from mycelia._engine.core.checks import is_number
from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.text_files import read_lines
from mycelia.dataset.text.strings import TextTransform, check_text, small_letters
from mycelia.dataset.transforms.checks import check_bool, check_int, wrong_type


class Vectors:
    """Word vectors; created by `from_file`."""

    file_names: ClassVar[str] = "*"

    def __init__(self) -> None:
        self.table: dict[str, np.ndarray] = {}
        self.size = 0

    @classmethod
    def from_file(cls, file_path: str, max_vectors: int | None = None) -> Self:
        """Read one word and its vector per line; at most `max_vectors` lines (0 or None: all)."""
        check_text("file_path", file_path)
        if max_vectors is not None:
            check_int("max_vectors", max_vectors, 0)
        path = Path(file_path)
        if not path.is_file() or not fnmatchcase(path.name, cls.file_names):
            raise problem(
                RuntimeError,
                f"{cls.__name__}: the file of vectors does not exist or has another name",
                got=file_path,
                expected=f"a file with a name like {cls.file_names}",
            )
        made = cls()
        for word, vector in islice(_rows(cls.__name__, path), max_vectors or None):
            made.table.setdefault(word, vector)
            made.size = len(vector)
        if not made.table:
            raise problem(RuntimeError, f"{cls.__name__}: the file has no vectors", got=file_path)
        return made

    def find(self, word: str) -> np.ndarray | None:
        """The vector of a word, or None."""
        return self.table.get(word)


class GloVe(Vectors):
    """GloVe vectors: Pennington, Socher and Manning, "GloVe", 2014."""

    file_names = "glove.6B.*.txt"


class FastText(Vectors):
    """fastText: Bojanowski et al., "Enriching word vectors with subword information", 2017."""

    file_names = "*.vec"


class CharNGram(Vectors):
    """Hashimoto et al., "A joint many-task model", 2017: means over character n-grams.

    A character is a byte of UTF-8 here, as in MindSpore.
    """

    def find(self, word: str) -> np.ndarray | None:
        letters = [bytes([byte]) for byte in word.encode()]
        marked = [b"#BEGIN#", *letters, b"#END#"]
        grams = (
            f"{size}gram-".encode() + b"".join(marked[index : index + size])
            for size in (2, 3, 4)
            for index in range(len(marked) - size + 1)
        )
        found = [self._by_bytes[gram] for gram in grams if gram in self._by_bytes]
        return np.stack(found).mean(axis=0) if found else None

    @cached_property
    def _by_bytes(self) -> dict[bytes, np.ndarray]:
        return {word.encode(): vector for word, vector in self.table.items()}


def _rows(owner: str, path: Path) -> Iterator[tuple[str, np.ndarray]]:
    size = 0
    for number, line in enumerate(read_lines(path, owner, newline="\n"), 1):
        word, *numbers = line.rstrip().split(" ")
        if number == 1 and len(numbers) == 1:
            continue  # a header: the number of vectors and their size
        size = size or len(numbers)
        if len(numbers) != size or size < 2:
            raise problem(
                RuntimeError,
                f"{owner}: line {number} of {path} has a vector of a different size",
                got=f"{len(numbers)} numbers",
                expected=f"{max(size, 2)}",
            )
        yield word, _vector(owner, number, numbers)


def _vector(owner: str, line: int, numbers: list[str]) -> np.ndarray:
    try:
        return np.array(numbers, np.float32)
    except ValueError as error:
        raise problem(RuntimeError, f"{owner}: line {line} is not a vector: {error}") from error


@dataclass(frozen=True, eq=False)
class ToVectors(TextTransform):
    """Looks up word vectors; unknown words become `unk_init` (default: zeros).

    With `lower_case_backup`, all words are looked up in lowercase, as in MindSpore.
    """

    vectors: Vectors
    unk_init: Any = None
    lower_case_backup: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.vectors, Vectors):
            raise wrong_type("vectors", self.vectors, "text.Vectors")
        check_bool("lower_case_backup", self.lower_case_backup)
        if not self.vectors.size:
            raise problem(
                RuntimeError, "ToVectors: vectors is empty", fix="text.Vectors.from_file(...)"
            )
        if self.unk_init is not None:
            self._check_unknown(self.unk_init)

    def _check_unknown(self, values: Any) -> None:
        if not isinstance(values, (list, tuple)) or not all(is_number(part) for part in values):
            raise wrong_type("unk_init", values, "list of numbers")
        if len(values) not in (0, self.vectors.size):
            raise problem(
                RuntimeError,
                "ToVectors: unk_init differs in size from the vectors",
                got=str(len(values)),
                expected=str(self.vectors.size),
            )

    @cached_property
    def _unknown(self) -> np.ndarray:
        return np.array(self.unk_init or np.zeros(self.vectors.size), np.float32)

    def change(self, array: np.ndarray) -> np.ndarray:
        rows = [self._find(word) for word in array.ravel().tolist()]
        return np.array(rows[0]) if len(rows) == 1 else np.array(rows, np.float32)

    def _find(self, word: str) -> np.ndarray:
        found = self.vectors.find(small_letters(word) if self.lower_case_backup else word)
        return self._unknown if found is None else found

    def parameters(self) -> dict[str, Any]:
        return super().parameters() | {"vectors": self.vectors.table}
