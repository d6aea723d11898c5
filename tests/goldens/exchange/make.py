"""Write checkpoints of small trainings with the real MindSpore, and what came after them.

Run with a Python that has mindspore 2.10: `python tests/goldens/exchange/make.py`. Writes a file of
each form, `losses.json` with the losses of the steps after the checkpoint and some numbers at their
end, and `names.json` with the parameters of large networks.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mindspore as ms
from trainings import (
    GOLDEN_FORMS,
    NAMED_TRAININGS,
    SMALL_TRAININGS,
    STEPS,
    described,
    file_name,
    run,
    sums,
    train_network,
)

HERE = Path(__file__).parent


def main() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found = {name: trained(name) for name in SMALL_TRAININGS}
    write("losses.json", found)
    named = {n: described(train_network(ms, t)) for n, t in NAMED_TRAININGS.items()}
    write("names.json", named)


def trained(name: str) -> dict[str, Any]:
    training = SMALL_TRAININGS[name]
    cell = train_network(ms, training)
    before = run(ms, cell, training, 0)
    path = HERE / file_name(name)
    path.unlink(missing_ok=True)
    ms.save_checkpoint(cell, str(path), **GOLDEN_FORMS[name][0])
    path.chmod(0o644)
    return {"before": before, "after": run(ms, cell, training, STEPS), "sums": sums(cell)}


def write(name: str, content: dict[str, Any]) -> None:
    rows = [f"  {json.dumps(key)}: {json.dumps(value)}" for key, value in content.items()]
    (HERE / name).write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
