"""Stores what MindSpore reads from small folders in the layouts of known sets of images.

Run with a Python that has mindspore 2.10 and scipy:
`PYTHONPATH=. python tests/dataset/make_image_source_goldens.py`. It writes goldens_image_sources.json.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import mindspore.dataset as ds

from tests.dataset.image_set_writing import told
from tests.dataset.image_source_cases import cases
from tests.dataset.written_image_sets import WRITERS

FILE = Path(__file__).with_name("goldens_image_sources.json")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, write in WRITERS.items():
            write(folder / kind)
        made = {case: told(make()) for case, make in cases(ds, folder).items()}
    fakes = ds.FakeImageDataset(3, (4, 4, 3), 10, 3, shuffle=False)
    made["fake"] = [
        [image.reshape(-1).view("float64").tolist(), int(label)]
        for image, label in fakes.create_tuple_iterator(num_epochs=1, output_numpy=True)
    ]
    lines = (f"{json.dumps(case)}: {json.dumps(rows)}" for case, rows in made.items())
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(made)} cases in {FILE}")


if __name__ == "__main__":
    main()
