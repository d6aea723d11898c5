"""What tensors need before and after all of them get new arrays in one step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.runtime.parameter_layout.packs import unpack_parameters
from mycelia.tensor.views import TensorView, renewed


def before_writing(tensors: Iterable[Any]) -> None:
    """Let tensors hold their arrays themselves, and have their views computed anew when needed."""
    for tensor in tensors:
        relation = tensor._relation
        if relation is not None and type(relation) is not TensorView:
            relation.outdate(tensor)
    unpack_parameters(tensors)


def after_writing(tensors: Iterable[Any]) -> None:
    """Say that nobody else looks at the new arrays, and let views show them."""
    for tensor in tensors:
        if tensor._shared:
            tensor._shared = False
        if tensor._relation is not None:
            renewed(tensor)
