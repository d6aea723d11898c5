"""Run the operator cases on the real MindSpore and store what came out.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_operators.py`. Writes operators.npz beside
this file: for case N the outputs `N.out.K`, the gradients `N.grad.K` and, where MindSpore refuses, `N.refused`.
"""

from __future__ import annotations

from pathlib import Path

import mindspore as ms
import numpy as np
from mindspore import ops
from mindspore.ops import operations as P
from operator_cases import CASES, DTYPE_NAMES, Drawn, draw


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for number, case in enumerate(CASES):
        run(number, case, found)
    refused = [CASES[n][0] for n in range(len(CASES)) if f"{n}.refused" in found]
    done = {CASES[n][0] for n in range(len(CASES)) if f"{n}.out.0" in found}
    print(f"{len(CASES)} cases, {len(done)} operators with results; refused: {refused}")
    np.savez_compressed(Path(__file__).with_name("operators.npz"), **found)


def run(number, case, found):
    name, fields, specs = case
    random = np.random.RandomState(number)
    arguments = [draw(s, random) for s in specs]
    tensors = [given(a) for a in arguments]
    try:
        operator = (
            ops.stop_gradient
            if name == "StopGradient"
            else (getattr(ops, name, None) or getattr(P, name))(**fields)
        )
        result = operator(*tensors)
    except Exception as error:
        found[f"{number}.refused"] = np.array(f"{type(error).__name__}")
        return
    outputs = result if isinstance(result, (tuple, list)) else (result,)
    for place, out in enumerate(outputs):
        found[f"{number}.out.{place}"] = out.asnumpy()
    for place, (drawn, tensor) in enumerate(zip(arguments, tensors)):
        if isinstance(drawn, Drawn) and drawn.parameter:
            found[f"{number}.param.{place}"] = tensor.asnumpy()
    differentiate(number, operator, arguments, outputs, found)


def differentiate(number, operator, arguments, outputs, found):
    chosen = [
        n
        for n, a in enumerate(arguments)
        if isinstance(a, Drawn) and a.array.dtype.kind == "f" and not a.parameter
    ]
    if not chosen or outputs[0].asnumpy().dtype.kind != "f":
        return
    fixed = [given(a) for a in arguments]
    seed = np.random.RandomState(number + 1000).standard_normal(outputs[0].shape)
    sens = ms.Tensor(seed.astype(outputs[0].asnumpy().dtype))

    def forward(*inputs):
        full = list(fixed)
        for place, value in zip(chosen, inputs):
            full[place] = value
        result = operator(*full)
        return result[0] if isinstance(result, (tuple, list)) else result

    try:
        gradient = ops.GradOperation(get_all=True, sens_param=True)(forward)
        grads = gradient(*(fixed[n] for n in chosen), sens)
        for place, grad in zip(chosen, grads):
            found[f"{number}.grad.{place}"] = grad.asnumpy()
    except Exception as error:
        found[f"{number}.nograd"] = np.array(f"{type(error).__name__}")


def given(argument):
    if isinstance(argument, Drawn):
        tensor = ms.Tensor(argument.array)
        return ms.Parameter(tensor, name="p") if argument.parameter else tensor
    if isinstance(argument, tuple) and any(isinstance(a, Drawn) for a in argument):
        return tuple(given(a) for a in argument)
    if isinstance(argument, str) and argument in DTYPE_NAMES:
        return getattr(ms, argument)
    return argument


if __name__ == "__main__":
    ms.set_context(mode=ms.PYNATIVE_MODE)
    main()
