"""Stores a small file that MindSpore encrypted.

Run with a Python that has mindspore 2.10 and cryptography:
`python tests/mindrecord/make_encrypted_goldens.py`. It writes encrypted.zip.
"""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import mindspore.mindrecord as mindrecord

KEY = "0123456789abcdef"
FILE = Path(__file__).with_name("encrypted.zip")

if __name__ == "__main__":
    mindrecord.set_enc_key(KEY)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "real.mr"
        writer = mindrecord.FileWriter(str(path))
        writer.set_header_size(1 << 14)
        writer.set_page_size(1 << 15)
        writer.add_schema({"label": {"type": "int32"}, "name": {"type": "string"}})
        writer.write_raw_data([{"label": i, "name": f"n{i}"} for i in range(5)])
        writer.commit()
        with zipfile.ZipFile(FILE, "w") as target:
            for file in (path, Path(f"{path}.db")):
                target.write(file, file.name)
