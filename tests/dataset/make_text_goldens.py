"""Stores what MindSpore's text transforms give, in goldens_text.json.

Run with a Python that has mindspore 2.10: `python tests/dataset/make_text_goldens.py`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import mindspore as ms
import mindspore.dataset as ds
from text_cases import cases, counted, learned, write_files, written

FILE = Path(__file__).with_name("goldens_text.json")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        made = {name: written(call()) for name, call in cases(ds.text, ms, Path(folder)).items()}
    made |= {"counted": counted(ds), "learned": learned(ds)}
    FILE.write_text(json.dumps(made, ensure_ascii=False, indent=0, sort_keys=True) + "\n")
    print(f"{len(made)} results in {FILE}")


if __name__ == "__main__":
    main()
