"""Run the cases of gradients on MindSpore and store what came out in gradients.json.

Run from the top of the repository with a Python that has MindSpore 2.10:
`python -m tests.goldens.make_gradients`. Under `KIND|FUNCTION|DTYPES` stands a pair of dtype and
numbers for each gradient. What MindSpore refuses is left out. Each function runs in a process of its
own, because some errors leave MindSpore unusable.
"""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np

from tests.goldens.gradient_cases import (
    BINARY,
    DTYPES,
    LINE,
    ON_TABLES,
    OTHER,
    PAIRS,
    TABLE,
    TWICE,
    UNARY,
    Fn,
)

Found = dict[str, list[tuple[str, Any]]]


def main() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    found: Found = {}
    for name, fn in UNARY.items():
        found |= apart(lambda fn=fn, name=name: unary("line", name, fn, LINE))
    for name, fn in ON_TABLES.items():
        found |= apart(lambda fn=fn, name=name: unary("table", name, fn, TABLE))
    for name in TWICE:
        found |= apart(lambda name=name: twice(name))
    for name, fn in BINARY.items():
        found |= apart(lambda fn=fn, name=name: binary(name, fn))
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in sorted(found.items())]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    Path(__file__).with_name("gradients.json").write_text(text, encoding="utf-8")
    print(f"{len(found)} gradients")


def apart(run: Callable[[], Found]) -> Found:
    """What `run` gives in a process of its own; nothing if that dies."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "wb") as out:
            pickle.dump(run(), out)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    return pickle.loads(data) if data else {}


def unary(kind: str, name: str, fn: Fn, numbers: Any) -> Found:
    found: Found = {}
    for dtype in DTYPES:
        gradient = ms.grad(lambda x: fn(ms, x))
        found |= stored(f"{kind}|{name}|{dtype}", gradient, tensor(numbers, dtype))
    return found


def twice(name: str) -> Found:
    found: Found = {}
    for dtype in DTYPES:
        gradient = ms.grad(ms.grad(lambda x: UNARY[name](ms, x)))
        found |= stored(f"twice|{name}|{dtype}", gradient, tensor(LINE, dtype))
    return found


def binary(name: str, fn: Fn) -> Found:
    found: Found = {}
    for first, second in PAIRS:
        gradient = ms.grad(lambda x, y: fn(ms, x, y), (0, 1))
        inputs = tensor(LINE, first), tensor(OTHER, second)
        found |= stored(f"pair|{name}|{first},{second}", gradient, *inputs)
    return found


def stored(key: str, gradient: Any, *inputs: Any) -> Found:
    try:
        result = gradient(*inputs)
        parts = result if isinstance(result, tuple) else (result,)
        return {key: [(str(part.dtype), part.asnumpy().tolist()) for part in parts]}
    except Exception as error:
        print(f"{key}: {type(error).__name__}")
        return {}


def tensor(numbers: Any, dtype: str) -> Any:
    return ms.Tensor(np.array(numbers), getattr(ms, dtype))


if __name__ == "__main__":
    main()
