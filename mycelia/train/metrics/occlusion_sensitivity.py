"""Occlusion sensitivity: which regions of an image a prediction depends on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_instance, check_int
from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.tensor.tensor import Tensor
from mycelia.train.metrics.metric import Metric, as_array, rearrange_inputs


class OcclusionSensitivity(Metric):
    """How much the score of a class drops when the region around a position is occluded.

    The region extends `margin` positions before and after (along every axis, also channels) and is
    filled with `pad_val`. `b_box` limits the positions, [min, max] for each axis; `n_batch` images
    are evaluated in one batch.
    """

    def __init__(
        self,
        pad_val: float = 0.0,
        margin: int | list[int] = 2,
        n_batch: int = 128,
        b_box: list[int] | None = None,
    ) -> None:
        super().__init__()
        owner = "OcclusionSensitivity"
        self.pad_val = check_instance(owner, "pad_val", pad_val, float)
        self.margin = check_instance(owner, "margin", margin, (int, list))
        self.n_batch = check_int(owner, "n_batch", n_batch)
        if b_box is not None:
            check_instance(owner, "b_box", b_box, list)
        self.b_box = b_box
        self.clear()

    def clear(self) -> None:
        self._map: np.ndarray | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        self._check_count(inputs, ("model", "y_pred", "label"))
        model = check_instance("OcclusionSensitivity", "model", inputs[0], Cell)
        image, label = as_array(inputs[1]), np.asarray(as_array(inputs[2]))
        if image.shape[0] != 1 or label.size != 1:
            raise problem(
                RuntimeError,
                "OcclusionSensitivity: update needs one image and one label",
                got=f"an image of shape {image.shape} and {label.size} labels",
                expected="an image of shape (1, ...)",
            )
        class_index = int(label.reshape(()))
        ranges = self._ranges(image.shape[1:])
        before = model(Tensor(image)).asnumpy()[0, class_index]
        occluded = self._occluded(image, ranges)
        scores: list[Any] = []
        while batch := list(islice(occluded, self.n_batch)):
            scores.extend(model(Tensor(np.stack(batch))).asnumpy()[:, class_index])
        drops = before - np.array(scores, dtype=image.dtype)
        self._map = drops.reshape([len(positions) for positions in ranges])

    def eval(self) -> np.ndarray:
        self._check_updated(self._map is not None)
        assert self._map is not None
        return self._map

    def _occluded(self, image: np.ndarray, ranges: list[range]) -> Iterator[np.ndarray]:
        """The image with the region around each position occluded."""
        axes = image.ndim - 1
        margins = self.margin if isinstance(self.margin, list) else [self.margin] * axes
        for position in product(*ranges):
            window = tuple(
                slice(max(start - margin, 0), start + margin)
                for start, margin in zip(position, margins, strict=True)
            )
            changed = image[0].copy()
            changed[window] = self.pad_val
            yield changed

    def _ranges(self, shape: tuple[int, ...]) -> list[range]:
        """The positions to evaluate along each axis; -1 means all."""
        if self.b_box is None:
            return [range(size) for size in shape]
        if len(self.b_box) != 2 * len(shape):
            raise problem(
                ValueError,
                "OcclusionSensitivity: b_box needs two limits for each axis of the image",
                got=f"{len(self.b_box)} limits for an image of shape {shape}",
                expected=f"{2 * len(shape)}: [min, max, min, max, ...]",
            )
        limits = list(zip(self.b_box[::2], self.b_box[1::2], shape, strict=True))
        if any(high >= size for _, high, size in limits):
            raise problem(
                ValueError,
                "OcclusionSensitivity: b_box reaches beyond the image",
                got=f"b_box {self.b_box} for an image of shape {shape}",
                expected="each max below the size of its axis",
            )
        return [range(max(low, 0), size if high < 0 else high + 1) for low, high, size in limits]
