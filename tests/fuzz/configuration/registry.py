"""All subjects by name, and how often each group of them is drawn."""

from __future__ import annotations

from tests.fuzz.configuration import (
    attention,
    convolution,
    large,
    normalization,
    operators,
    pooling,
    products,
    recurrent,
)
from tests.fuzz.configuration.subject import Subject

GROUPS: dict[str, float] = {
    "convolution": 5,
    "pooling": 3,
    "normalization": 2,
    "matmul": 2,
    "recurrent": 2,
    "attention": 2,
    "operators": 5,
    "large sizes": 0.1,
}
_MODULES = (convolution, pooling, normalization, products, recurrent, attention, operators, large)
SUBJECTS: dict[str, Subject] = {s.name: s for module in _MODULES for s in module.SUBJECTS}
