"""SentencePiece vocabularies and tokenizer (optional package `sentencepiece`)."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files.atomic_write import write_atomically
from mycelia.dataset.text.options import SentencePieceModel, SPieceTokenizerOutType
from mycelia.dataset.text.strings import TextTransform, check_option, check_text, string_array
from mycelia.dataset.text.vocab import column_strings
from mycelia.dataset.transforms.checks import check_int, wrong_type

try:
    import sentencepiece
except ImportError:  # the extra is not installed
    sentencepiece = None  # type: ignore[assignment]

_MOST = 2**32 - 1
_ONLY_ERRORS = 2  # log level of the trainer


def _library(owner: str) -> Any:
    if sentencepiece is None:
        raise problem(
            ImportError,
            f"{owner}: requires the package sentencepiece, which is not installed",
            fix="pip install 'mycelia[text]'",
        )
    return sentencepiece


class SentencePieceVocab:
    """A trained SentencePiece model; created by `from_dataset` or `from_file`."""

    def __init__(self) -> None:
        self.model = b""

    @classmethod
    def from_dataset(
        cls,
        dataset: Any,
        col_names: list[str] | tuple[str, ...],
        vocab_size: int,
        character_coverage: float,
        model_type: SentencePieceModel,
        params: dict[str, str],
    ) -> Self:
        """Train a model with `vocab_size` pieces on columns (none: all columns) of a dataset."""
        if not isinstance(col_names, (list, tuple)):
            raise wrong_type("col_names", col_names, "list or tuple")
        names = [check_text("col_names", name) for name in col_names]
        wanted = _trainer_arguments(vocab_size, character_coverage, model_type, params)
        sentences = column_strings("from_dataset", dataset, names)
        return cls._learned(wanted, sentence_iterator=iter(sentences))

    @classmethod
    def from_file(
        cls,
        file_path: list[str],
        vocab_size: int,
        character_coverage: float,
        model_type: SentencePieceModel,
        params: dict[str, str],
    ) -> Self:
        """Train a model with `vocab_size` pieces on the lines of files."""
        if not isinstance(file_path, list) or not file_path:
            raise wrong_type("file_path", file_path, "list of at least one path")
        for path in file_path:
            if not Path(check_text("file_path", path)).is_file():
                raise problem(RuntimeError, "from_file: the file does not exist", got=path)
        wanted = _trainer_arguments(vocab_size, character_coverage, model_type, params)
        return cls._learned(wanted, input=file_path)

    @classmethod
    def _learned(cls, wanted: dict[str, Any], **source: Any) -> Self:
        made = cls()
        written = io.BytesIO()
        trainer = _library("SentencePieceVocab").SentencePieceTrainer
        try:
            trainer.train(**wanted, **source, model_writer=written, minloglevel=_ONLY_ERRORS)
        except (RuntimeError, OSError) as error:
            raise problem(RuntimeError, f"SentencePieceVocab: training failed: {error}") from error
        made.model = written.getvalue()
        return made

    @classmethod
    def save_model(cls, vocab: SentencePieceVocab, path: str, filename: str) -> None:
        """Write a model to a file in a folder."""
        if not isinstance(vocab, SentencePieceVocab):
            raise wrong_type("vocab", vocab, "text.SentencePieceVocab")
        check_text("filename", filename)
        if not Path(check_text("path", path)).is_dir():
            raise problem(RuntimeError, "save_model: the folder does not exist", got=path)
        write_atomically(str(Path(path) / filename), [vocab.model])


def _trainer_arguments(size: Any, coverage: Any, model_type: Any, params: Any) -> dict[str, Any]:
    """The trainer's arguments; `params` cannot override explicit arguments."""
    if not isinstance(coverage, float):
        raise wrong_type("character_coverage", coverage, "float")
    if not isinstance(params, dict):
        raise wrong_type("params", params, "dict")
    check_option("model_type", model_type, SentencePieceModel)
    ours = {
        "vocab_size": check_int("vocab_size", size, 0, _MOST),
        "character_coverage": coverage,
        "model_type": model_type.name.lower(),
    }
    others = {key: value for key, value in params.items() if key not in ("input", "model_prefix")}
    return others | ours


@dataclass(frozen=True, eq=False)
class SentencePieceTokenizer(TextTransform):
    """Tokenizes a string with SentencePiece, to strings or ids; `mode` is a vocab or a file."""

    mode: str | SentencePieceVocab
    out_type: SPieceTokenizerOutType

    def __post_init__(self) -> None:
        if not isinstance(self.mode, (str, SentencePieceVocab)):
            raise wrong_type("mode", self.mode, "str or text.SentencePieceVocab")
        check_option("out_type", self.out_type, SPieceTokenizerOutType)
        _ = self._processor

    @cached_property
    def _processor(self) -> Any:
        model = _model_of(self.mode)
        try:
            made = _library("SentencePieceTokenizer").SentencePieceProcessor()
            made.LoadFromSerializedProto(model)  # the constructor does not accept bytes
            return made
        except RuntimeError as error:
            raise problem(
                RuntimeError, f"SentencePieceTokenizer: invalid SentencePiece model: {error}"
            ) from error

    def change(self, array: np.ndarray) -> np.ndarray:
        if array.ndim != 0:
            raise self.refusal(array, "one string, that is text of shape ()")
        if self.out_type == SPieceTokenizerOutType.INT:
            return np.array(self._processor.encode(array.item(), out_type=int), np.int32)
        return string_array(self._processor.encode(array.item(), out_type=str))

    def parameters(self) -> dict[str, Any]:
        given = self.mode if isinstance(self.mode, str) else "SentencePieceVocab"
        return super().parameters() | {"mode": given}


def _model_of(mode: str | SentencePieceVocab) -> bytes:
    if isinstance(mode, SentencePieceVocab):
        if not mode.model:
            raise problem(
                RuntimeError,
                "SentencePieceTokenizer: the vocab is not trained yet",
                fix="SentencePieceVocab.from_dataset(...) or from_file",
            )
        return mode.model
    if not Path(mode).is_file():
        raise problem(RuntimeError, "SentencePieceTokenizer: the file does not exist", got=mode)
    return Path(mode).read_bytes()
