"""Operators whose result size depends on values: list difference, filters, decoding, ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core.checks import check_bool
from mycelia._engine.core.dtype import DType, as_dtype, int32, int64
from mycelia._engine.core.errors import problem
from mycelia._engine.ir.example import case
from mycelia._engine.ir.tensor_protocol import check_tensors
from mycelia._engine.jax_setup import Array
from mycelia.ops.indexing.unique import SizedByValues as SizedByValues
from mycelia.ops.shapes.reshape import scalar_to_tensor


class ListDiff(SizedByValues):
    """The elements of x that are not in y, and their indices in x."""

    out_idx: DType = int32
    examples = (case("i32[5]", "i32[3]"), case("i64[3]", "i64[0]", out_idx=int64))

    def normalize(self) -> dict[str, Any]:
        return {"out_idx": as_dtype(self.out_idx)}

    def lower(self, x: Array, y: Array) -> tuple[Array, Array]:
        raise self.unsizable()

    def check(self, x: Any, y: Any) -> None:
        if x.ndim != 1 or y.ndim != 1:
            raise problem(
                ValueError, "ListDiff: x and y must be 1-D", got=f"{x.shape} and {y.shape}"
            )
        if x.dtype != y.dtype:
            raise problem(TypeError, "ListDiff: the dtypes differ", got=f"{x.dtype}, {y.dtype}")

    def host(self, x: Any, y: Any) -> tuple[Any, Any]:
        self.check(x, y)
        indices = np.flatnonzero(~np.isin(x, y))
        return x[indices], indices.astype(self.out_idx.numpy)


class SubAndFilter(SizedByValues):
    """The elements minus `offset` that lie between 0 and `max_num`, and their indices."""

    static = ("max_num", "offset")
    examples = (case("i32[6]", 4, 1), case("i64[0]", 4, 1))

    def lower(self, input_x: Array, max_num: Any, offset: Any) -> tuple[Array, Array]:
        raise self.unsizable()

    def check(self, input_x: Any, max_num: Any, offset: Any) -> None:
        """Accepts any numeric vector."""

    def host(self, input_x: Any, max_num: Any, offset: Any) -> tuple[Any, Any]:
        moved = (input_x - offset).astype(input_x.dtype).ravel()
        places = np.flatnonzero((moved >= 0) & (moved < max_num))
        return moved[places], places.astype(input_x.dtype)


class ComputeAccidentalHits(SizedByValues):
    """Finds sampled classes that are true classes.

    Returns rows, sample indices, and large negative weights.
    """

    num_true: int = 1
    examples = (case("i64[3,2]:<4", "i64[4]:<4", num_true=2), case("i64[2,1]:<3", "i64[3]:<3"))

    def lower(self, true_classes: Array, sampled_candidates: Array) -> tuple[Array, ...]:
        raise self.unsizable()

    def check(self, true_classes: Any, sampled_candidates: Any) -> None:
        if true_classes.ndim != 2 or true_classes.shape[1] != self.num_true:
            raise problem(
                ValueError,
                "ComputeAccidentalHits: true_classes must have num_true classes per row",
                got=f"true_classes of shape {true_classes.shape}, num_true={self.num_true}",
            )

    def host(self, true_classes: Any, sampled_candidates: Any) -> tuple[Any, ...]:
        self.check(true_classes, sampled_candidates)
        hits = np.argwhere(true_classes[:, :, None] == sampled_candidates)
        rows, draws = hits[:, 0].astype(np.int32), hits[:, 2].astype(np.int64)
        return rows, draws, np.full(len(hits), -np.finfo(np.float32).max, np.float32)


class CTCGreedyDecoder(SizedByValues):
    """CTC greedy decoding: the best class of each time step, without repeats and blanks.

    The result is a sparse matrix.
    """

    merge_repeated: bool = True
    examples = (
        case("f32[4,2,3]", "i32[2]:<5"),
        case("f64[3,1,4]", "i32[1]:<4", merge_repeated=False),
    )

    def normalize(self) -> dict[str, Any]:
        check_bool("CTCGreedyDecoder", "merge_repeated", self.merge_repeated)
        return {}

    def lower(self, inputs: Array, sequence_length: Array) -> tuple[Array, ...]:
        raise self.unsizable()

    def check(self, inputs: Any, sequence_length: Any) -> None:
        if inputs.ndim != 3 or sequence_length.shape != inputs.shape[1:2]:
            raise problem(
                ValueError,
                "CTCGreedyDecoder: expected logits (time, batch, classes) and one length each",
                got=f"inputs {inputs.shape}, sequence_length {sequence_length.shape}",
            )

    def host(self, inputs: Any, sequence_length: Any) -> tuple[Any, ...]:
        self.check(inputs, sequence_length)
        best, blank = inputs.argmax(-1), inputs.shape[-1] - 1
        rows = []
        for batch, length in enumerate(sequence_length):
            path = best[:length, batch]
            new = np.ones(length, bool)
            if self.merge_repeated:
                new[1:] = path[1:] != path[:-1]
            rows.append(path[new & (path != blank)])
        places = [(b, t) for b, row in enumerate(rows) for t in range(len(row))]
        running = np.arange(len(inputs))[:, None] < sequence_length
        scores = -(inputs.max(-1) * running).sum(0)
        shape = np.array([len(rows), max((len(r) for r in rows), default=0)], np.int64)
        values = np.concatenate([*rows, np.zeros(0, np.int64)]).astype(np.int64)
        indices = np.array(places, np.int64).reshape(-1, 2)
        return indices, values, shape, scores[:, None].astype(inputs.dtype)


class RaggedRange(SizedByValues):
    """Concatenated ranges: the start offset of each range, and all values."""

    Tsplits: DType
    examples = (
        case("i32[3]:<1", "i32[3]:<4", "i32[3]:positive", Tsplits=int64),
        case("f32[2]", "f32[2]:positive", "f32[2]:positive", Tsplits=int32),
    )

    def normalize(self) -> dict[str, Any]:
        return {"Tsplits": as_dtype(self.Tsplits)}

    def lower(self, starts: Array, limits: Array, deltas: Array) -> tuple[Array, Array]:
        raise self.unsizable()

    def check(self, starts: Any, limits: Any, deltas: Any) -> None:
        if not starts.shape == limits.shape == deltas.shape:
            raise problem(
                ValueError,
                "RaggedRange: starts, limits and deltas must have the same shape",
                got=f"{starts.shape}, {limits.shape}, {deltas.shape}",
            )

    def host(self, starts: Any, limits: Any, deltas: Any) -> tuple[Any, Any]:
        self.check(starts, limits, deltas)
        if bool((deltas == 0).any()):
            raise problem(ValueError, "RaggedRange: a step is 0", got=str(deltas.tolist()))
        each = zip(np.ravel(starts), np.ravel(limits), np.ravel(deltas), strict=True)
        ranges = [np.arange(*bounds).astype(starts.dtype) for bounds in each]
        ends = np.cumsum([0, *(len(r) for r in ranges)])
        return ends.astype(self.Tsplits.numpy), np.concatenate([*ranges, starts.ravel()[:0]])


class EditDistance(SizedByValues):
    """Edit distance (Levenshtein) from each hypothesis to its truth, both sparse tensors."""

    static = ("hypothesis_shape", "truth_shape")
    normalized: bool = True
    examples = (case("i64[2,2]:<1", "i64[2]:<3", (1, 3), "i64[1,2]:<1", "i64[1]:<3", (1, 3)),)

    def __init__(self, normalize: bool = True) -> None:
        super().__init__(normalized=check_bool("EditDistance", "normalize", normalize))

    def lower(
        self,
        hypothesis_indices: Array,
        hypothesis_values: Array,
        hypothesis_shape: Any,
        truth_indices: Array,
        truth_values: Array,
        truth_shape: Any,
    ) -> Array:
        raise self.unsizable()

    def check(self, *args: Any) -> None:
        """Accepts sparse tensors of any content."""

    def host(
        self,
        hypothesis_indices: Any,
        hypothesis_values: Any,
        hypothesis_shape: Any,
        truth_indices: Any,
        truth_values: Any,
        truth_shape: Any,
    ) -> Any:
        sizes = [max(h, t) for h, t in zip(hypothesis_shape, truth_shape, strict=True)][:-1]
        distances = np.zeros(sizes, np.float32)
        hypotheses = _rows(hypothesis_indices, hypothesis_values)
        truths = _rows(truth_indices, truth_values)
        for index in np.ndindex(*sizes):
            truth = truths.get(index, [])
            distance = float(_edits(hypotheses.get(index, []), truth))
            if self.normalized:
                distance = distance / len(truth) if truth else (np.inf if distance else 0.0)
            distances[index] = distance
        return distances


def ctc_greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool = True) -> Any:
    """CTC greedy decoding: the best class of each time step, without repeats and blanks.

    The result is a sparse matrix.
    """
    return CTCGreedyDecoder.of(merge_repeated)(inputs, sequence_length)


class UniqueWithPad(SizedByValues):
    """Unique elements of a vector, padded with a number.

    Also returns the index of each element among them.
    """

    examples = (case("i32[5]:<3", "i32[]"), case("f32[3]", "f32[]"))

    def lower(self, x: Array, pad_num: Array) -> tuple[Array, Array]:
        raise self.unsizable()

    def check(self, x: Any, pad_num: Any) -> None:
        if x.dtype != pad_num.dtype:
            raise problem(
                TypeError,
                "UniqueWithPad: x and pad_num differ in dtype",
                got=f"{x.dtype} and {pad_num.dtype}",
            )

    def host(self, x: Any, pad_num: Any) -> tuple[Any, Any]:
        self.check(x, pad_num)
        distinct, first, inverse = np.unique(x.ravel(), return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        filled = np.full(x.size, pad_num, x.dtype)
        filled[: distinct.size] = distinct[order]
        index_dtype = np.int64 if x.dtype == np.int64 else np.int32
        return filled, rank[inverse.ravel()].reshape(x.shape).astype(index_dtype)


def unique_with_pad(x: Any, pad_num: Any) -> tuple[Any, Any]:
    """Unique elements of a vector, padded with `pad_num`, and the index of each element."""
    check_tensors("unique_with_pad", x=x)
    padding = pad_num if hasattr(pad_num, "dtype") else scalar_to_tensor(pad_num, x.dtype)
    return UniqueWithPad.of()(x, padding)


def _rows(indices: Any, values: Any) -> dict[tuple[int, ...], list[Any]]:
    """The values of a sparse tensor, row by row."""
    rows: dict[tuple[int, ...], list[Any]] = {}
    for index, value in zip(indices.tolist(), values.tolist(), strict=True):
        rows.setdefault(tuple(index[:-1]), []).append(value)
    return rows


def _edits(first: list[Any], second: list[Any]) -> int:
    """The number of insertions, deletions, and substitutions between two lists."""
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above, row[0] = row[0], i
        for j, b in enumerate(second, 1):
            above, row[j] = row[j], min(above + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]
