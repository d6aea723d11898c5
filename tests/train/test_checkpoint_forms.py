"""Checkpoints with checksums, encrypted, and as safetensors: bytes of the real MindSpore included."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mycelia as ms
from mycelia import Tensor
from mycelia._engine.core.files.encryption import MODES, decrypt, encrypt
from mycelia.train import safetensors_format

KEY = b"0123456789abcdef"
# {"a": [0, 1, 2] in float32}, written by MindSpore 2.10 with KEY.
THEIRS = {
    "AES-GCM": "d85e3a7fa012f4d5639a57360176ba606f2dd3a938000000100000007be56715e068939ddd4d82a9dea8a744"
    "200000007a42fdf965e4775f2b1239f0abb4b4b3e0949d573a6c41ef2e1abf9273330fd4",
    "AES-CBC": "d95e3a7f4800000010000000a6df882195571fa656b0567ff2a8e52a300000003f84ea814deaeee92fe26290"
    "30db43c1ce7ed272517fa18972d79822e99f5dd2ec6803416393d19d131e4553d7f2d117",
    "SM4-CBC": "da5e3a7f48000000100000004dca7b81feece5d74fa8d0ab9195bdc930000000aa0d25f5822fe27087b71360"
    "d7ef4afc52fc179401bfb10058306b8b87196c152e6de2606816d910e1d58e3f9dd0535f",
}
SAVED = {"a": Tensor(np.arange(6).reshape(2, 3), ms.float32), "b.c": Tensor(np.ones(2), ms.int32)}


@pytest.mark.parametrize("mode", MODES)
def test_encrypted_by_the_real_one(tmp_path, mode):
    path = tmp_path / "theirs.ckpt"
    path.write_bytes(bytes.fromhex(THEIRS[mode]))
    found = ms.load_checkpoint(str(path), dec_key=KEY, dec_mode=mode)
    assert found["a"].asnumpy().tolist() == [0, 1, 2]


def test_encrypted_bytes_that_look_like_fields_are_seen_through(tmp_path):
    (tmp_path / "net.ckpt").write_bytes(b"\x28\x07\x72\x01\x00")  # of a message, but of no tensor
    with pytest.raises(ValueError, match="dec_key"):
        ms.load_checkpoint(str(tmp_path / "net.ckpt"))


@pytest.mark.parametrize("mode", MODES)
def test_encrypted_and_back(tmp_path, mode):
    path = str(tmp_path / "net.ckpt")
    ms.save_checkpoint(SAVED, path, enc_key=KEY, enc_mode=mode, crc_check=True)
    assert b"Float32" not in (tmp_path / "net.ckpt").read_bytes()
    found = ms.load_checkpoint(path, dec_key=KEY, dec_mode=mode, crc_check=True)
    assert found["a"].asnumpy().tolist() == SAVED["a"].asnumpy().tolist()
    with pytest.raises(ValueError, match="dec_key"):
        ms.load_checkpoint(path)
    with pytest.raises(ValueError, match="damaged"):
        ms.load_checkpoint(path, dec_key=b"another key here", dec_mode=mode)


@given(st.binary(max_size=200), st.sampled_from(MODES), st.data())
@settings(max_examples=60, deadline=None)
def test_any_bytes_come_back_and_cut_ones_are_refused(content, mode, data):
    sealed = encrypt(content, KEY, mode)
    assert decrypt(memoryview(sealed), KEY, mode) == content
    cut = data.draw(st.integers(1, len(sealed) - 1))
    with pytest.raises(ValueError):
        decrypt(memoryview(sealed[:cut]), KEY, mode)


def test_keys_and_modes_are_checked(tmp_path):
    path = str(tmp_path / "net.ckpt")
    with pytest.raises(ValueError, match="enc_key"):
        ms.save_checkpoint(SAVED, path, enc_key=b"short")
    with pytest.raises(ValueError, match="enc_mode"):
        ms.save_checkpoint(SAVED, path, enc_key=KEY, enc_mode="ROT13")
    assert not (tmp_path / "net.ckpt").exists()


def test_checksum_is_the_real_ones(tmp_path):
    path = tmp_path / "net.ckpt"
    ms.save_checkpoint(SAVED, str(path), crc_check=True)
    data = path.read_bytes()
    assert data[-17:] == b"crc_num" + (3293574084).to_bytes(10, "big")
    assert ms.load_checkpoint(str(path), crc_check=True)["b.c"].asnumpy().tolist() == [1, 1]
    path.write_bytes(data[:30] + bytes([data[30] ^ 1]) + data[31:])
    with pytest.raises(ValueError, match="checksum"):
        ms.load_checkpoint(str(path), crc_check=True)


def test_safetensors_are_the_real_ones(tmp_path):
    path = tmp_path / "net.safetensors"
    ms.save_checkpoint(SAVED, str(path), format="safetensors", crc_check=True)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    own = header["__metadata__"].pop("mycelia.head")  # MindSpore's checksum leaves the head out
    assert size == 0xA8 + 8 * -(-len(f',"mycelia.head":"{own}"') // 8)
    assert header["__metadata__"] == {"crc_num": "73531516", "format": "ms"}
    assert header["b.c"] == {"dtype": "I32", "shape": [2], "data_offsets": [24, 32]}
    found = ms.load_checkpoint(str(path), format="safetensors", crc_check=True)
    assert found["a"].asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="format"):
        ms.load_checkpoint(str(path))


@pytest.mark.parametrize("change", [(b"F32", b"I32"), (b"[2,3]", b"[3,2]"), (b"I32", b"U32")])
def test_another_dtype_or_shape_is_found_by_the_checksum(tmp_path, change):
    path = tmp_path / "net.safetensors"
    ms.save_checkpoint(SAVED, str(path), format="safetensors", crc_check=True)
    path.write_bytes(path.read_bytes().replace(*change))
    with pytest.raises(ValueError, match="checksum"):
        ms.load_checkpoint(str(path), format="safetensors", crc_check=True)


def test_the_checksum_of_safetensors_is_that_of_sorted_names(tmp_path):
    path = tmp_path / "net.safetensors"
    kinds = {"b": (3, np.float32), "a": (4, np.int64), "c": (5, np.int8), "aa": (5, np.float32)}
    named = {name: Tensor(np.arange(size, dtype=kind)) for name, (size, kind) in kinds.items()}
    ms.save_checkpoint(named, str(path), format="safetensors", crc_check=True)
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header["__metadata__"]["crc_num"] == "2745274353"  # written by MindSpore 2.10


@given(st.binary(max_size=300))
@settings(deadline=None)
def test_other_bytes_are_no_safetensors(content):
    with pytest.raises((ValueError, TypeError)):
        safetensors_format.decode(memoryview(content), check=True)


def test_damaged_safetensors(tmp_path):
    path = tmp_path / "net.safetensors"
    ms.save_checkpoint(SAVED, str(path), format="safetensors", crc_check=True)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="checksum"):
        ms.load_checkpoint(str(path), format="safetensors", crc_check=True)
    path.write_bytes(data[:-10])
    with pytest.raises(ValueError, match="damaged"):
        ms.load_checkpoint(str(path), format="safetensors")


def test_formats_are_checked(tmp_path):
    with pytest.raises(ValueError, match="format"):
        ms.save_checkpoint(SAVED, str(tmp_path / "x"), format="pickle")
    with pytest.raises(ValueError, match="encrypted"):
        ms.save_checkpoint(SAVED, str(tmp_path / "x"), format="safetensors", enc_key=KEY)
