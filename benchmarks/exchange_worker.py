"""One process of exchange_checkpoints.py: trains, saves and loads, and prints losses as JSON lines.

It says `import mindspore`: the peer's Python runs it as it is, ours by `python -m mycelia.compat`.
`exchange_worker.py save FOLDER MODE` or `exchange_worker.py load FOLDER MODE OTHERS_FOLDER`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "goldens" / "exchange"))

from trainings import STEPS, TRAININGS, run, train_network, values

KEY = b"0123456789abcdef"
FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # options to save and to load
    "ckpt": ({}, {}),
    "crc.ckpt": ({"crc_check": True}, {"crc_check": True}),
    "safetensors": ({"format": "safetensors"}, {"format": "safetensors"}),
    "crc.safetensors": (
        {"format": "safetensors", "crc_check": True},
        {"format": "safetensors", "crc_check": True},
    ),
    "aes-gcm.ckpt": ({"enc_key": KEY}, {"dec_key": KEY}),
    "aes-cbc.ckpt": (
        {"enc_key": KEY, "enc_mode": "AES-CBC"},
        {"dec_key": KEY, "dec_mode": "AES-CBC"},
    ),
    "sm4-cbc.ckpt": (
        {"enc_key": KEY, "enc_mode": "SM4-CBC"},
        {"dec_key": KEY, "dec_mode": "SM4-CBC"},
    ),
}


def main() -> None:
    task, folder, mode, *others = sys.argv[1:]
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    for line in sys.stdin:
        name = line.strip()
        found = save(name, Path(folder)) if task == "save" else load(name, Path(*others), folder)
        print(json.dumps(found), flush=True)


def save(name: str, folder: Path) -> dict[str, Any]:
    """Train, save in every form, and go on alone."""
    training = TRAININGS[name]
    cell = train_network(ms, training)
    before = run(ms, cell, training, 0)
    for form, (options, _) in FORMS.items():
        ms.save_checkpoint(cell, str(folder / f"{name}.{form}"), **options)
    after = run(ms, cell, training, STEPS)
    np.savez(folder / f"{name}.npz", **values(cell))
    return {"before": before, "after": after}


def load(name: str, others: Path, folder: str) -> dict[str, Any]:
    """Load every form of what the other framework saved, and go on from the first."""
    training = TRAININGS[name]
    cells = {}
    problems: list[str] = []
    for form, (_, options) in FORMS.items():
        cells[form] = train_network(ms, training)
        path = str(others / f"{name}.{form}")
        problems += [f"{form}: {what}" for what in load_into(cells[form], path, options)]
    first = values(cells["ckpt"])
    for form, cell in cells.items():
        here = values(cell)
        problems += [f"{form}: {n} differs" for n in here if not np.array_equal(here[n], first[n])]
    after = run(ms, cells["ckpt"], training, STEPS)
    np.savez(Path(folder) / f"{name}.continued.npz", **values(cells["ckpt"]))
    return {"after": after, "problems": problems}


def load_into(cell: Any, path: str, options: dict[str, Any]) -> list[str]:
    """Load a file into a cell; gives what is wrong with it."""
    try:
        loaded = ms.load_checkpoint(path, **options)
    except ValueError as error:
        return [f"cannot be read: {str(error).splitlines()[0]}"]
    missing, unused = ms.load_param_into_net(cell, loaded, strict_load=True)
    problems = [f"{one} is not in the file" for one in missing]
    return problems + [f"{one} is not in the network" for one in unused]


if __name__ == "__main__":
    main()
