"""Encrypted files in MindSpore's block format: magic, sizes, initialization vector, ciphertext."""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from mycelia._engine.core.errors import problem, wrong_value

BLOCK = 64 * 1024 * 1024  # bytes that are encrypted as one block
_VECTOR = _TAG = 16
_NONCE = 12  # bytes of the vector that GCM uses
_PACKAGE = "cryptography.hazmat.primitives"
MODES = ("AES-GCM", "AES-CBC", "SM4-CBC")
_MAGIC = dict(zip(MODES, (0x7F3A5ED8, 0x7F3A5ED9, 0x7F3A5EDA), strict=True))


class _CryptographyModules(NamedTuple):
    """The modules of the cryptography package that are needed."""

    ciphers: Any
    algorithms: Any
    modes: Any
    padding: Any
    invalid_tag: type[Exception]


def encrypt(data: bytes, key: bytes, mode: str, owner: str = "save_checkpoint") -> bytes:
    """Encrypt `data`; `owner` is the calling function, for error messages."""
    tools = _tools(key, mode, owner)
    blocks = [data[start : start + BLOCK] for start in range(0, max(len(data), 1), BLOCK)]
    return b"".join(_sealed(tools, block, key, mode) for block in blocks)


def decrypt(data: memoryview, key: bytes, mode: str, owner: str = "load_checkpoint") -> bytes:
    """Decrypt `data`. Raises ValueError for damaged data, a wrong key, or a wrong mode."""
    tools = _tools(key, mode, owner)
    return b"".join(_blocks(tools, data, key, mode))


def _sealed(tools: _CryptographyModules, block: bytes, key: bytes, mode: str) -> bytes:
    vector = os.urandom(_VECTOR)
    if mode == "AES-GCM":
        encryptor = _cipher(tools, key, mode, vector).encryptor()
        content = encryptor.update(block) + encryptor.finalize()
        tag = encryptor.tag
    else:
        padder = tools.padding.PKCS7(128).padder()
        encryptor = _cipher(tools, key, mode, vector).encryptor()
        padded = padder.update(block) + padder.finalize()
        content, tag = encryptor.update(padded) + encryptor.finalize(), b""
    sizes = struct.pack("<ii", 8 + _VECTOR + len(content), _VECTOR)
    start = struct.pack("<i", _MAGIC[mode]) + tag + sizes + vector
    result: bytes = start + struct.pack("<i", len(content)) + content
    return result


def _blocks(
    tools: _CryptographyModules, data: memoryview, key: bytes, mode: str
) -> Iterator[bytes]:
    take = _taker(data)
    while True:
        magic = take(4, may_end=True)
        if not magic:
            return
        if struct.unpack("<i", magic)[0] != _MAGIC[mode]:
            raise ValueError(f"the data is not encrypted with {mode}")
        tag = take(_TAG) if mode == "AES-GCM" else b""
        _, vector_size = struct.unpack("<ii", take(8))
        vector = take(vector_size)
        content = take(struct.unpack("<i", take(4))[0])
        yield _opened(tools, content, key, mode, vector, tag)


def _opened(
    tools: _CryptographyModules, content: bytes, key: bytes, mode: str, vector: bytes, tag: bytes
) -> bytes:
    decryptor = _cipher(tools, key, mode, vector, tag).decryptor()
    try:
        plain: bytes = decryptor.update(content) + decryptor.finalize()
    except tools.invalid_tag:
        raise ValueError("wrong key, or the file was changed") from None
    if mode == "AES-GCM":
        return plain
    unpadder = tools.padding.PKCS7(128).unpadder()
    result: bytes = unpadder.update(plain) + unpadder.finalize()
    return result


def _cipher(
    tools: _CryptographyModules, key: bytes, mode: str, vector: bytes, tag: bytes = b""
) -> Any:
    algorithm = tools.algorithms.SM4 if mode == "SM4-CBC" else tools.algorithms.AES
    if mode == "AES-GCM":
        nonce = vector[:_NONCE]
        return tools.ciphers.Cipher(algorithm(key), tools.modes.GCM(nonce, tag or None))
    return tools.ciphers.Cipher(algorithm(key), tools.modes.CBC(vector))


def _taker(data: memoryview) -> Callable[..., bytes]:
    """A function that returns the next bytes."""
    position = 0

    def take(count: int, may_end: bool = False) -> bytes:
        nonlocal position
        piece = bytes(data[position : position + count]) if count >= 0 else b""
        if len(piece) != count and not (may_end and not piece):
            raise ValueError("the data ends in the middle of a block")
        position += count
        return piece

    return take


def _tools(key: bytes, mode: str, owner: str) -> _CryptographyModules:
    if mode not in MODES:
        raise wrong_value(owner, "enc_mode", mode, " or ".join(MODES))
    sizes = (16,) if mode == "SM4-CBC" else (16, 24, 32)
    if not isinstance(key, bytes) or len(key) not in sizes:
        wanted = f"bytes of length {', '.join(map(str, sizes))}"
        raise wrong_value(owner, "enc_key", type(key).__name__, wanted)
    try:
        padding = import_module(f"{_PACKAGE}.padding")
    except ImportError:
        raise problem(
            RuntimeError,
            f"{owner}: encryption needs the package cryptography",
            fix="pip install 'mycelia[encryption]'",
        ) from None
    ciphers = import_module(f"{_PACKAGE}.ciphers")
    exceptions = import_module("cryptography.exceptions")
    return _CryptographyModules(
        ciphers, ciphers.algorithms, ciphers.modes, padding, exceptions.InvalidTag
    )
