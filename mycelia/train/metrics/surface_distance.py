"""Surface distances between segmented regions: Hausdorff, mean, and root mean square."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool, check_instance, check_range, check_string
from mycelia._engine.core.errors import problem
from mycelia.train.metrics.metric import Metric, rearrange_inputs

_AT_ONCE = 1 << 22  # how many distances are in memory at a time


class _SurfaceMetric(Metric):
    """A metric of the regions with a given label in the latest two images."""

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        self.distance_metric = check_string(
            type(self).__name__, "distance_metric", distance_metric, tuple(_LENGTHS)
        )
        self.clear()

    def clear(self) -> None:
        self._regions: tuple[np.ndarray, np.ndarray] | None = None

    @rearrange_inputs
    def update(self, *inputs: Any) -> None:
        owner = type(self).__name__
        self._check_count(inputs, ("y_pred", "y", "label_idx"))
        y_pred, y = self._arrays(inputs[:2])
        label = inputs[2]
        if isinstance(label, bool) or not isinstance(label, (int, float)):
            kind = TypeError if owner == "RootMeanSquareDistance" else ValueError
            raise problem(
                kind,
                f"{owner}: label_idx must be a number",
                got=repr(label),
                expected="int or float",
            )
        if y_pred.size == 0 or y_pred.shape != y.shape:
            raise problem(
                ValueError,
                f"{owner}: predictions and labels differ in shape, or are empty",
                got=f"{y_pred.shape} and {y.shape}",
            )
        if not ((y_pred == label).any() or (y == label).any()):
            raise problem(
                ValueError,
                f"{owner}: no pixel has the label label_idx",
                got=f"label_idx={label}",
                expected="a label that occurs in the predictions or in the labels",
            )
        self._regions = y_pred == label, y == label

    def _surfaces(self) -> list[np.ndarray]:
        """The coordinates of the predicted and the true surface."""
        self._check_updated(self._regions is not None)
        assert self._regions is not None
        return [np.argwhere(_surface(region)) for region in self._regions]

    def _distances(self, points: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """The distance of each point to the nearest target."""
        if not len(points) or not len(targets):
            return np.full(max(len(points), 1), np.inf)
        size = max(1, _AT_ONCE // (len(targets) * points.shape[1]))
        length = _LENGTHS[self.distance_metric]
        return np.concatenate(
            [
                length(points[start : start + size, None] - targets[None]).min(1)
                for start in range(0, len(points), size)
            ]
        )


class HausdorffDistance(_SurfaceMetric):
    """The Hausdorff distance: the largest distance from a surface point to the other surface.

    `percentile` takes that percentile of the distances instead; `directed` measures only from the
    predicted surface to the true one. `crop` does not change the result.
    """

    def __init__(
        self,
        distance_metric: str = "euclidean",
        percentile: float | None = None,
        directed: bool = False,
        crop: bool = True,
    ) -> None:
        owner = "HausdorffDistance"
        super().__init__(distance_metric)
        if percentile is not None:
            check_instance(owner, "percentile", percentile, float)
            check_range(owner, "percentile", percentile, 0, 100)
        self.percentile = percentile
        self.directed = check_bool(owner, "directed", directed)
        self.crop = check_bool(owner, "crop", crop)

    def eval(self) -> Any:
        predicted, true = self._surfaces()
        distance = self._largest(self._distances(predicted, true))
        if self.directed:
            return distance
        return max(distance, self._largest(self._distances(true, predicted)))

    def _largest(self, distances: np.ndarray) -> Any:
        if self.percentile is None:
            return distances.max()
        return np.percentile(distances, self.percentile)


class MeanSurfaceDistance(_SurfaceMetric):
    """The mean distance of the predicted surface from the true one; `symmetric` averages both."""

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = check_bool("MeanSurfaceDistance", "symmetric", symmetric)

    def eval(self) -> Any:
        predicted, true = self._surfaces()
        forward = self._distances(predicted, true)
        if not self.symmetric:
            return forward.mean()
        return (forward.mean() + self._distances(true, predicted).mean()) / 2


class RootMeanSquareDistance(_SurfaceMetric):
    """The root mean square distance of the surfaces, in both directions with `symmetric`.

    In one direction it is, as in MindSpore, the mean square distance itself.
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        self.symmetric = check_bool("RootMeanSquareDistance", "symmetric", symmetric)

    def eval(self) -> Any:
        predicted, true = self._surfaces()
        forward = self._distances(predicted, true)
        if not self.symmetric:
            return (forward**2).mean()
        backward = self._distances(true, predicted)
        return np.sqrt(((forward**2).mean() + (backward**2).mean()) / 2)


_LENGTHS: dict[str, Any] = {
    "euclidean": lambda d: np.sqrt((d**2).sum(-1)),
    "chessboard": lambda d: np.abs(d).max(-1),
    "taxicab": lambda d: np.abs(d).sum(-1),
}


def _surface(region: np.ndarray) -> np.ndarray:
    """The pixels of a region with a direct neighbor outside; the image border counts as outside."""
    padded = np.pad(region, 1)
    inner = region.copy()
    for axis in range(region.ndim):
        for shift in (-1, 1):
            moved = np.roll(padded, shift, axis)
            inner &= moved[(slice(1, -1),) * region.ndim]
    return region & ~inner
