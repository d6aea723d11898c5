"""The choices of text transforms: normal forms, ways to cut Chinese, sentence pieces."""

from __future__ import annotations

from enum import IntEnum


class NormalizeForm(IntEnum):
    """The normal forms of Unicode text."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


class JiebaMode(IntEnum):
    """How Chinese is cut: by a dictionary (MP), by a hidden Markov model, or by both (MIX)."""

    MIX = 0
    MP = 1
    HMM = 2


class SentencePieceModel(IntEnum):
    """How sentence pieces are learned."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerOutType(IntEnum):
    """Whether sentence pieces come as strings or as their ids."""

    STRING = 0
    INT = 1


class SPieceTokenizerLoadType(IntEnum):
    """Whether a sentence piece model comes from a file or from memory."""

    FILE = 0
    MODEL = 1
