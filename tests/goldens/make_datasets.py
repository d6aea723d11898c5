"""Run the pipelines of dataset_cases.py with the real MindSpore, and store what they give.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_datasets.py`. It writes
datasets.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import mindspore.dataset as ds

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.goldens import dataset_cases as cases


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    cases.write_files(folder)
    made = {name: cases.told(case, ds, folder) for name, case in cases.all_cases().items()}
    lines = (f"{json.dumps(name)}: {json.dumps(found)}" for name, found in made.items())
    Path(__file__).with_name("datasets.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
