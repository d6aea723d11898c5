"""Pipelines as nested dicts in MindSpore's format, ready for JSON."""

from __future__ import annotations

from dataclasses import fields
from enum import Enum
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia.dataset.formats.schema import ColumnSchema
from mycelia.dataset.ir import samplers
from mycelia.dataset.ir.node import DatasetNode
from mycelia.dataset.ir.operation import Operation
from mycelia.dataset.vision.options import Border, Inter

OTHER_NAMES = {"HwcToChw": "HWC2CHW"}  # name in MindSpore's JSON -> class
INTERS = (Inter.BILINEAR, Inter.NEAREST, Inter.BICUBIC, Inter.AREA, Inter.PILCUBIC)
BORDERS = tuple(Border)


def as_tree(node: DatasetNode) -> dict[str, Any]:
    """A node and its children as nested dicts."""
    made = {key: _of_value(value) for key, value in node.parameters().items()}
    return {"op_type": node.op_type, "children": [as_tree(c) for c in node.children], **made}


def _of_value(value: Any) -> Any:
    match value:
        case samplers.SamplerNode():
            return _of_sampler(value)
        case ColumnSchema():
            return value.to_json()
        case Operation():
            return _of_operation(value)
        case Inter():
            return INTERS.index(value) if value in INTERS else value.name
        case Border():
            return BORDERS.index(value)
        case dtypes.DType():
            return value.name
        case np.dtype() | type():
            return np.dtype(value).name
        case Enum():
            return value.value
        case np.ndarray():
            return value.tolist()
        case slice():
            return [value.start, value.stop, value.step]
        case tuple() | list():
            return [_of_value(entry) for entry in value]
        case dict():
            return {str(key): _of_value(entry) for key, entry in value.items()}
        case _ if callable(value):
            return {
                "tensor_op_name": getattr(value, "__name__", type(value).__name__),
                "python_module": getattr(value, "__module__", type(value).__module__),
            }
    return value


def _of_sampler(sampler: samplers.SamplerNode) -> dict[str, Any]:
    made = {
        f.name: _of_value(getattr(sampler, f.name))
        for f in fields(sampler)
        if f.name != "child" and f.metadata.get("json", True)
    }
    made["num_samples"] = sampler.num_samples or 0
    if sampler.child is not None:
        made["child_sampler"] = [_of_sampler(sampler.child)]
    return {"sampler_name": sampler.sampler_name, **made}


def _of_operation(operation: Operation) -> dict[str, Any]:
    name = type(operation).__name__
    real = next((real for real, ours in OTHER_NAMES.items() if ours == name), name)
    made = {key: _of_value(value) for key, value in operation.parameters().items()}
    return {"tensor_op_name": real, "tensor_op_params": made or None}
