"""Calls of text transforms, for MindSpore's goldens and for our tests, over files made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MIXED = "Welcome to Beijing北京!! 123, é e\u0301 😀x"
TEXTS = {
    "ascii": "Welcome  to Beijing!",
    "mixed": MIXED,
    "empty": "",
    "spaces": "  \t ",
    "scripts": " a\u3000\u00a0b\u0378 ひらカタ\u3099한글 русский 😀😀a1a\n",
    "signs": "a$b+c<d^f`g|h~i a¡b「c」d…e—f€g x\u00ady 𠀀𠀁豈",
    "control": "a\x01b\x7fc\u200dd\ue000e\tf \ufffdx",
    "special": "[PAD] [MASK] [SEP] [UNK] [CLS] [unused] [unused12] [CLs] [CLS][SEP] a[SEP]b",
}
WORDS = "book cholera era favor ##ite my is dur ##ing the [UNK] 北 ##京 é ##é".split()
BERT = (
    "床 前 明 月 i am mak make small mistake ##s ##ing 😀 + / = 12 [CLS] [UNK] [unused12] e".split()
)
MARKUP = [
    "  Hello World  ",
    "a<b>c</b>d x <ref>cite</ref> y",
    "x &amp; y &lt;b&gt; z &nbsp; w &lt;q AT&T; x",
    "0 1 2 3 4 5 6 7 8 9 12a3",
    "[http://foo.com bar] [[image:foo.jpg|thumb|120px|caption]] {{template x}} [[de:Haus]]",
    "tab\there\nnew line \n x\n  y",
    "É北京 naïve 'bold' == head == a-b_c",
    "#REDIRECT [[foo]]",
    "a #redirect foo",
    "<text xml:space='preserve'>Hello B2",
    "a <b\nc> d",
    "",
]
CHINESE = "南京市长江大桥，hello 北京欢迎你。3.14% a1b2😀他来到了"
_CHANCES = {
    "B": "南:-4.1,京:-7,长:-3.2,大:-3.9,北:-4.4,欢:-3.7,你:-8.1,他:-9,来:-4.9,了:-9,市:-6.2",
    "E": "南:-7.9,京:-3.3,市:-4.2,江:-3.6,桥:-3.1,迎:-3.8,到:-4.5,大:-6.6,你:-9.3,了:-8.8",
    "M": "京:-4.8,江:-5.1,大:-4.4,来:-6.2,长:-6.9,欢:-7.7,市:-5.5",
    "S": "你:-2.4,他:-2.2,了:-2.1,来:-4.7,到:-4.2,大:-5.3,长:-6.4,市:-6.1,南:-6.6",
}

ROWS = {"t": [["b", "a", "b"], ["c", "a", "b"], ["d", "e", "é"]], "u": [["x"], ["y"], ["b"]]}
COUNTED: dict[str, dict[str, Any]] = {
    "all": {},
    "one": {"columns": "t"},
    "both": {"columns": ["t", "u"]},
    "range": {"columns": "t", "freq_range": (2, None)},
    "seldom": {"columns": "t", "freq_range": (None, 1)},
    "top": {"columns": "t", "top_k": 2, "special_tokens": ["<p>"]},
    "last": {"columns": "t", "special_tokens": ["<p>", "<u>"], "special_first": False},
}
MODELS = {"UNIGRAM": 40, "BPE": 50, "CHAR": 25, "WORD": 12}
SENTENCE = "the quick brown é foxes"


def write_files(folder: Path) -> None:
    """The files of vocabularies, vectors, sentences and Chinese words that the cases read."""
    files = {
        "vocab.txt": "a,1\nb,2\n c \n\nd;x\ne",
        "vectors.txt": "ok 1.0 2.0\n! 3 4 \nHome 5 6\nhome 7 8\nok 9 9\n",
        "glove.6B.2d.txt": "ok 1.5 2.5\nhome -7 8e-1\n",
        "words.vec": "3 2\nok 1.0 2.0\n! 3 4\nHome 5 6\n",
        "ngrams.txt": "2gram-#BEGIN#o 1 2\n2gram-ok 3 4\n2gram-k#END# 10 20\n3gram-#BEGIN#ok 7 8\n"
        "4gram-#BEGIN#ok#END# 70 80\n5gram-hello 1 1\n4gram-éé 11 12\n2gram-éa 5 5\n3gram-éa 8 8\n",
        "words.dict": "南京 300 ns\n南京市 200 ns\n市长 250 n\n长江 400 ns\n大桥 150 n\n"
        "长江大桥 90 ns\n北京 800 ns\n欢迎 700 v\n来到 500 v\n你 4000 r\n他 5000 r\n了 9000 ul\n",
        "markov.model": "#prob_start\n-0.26 -3.14e+100 -3.14e+100 -1.46\n#prob_trans\n"
        "-3.14e+100 -0.51 -0.91 -3.14e+100\n-0.58 -3.14e+100 -3.14e+100 -0.80\n"
        "-3.14e+100 -0.33 -1.26 -3.14e+100\n-0.72 -3.14e+100 -3.14e+100 -0.66\n#prob_emit\n"
        + "".join(f"#{state}\n{line}\n" for state, line in _CHANCES.items()),
        "user.dict": "欢迎你\n京市 100\n大桥 x\n",
        "sentences.txt": "".join(f"{line}\n" for line in sentences()),
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")


def sentences() -> list[str]:
    """Sentences of few words in a fixed disorder."""
    words = "the quick brown fox jumps over lazy dogs while rain falls on green hills".split()
    return [
        " ".join(words[(row * row + 5 * k) % 14] for k in range(3 + row % 5)) for row in range(90)
    ]


def cases(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    """Name -> call."""
    made: dict[str, Callable[[], Any]] = {}
    for group in (
        _tokenizers,
        _rewriters,
        _pieces,
        _sequences,
        _numbers,
        _vectors,
        _vocabs,
        _chinese,
    ):
        made |= group(text, ms, folder)
    return made


def _tokenizers(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {}
    for name, value in TEXTS.items():
        made |= {
            f"whitespace_{name}": lambda v=value: text.WhitespaceTokenizer(True)(v),
            f"characters_{name}": lambda v=value: text.UnicodeCharTokenizer(True)(v),
            f"script_{name}": lambda v=value: text.UnicodeScriptTokenizer(False, True)(v),
            f"script_kept_{name}": lambda v=value: text.UnicodeScriptTokenizer(True, True)(v),
            f"basic_{name}": lambda v=value: text.BasicTokenizer(with_offsets=True)(v),
            f"basic_kept_{name}": lambda v=value: text.BasicTokenizer(False, True)(v),
            f"basic_split_{name}": lambda v=value: text.BasicTokenizer(
                lower_case=True, preserve_unused_token=False, with_offsets=True
            )(v),
            f"regex_{name}": lambda v=value: text.RegexTokenizer(
                r"\s+|\p{Han}|[\x{21}-\x{2F}]", r"\p{Han}", True
            )(v),
        }
    return made | {
        "whitespace_plain": lambda: text.WhitespaceTokenizer()(np.array("a b")),
        "characters_plain": lambda: text.UnicodeCharTokenizer()("aé"),
        "basic_lower": lambda: text.BasicTokenizer(True)("ひらガ 한글 Й İß ÉÀ ﬁ ①Ａ [unused] a"),
        "basic_nfkc": lambda: text.BasicTokenizer(False, False, text.NormalizeForm.NFKC)("ﬁ ①Ａ ṩ"),
        "basic_nfd": lambda: text.BasicTokenizer(False, False, text.NormalizeForm.NFD)("ﬁ ①Ａ ṩ"),
        "regex_empty_pattern": lambda: text.RegexTokenizer("x*")("abxc"),
        "regex_kept_whole": lambda: text.RegexTokenizer(r"\s+", "^ $")("a  b c"),
        "regex_repeated": lambda: text.RegexTokenizer("x", "x")("xx"),
        "python": lambda: text.PythonTokenizer(str.split)(np.array("a bc")),
        "python_rows": lambda: text.PythonTokenizer(str.split)(np.array(["a bc", "d e"])),
        "python_none": lambda: text.PythonTokenizer(str.split)(np.array("")),
        "python_numbers": lambda: text.PythonTokenizer(lambda word: [1, 22])(np.array("x")),
    }


def _rewriters(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    folds = [
        "Welcome ÉSS ß İ Ω ﬁ ſ Σς ŉ",
        "Ａ①ﬃ\u0345Ⅷ\u1e9eᾳ",
        "\u00ad a\u200bb\ufeff",
        "",
        "한글 Ǆ ǰ ΐ",
    ]
    replacing = {
        "all": (("apple", "orange"), "apple orange apple"),
        "first": (("a+", "<$0>", False), "caat aab"),
        "groups": (("(a)(b)", "$2$1"), "abab"),
        "named": (("(?<x>a)", "[${x}]"), "abab"),
        "escapes": (("a", r"\\1 \$"), "a"),
        "script": ((r"[\p{Han}]", "H"), "a北b"),
        "nothing": (("", "-"), "ab"),
        "star": (("a*", "-"), "baac"),
        "begin": (("^", "-"), "a\nb"),
        "class": (("[[:alpha:]]", "b"), "a1é"),
        "sets": (("[a-z&&[^b]]", "x"), "abc"),
        "case": (("(?i)A", "x"), "aA"),
        "literal": ((r"\Qa.b\E", "x"), "a.b acb"),
        "code": ((r"\x{1F600}\z", "x"), "😀😀"),
        "empty": (("a", "b"), ""),
    }
    made: dict[str, Callable[[], Any]] = {
        f"replace_{name}": lambda g=given, v=value: text.RegexReplace(*g)(v)
        for name, (given, value) in replacing.items()
    }
    made |= {f"fold_{n}": lambda v=value: text.CaseFold()(v) for n, value in enumerate(folds)}
    made |= {
        f"wiki_{n}": lambda v=value: text.FilterWikipediaXML()(v) for n, value in enumerate(MARKUP)
    }
    made |= {
        f"normal_{form.name}": lambda f=form: text.NormalizeUTF8(f)("ṩ ﬁ é e\u0301 ①Ａ")
        for form in text.NormalizeForm
    }
    return made | {
        "fold_rows": lambda: text.CaseFold()(np.array([["A"], ["Bc"]])),
        "normal_rows": lambda: text.NormalizeUTF8()(["ﬁ", "①"]),
    }


def _pieces(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    words, bert = text.Vocab.from_list(WORDS), text.Vocab.from_list(BERT)
    form = text.NormalizeForm
    return {
        "pieces": lambda: text.WordpieceTokenizer(words)(["my", "favorite", "during", "xyz", ""]),
        "pieces_places": lambda: text.WordpieceTokenizer(words, with_offsets=True)(
            ["北京", "éé", "é京", "favorite", "xyz", "[UNK]"]
        ),
        "pieces_one": lambda: text.WordpieceTokenizer(words, with_offsets=True)("favorite"),
        "pieces_kept": lambda: text.WordpieceTokenizer(words, unknown_token="")(["my", "favorx"]),
        "pieces_other": lambda: text.WordpieceTokenizer(words, "@@", 100, "?")(["my", "favorite"]),
        "pieces_joined": lambda: text.WordpieceTokenizer(words, "")(["myera"]),
        "pieces_long": lambda: text.WordpieceTokenizer(
            words, max_bytes_per_token=5, with_offsets=True
        )(["my", "favorite", "北京"]),
        "pieces_empty": lambda: text.WordpieceTokenizer(words, with_offsets=True)(""),
        "bert": lambda: text.BertTokenizer(bert)("I am making small mistakes 床前明月"),
        "bert_lower": lambda: text.BertTokenizer(bert, lower_case=True)("I AM Making Écu É"),
        "bert_places": lambda: text.BertTokenizer(bert, with_offsets=True)(
            "i am makes xyz 床前+ 12/= 😀 [CLS] é [unused12]"
        ),
        "bert_spaces": lambda: text.BertTokenizer(
            bert, keep_whitespace=True, unknown_token="", with_offsets=True
        )("i  am 床"),
        "bert_split": lambda: text.BertTokenizer(bert, preserve_unused_token=False)("[CLS] i"),
        "bert_normal": lambda: text.BertTokenizer(bert, normalization_form=form.NFKC)("ｉ am ①２"),
        "bert_long": lambda: text.BertTokenizer(bert, max_bytes_per_token=4)("i making"),
        "bert_empty": lambda: text.BertTokenizer(bert, with_offsets=True)(" "),
    }


def _sequences(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    tokens, rows = ["a", "b", "c", "d"], [["a", "b"], ["c", "d"]]
    numbers, others = np.array([1, 2, 3], np.int32), np.array([4.0, 5, 6, 7, 8])
    pairs = {length: text.TruncateSequencePair(length) for length in (0, 1, 3, 4, 5, 6, 7, 9)}
    made: dict[str, Callable[[], Any]] = {
        f"pair_{length}": lambda p=pair: p(numbers, others) for length, pair in pairs.items()
    }
    made |= {
        f"pair_back_{length}": lambda p=pair: p(others, numbers) for length, pair in pairs.items()
    }
    return made | {
        "ngram": lambda: text.Ngram(3, separator="-")(tokens),
        "ngram_several": lambda: text.Ngram([2, 3], ("_", 1), ("+", 2))(tokens),
        "ngram_padded": lambda: text.Ngram(3, ("_", 4), ("x", 4))(["a"]),
        "ngram_short": lambda: text.Ngram([5, 1])(["a", "b"]),
        "window": lambda: text.SlidingWindow(2)(np.array([1, 2, 3, 4])),
        "window_text": lambda: text.SlidingWindow(2, -1)(["a", "bb", "c"]),
        "window_wide": lambda: text.SlidingWindow(5)(np.array([1, 2, 3])),
        "truncate": lambda: text.Truncate(2)(tokens),
        "truncate_less": lambda: text.Truncate(9)(np.array([1, 2])),
        "truncate_rows": lambda: text.Truncate(1)(rows),
        "add_first": lambda: text.AddToken("TOK")(tokens),
        "add_last": lambda: text.AddToken("TOK", begin=False)(tokens),
        "add_rows": lambda: text.AddToken("TOK", False)(rows),
    }


def _numbers(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    kinds = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
    made: dict[str, Callable[[], Any]] = {
        f"number_{kind}": lambda k=kind: text.ToNumber(getattr(ms, k))(["1", "12"])
        for kind in kinds
    }
    return made | {
        "number_whole": lambda: text.ToNumber(ms.int32)(
            ["1.7", " 12", "12abc", "0x12", "+3", "-4"]
        ),
        "number_real": lambda: text.ToNumber(ms.float32)(
            ["1.5", "-2e3", ".5", "5.", " 1e", "1.5abc", "0x10"]
        ),
        "number_large": lambda: text.ToNumber(ms.uint64)("18446744073709551615"),
        "number_rows": lambda: text.ToNumber(ms.int32)([["1"], ["2"]]),
        "to_str": lambda: text.to_str(np.array([b"a", "é".encode()])),
        "to_str_latin": lambda: text.to_str(np.array(b"\xe9"), "latin1"),
        "to_bytes": lambda: text.to_bytes(np.array(["a", "é"])),
        "to_bytes_one": lambda: text.to_bytes(np.array("a"), encoding="ascii"),
    }


def _vectors(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    def vectors(kind: Any, name: str, *most: int) -> Any:
        return kind.from_file(str(folder / name), *most)

    words = ["ok", "!", "HOME", "Home", "zz"]
    plain = vectors(text.Vectors, "vectors.txt")
    return {
        "vectors": lambda: text.ToVectors(plain)(words),
        "vectors_lower": lambda: text.ToVectors(plain, [9, 9.5], True)(words),
        "vectors_one": lambda: text.ToVectors(plain)(["ok"]),
        "vectors_rows": lambda: text.ToVectors(plain)([["ok", "!"], ["a", "b"]]),
        "vectors_most": lambda: text.ToVectors(vectors(text.Vectors, "vectors.txt", 1))(words),
        "vectors_all": lambda: text.ToVectors(vectors(text.Vectors, "words.vec", 0))(words),
        "glove": lambda: text.ToVectors(vectors(text.GloVe, "glove.6B.2d.txt"), None, True)(words),
        "fasttext": lambda: text.ToVectors(vectors(text.FastText, "words.vec", 2))(words),
        "ngram_vectors": lambda: text.ToVectors(vectors(text.CharNGram, "ngrams.txt"), [1, 1])(
            ["ok", "o", "xx", "éé", "éa", "hello", ""]
        ),
        "ngram_vectors_lower": lambda: text.ToVectors(
            vectors(text.CharNGram, "ngrams.txt"), lower_case_backup=True
        )(["OK", "X"]),
    }


def _vocabs(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    file = str(folder / "vocab.txt")
    vocab = text.Vocab.from_list(["w1", "w2", "w3", "<u>"])
    special = ["<p>", "<u>"]
    kinds = "bool_ int8 int64 uint16 uint64 float16 float32 float64".split()
    made: dict[str, Callable[[], Any]] = {
        f"lookup_{kind}": lambda k=kind: text.Lookup(vocab, "<u>", getattr(ms, k))(["zz", "w1"])
        for kind in kinds
    }
    return made | {
        "lookup": lambda: text.Lookup(vocab)([["w2", "w3"]]),
        "lookup_one": lambda: text.Lookup(vocab)("w2"),
        "vocab_list": lambda: text.Vocab.from_list(["w1", "w2"], special).vocab(),
        "vocab_list_last": lambda: text.Vocab.from_list(["w1", "w2"], special, False).vocab(),
        "vocab_empty": lambda: text.Vocab.from_list([]).vocab(),
        "vocab_dict": lambda: text.Vocab.from_dict({"home": 3, "behind": 2}).vocab(),
        "vocab_file": lambda: text.Vocab.from_file(file).vocab(),
        "vocab_file_cut": lambda: text.Vocab.from_file(file, ",;", None, special, False).vocab(),
        "vocab_file_most": lambda: text.Vocab.from_file(file, ",", 2, special).vocab(),
        "ids": lambda: vocab.tokens_to_ids(["w2", "w9"]),
        "id": lambda: vocab.tokens_to_ids("w3"),
        "ids_array": lambda: vocab.tokens_to_ids(np.array(["w2", "w3"])),
        "tokens": lambda: vocab.ids_to_tokens([0, 9]),
        "token": lambda: vocab.ids_to_tokens(1),
        "tokens_array": lambda: vocab.ids_to_tokens(np.array([2, 1])),
    }


def _chinese(text: Any, ms: Any, folder: Path) -> dict[str, Callable[[], Any]]:
    files = (str(folder / "markov.model"), str(folder / "words.dict"))
    made: dict[str, Callable[[], Any]] = {
        f"jieba_{mode.name}": lambda m=mode: text.JiebaTokenizer(*files, m, True)(CHINESE)
        for mode in text.JiebaMode
    }

    def added(mode: Any, *words: Any) -> Any:
        tokenizer = text.JiebaTokenizer(*files, mode)
        tokenizer.add_word(*words)
        return tokenizer(CHINESE)

    def dictionary(words: Any) -> Any:
        tokenizer = text.JiebaTokenizer(*files)
        tokenizer.add_dict(words)
        return tokenizer(CHINESE)

    mode = text.JiebaMode
    return made | {
        "jieba_empty": lambda: text.JiebaTokenizer(*files)(""),
        "jieba_add": lambda: added(mode.MP, "他来到"),
        "jieba_add_often": lambda: added(mode.MIX, "江大", 10**8),
        "jieba_add_seldom": lambda: added(mode.MIX, "欢迎你", 1),
        "jieba_add_latin": lambda: added(mode.MIX, "ll", 9),
        "jieba_add_hmm": lambda: added(mode.HMM, "他来到了", 10**8),
        "jieba_dict": lambda: dictionary({"京欢": 10**8, "到了": 10}),
        "jieba_file": lambda: dictionary(str(folder / "user.dict")),
    }


def written(value: Any) -> Any:
    """A result as JSON can hold it, with types and shapes."""
    if isinstance(value, tuple):
        return [written(part) for part in value]
    if isinstance(value, np.ndarray):
        entries = np.char.decode(value, "latin1") if value.dtype.kind == "S" else value
        return {"type": value.dtype.str, "shape": list(value.shape), "values": entries.tolist()}
    return value


def counted(ds: Any) -> dict[str, dict[str, int]]:
    """Name -> the vocabulary of the rows above."""
    return {
        name: ds.text.Vocab.from_dataset(
            ds.NumpySlicesDataset(ROWS, shuffle=False), **given
        ).vocab()
        for name, given in COUNTED.items()
    }


def learned(ds: Any) -> dict[str, list[str]]:
    """Name -> the pieces of a sentence, learned from a dataset."""
    text = ds.text
    return {
        name: text.SentencePieceTokenizer(
            text.SentencePieceVocab.from_dataset(
                ds.NumpySlicesDataset(sentences(), ["t"], shuffle=False),
                ["t"],
                size,
                0.9995,
                text.SentencePieceModel[name],
                {},
            ),
            text.SPieceTokenizerOutType.STRING,
        )(SENTENCE).tolist()
        for name, size in MODELS.items()
    }
