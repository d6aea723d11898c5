"""Matrix products of every form: dense layers, batches of matrices, Einstein sums."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from mycelia import nn, ops
from tests.fuzz.configuration.draws import around, flag, size_or_threshold, some
from tests.fuzz.configuration.subject import ALL, Problem, Settings, Subject, Values

_EQUATIONS = (
    "ij,jk->ik",
    "bij,bjk->bik",
    "ij,kj->ki",
    "bthd,bshd->bhts",
    "abc,cd->abd",
    "ij,ij->i",
    "i,j->ij",
    "abc->cb",
    "aab,bc->ac",
    "bij,jk,bkl->bil",
)


def _draw_dense(rng: random.Random) -> Settings:
    leading = some(rng, rng.randint(1, 2), 1, 6)
    if flag(rng, 0.3):
        leading = (around(rng, 32, 256),)
    inputs, outputs = (size_or_threshold(rng, 20, 16, 64, 256, share=0.4) for _ in range(2))
    return {"leading": leading, "inputs": inputs, "outputs": outputs, "has_bias": flag(rng, 0.7)}


def _fits_dense(settings: Settings) -> bool:
    inputs, outputs = settings["inputs"], settings["outputs"]
    return min(*settings["leading"], inputs, outputs) > 0


def _dense(settings: Settings, values: Values) -> Problem:
    inputs = settings["inputs"]
    has_bias = {"has_bias": settings["has_bias"]}
    net = nn.Dense(inputs, settings["outputs"], **has_bias, dtype=values.dtype)

    def reference(x: np.ndarray, weight: np.ndarray, bias: Any = 0.0) -> np.ndarray:
        return x @ weight.T + bias

    x = values.normal(*settings["leading"], inputs)
    return Problem(net, reference, (x,), values.weights(net))


def _draw_bidense(rng: random.Random) -> Settings:
    sizes = dict(zip(("batch", "first", "second", "outputs"), some(rng, 4, 1, 12), strict=True))
    return sizes | {"has_bias": flag(rng)}


def _fits_bidense(settings: Settings) -> bool:
    return min(settings[n] for n in ("batch", "first", "second", "outputs")) > 0


def _bidense(settings: Settings, values: Values) -> Problem:
    batch, first, second, outputs = (settings[n] for n in ("batch", "first", "second", "outputs"))
    has_bias = {"has_bias": settings["has_bias"]}
    net = nn.BiDense(first, second, outputs, **has_bias, dtype=values.dtype)

    def reference(x: np.ndarray, y: np.ndarray, weight: np.ndarray, bias: Any = 0.0) -> Any:
        return np.einsum("bi,oij,bj->bo", x, weight, y) + bias

    inputs = values.normal(batch, first), values.normal(batch, second)
    return Problem(net, reference, inputs, values.weights(net))


def _draw_matmul(rng: random.Random) -> Settings:
    rows, inner, columns = (size_or_threshold(rng, 12, 16, 64, 256, share=0.2) for _ in range(3))
    leading = some(rng, rng.randint(0, 2), 1, 4)
    return {
        "rows": rows,
        "inner": inner,
        "columns": columns,
        "left": tuple(n if flag(rng, 0.8) else 1 for n in leading),
        "right": tuple(n if flag(rng, 0.8) else 1 for n in leading),
        "row": not leading and flag(rng, 0.2),
    }


def _fits_matmul(settings: Settings) -> bool:
    pairs = zip(settings["left"], settings["right"], strict=True)
    sizes = [settings[n] for n in ("rows", "inner", "columns")]
    return min(*sizes, *settings["left"], *settings["right"]) > 0 and all(
        a == b or 1 in (a, b) for a, b in pairs
    )


def _matmul(settings: Settings, values: Values) -> Problem:
    rows, inner, columns = (settings[n] for n in ("rows", "inner", "columns"))
    left = (inner,) if settings["row"] else (*settings["left"], rows, inner)
    x, y = values.normal(*left), values.normal(*settings["right"], inner, columns)
    return Problem(ops.matmul, np.matmul, (x, y))


def _draw_batches(rng: random.Random) -> Settings:
    sizes = some(rng, 3, 1, 9) if flag(rng, 0.6) else tuple(around(rng, 16, 64) for _ in range(3))
    return {
        "batch": some(rng, rng.randint(1, 2), 1, 5),
        "sizes": sizes,
        "transpose_a": flag(rng),
        "transpose_b": flag(rng),
    }


def _fits_batches(settings: Settings) -> bool:
    return min(*settings["batch"], *settings["sizes"]) > 0


def _batches(settings: Settings, values: Values) -> Problem:
    batch, (rows, inner, columns) = settings["batch"], settings["sizes"]
    turned = settings["transpose_a"], settings["transpose_b"]
    call = ops.BatchMatMul(*turned)

    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        a, b = (np.swapaxes(m, -1, -2) if t else m for m, t in zip((x, y), turned, strict=True))
        return a @ b

    first = (inner, rows) if turned[0] else (rows, inner)
    second = (columns, inner) if turned[1] else (inner, columns)
    return Problem(call, reference, (values.normal(*batch, *first), values.normal(*batch, *second)))


def _draw_einsum(rng: random.Random) -> Settings:
    sizes = {letter: rng.randint(1, 6) for letter in "abcdhijklst"}
    return {"equation": rng.choice(_EQUATIONS)} | sizes


def _fits_einsum(settings: Settings) -> bool:
    return all(value > 0 for name, value in settings.items() if len(name) == 1)


def _einsum(settings: Settings, values: Values) -> Problem:
    equation = settings["equation"]

    def call(*operands: Any) -> Any:
        return ops.einsum(equation, *operands)

    def reference(*operands: np.ndarray) -> np.ndarray:
        return np.einsum(equation, *operands)

    terms = equation.split("->")[0].split(",")
    inputs = tuple(values.normal(*[settings[letter] for letter in term]) for term in terms)
    return Problem(call, reference, inputs)


def _draw_sum(rng: random.Random) -> Settings:
    sizes = dict(zip(("batch", "rows", "inner", "columns"), some(rng, 4, 1, 12), strict=True))
    return sizes | {"beta": rng.choice((0.5, 1.0, 2.0)), "alpha": rng.choice((0.5, 1.0, -1.0))}


def _fits_sum(settings: Settings) -> bool:
    return min(settings[n] for n in ("batch", "rows", "inner", "columns")) > 0


def _sum_of_products(settings: Settings, values: Values) -> Problem:
    batch, rows, inner, columns = (settings[n] for n in ("batch", "rows", "inner", "columns"))
    beta, alpha = settings["beta"], settings["alpha"]

    def call(x: Any, a: Any, b: Any) -> Any:
        return ops.baddbmm(x, a, b, beta, alpha)

    def reference(x: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return beta * x + alpha * (a @ b)

    shapes = (batch, rows, columns), (batch, rows, inner), (batch, inner, columns)
    return Problem(call, reference, tuple(values.normal(*shape) for shape in shapes))


SUBJECTS = (
    Subject("dense", "matmul", _draw_dense, _dense, _fits_dense, ALL),
    Subject("bidense", "matmul", _draw_bidense, _bidense, _fits_bidense),
    Subject("matmul", "matmul", _draw_matmul, _matmul, _fits_matmul, ALL),
    Subject("batch matmul", "matmul", _draw_batches, _batches, _fits_batches),
    Subject("einsum", "matmul", _draw_einsum, _einsum, _fits_einsum),
    Subject("baddbmm", "matmul", _draw_sum, _sum_of_products, _fits_sum),
)
