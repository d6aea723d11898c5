"""Enums of text transforms: normal forms, Chinese segmentation, SentencePiece."""

from __future__ import annotations

from enum import IntEnum


class NormalizeForm(IntEnum):
    """Unicode normal forms."""

    NONE = 0
    NFC = 1
    NFKC = 2
    NFD = 3
    NFKD = 4


class JiebaMode(IntEnum):
    """Chinese segmentation: by a dictionary (MP), a hidden Markov model (HMM), or both (MIX)."""

    MIX = 0
    MP = 1
    HMM = 2


class SentencePieceModel(IntEnum):
    """The training algorithm of a SentencePiece model."""

    UNIGRAM = 0
    BPE = 1
    CHAR = 2
    WORD = 3


class SPieceTokenizerOutType(IntEnum):
    """Whether SentencePiece tokens are strings or ids."""

    STRING = 0
    INT = 1


class SPieceTokenizerLoadType(IntEnum):
    """Whether a SentencePiece model comes from a file or from memory."""

    FILE = 0
    MODEL = 1
