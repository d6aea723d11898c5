"""Operator examples: argument types from which tests generate arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mycelia._engine.core.dtype import DType
from mycelia._engine.ir.types import TensorType, parse_type

_TENSOR = re.compile(r"^\w+\[[\d,\s]*\](:[\w<>.-]+)?$")


@dataclass(frozen=True)
class Case:
    """One example call: argument specifications, and the operator's fields.

    A specification is a tensor type with an optional domain after a colon, a tuple of those, or a
    plain value for a static argument. Domains: `positive` (0.5..2), `unit` (0.1..0.9), `definite`
    (symmetric positive definite matrices), `distinct` (no two equal), `spread` (0.2..2 in size,
    either sign: away from kinks at 0), `<n` (integers from 0 to n-1), `1..n` (from 1 to n),
    `zeros`, `probability` (rows sum to 1). For the gradient check: `tolerance` widens it,
    `constants` are indices of data arguments that the operator gives no gradient for (labels),
    `outputs` is the number of outputs whose gradients count (all if None).
    """

    args: tuple[Any, ...]
    fields: dict[str, Any] = field(default_factory=dict)
    differentiate: bool = True
    tolerance: float = 2e-3
    constants: tuple[int, ...] = ()
    outputs: int | None = None

    def types(self) -> tuple[Any, ...]:
        return tuple(_map_spec(a, lambda s: _split(s)[0]) for a in self.args)

    def arrays(self, seed: int = 0) -> tuple[Any, ...]:
        random = np.random.default_rng(seed)
        return tuple(_map_spec(a, lambda s: _draw(random, *_split(s))) for a in self.args)


def case(
    *args: Any,
    differentiate: bool = True,
    tolerance: float = 2e-3,
    constants: tuple[int, ...] = (),
    outputs: int | None = None,
    **fields: Any,
) -> Case:
    """Write one example call of an operator: `case("f32[2,3]", "f32[3,4]", transpose_a=True)`."""
    return Case(args, fields, differentiate, tolerance, constants, outputs)


def is_tensor_spec(spec: Any) -> bool:
    return isinstance(spec, str) and _TENSOR.match(spec) is not None


def _map_spec(spec: Any, fn: Any) -> Any:
    if is_tensor_spec(spec):
        return fn(spec)
    if isinstance(spec, tuple) and any(is_tensor_spec(s) for s in spec):
        return tuple(_map_spec(s, fn) for s in spec)
    return spec


def _split(spec: str) -> tuple[TensorType, str]:
    text, _, domain = spec.partition(":")
    return parse_type(text), domain


def _draw(random: np.random.Generator, type_: TensorType, domain: str) -> np.ndarray:
    shape, dtype = type_.shape, type_.dtype
    if domain.startswith("<"):
        return random.integers(0, int(domain[1:]), shape).astype(dtype.numpy)
    if domain.startswith("1.."):
        return random.integers(1, int(domain[3:]) + 1, shape).astype(dtype.numpy)
    return np.asarray(_reals(random, shape, dtype, domain)).astype(dtype.numpy)


def _reals(random: np.random.Generator, shape: Any, dtype: DType, domain: str) -> np.ndarray:
    count = int(np.prod(shape))
    match domain:
        case "zeros":
            return np.zeros(shape)
        case "positive":
            return random.uniform(0.5, 2.0, shape)
        case "unit":
            return random.uniform(0.1, 0.9, shape)
        case "spread":
            return random.uniform(0.2, 2.0, shape) * random.choice([-1.0, 1.0], shape)
        case "distinct":
            return (random.permutation(count) * 0.37 - 0.15 * count).reshape(shape)
        case "probability":
            raw = random.uniform(0.1, 1.0, shape)
            return raw / raw.sum(-1, keepdims=True)
        case "definite":  # symmetric positive definite matrices
            root = random.standard_normal(shape)
            return root @ np.swapaxes(root, -1, -2) + np.eye(shape[-1])
        case "":
            return _plain(random, shape, dtype)
    raise ValueError(f"unknown domain {domain!r} in an operator example")


def _plain(random: np.random.Generator, shape: Any, dtype: DType) -> np.ndarray:
    if dtype.is_bool:
        return random.integers(0, 2, shape)
    if dtype.is_integer:
        low = 0 if dtype.kind == "uint" else -5
        return random.integers(low, 6, shape)
    if dtype.is_complex:
        return random.standard_normal(shape) + 1j * random.standard_normal(shape)
    return random.standard_normal(shape)
