"""Embedding layers, which look up rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import (
    check_bool,
    check_instance,
    check_int,
    check_positive_int,
    check_string,
    is_int,
)
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.layer.math import clipped
from mycelia.nn.sizes import check_rank
from mycelia.ops.elementwise.arithmetic import DivNoNan, abs
from mycelia.ops.elementwise.where import where
from mycelia.ops.indexing.gather import EmbeddingLookup as EmbeddingLookupOp
from mycelia.ops.indexing.gather import Gather
from mycelia.ops.linalg.matmul import BatchMatMul, MatMul
from mycelia.ops.reduction.reduction import ReduceMax, ReduceSum
from mycelia.ops.shapes.creation import OneHot
from mycelia.ops.shapes.reshape import expand_dims, reshape
from mycelia.ops.shapes.shape_queries import shape as shape_of
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Embedding(Cell):
    """Looks up rows of `embedding_table` by index. The row `padding_idx` is initialized to zero."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: DType = dtypes.float32,
        padding_idx: int | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size = check_int("Embedding", "vocab_size", vocab_size)
        self.embedding_size = check_int("Embedding", "embedding_size", embedding_size)
        self.use_one_hot = check_bool("Embedding", "use_one_hot", use_one_hot)
        self.dtype = check_instance("Embedding", "dtype", dtype, DType)
        self.padding_idx = padding_idx
        table = initializer(embedding_table, (vocab_size, embedding_size))
        if padding_idx is not None:
            table = _without_row(table, _check_padding_index(padding_idx, vocab_size))
        self.embedding_table = Parameter(table, name="embedding_table")
        self.gather = Gather()
        self.one_hot = OneHot()
        self.on_value = Tensor(1.0, self.embedding_table.dtype)
        self.off_value = Tensor(0.0, self.embedding_table.dtype)
        self.array_mul = MatMul()

    def construct(self, ids: Any) -> Any:
        shape = shape_of(ids)
        if isinstance(ids, Tensor) and not ids.dtype.is_integer:
            raise problem(
                TypeError,
                "Embedding: the ids must be integers below vocab_size",
                got=f"a Tensor of {ids.dtype}",
                fix="cast them: ids.astype(mycelia.int32)",
            )
        if not self.use_one_hot:
            return self.gather(self.embedding_table, ids, 0)
        indices = reshape(ids, (-1,))
        chosen = self.one_hot(indices, self.vocab_size, self.on_value, self.off_value)
        rows = self.array_mul(chosen, self.embedding_table)
        return reshape(rows, (*shape, self.embedding_size))

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, "
            f"use_one_hot={self.use_one_hot}, embedding_table={self.embedding_table}, "
            f"dtype={self.dtype}, padding_idx={self.padding_idx}"
        )


def _check_padding_index(padding_idx: Any, vocab_size: int) -> int:
    if not is_int(padding_idx):
        raise wrong_type("Embedding", "padding_idx", padding_idx, "int")
    if not 0 <= padding_idx < vocab_size:
        raise wrong_value("Embedding", "padding_idx", padding_idx, f"in range of [0, {vocab_size})")
    return padding_idx


def _without_row(table: Tensor, row: int) -> Tensor:
    values = np.array(table)
    values[row] = 0
    return Tensor(values)


class EmbeddingLookup(Cell):
    """Looks up rows of `embedding_table` by index, clipped to the norm `max_norm` if given.

    Indices outside the table return zeros. `target`, `slice_mode`, and `manual_shapes` set how the
    table is placed on several devices.
    """

    BATCH_SLICE = "batch_slice"
    FIELD_SLICE = "field_slice"
    TABLE_ROW_SLICE = "table_row_slice"
    TABLE_COLUMN_SLICE = "table_column_slice"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        check_bool(owner, "sparse", sparse)
        self.vocab_size = check_positive_int(owner, "vocab_size", vocab_size)
        self.embedding_size = check_positive_int(owner, "embedding_size", embedding_size)
        self.target = check_string(owner, "target", target, ("CPU", "DEVICE"))
        if not sparse and target == "CPU":
            raise problem(
                ValueError,
                f"{owner}: 'sparse' must be True when 'target' is \"CPU\"",
                got="sparse=False and target='CPU'",
            )
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")
        self.slice_mode, self.manual_shapes, self.sparse = slice_mode, manual_shapes, sparse
        self.max_norm = _check_norm(owner, max_norm)
        self.embeddinglookup = EmbeddingLookupOp()

    def construct(self, indices: Any) -> Any:
        out = self.embeddinglookup(self.embedding_table, indices, 0)
        if self.max_norm is not None:
            out = clipped(out, self.max_norm, -1)
        return out


def _check_norm(owner: str, max_norm: Any) -> float | None:
    if max_norm is None:
        return None
    if not isinstance(max_norm, float):
        raise wrong_type(owner, "max_norm", max_norm, "float")
    if max_norm <= 0:
        raise wrong_value(owner, "max_norm", max_norm, "float and must > 0")
    return max_norm


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Looks up rows, multiplies them by values, and reduces them per field: sum, mean, or maximum.

    Indices, values, and field ids are (N, L); the result is (N, field_size, embedding_size), zero
    for fields without features. The mean weights features by the absolute value of their values.
    """

    OPERATOR_SUM = "SUM"
    OPERATOR_MEAN = "MEAN"
    OPERATOR_MAX = "MAX"

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm,
            sparse, dtype,
        )  # fmt: skip
        owner = "MultiFieldEmbeddingLookup"
        self.field_size = check_positive_int(owner, "field_size", field_size)
        self.operator = check_string(owner, "operator", operator, ("SUM", "MAX", "MEAN"))
        self.members = OneHot(1)
        self.on_value, self.off_value = Tensor(1.0, dtypes.float32), Tensor(0.0, dtypes.float32)
        self.matmul = BatchMatMul()
        self.divide = DivNoNan()
        self.reduce_max = ReduceMax()
        self.reduce_sum = ReduceSum(True)

    def construct(self, input_indices: Any, input_values: Any, field_ids: Any) -> Any:
        self._check(input_indices, input_values, field_ids)
        rows = EmbeddingLookup.construct(self, input_indices) * expand_dims(input_values, -1)
        members = self.members(field_ids, self.field_size, self.on_value, self.off_value)
        if self.operator == "MAX":
            return self._largest(rows, members)
        total = self.matmul(members, rows)
        if self.operator == "SUM":
            return total
        return self.divide(total, self.matmul(members, expand_dims(abs(input_values), -1)))

    def _largest(self, rows: Any, members: Any) -> Any:
        inside = expand_dims(members, -1) > 0
        largest = self.reduce_max(where(inside, expand_dims(rows, 1), float("-inf")), 2)
        return where(self.reduce_sum(members, -1) > 0, largest, 0.0)

    def _check(self, input_indices: Any, input_values: Any, field_ids: Any) -> None:
        owner = "MultiFieldEmbeddingLookup"
        for x in (input_indices, input_values, field_ids):
            check_rank(owner, x, 2)
        if input_values.dtype is not dtypes.float32:
            raise wrong_type(owner, "input_values", input_values, "a tensor of float32")
        if field_ids.dtype is not dtypes.int32:
            raise wrong_type(owner, "field_ids", field_ids, "a tensor of int32")
