"""File encryption: settings, encryption of finished files, decryption in memory."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from mycelia._engine.core.errors import problem
from mycelia._engine.core.files import encryption

Cipher = Callable[[BinaryIO, int, BinaryIO, str], Any]

_GCM = "AES-GCM"
_USER_FUNCTION = "UDF-ENC"  # marks files that a user's function encrypted
_MARK = b"ENCRYPT"
_NAME_SIZE = 7
_LAST = bytes(4)  # the length of the end marker
_FOOT_SIZE = len(_LAST) + _NAME_SIZE + len(_MARK)
_OWNER = "mindrecord"
_KEY_SIZES = (16, 24, 32)


@dataclass(frozen=True)
class _EncryptionSettings:
    """The current encryption settings."""

    key: str | None = None
    encrypt: str | Cipher = _GCM
    decrypt: str | Cipher | None = None


_settings = _EncryptionSettings()


def set_enc_key(enc_key: str | None) -> None:
    """Set the key for encrypting new files and reading encrypted ones; None for plain files."""
    global _settings
    if enc_key is not None and not isinstance(enc_key, str):
        raise problem(
            ValueError, "set_enc_key: the key must be a string", got=type(enc_key).__name__
        )
    if enc_key is not None and len(enc_key.encode()) not in _KEY_SIZES:
        raise problem(
            ValueError,
            "set_enc_key: wrong key length",
            got=str(len(enc_key.encode())),
            expected=", ".join(map(str, _KEY_SIZES)),
        )
    _settings = replace(_settings, key=enc_key)


def set_enc_mode(enc_mode: str | Cipher = "AES-GCM") -> None:
    """Set the cipher: AES-GCM, or a function of (file, its size, output file, key)."""
    global _settings
    _settings = replace(_settings, encrypt=_checked("set_enc_mode", enc_mode))


def set_dec_mode(dec_mode: str | Cipher | None = "AES-GCM") -> None:
    """Set the decryption: as for `set_enc_mode`; None uses the mode of encryption."""
    global _settings
    mode = None if dec_mode is None else _checked("set_dec_mode", dec_mode)
    _settings = replace(_settings, decrypt=mode)


def _checked(owner: str, mode: Any) -> str | Cipher:
    if mode != _GCM and not callable(mode):
        raise problem(
            ValueError,
            f"{owner}: unknown mode",
            got=repr(mode),
            expected=f"{_GCM!r}, or a function",
        )
    return mode


def seals() -> bool:
    """Whether new files are encrypted."""
    return _settings.key is not None


def seal(path: Path) -> None:
    """Replace a file by its encrypted form."""
    key, mode = _settings.key, _settings.encrypt
    assert key is not None, "files are sealed only with a key"
    sealed = path.with_name(f"{path.name}.sealed")
    try:
        with path.open("rb") as source, sealed.open("xb") as target:
            if callable(mode):
                mode(source, path.stat().st_size, target, key)
            else:
                while plain := source.read(encryption.BLOCK):
                    block = encryption.encrypt(plain, key.encode(), mode, _OWNER)
                    target.write(len(block).to_bytes(4, "big") + block)
            name = _USER_FUNCTION if callable(mode) else mode
            target.write(_LAST + name.encode() + _MARK)
            target.flush()
            os.fsync(target.fileno())
        os.replace(sealed, path)
    finally:
        sealed.unlink(missing_ok=True)


def opened(path: str, file: BinaryIO) -> bytes | None:
    """The decrypted bytes of a file; None for a plain file if no key is set."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _FOOT_SIZE, 0))
    foot = file.read(_FOOT_SIZE)
    file.seek(0)
    if len(foot) < _FOOT_SIZE or not foot.endswith(_MARK):
        if seals():
            raise problem(
                RuntimeError,
                f"{path} is not encrypted, but a key is set",
                fix="call set_enc_key(None) to read plain files",
            )
        return None
    if not seals():
        raise problem(
            RuntimeError, f"{path} is encrypted", fix="call set_enc_key, and set_dec_mode if needed"
        )
    return _unsealed(path, file, size, foot[len(_LAST) :][:_NAME_SIZE].decode(errors="replace"))


def _unsealed(path: str, file: BinaryIO, size: int, name: str) -> bytes:
    key, mode = _settings.key, _settings.decrypt or _settings.encrypt
    assert key is not None, "files are opened only with a key"
    if callable(mode) != (name == _USER_FUNCTION):
        own = "a user function" if name == _USER_FUNCTION else name
        raise problem(
            RuntimeError,
            f"{path} was encrypted in another mode",
            got=f"{own} in the file",
            fix="call set_dec_mode with the mode of the file",
        )
    if callable(mode):
        plain = io.BytesIO()
        mode(file, size - len(_MARK), plain, key)
        return plain.getvalue()
    try:
        return b"".join(_plain_blocks(memoryview(file.read(size - _FOOT_SIZE)), key.encode()))
    except (ValueError, struct.error) as broken:
        raise problem(
            RuntimeError,
            f"{path} cannot be decrypted: {broken}",
            fix="check the key, and that the file is complete",
        ) from broken


def _plain_blocks(data: memoryview, key: bytes) -> Iterator[bytes]:
    index = 0
    while index < len(data):
        length = int.from_bytes(data[index : index + 4], "big")
        block = data[index + 4 : index + 4 + length]
        if len(block) != length:
            raise ValueError(f"the block at byte {index} is invalid")
        yield encryption.decrypt(block, key, _GCM, _OWNER)
        index += 4 + length
