"""Normalization layers: batch, layer, and group normalization."""

from __future__ import annotations

from typing import Any

from mycelia import ops
from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_bool, check_float, check_positive_int, is_int
from mycelia._engine.core.errors import problem
from mycelia._engine.core.shape import as_shape
from mycelia.mint.nn import functional as F
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_rank
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor


class _MintBatchNorm(Cell):
    """Base class of the batch normalization layers.

    The running statistics become (1 - momentum) x old + momentum x new in training; with momentum
    None they are cumulative averages. Without running statistics, the layer always uses those of
    the batch.
    """

    ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = check_positive_int(owner, "num_features", num_features)
        self.eps = check_float(owner, "eps", eps)
        self.momentum = None if momentum is None else check_float(owner, "momentum", momentum)
        self.affine = check_bool(owner, "affine", affine)
        self.track_running_stats = check_bool(owner, "track_running_stats", track_running_stats)
        kind = dtype or dtypes.float32
        self.weight = self._filled("ones", "weight", kind, True) if affine else None
        self.bias = self._filled("zeros", "bias", kind, True) if affine else None
        if track_running_stats:
            mean = self._filled("zeros", "running_mean", kind, False)
            variance = self._filled("ones", "running_var", kind, False)
            seen = Parameter(Tensor(0, dtypes.int64), "num_batches_tracked", requires_grad=False)
            for parameter in (mean, variance, seen):
                self.insert_param_to_cell(parameter.name, parameter)

    def _filled(self, init: str, name: str, dtype: Any, trained: bool) -> Parameter:
        values = initializer(init, (self.num_features,), dtype)
        return Parameter(values, name=name, requires_grad=trained)

    # `to_float` does not cast the statistics: a cast copy could not be updated.

    @property
    def running_mean(self) -> Parameter | None:
        return self._params.get("running_mean")

    @property
    def running_var(self) -> Parameter | None:
        return self._params.get("running_var")

    @property
    def num_batches_tracked(self) -> Parameter | None:
        return self._params.get("num_batches_tracked")

    def construct(self, input: Any) -> Any:
        if self.ranks:
            check_rank(type(self).__name__, input, *self.ranks)
        affine = (self.weight, self.bias)
        mean, variance = self.running_mean, self.running_var
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.copy_(ops.add(self.num_batches_tracked, 1))
            if self.momentum is None:
                self._average(input)
                mean = variance = None
        by_batch = self.training or mean is None
        momentum = 0.0 if self.momentum is None else self.momentum
        return F.batch_norm(input, mean, variance, *affine, by_batch, momentum, self.eps)

    def _average(self, input: Any) -> None:
        """Update the running statistics to the averages over all batches so far."""
        axes = tuple(i for i in range(len(input.shape)) if i != 1)
        found = ops.var_mean(ops.stop_gradient(input), axes, 1)
        share = ops.div(1.0, ops.cast(self.num_batches_tracked, dtypes.float32))
        for old, new in zip((self.running_var, self.running_mean), found, strict=True):
            if old is not None:
                old.copy_(ops.add(old, ops.mul(ops.sub(new, old), share)))

    def extend_repr(self) -> str:
        names = ("num_features", "eps", "momentum", "affine", "track_running_stats")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class BatchNorm1d(_MintBatchNorm):
    """Batch normalization (Ioffe and Szegedy 2015) of (N, C) or (N, C, L)."""

    ranks = (2, 3)


class BatchNorm2d(_MintBatchNorm):
    """Batch normalization of images (N, C, H, W)."""

    ranks = (4,)


class BatchNorm3d(_MintBatchNorm):
    """Batch normalization of volumes (N, C, D, H, W)."""

    ranks = (5,)


class SyncBatchNorm(_MintBatchNorm):
    """Batch normalization of (N, C, ...) with statistics of the whole batch across devices."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
        self.process_group = process_group


class GroupNorm(Cell):
    """Group normalization over groups of channels (Wu and He 2018)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_groups = check_positive_int("GroupNorm", "num_groups", num_groups)
        self.num_channels = check_positive_int("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise problem(
                ValueError,
                "GroupNorm: 'num_channels' must be divisible by 'num_groups'",
                got=f"{num_channels} and {num_groups}",
            )
        self.eps = check_float("GroupNorm", "eps", eps)
        self.affine = check_bool("GroupNorm", "affine", affine)
        kind, shape = dtype or dtypes.float32, (num_channels,)
        self.weight = Parameter(initializer("ones", shape, kind), name="weight") if affine else None
        self.bias = Parameter(initializer("zeros", shape, kind), name="bias") if affine else None

    def construct(self, input: Any) -> Any:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        names = ("num_groups", "num_channels", "eps", "affine")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)


class LayerNorm(Cell):
    """Layer normalization over the last axes, of sizes `normalized_shape` (Ba et al. 2016)."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        sizes = (normalized_shape,) if is_int(normalized_shape) else normalized_shape
        self.normalized_shape = as_shape(sizes, "LayerNorm")
        self.eps = check_float("LayerNorm", "eps", eps)
        self.elementwise_affine = check_bool("LayerNorm", "elementwise_affine", elementwise_affine)
        kind, shape = dtype or dtypes.float32, self.normalized_shape
        self.weight = self.bias = None
        if elementwise_affine:
            self.weight = Parameter(initializer("ones", shape, kind), name="weight")
        if elementwise_affine and check_bool("LayerNorm", "bias", bias):
            self.bias = Parameter(initializer("zeros", shape, kind), name="bias")

    def construct(self, input: Any) -> Any:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        names = ("normalized_shape", "eps", "elementwise_affine")
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)
