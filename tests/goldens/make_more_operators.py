"""Run more operator cases on the real MindSpore and store what came out.

Run with a Python that has mindspore 2.10, from the root: `python -m tests.goldens.make_more_operators`. Writes
more_operators.npz beside this file: for case N the outputs `N.out.K`, the gradients `N.grad.K` and, where
MindSpore refuses, `N.refused`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import ops

from .more_operator_cases import CASES, DTYPE_NAMES, draw
from .operator_cases import Drawn


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for number in range(len(CASES)):
        run(number, found)
    refused = [CASES[n][0] for n in range(len(CASES)) if f"{n}.refused" in found]
    print(f"{len(CASES)} cases; refused: {len(refused)}: {' '.join(refused)}")
    np.savez_compressed(Path(__file__).with_name("more_operators.npz"), **found)


def run(number: int, found: dict[str, np.ndarray]) -> None:
    target, fields, specs = CASES[number]
    random = np.random.RandomState(number)
    arguments = [draw(s, random) for s in specs]
    keywords = {k: given(draw(v, random)) for k, v in fields.items()}
    tensors = [given(a) for a in arguments]
    try:
        result = call(target, keywords, tensors)
        stored = [as_array(out) for out in flat(result)]
    except Exception as error:
        found[f"{number}.refused"] = np.array(type(error).__name__)
        return
    for place, out in enumerate(stored):
        found[f"{number}.out.{place}"] = out
    differentiate(number, target, keywords, arguments, flat(result), found)


def call(target: str, keywords: dict[str, Any], tensors: list[Any]) -> Any:
    owner, name = target.split(".")
    if owner == "Tensor":
        method = getattr(tensors[0], name)
        return method(*tensors[1:], **keywords) if callable(method) else method
    entry = getattr(ops, name, None) or getattr(ops.operations, name)
    return entry(**keywords)(*tensors) if name[0].isupper() else entry(*tensors, **keywords)


def differentiate(number, target, keywords, arguments, outputs, found) -> None:
    chosen = [
        n
        for n, a in enumerate(arguments)
        if isinstance(a, Drawn) and a.array.dtype.kind == "f" and a.array.ndim
    ]
    first = outputs[0]
    if not chosen or not isinstance(first, ms.Tensor) or first.asnumpy().dtype.kind != "f":
        return
    fixed = [given(a) for a in arguments]
    seed = np.random.RandomState(number + 1000).standard_normal(first.shape)
    sens = ms.Tensor(np.asarray(seed).astype(first.asnumpy().dtype))

    def forward(*inputs: Any) -> Any:
        full = list(fixed)
        for place, value in zip(chosen, inputs, strict=True):
            full[place] = value
        return flat(call(target, keywords, full))[0]

    try:
        gradient = ops.GradOperation(get_all=True, sens_param=True)(forward)
        grads = gradient(*(fixed[n] for n in chosen), sens)
        for place, grad in zip(chosen, grads, strict=True):
            found[f"{number}.grad.{place}"] = grad.asnumpy()
    except Exception as error:
        found[f"{number}.nograd"] = np.array(type(error).__name__)


def flat(result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [leaf for item in result for leaf in flat(item)]
    return [result]


def as_array(value: Any) -> np.ndarray:
    if isinstance(value, ms.Tensor):
        return value.asnumpy()
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    return np.array(str(value) if isinstance(value, type(ms.float32)) else value)


def given(argument: Any) -> Any:
    if isinstance(argument, Drawn):
        return ms.Tensor(argument.array)
    if isinstance(argument, tuple) and any(isinstance(a, Drawn) for a in argument):
        return tuple(given(a) for a in argument)
    if isinstance(argument, str) and argument in DTYPE_NAMES:
        return getattr(ms, argument)
    return argument


if __name__ == "__main__":
    ms.set_context(mode=ms.PYNATIVE_MODE)
    main()
