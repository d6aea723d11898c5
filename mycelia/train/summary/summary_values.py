"""Values of summaries by plugin: checks and encoding."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.insight import summary
from mycelia.insight.hyper_parameters import RunEnd, RunStart, run_values
from mycelia.insight.image import is_picture
from mycelia.ops.control.summaries import (
    HistogramSummary,
    ImageSummary,
    ScalarSummary,
    Summary,
    TensorSummary,
)
from mycelia.tensor.tensor import Tensor

OWNER = "SummaryRecord"
GRAPH = "graph"
_OPERATORS: dict[str, type[Summary]] = {
    operator.kind: operator
    for operator in (ScalarSummary, ImageSummary, HistogramSummary, TensorSummary)
}
TENSOR_PLUGINS = tuple(_OPERATORS)
_TEXT_PLUGINS = ("eval_lineage", "dataset_graph", "custom_lineage_data")
_RUN_PLUGIN = "train_lineage"
PLUGINS = (*TENSOR_PLUGINS, _RUN_PLUGIN, *_TEXT_PLUGINS, GRAPH)

Encoder = Callable[[str, Any], list[bytes]]


def taken(plugin: Any, name: Any, value: Any) -> Any:
    """Check a value and take a snapshot of it: an array for a tensor, others unchanged."""
    if plugin not in PLUGINS:
        raise wrong_value(OWNER, "plugin", plugin, f"in {list(PLUGINS)}")
    if not isinstance(name, str) or not name:
        raise wrong_value(OWNER, "name", name, "a str, not empty")
    if plugin in TENSOR_PLUGINS:
        return _array(plugin, check_instance(OWNER, "value", value, Tensor))
    if plugin in _TEXT_PLUGINS:
        return dict(check_instance(OWNER, "value", value, Mapping))
    kinds = bytes if plugin == GRAPH else (RunStart, RunEnd)
    return check_instance(OWNER, "value", value, kinds)


def encoded(plugin: str, name: str, value: Any) -> list[bytes]:
    """Encode a value as messages."""
    return _ENCODERS[plugin](name, value)


def _array(plugin: str, value: Tensor) -> np.ndarray:
    """A copy of the values, which later steps do not change."""
    operator = _OPERATORS[plugin]
    if not operator.fits(value.shape):
        raise problem(
            ValueError,
            f"{OWNER}: the value has a wrong shape for {plugin!r}",
            got=str(value.shape),
            expected=operator.expected,
        )
    return np.array(value.asnumpy())


def _image(name: str, images: np.ndarray) -> list[bytes]:
    if not is_picture(images):
        raise problem(
            ValueError,
            f"{OWNER}: {name!r} is not a batch of images",
            got=str(images.shape),
            expected="(N, C, H, W) with 1 or 3 channels",
        )
    return [summary.image_value(name, images)]


def _text(name: str, facts: Mapping[str, Any]) -> list[bytes]:
    """A dict as JSON text, in a block that TensorBoard shows verbatim."""
    text = json.dumps(facts, indent=2, default=str)
    return [summary.text_value(name, f"```json\n{text}\n```")]


def _run(_: str, run: RunStart | RunEnd) -> list[bytes]:
    return run_values(run, time.time())


def _single(encode: Callable[[str, Any], bytes]) -> Encoder:
    return lambda name, value: [encode(name, value)]


_ENCODERS: dict[str, Encoder] = {
    "scalar": _single(summary.scalar_value),
    "histogram": _single(summary.histogram_value),
    "tensor": _single(summary.tensor_value),
    "image": _image,
    _RUN_PLUGIN: _run,
    **dict.fromkeys(_TEXT_PLUGINS, _text),
}
