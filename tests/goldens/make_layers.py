"""Write layers.npz: what MindSpore's layers give for the cases in layer_cases.py."""

from __future__ import annotations

import pathlib
import sys

import mindspore
import numpy as np
from layer_cases import CASES, inputs_of, parameters_of, printed, weights_of
from mindspore import Tensor, nn, ops


def results_of(name: str) -> dict[str, np.ndarray]:
    """The printed form, the outputs, the gradients and the statistics of one case."""
    case = CASES[name]
    mode = mindspore.GRAPH_MODE if case.whole_graph else mindspore.PYNATIVE_MODE
    mindspore.set_context(mode=mode)
    layer = case.make(nn)
    layer.set_train(case.train)
    found = {"repr": np.array(printed(layer))}
    parameters = [p for p in layer.get_parameters() if "SSIM" not in type(layer).__name__]
    found["names"] = np.array([p.name for p in layer.get_parameters()])
    for parameter, value in zip(parameters, parameters_of(name, [p.shape for p in parameters])):
        parameter.set_data(Tensor(value))
    inputs = [Tensor(a) for a in inputs_of(name)]
    outputs = layer(*inputs)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for place, output in enumerate(outputs):
        found[f"output{place}"] = output.asnumpy()
    for place, parameter in enumerate(parameters):
        if not parameter.requires_grad:
            found[f"statistic{place}"] = parameter.asnumpy().copy()
    if case.differentiate:
        found |= gradients_of(name, layer, inputs, outputs)
    return found


def gradients_of(name, layer, inputs, outputs) -> dict[str, np.ndarray]:
    shapes = [o.shape for o in outputs if o.dtype == mindspore.float32]
    weights = [Tensor(w) for w in weights_of(name, shapes)]

    def loss(*args: Tensor) -> Tensor:
        result = layer(*args)
        results = result if isinstance(result, tuple) else (result,)
        total = 0
        for part, weight in zip(results, weights):
            total = total + ops.sum(part * weight)
        return total

    places = tuple(i for i, x in enumerate(inputs) if x.dtype == mindspore.float32)
    trained = layer.trainable_params()
    grads = mindspore.grad(loss, places or None, weights=trained or None)(*inputs)
    by_input, by_weight = (grads if places else ((), grads)) if trained else (grads, ())
    by_input = by_input if isinstance(by_input, tuple) else (by_input,)
    found = {f"input_grad{i}": g.asnumpy() for i, g in zip(places, by_input)}
    return found | {f"weight_grad{i}": g.asnumpy() for i, g in enumerate(by_weight)}


def main() -> None:
    stored = {}
    for name in CASES if len(sys.argv) < 2 else sys.argv[1:]:
        try:
            found = results_of(name)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error).splitlines()[0]}")
            continue
        stored |= {f"{name}/{key}": value for key, value in found.items()}
    if len(sys.argv) < 2:
        np.savez_compressed(pathlib.Path(__file__).with_name("layers.npz"), **stored)


if __name__ == "__main__":
    main()
