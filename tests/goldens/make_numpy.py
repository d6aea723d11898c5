"""Run the numpy cases on the real MindSpore and store what came out.

Run with a Python that has mindspore 2.10: `python tests/goldens/make_numpy.py`. Writes numpy.npz beside this
file: for case N the results `N.K` and, where MindSpore refuses, `N.refused`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.numpy as mnp
import numpy as np
from numpy_cases import CASES, name_of
from operator_cases import draw


def main() -> None:
    found: dict[str, np.ndarray] = {}
    for number, (call, specs) in enumerate(CASES):
        random = np.random.RandomState(number)
        tensors = [ms.Tensor(draw(s, random).array) for s in specs]
        try:
            results = [np.asarray(array(leaf)) for leaf in leaves(call(mnp, *tensors))]
        except Exception as error:
            print(
                f"refused: {number} {name_of(call)} {specs}: {type(error).__name__} {error}"[:200]
            )
            found[f"{number}.refused"] = np.array(type(error).__name__)
            continue
        found |= {f"{number}.{place}": result for place, result in enumerate(results)}
    names = {name_of(call) for n, (call, _) in enumerate(CASES) if f"{n}.0" in found}
    print(f"{len(CASES)} cases, {len(names)} functions with results")
    np.savez_compressed(Path(__file__).with_name("numpy.npz"), **found)


def leaves(result: Any) -> list[Any]:
    """The parts of nested tuples and lists, in order."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    return [result]


def array(leaf: Any) -> Any:
    return leaf.asnumpy() if isinstance(leaf, ms.Tensor) else leaf


if __name__ == "__main__":
    ms.set_context(mode=ms.PYNATIVE_MODE)
    main()
