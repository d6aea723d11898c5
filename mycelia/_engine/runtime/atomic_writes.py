"""Preparation and completion of writes that replace the arrays of many tensors in one step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mycelia._engine.runtime.parameter_layout.packs import unpack_parameters
from mycelia.tensor.views import TensorView, renewed


def before_writing(tensors: Iterable[Any]) -> None:
    """Unpack packed parameters and invalidate views, which are recomputed on the next access."""
    for tensor in tensors:
        relation = tensor._relation
        if relation is not None and type(relation) is not TensorView:
            relation.outdate(tensor)
    unpack_parameters(tensors)


def after_writing(tensors: Iterable[Any]) -> None:
    """Mark the new arrays as unshared, and update views."""
    for tensor in tensors:
        if tensor._shared:
            tensor._shared = False
        if tensor._relation is not None:
            renewed(tensor)
