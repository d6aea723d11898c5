"""Write goldens_text_sources.json: what MindSpore reads from the sets of text and speech.

Run it with a Python that has MindSpore, from the folder of the repository:
`PYTHONPATH=. python tests/dataset/make_text_source_goldens.py`.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import mindspore.dataset as ds

from tests.dataset.text_source_cases import arguments, cases
from tests.dataset.written_speech_sets import write_speech_sets
from tests.dataset.written_text_sets import write_text_sets


def read(dataset: Any) -> dict[str, Any]:
    """The columns of a dataset, their types, and its rows."""
    iterator = dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
    rows = [
        [[value.dtype.kind + str(value.ndim), value.tolist()] for value in row] for row in iterator
    ]
    types = [str(kind) for kind in dataset.output_types()]
    return {"columns": dataset.get_col_names(), "types": types, "rows": rows}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        write_text_sets(Path(folder))
        write_speech_sets(Path(folder))
        made = {name: make(ds, folder) for name, make in cases().items()}
        goldens = {name: read(dataset) for name, dataset in made.items()}
    kinds = {type(dataset) for dataset in made.values()}
    goldens["arguments"] = {k.__name__: arguments(k) for k in sorted(kinds, key=str)}
    text = json.dumps(goldens, ensure_ascii=False, indent=None, separators=(",", ":"))
    Path(__file__).with_name("goldens_text_sources.json").write_text(text.replace("},", "},\n"))
