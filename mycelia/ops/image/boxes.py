"""Bounding boxes: overlap, non-maximum suppression, and encoding against anchors."""

from __future__ import annotations

from math import log
from typing import Any

from mycelia._engine.core.dtype import bool_, int32
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia._engine.ir.example import case
from mycelia._engine.ir.types import TensorType
from mycelia._engine.jax_setup import Array, jnp, lax
from mycelia._engine.operators.operator import Op, unsupported_dtype

Four = tuple[float, float, float, float]
ZEROS: Four = (0.0, 0.0, 0.0, 0.0)
ONES: Four = (1.0, 1.0, 1.0, 1.0)


class IOU(Op):
    """Overlap of every anchor box with every ground truth box, [truths, anchors].

    The intersection is divided by the union (`iou`) or by the area of the ground truth box (`iof`).
    Boxes include both end pixels. There is no gradient, since the result serves to match boxes.
    """

    differentiable = False
    mode: str = "iou"
    examples = (
        case("f32[3,4]:distinct", "f32[2,4]:distinct"),
        case("f32[1,4]:positive", "f32[0,4]", mode="iof"),
        case("f32[2,4]:positive", "f32[3,4]:positive", mode="iof"),
    )

    def normalize(self) -> dict[str, Any]:
        if self.mode not in ("iou", "iof"):
            raise problem(
                KeyError, "IOU: unknown mode", got=repr(self.mode), expected="'iou' or 'iof'"
            )
        return {}

    def infer(self, anchor_boxes: TensorType, gt_boxes: TensorType) -> TensorType:
        _check_boxes(self.name, anchor_boxes, gt_boxes)
        return anchor_boxes.with_shape((gt_boxes.shape[0], anchor_boxes.shape[0]))

    def lower(self, anchor_boxes: Array, gt_boxes: Array) -> Array:
        dtype = anchor_boxes.dtype
        anchors = _wide(anchor_boxes)[None]
        truths = _wide(gt_boxes)[:, None]
        common = _area(
            jnp.maximum(anchors[..., 0], truths[..., 0]),
            jnp.maximum(anchors[..., 1], truths[..., 1]),
            jnp.minimum(anchors[..., 2], truths[..., 2]),
            jnp.minimum(anchors[..., 3], truths[..., 3]),
        )
        of_truth = _area(*(truths[..., i] for i in range(4)))
        of_anchor = _area(*(anchors[..., i] for i in range(4)))
        whole = of_truth if self.mode == "iof" else of_truth + of_anchor - common
        return (common / jnp.where(whole > 0, whole, 1)).astype(dtype)


class NMSWithMask(Op):
    """Non-maximum suppression of boxes (x1, y1, x2, y2, score).

    Returns the boxes by descending score, their indices, and a mask of the selected ones. A box is
    suppressed if it overlaps a selected box of higher score by more than `iou_threshold`.
    """

    iou_threshold: float = 0.5
    differentiable = False
    examples = (
        case("f32[5,5]:distinct"),
        case("f32[8,5]:positive", iou_threshold=0.1),
        case("f32[0,5]"),
    )

    def normalize(self) -> dict[str, Any]:
        if not isinstance(self.iou_threshold, float):
            raise wrong_type(self.name, "iou_threshold", self.iou_threshold, "float")
        return {}

    def infer(self, bboxes: TensorType) -> tuple[TensorType, TensorType, TensorType]:
        if bboxes.dtype.kind != "float":
            raise unsupported_dtype(self.name, bboxes, "boxes of floats")
        if bboxes.ndim != 2 or bboxes.shape[1] not in (5, 8):
            raise problem(
                ValueError,
                "NMSWithMask: each row must hold the corners and the score of one box",
                got=str(bboxes),
                expected="shape [boxes, 5] (or 8)",
            )
        count = bboxes.shape[0]
        return bboxes, TensorType(int32, (count,)), TensorType(bool_, (count,))

    def lower(self, bboxes: Array) -> tuple[Array, Array, Array]:
        bboxes = jnp.asarray(bboxes)
        count = bboxes.shape[0]
        boxes = bboxes[jnp.argsort(-bboxes[:, 4], stable=True)]
        doubles = _overlap(_wide(boxes)) > self.iou_threshold
        later = jnp.arange(count, dtype=jnp.int32)

        def drop(number: Array, keep: Array) -> Array:
            return keep & ~(keep[number] & doubles[number] & (later > number))

        keep = jnp.ones(count, bool)
        if count:
            keep = lax.fori_loop(0, count, drop, keep)
        return boxes, later, keep


