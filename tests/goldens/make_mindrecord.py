"""Write random datasets with the real MindSpore, and store what its files hold.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_mindrecord.py`.
It writes mindrecord.zip: the checksums of 220 datasets, whole files of a few, a file of version
2.0 that the real one reads, and its answers to queries.
"""

from __future__ import annotations

import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import mindspore.mindrecord as mindrecord
from mindrecord_cases import (
    VERSION_2_ROWS,
    checksum,
    extra_shards,
    make_case,
    make_long_case,
    plain_rows,
    read_rows,
    same,
    write_case,
    write_version_2,
)

SEEDS = range(200)
LONG_SEEDS = range(20)
WHOLE = (1, 2, 5, 7, 8, 13)  # small ones: several shards, rows added, index fields chosen


def queries(file: Path) -> dict[str, str]:
    """What MindPage says about each index field."""
    answers = {}
    for field in mindrecord.MindPage(str(file), 1).candidate_fields:
        page = mindrecord.MindPage(str(file), 1)
        page.category_field = field
        answers[field] = page.read_category_info()
    return answers


def described(case: Any, files: list[Path]) -> dict[str, Any]:
    """The checksums of files, and the choice that the real one draws."""
    return {
        "extra": extra_shards(case, files),
        "files": [checksum(file) for file in files],
    }


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    sums: dict[int, Any] = {}
    answers: dict[str, Any] = {}
    out = zipfile.ZipFile(
        Path(__file__).with_name("mindrecord.zip"), "w", zipfile.ZIP_DEFLATED, compresslevel=9
    )
    for seed in SEEDS:
        case = make_case(seed)
        files = write_case(mindrecord, folder / str(seed), case)
        found = read_rows(mindrecord, files)
        assert all(same(*pair) for pair in zip(plain_rows(case), found, strict=True)), seed
        sums[seed] = described(case, files)
        if seed in WHOLE:
            answers[str(seed)] = queries(files[0])
            for file in sorted(files[0].parent.iterdir()):
                out.write(file, f"{seed}/{file.name}")
    long_sums = {}
    for seed in LONG_SEEDS:
        case = make_long_case(seed)
        files = write_case(mindrecord, folder / f"long{seed}", case)
        long_sums[seed] = described(case, files)
    old = write_version_2(mindrecord, folder / "version2")
    assert all(
        same(*pair) for pair in zip(VERSION_2_ROWS, read_rows(mindrecord, [old]), strict=True)
    )
    answers["version2"] = queries(old)
    for file in (old, Path(f"{old}.db")):
        out.write(file, f"version2/{file.name}")
    out.writestr("checksums.json", json.dumps(sums))
    out.writestr("long_checksums.json", json.dumps(long_sums))
    out.writestr("queries.json", json.dumps(answers))
    out.close()


if __name__ == "__main__":
    main()
