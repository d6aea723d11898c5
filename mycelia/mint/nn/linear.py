"""Linear, embedding, identity, and dropout layers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_int, check_positive_int
from mycelia._engine.core.errors import problem, wrong_value
from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_axis
from mycelia.tensor.initializer import HeUniform, Normal, Uniform, initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class Linear(Cell):
    """Fully connected layer: x @ weight^T + bias, with weight (out_features, in_features)."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        weight_init: Any = None,
        bias_init: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features = check_positive_int("Linear", "in_features", in_features)
        self.out_features = check_positive_int("Linear", "out_features", out_features)
        self.has_bias = check_bool("Linear", "bias", bias)
        kind = dtype or dtypes.float32
        shape = (out_features, in_features)
        weight_init = HeUniform(math.sqrt(5)) if weight_init is None else weight_init
        self.weight = Parameter(initializer(weight_init, shape, kind), name="weight")
        self.bias = None
        if bias:
            bias_init = Uniform(1 / math.sqrt(in_features)) if bias_init is None else bias_init
            self.bias = Parameter(initializer(bias_init, (out_features,), kind), name="bias")

    def construct(self, x: Any) -> Any:
        check_axis("Linear", "in_features", self.in_features, x, -1)
        return F.linear(x, self.weight, self.bias)

    def extend_repr(self) -> str:
        return (
            f"input_features={self.in_features}, output_features={self.out_features}, "
            f"has_bias={self.has_bias}"
        )


class Embedding(Cell):
    """Embedding table: one row of `weight` per index. The row `padding_idx` stays zero."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Any = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = check_positive_int("Embedding", "num_embeddings", num_embeddings)
        self.embedding_dim = check_positive_int("Embedding", "embedding_dim", embedding_dim)
        self.sparse = check_bool("Embedding", "sparse", sparse)
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = check_bool("Embedding", "scale_grad_by_freq", scale_grad_by_freq)
        self.dtype = dtype or dtypes.float32
        table = self._initial() if _weight is None else self._given(_weight)
        trained = not check_bool("Embedding", "_freeze", _freeze)
        self.weight = Parameter(table, name="weight", requires_grad=trained)

    def _initial(self) -> Tensor:
        shape = (self.num_embeddings, self.embedding_dim)
        table = initializer(Normal(1.0), shape, self.dtype)
        if self.padding_idx is None:
            return table
        count = self.num_embeddings
        if not -count <= check_int("Embedding", "padding_idx", self.padding_idx) < count:
            wanted = f"in range of [{-count}, {count})"
            raise wrong_value("Embedding", "padding_idx", self.padding_idx, wanted)
        numbers = np.array(table)
        numbers[self.padding_idx] = 0
        return Tensor(numbers)

    def _given(self, weight: Any) -> Tensor:
        if tuple(weight.shape) != (self.num_embeddings, self.embedding_dim):
            raise problem(
                ValueError,
                "Embedding: '_weight' has the wrong shape",
                got=f"{tuple(weight.shape)}",
                expected=f"{(self.num_embeddings, self.embedding_dim)}",
            )
        return Tensor(weight, self.dtype)

    def construct(self, input: Any) -> Any:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
        )

    def extend_repr(self) -> str:
        names = (
            "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type",
            "scale_grad_by_freq", "dtype",
        )  # fmt: skip
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class Identity(Cell):
    """Return the input unchanged; the constructor accepts and ignores any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, input: Any) -> Any:
        return input


class Dropout(Cell):
    """Dropout: in training, zero each element with probability `p` and scale up the rest."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.dropout(input, self.p, self.training, self.inplace)


class Dropout2d(Cell):
    """Dropout of whole channels, with probability `p`, in training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        self.p = p
        self.inplace = inplace

    def construct(self, input: Any) -> Any:
        return F.dropout2d(input, self.p, self.training, self.inplace)