class BoundingBoxEncode(Op):
    """Encodes ground truth boxes against anchors.

    The result holds offsets in units of the anchor size and logarithms of size ratios.
    """

    means: Four = ZEROS
    stds: Four = ONES
    examples = (
        case("f32[3,4]:unit", "f32[3,4]:unit"),
        case("f32[2,4]:unit", "f32[2,4]:unit", means=(0.1, 0.2, 0.3, 0.4), stds=(0.5,) * 4),
    )

    def normalize(self) -> dict[str, Any]:
        _check_floats(self.name, "means", self.means, 4)
        _check_floats(self.name, "stds", self.stds, 4)
        return {}

    def infer(self, anchor_box: TensorType, groundtruth_box: TensorType) -> TensorType:
        _check_pairs(self.name, anchor_box, groundtruth_box)
        return anchor_box

    def lower(self, anchor_box: Array, groundtruth_box: Array) -> Array:
        centre, size = _centre_and_size(_wide(anchor_box))
        true_centre, true_size = _centre_and_size(_wide(groundtruth_box))
        deltas = jnp.concatenate([(true_centre - centre) / size, jnp.log(true_size / size)], axis=1)
        means, stds = (jnp.asarray(v, deltas.dtype) for v in (self.means, self.stds))
        return ((deltas - means) / stds).astype(anchor_box.dtype)


class BoundingBoxDecode(Op):
    """Decodes `deltas` against anchor boxes and clips the boxes to `max_shape`.

    `max_shape` is (height, width). `wh_ratio_clip` limits the factor by which a box grows or
    shrinks.
    """

    max_shape: tuple[int, int]
    means: Four = ZEROS
    stds: Four = ONES
    wh_ratio_clip: float = 0.016
    examples = (
        case("f32[3,4]:unit", "f32[3,4]:unit", max_shape=(768, 1280)),
        case("f32[2,4]:positive", "f32[2,4]", max_shape=(3, 4), stds=(0.5,) * 4, wh_ratio_clip=0.5),
    )

    def normalize(self) -> dict[str, Any]:
        _check_floats(self.name, "means", self.means, 4)
        _check_floats(self.name, "stds", self.stds, 4)
        if not isinstance(self.max_shape, tuple):
            raise wrong_type(self.name, "max_shape", self.max_shape, "tuple")
        if len(self.max_shape) != 2:
            raise wrong_value(self.name, "max_shape", self.max_shape, "(height, width)")
        if not isinstance(self.wh_ratio_clip, float):
            raise wrong_type(self.name, "wh_ratio_clip", self.wh_ratio_clip, "float")
        return {}

    def infer(self, anchor_box: TensorType, deltas: TensorType) -> TensorType:
        _check_pairs(self.name, anchor_box, deltas)
        return anchor_box

    def lower(self, anchor_box: Array, deltas: Array) -> Array:
        anchors, moves = _wide(anchor_box), _wide(deltas)
        means, stds = (jnp.asarray(v, moves.dtype) for v in (self.means, self.stds))
        moves = moves * stds + means
        limit = abs(log(self.wh_ratio_clip))
        centre, size = _centre_and_size(anchors)
        centre = centre + moves[:, :2] * size
        half = 0.5 * size * jnp.exp(jnp.clip(moves[:, 2:], -limit, limit)) - 0.5
        height, width = self.max_shape
        ends = jnp.asarray((width, height), moves.dtype)
        corners = [jnp.clip(c, 0, ends) for c in (centre - half, centre + half)]
        return jnp.concatenate(corners, axis=1).astype(anchor_box.dtype)


