"""Text transforms give what MindSpore gives, in and out of pipelines, and refuse bad input."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import dataset as ds
from mycelia.dataset import text
from mycelia.dataset.text import regex, sentence_pieces
from tests.dataset import text_cases
from tests.dataset.text_cases import SENTENCE, cases, counted, learned, sentences, write_files

pytest.importorskip("regex", reason="the package regex is not installed")
pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
GOLDENS = json.loads(Path(__file__).with_name("goldens_text.json").read_text(encoding="utf-8"))
VOCAB = text.Vocab.from_list(["a", "b", "##b", "[UNK]"])
STRING, INT = text.SPieceTokenizerOutType.STRING, text.SPieceTokenizerOutType.INT
UNIGRAM = text.SentencePieceModel.UNIGRAM


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("text")
    write_files(made)
    return made


@pytest.fixture(scope="module")
def calls(folder: Path):
    return cases(text, ms, folder)


@pytest.fixture(scope="module")
def pieces() -> text.SentencePieceVocab:
    rows = ds.NumpySlicesDataset(sentences(), ["t"], shuffle=False)
    return text.SentencePieceVocab.from_dataset(rows, ["t"], 40, 0.9995, UNIGRAM, {})


@pytest.mark.parametrize("name", sorted(set(GOLDENS) - {"counted", "learned"}))
def test_a_text_transform_gives_what_mindspore_gives(name: str, calls):
    made, golden = text_cases.written(calls[name]()), GOLDENS[name]
    if name.startswith("ngram_vectors"):  # means, summed in another order
        np.testing.assert_allclose(made["values"], golden["values"], rtol=1e-6)
        made["values"] = golden["values"]
    assert made == golden


def test_every_case_has_a_golden(calls):
    assert set(calls) | {"counted", "learned"} == set(GOLDENS)


def test_vocabs_of_datasets_are_those_of_mindspore():
    assert counted(ds) == GOLDENS["counted"]


def test_learned_pieces_are_those_of_mindspore():
    assert learned(ds) == GOLDENS["learned"]


def test_the_options_have_the_values_of_mindspore():
    assert [(kind.name, kind.value) for kind in text.NormalizeForm] == [
        ("NONE", 0),
        ("NFC", 1),
        ("NFKC", 2),
        ("NFD", 3),
        ("NFKD", 4),
    ]
    assert [(kind.name, kind.value) for kind in text.JiebaMode] == [
        ("MIX", 0),
        ("MP", 1),
        ("HMM", 2),
    ]
    assert text.SPieceTokenizerLoadType.FILE == 0 and text.SPieceTokenizerLoadType.MODEL == 1
    assert text.SPieceTokenizerOutType.STRING == 0 and text.SPieceTokenizerOutType.INT == 1
    assert [kind.name for kind in text.SentencePieceModel] == ["UNIGRAM", "BPE", "CHAR", "WORD"]


@settings(deadline=None, max_examples=60)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_offsets_are_the_bytes_of_the_tokens(line: str):
    data = line.encode()
    for tokenizer in (
        text.WhitespaceTokenizer(True),
        text.UnicodeCharTokenizer(True),
        text.UnicodeScriptTokenizer(True, True),
        text.RegexTokenizer(r"\p{P}", r"\p{P}", True),
    ):
        tokens, starts, ends = tokenizer(line)
        assert [data[a:b].decode() for a, b in zip(starts, ends)] == tokens.tolist()
    assert "".join(text.UnicodeScriptTokenizer(True)(line).tolist()) == line


def test_scripts_old_and_new_are_told_apart():
    tokenizer = text.UnicodeScriptTokenizer()
    for script, letters in {"Latin": "aé", "Han": "北京", "Adlam": "𞤀𞤁", "Kawi": "𑼄𑼅"}.items():
        assert tokenizer(f"1{letters}1").tolist() == ["1", letters, "1"], script


def test_special_tokens_stay_whole_when_letters_become_small():
    """MindSpore repeats the text before a special token here."""
    line = "Écu [CLS] Two [UNUSED1] [MASK]"
    tokens, starts, ends = text.BasicTokenizer(True, with_offsets=True)(line)
    assert tokens.tolist() == ["ecu", "[CLS]", "two", "[unused1]", "[MASK]"]
    assert starts.tolist() == [0, 4, 10, 14, 24] and ends.tolist() == [3, 9, 13, 23, 30]


def test_an_unknown_word_has_one_place():
    """MindSpore keeps the places of the pieces found before it gave up."""
    vocab = text.Vocab.from_list(["favor", "my", "[UNK]"])
    tokens, starts, ends = text.WordpieceTokenizer(vocab, with_offsets=True)(["favorx", "my"])
    assert (tokens.tolist(), starts.tolist(), ends.tolist()) == (["[UNK]", "my"], [0, 0], [6, 2])
    tokens, starts, ends = text.BertTokenizer(vocab, with_offsets=True)("my favorx é")
    assert (tokens.tolist(), starts.tolist()) == (["my", "[UNK]", "[UNK]"], [0, 3, 10])
    assert ends.tolist() == [2, 9, 12]


def test_each_string_of_an_array_is_rewritten_on_its_own():
    """MindSpore joins the strings of an array here, and loses capital Rs of wiki pages."""
    np.testing.assert_array_equal(
        text.RegexReplace("a", "bb")(["xa", "ya", ""]), ["xbb", "ybb", ""]
    )
    made = text.FilterWikipediaXML()([["Red 1"], ["b\n\nc"]])
    np.testing.assert_array_equal(made, [["red one"], ["b c"]])


def test_an_empty_text_has_one_empty_token_with_a_place(folder: Path):
    files = str(folder / "markov.model"), str(folder / "words.dict")
    tokens, starts, ends = text.JiebaTokenizer(*files, with_offsets=True)("")
    assert (tokens.tolist(), starts.tolist(), ends.tolist()) == ([""], [0], [0])


def test_pieces_as_ids_are_places_in_the_vocab(pieces, tmp_path: Path):
    text.SentencePieceVocab.save_model(pieces, str(tmp_path), "m.model")
    file = str(tmp_path / "m.model")
    ids = text.SentencePieceTokenizer(file, INT)(SENTENCE)
    strings = text.SentencePieceTokenizer(file, STRING)(SENTENCE)
    assert ids.dtype == np.int32 and ids.max() < 40
    assert strings.tolist() == text.SentencePieceTokenizer(pieces, STRING)(SENTENCE).tolist()
    by_id = dict(zip(ids.tolist(), strings.tolist()))
    assert by_id[0] == "é"  # unknown
    assert len(ids) == len(strings) and by_id[ids[0]] == strings[0] == "▁the"
    assert text.SentencePieceTokenizer(pieces, INT)("").shape == (0,)
    assert text.SentencePieceTokenizer(pieces, STRING)(" ").shape == (0,)


def test_pieces_are_learned_from_files_with_the_trainers_options(folder: Path, pieces):
    files = [str(folder / "sentences.txt")]
    learned = text.SentencePieceVocab.from_file(files, 40, 0.9995, UNIGRAM, {})
    tokenizers = [text.SentencePieceTokenizer(vocab, INT) for vocab in (learned, pieces)]
    assert tokenizers[0](SENTENCE).tolist() == tokenizers[1](SENTENCE).tolist()
    whole = {"add_dummy_prefix": "false", "input": "elsewhere"}
    changed = text.SentencePieceVocab.from_file(
        files, 40, 0.9995, text.SentencePieceModel.BPE, whole
    )
    assert text.SentencePieceTokenizer(changed, STRING)("the fox")[0].startswith("t")


def test_a_pipeline_from_lines_to_ids(folder: Path):
    (folder / "lines.txt").write_text("Ab b\na c a\n", encoding="utf-8")
    lines = ds.TextFileDataset(str(folder / "lines.txt"), shuffle=False)
    steps = [text.CaseFold(), text.WhitespaceTokenizer(), text.Lookup(VOCAB, "[UNK]")]
    ids = lines.map(steps, ["text"], num_parallel_workers=2)
    rows = [row[0].tolist() for row in ids.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows == [[3, 1], [0, 3, 0]]


def test_a_pipeline_with_offsets_has_three_columns():
    rows = ds.NumpySlicesDataset(["é ab"], ["t"])
    cut = rows.map(text.BertTokenizer(VOCAB, with_offsets=True), ["t"], ["t", "start", "end"])
    row = next(cut.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert {name: value.tolist() for name, value in row.items()} == {
        "t": ["[UNK]", "a", "##b"],
        "start": [0, 3, 4],
        "end": [2, 4, 5],
    }


def test_a_pipeline_with_pairs_and_python_tokens():
    rows = ds.NumpySlicesDataset({"a": ["x y z"], "b": ["u v"]})
    rows = rows.map(text.PythonTokenizer(str.split), ["a"]).map(text.WhitespaceTokenizer(), ["b"])
    cut = rows.map(text.TruncateSequencePair(3), ["a", "b"])
    row = next(cut.create_tuple_iterator(num_epochs=1, output_numpy=True))
    assert [value.tolist() for value in row] == [["x", "y"], ["u"]]


def test_a_vocab_is_written_with_the_tree():
    rows = ds.NumpySlicesDataset(["a"], ["t"]).map(text.BertTokenizer(VOCAB), ["t"])
    (step,) = ds.serialize(rows)["operations"]
    assert step["tensor_op_name"] == "BertTokenizer"
    assert step["tensor_op_params"]["vocab"] == VOCAB.vocab()
    json.dumps(step)


def test_a_transform_takes_one_column():
    rows = ds.NumpySlicesDataset({"a": ["x"], "b": ["u"]}).map(text.CaseFold(), ["a", "b"])
    with pytest.raises(RuntimeError, match="requires one column"):
        next(rows.create_tuple_iterator(num_epochs=1))


def _rows(values: list[object]) -> ds.Dataset:
    return ds.NumpySlicesDataset(values, ["t"], shuffle=False)


FLOAT = {"vocab_size": 40, "character_coverage": 0.9995, "model_type": UNIGRAM, "params": {}}
BAD = [
    (lambda: text.WhitespaceTokenizer(1), TypeError, "with_offsets: wrong type"),
    (lambda: text.WhitespaceTokenizer()(["a b"]), RuntimeError, "text of shape ()"),
    (lambda: text.WhitespaceTokenizer()(3), RuntimeError, "expected: text"),
    (lambda: text.CaseFold()(b"A"), RuntimeError, "CaseFold: unsupported value"),
    (lambda: text.CaseFold()("a", "b"), RuntimeError, "CaseFold: requires one column"),
    (lambda: text.NormalizeUTF8("NFC"), TypeError, "NormalizeForm"),
    (lambda: text.BasicTokenizer(1), TypeError, "lower_case"),
    (lambda: text.BasicTokenizer(normalization_form=1), TypeError, "normalization_form"),
    (lambda: text.BasicTokenizer()(["a"]), RuntimeError, "one string"),
    (lambda: text.UnicodeScriptTokenizer(1), TypeError, "keep_whitespace"),
    (lambda: text.RegexReplace("(a", ""), RuntimeError, "not a regular expression: missing"),
    (lambda: text.RegexReplace("a", "$1"), RuntimeError, "unknown group"),
    (lambda: text.RegexReplace("a", "$"), RuntimeError, "unknown group"),
    (lambda: text.RegexReplace(3, ""), TypeError, "pattern: wrong type"),
    (lambda: text.RegexTokenizer("a", "("), RuntimeError, "RegexTokenizer: not a regular"),
    (lambda: text.PythonTokenizer(3), TypeError, "must be a function"),
    (lambda: text.PythonTokenizer(str.split)("a b"), TypeError, "requires an array of strings"),
    (
        lambda: text.PythonTokenizer(str.upper)(np.array("a")),
        RuntimeError,
        "must return a list of tokens",
    ),
    (lambda: text.PythonTokenizer(lambda x: 1 / 0)(np.array("a")), RuntimeError, "by zero"),
    (lambda: text.PythonTokenizer(list)(np.array(["ab", "c"])), RuntimeError, "different numbers"),
    (lambda: text.Vocab().vocab(), RuntimeError, "vocabulary is empty"),
    (lambda: text.Vocab.from_list(["a", "a"]), ValueError, "word_list: duplicate word"),
    (lambda: text.Vocab.from_list(["a"], ["a"]), ValueError, "is also a word"),
    (lambda: text.Vocab.from_list("ab"), TypeError, "word_list"),
    (lambda: text.Vocab.from_list(["a"], special_first=1), TypeError, "special_first"),
    (lambda: text.Vocab.from_dict({"a": -1}), ValueError, "word_id: out of range"),
    (lambda: text.Vocab.from_dict({1: 1}), TypeError, "word: wrong type"),
    (lambda: text.Vocab.from_dict([1]), TypeError, "word_dict"),
    (lambda: text.Vocab.from_file("absent"), RuntimeError, "there is no such file"),
    (lambda: text.Vocab.from_file(__file__), RuntimeError, "duplicate word"),
    (lambda: text.Vocab.from_file(__file__, vocab_size=0), ValueError, "vocab_size"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), "x"), RuntimeError, "has unknown column 'x'"),
    (lambda: text.Vocab.from_dataset(_rows([1, 2])), RuntimeError, "must hold text"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), 3), TypeError, r"columns\[0\]"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), freq_range=(3, 2)), ValueError, "ends before"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), freq_range=3), TypeError, "freq_range"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), freq_range=(1,)), ValueError, "must be a pair"),
    (lambda: text.Vocab.from_dataset(_rows(["a"]), top_k=0), ValueError, "top_k: out of range"),
    (
        lambda: text.Vocab.from_dataset(_rows(["a"]), special_tokens=["a"]),
        RuntimeError,
        "is also a word",
    ),
    (lambda: VOCAB.tokens_to_ids(3), TypeError, "tokens: wrong type"),
    (lambda: VOCAB.tokens_to_ids([3]), TypeError, r"tokens\[0\]"),
    (lambda: VOCAB.ids_to_tokens("x"), TypeError, "ids: wrong type"),
    (lambda: VOCAB.ids_to_tokens(True), TypeError, "ids: wrong type"),
    (lambda: VOCAB.ids_to_tokens(-1), ValueError, "ids: out of range"),
    (lambda: text.Lookup(text.Vocab()), TypeError, "vocab must be a Vocab"),
    (lambda: text.Lookup(VOCAB, "c"), RuntimeError, "unknown_token is not in the vocab"),
    (lambda: text.Lookup(VOCAB, data_type=np.int32), TypeError, "data_type"),
    (lambda: text.Lookup(VOCAB)(["a", "zz"]), RuntimeError, "got:      'zz'"),
    (lambda: text.Lookup(VOCAB)(3), RuntimeError, "Lookup: cannot change"),
    (lambda: text.WordpieceTokenizer(3), TypeError, "vocab must be a Vocab"),
    (lambda: text.WordpieceTokenizer(VOCAB, max_bytes_per_token=-1), ValueError, "out of range"),
    (lambda: text.WordpieceTokenizer(VOCAB)([["a"]]), RuntimeError, "a vector of words"),
    (lambda: text.BertTokenizer(VOCAB, 3), TypeError, "suffix_indicator"),
    (lambda: text.BertTokenizer(VOCAB)(["a"]), RuntimeError, "one string"),
    (lambda: text.Ngram(0), ValueError, "n: out of range"),
    (lambda: text.Ngram([]), ValueError, "must be an int or a list"),
    (lambda: text.Ngram([1, "a"]), TypeError, "n: wrong type"),
    (lambda: text.Ngram(1, ("_", -1)), ValueError, "left_pad"),
    (lambda: text.Ngram(1, right_pad="a"), ValueError, "right_pad"),
    (lambda: text.Ngram(1)("a"), RuntimeError, "a vector of tokens"),
    (lambda: text.SlidingWindow(0), ValueError, "width"),
    (lambda: text.SlidingWindow(2, 1), RuntimeError, "one axis"),
    (lambda: text.SlidingWindow(2)(np.ones((2, 2))), RuntimeError, "requires a vector"),
    (lambda: text.Truncate(0), ValueError, "max_seq_len"),
    (lambda: text.Truncate(1)("a"), RuntimeError, "a vector or a matrix"),
    (lambda: text.TruncateSequencePair(-1), RuntimeError, "below 0"),
    (lambda: text.TruncateSequencePair("a"), TypeError, "max_length"),
    (lambda: text.TruncateSequencePair(2)(np.ones(2)), RuntimeError, "requires two vectors"),
    (lambda: text.AddToken(""), RuntimeError, "the token is empty"),
    (lambda: text.AddToken("a")("b"), RuntimeError, "a vector or a matrix"),
    (lambda: text.ToNumber(ms.bool_), TypeError, "data_type"),
    (lambda: text.ToNumber("int32"), TypeError, "data_type"),
    (lambda: text.ToNumber(ms.int8)("300"), RuntimeError, "out of the range of int8"),
    (lambda: text.ToNumber(ms.uint8)("-1"), RuntimeError, "out of the range of uint8"),
    (lambda: text.ToNumber(ms.float16)("65505"), RuntimeError, "out of the range of float16"),
    (lambda: text.ToNumber(ms.float32)("inf"), RuntimeError, "out of the range of float32"),
    (lambda: text.ToNumber(ms.float32)("1e-50"), RuntimeError, "out of the range of float32"),
    (lambda: text.ToNumber(ms.int32)("abc"), RuntimeError, "no number"),
    (lambda: text.to_str([b"a"]), TypeError, "takes a numpy array of bytes"),
    (lambda: text.to_bytes("a"), ValueError, "takes a numpy array of strings"),
    (lambda: text.to_bytes(np.array([1])), TypeError, "takes a numpy array of strings"),
    (lambda: text.Vectors.from_file("absent"), RuntimeError, "file of vectors does not exist"),
    (lambda: text.GloVe.from_file(__file__), RuntimeError, r"glove.6B.\*.txt"),
    (lambda: text.FastText.from_file(__file__), RuntimeError, r"\*.vec"),
    (lambda: text.CharNGram.from_file(__file__, -1), ValueError, "max_vectors"),
    (lambda: text.ToVectors(3), TypeError, "text.Vectors"),
    (lambda: text.ToVectors(text.Vectors()), RuntimeError, "vectors is empty"),
    (lambda: text.SentencePieceTokenizer("absent", STRING), RuntimeError, "no such file"),
    (
        lambda: text.SentencePieceTokenizer(__file__, STRING),
        RuntimeError,
        "invalid SentencePiece model",
    ),
    (lambda: text.SentencePieceTokenizer(3, STRING), TypeError, "mode"),
    (
        lambda: text.SentencePieceTokenizer(text.SentencePieceVocab(), INT),
        RuntimeError,
        "not trained yet",
    ),
    (lambda: text.SentencePieceVocab.save_model(3, ".", "x"), TypeError, "SentencePieceVocab"),
    (
        lambda: text.SentencePieceVocab.save_model(text.SentencePieceVocab(), "absent", "x"),
        RuntimeError,
        "folder does not exist",
    ),
    (lambda: text.SentencePieceVocab.from_file("x", **FLOAT), TypeError, "file_path"),
    (lambda: text.SentencePieceVocab.from_file(["x"], **FLOAT), RuntimeError, "no such file"),
    (
        lambda: text.SentencePieceVocab.from_file([__file__], **FLOAT | {"params": {"no": "1"}}),
        RuntimeError,
        "training failed",
    ),
    (
        lambda: text.SentencePieceVocab.from_file([__file__], **FLOAT | {"model_type": 0}),
        TypeError,
        "model_type",
    ),
    (
        lambda: text.SentencePieceVocab.from_dataset(_rows(["a"]), "t", **FLOAT),
        TypeError,
        "col_names",
    ),
    (
        lambda: text.SentencePieceVocab.from_dataset(_rows(["a"]), ["x"], **FLOAT),
        RuntimeError,
        "unknown column 'x'",
    ),
    (lambda: text.JiebaTokenizer("absent", __file__), ValueError, "hmm_path: there is no such"),
    (lambda: text.JiebaTokenizer(__file__, __file__, 0), TypeError, "JiebaMode"),
    (lambda: text.JiebaTokenizer(__file__, __file__), RuntimeError, "not a hidden Markov model"),
]


@pytest.mark.parametrize(("call", "kind", "message"), BAD)
def test_bad_arguments_of_text_transforms_are_named(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_bad_files_and_words_are_named(folder: Path):
    model, words = str(folder / "markov.model"), str(folder / "words.dict")
    tokenizer = text.JiebaTokenizer(model, words)
    with pytest.raises(RuntimeError, match="must hold a word and its count"):
        text.JiebaTokenizer(model, model)
    with pytest.raises(ValueError, match="freq: out of range"):
        tokenizer.add_word("a", -1)
    with pytest.raises(TypeError, match="user_dict"):
        tokenizer.add_dict(3)
    with pytest.raises(ValueError, match="user_dict: the file does not exist"):
        tokenizer.add_dict("absent")
    vectors = text.Vectors.from_file(str(folder / "vectors.txt"))
    with pytest.raises(RuntimeError, match="differs in size from the vectors"):
        text.ToVectors(vectors, [1])
    with pytest.raises(TypeError, match="unk_init"):
        text.ToVectors(vectors, ["a", "b"])
    for content, message in (
        ("a 1 2\nb 1\n", "line 2 .* different size"),
        ("a x y\n", "line 1 is not a vector"),
        ("", "has no vectors"),
    ):
        (folder / "bad.txt").write_text(content)
        with pytest.raises(RuntimeError, match=message):
            text.Vectors.from_file(str(folder / "bad.txt"))


def test_absent_packages_are_named(monkeypatch: pytest.MonkeyPatch, pieces):
    monkeypatch.setattr(regex, "regex", None)
    with pytest.raises(
        ImportError, match=r"CaseFold: requires the package regex(.|\n)*mycelia\[text\]"
    ):
        text.CaseFold()
    monkeypatch.setattr(sentence_pieces, "sentencepiece", None)
    with pytest.raises(
        ImportError, match="SentencePieceTokenizer: requires the package sentencepiece"
    ):
        text.SentencePieceTokenizer(pieces, STRING)