class CheckValid(Op):
    """Tests which boxes lie inside the image that `img_metas` (height, width, ratio) describes."""

    differentiable = False
    examples = (case("f32[4,4]:positive", "f32[3]:positive"), case("f16[0,4]", "f16[3]:positive"))

    def infer(self, bboxes: TensorType, img_metas: TensorType) -> TensorType:
        if bboxes.dtype.kind not in ("int", "uint", "float"):
            raise unsupported_dtype(self.name, bboxes, "boxes of numbers")
        if bboxes.ndim != 2 or bboxes.shape[1] != 4 or img_metas.shape != (3,):
            raise problem(
                ValueError,
                "CheckValid: bboxes or img_metas has the wrong shape",
                got=f"{bboxes} and {img_metas}",
                expected="bboxes [boxes, 4] and img_metas (height, width, ratio) of shape [3]",
            )
        return TensorType(bool_, (bboxes.shape[0],))

    def lower(self, bboxes: Array, img_metas: Array) -> Array:
        boxes, metas = _wide(bboxes), _wide(img_metas)
        bottom, right = metas[0] * metas[2] - 1, metas[1] * metas[2] - 1
        starts = (boxes[:, 0] >= 0) & (boxes[:, 1] >= 0)
        return starts & (boxes[:, 2] <= right) & (boxes[:, 3] <= bottom)


def _area(left: Array, top: Array, right: Array, bottom: Array) -> Array:
    """Area in pixels, including both end pixels; 0 if the corners are in the wrong order."""
    return jnp.maximum(right - left + 1, 0) * jnp.maximum(bottom - top + 1, 0)


def _overlap(boxes: Array) -> Array:
    """Intersection over union of all pairs of boxes, with corners in any order."""
    low = jnp.minimum(boxes[:, :2], boxes[:, 2:4])
    high = jnp.maximum(boxes[:, :2], boxes[:, 2:4])
    areas = jnp.prod(high - low, axis=1)
    sides = jnp.minimum(high[:, None], high) - jnp.maximum(low[:, None], low)
    common = jnp.prod(jnp.maximum(sides, 0), axis=2)
    return common / (areas[:, None] + areas - common)


def _centre_and_size(boxes: Array) -> tuple[Array, Array]:
    starts, stops = boxes[:, :2], boxes[:, 2:]
    return (starts + stops) * 0.5, stops - starts + 1


def _wide(x: Array) -> Array:
    """`x` in the dtype for the computation: at least float32."""
    x = jnp.asarray(x)
    return x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)


def _check_boxes(owner: str, first: TensorType, second: TensorType) -> None:
    if first.dtype.kind != "float":
        raise unsupported_dtype(owner, first, "boxes of floats")
    if first.dtype is not second.dtype:
        raise problem(TypeError, f"{owner}: the boxes differ in dtype", got=f"{first} and {second}")
    if any(b.ndim != 2 or b.shape[1] != 4 for b in (first, second)):
        raise problem(
            ValueError,
            f"{owner}: each box must be one row (x1, y1, x2, y2)",
            got=f"{first} and {second}",
            expected="shape [boxes, 4]",
        )


def _check_pairs(owner: str, first: TensorType, second: TensorType) -> None:
    _check_boxes(owner, first, second)
    if first.shape != second.shape:
        raise problem(ValueError, f"{owner}: the box counts differ", got=f"{first} and {second}")


def _check_floats(owner: str, argument: str, values: Any, count: int) -> None:
    if not isinstance(values, tuple) or not all(isinstance(v, float) for v in values):
        raise wrong_type(owner, argument, values, f"a tuple of {count} floats")
    if len(values) != count:
        raise wrong_value(owner, argument, values, f"{count} floats")


def iou(anchor_boxes: Any, gt_boxes: Any, mode: str = "iou") -> Any:
    """Overlap of every anchor box with every ground truth box, [truths, anchors]."""
    return IOU.of(mode)(anchor_boxes, gt_boxes)


def bounding_box_encode(
    anchor_box: Any, groundtruth_box: Any, means: Any = ZEROS, stds: Any = ONES
) -> Any:
    """Encodes ground truth boxes against anchors."""
    return BoundingBoxEncode(means, stds)(anchor_box, groundtruth_box)


def bounding_box_decode(
    anchor_box: Any,
    deltas: Any,
    max_shape: Any,
    means: Any = ZEROS,
    stds: Any = ONES,
    wh_ratio_clip: float = 0.016,
) -> Any:
    """Decodes `deltas` against anchor boxes."""
    return BoundingBoxDecode(max_shape, means, stds, wh_ratio_clip)(anchor_box, deltas)


def check_valid(bboxes: Any, img_metas: Any) -> Any:
    """Tests which boxes lie inside the image that `img_metas` (height, width, ratio) describes."""
    return CheckValid.of()(bboxes, img_metas)
