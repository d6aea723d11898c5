"""Normalization layers: batch, layer, group, instance, and local response normalization."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import (
    check_bool,
    check_float,
    check_instance,
    check_int,
    check_positive_int,
    check_string,
)
from mycelia._engine.core.dtype import DType
from mycelia._engine.core.errors import problem, wrong_type, wrong_value
from mycelia.nn.cell import Cell
from mycelia.nn.sizes import check_axis, check_rank
from mycelia.ops.normalization.batch_and_layer import BatchNorm
from mycelia.ops.normalization.batch_and_layer import LayerNorm as LayerNormOp
from mycelia.ops.normalization.group import LRN as LRNOp
from mycelia.ops.normalization.group import InstanceNorm as InstanceNormOp
from mycelia.ops.normalization.group import group_norm, rms_norm
from mycelia.ops.shapes.reshape import reshape
from mycelia.tensor.initializer import initializer
from mycelia.tensor.parameter import Parameter


class _MovingStatisticsNorm(Cell):
    """The base of layers with moving statistics: four parameters with one value per channel."""

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float,
        affine: bool,
        inits: tuple[Any, Any, Any, Any],
        dtype: DType,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = check_int(owner, "num_features", num_features)
        if num_features < 1:
            raise wrong_value(owner, "num_features", num_features, "at least 1")
        if not 0 <= check_float(owner, "momentum", momentum) <= 1:
            raise wrong_value(owner, "momentum", momentum, "a number in range [0, 1]")
        self.eps = eps
        mean_init, variance_init, gamma_init, beta_init = inits
        mean = self._filled(mean_init, "mean", dtype, False)
        variance = self._filled(variance_init, "variance", dtype, False)
        self.insert_param_to_cell("moving_mean", mean)
        self.insert_param_to_cell("moving_variance", variance)
        self.gamma = self._filled(gamma_init, "gamma", dtype, affine)
        self.beta = self._filled(beta_init, "beta", dtype, affine)

    # The statistics keep their dtype under `to_float`: a cast copy could not be updated.

    @property
    def moving_mean(self) -> Parameter:
        return self._params["moving_mean"]

    @property
    def moving_variance(self) -> Parameter:
        return self._params["moving_variance"]

    def _filled(self, init: Any, name: str, dtype: DType, trained: bool) -> Parameter:
        values = initializer(init, (self.num_features,), dtype)
        return Parameter(values, name=name, requires_grad=trained)

    def _shown(self, momentum: float) -> str:
        return (
            f"num_features={self.num_features}, eps={self.eps}, momentum={momentum}, "
            f"gamma={self.gamma}, beta={self.beta}, moving_mean={self.moving_mean}, "
            f"moving_variance={self.moving_variance}"
        )


class _BatchNormLayer(_MovingStatisticsNorm):
    """The base of batch normalizations.

    When batch statistics are used, the moving statistics become momentum x old + (1 - momentum) x
    new: by default in training; `use_batch_statistics` selects always or never.
    """

    ranks: tuple[int, ...] = (4,)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: DType = dtypes.float32,
    ) -> None:
        owner = type(self).__name__
        check_string(owner, "data_format", data_format, ("NCHW", "NHWC"))
        inits = (moving_mean_init, moving_var_init, gamma_init, beta_init)
        super().__init__(num_features, eps, momentum, affine, inits, dtype)
        if use_batch_statistics is not None and not isinstance(use_batch_statistics, bool):
            raise wrong_value(
                owner, "use_batch_statistics", use_batch_statistics, "a boolean value or None"
            )
        self.use_batch_statistics = use_batch_statistics
        self.momentum = 1.0 - momentum
        self.bn_train = BatchNorm(True, eps, self.momentum, data_format)
        self.bn_infer = BatchNorm(False, eps, 0.1, data_format)

    def construct(self, x: Any) -> Any:
        check_rank(type(self).__name__, x, *self.ranks)
        return self._normalized(x)

    def _normalized(self, x: Any) -> Any:
        axis = 1 if self.bn_train.data_format == "NCHW" else -1
        check_axis(type(self).__name__, "num_features", self.num_features, x, axis)
        by_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        operator = self.bn_train if by_batch else self.bn_infer
        return operator(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]

    def extend_repr(self) -> str:
        return self._shown(1.0 - self.momentum)


class BatchNorm1d(_BatchNormLayer):
    """Batch normalization (Ioffe and Szegedy 2015) of (N, C) or (N, C, L)."""

    ranks = (2, 3)

    def construct(self, x: Any) -> Any:
        check_rank("BatchNorm1d", x, 2, 3)
        shape = x.shape
        if len(shape) == 2:
            return self._normalized(x)
        return reshape(self._normalized(reshape(x, (*shape, 1))), shape)


class BatchNorm2d(_BatchNormLayer):
    """Batch normalization of images (N, C, H, W)."""


class SyncBatchNorm(_BatchNormLayer):
    """Batch normalization with the statistics of the whole batch, across all devices."""

    ranks = (2, 4)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        process_groups: Any = None,
        dtype: DType = dtypes.float32,
    ) -> None:
        if process_groups is not None and not isinstance(process_groups, list):
            raise wrong_value("SyncBatchNorm", "process_groups", process_groups, "a list or None")
        super().__init__(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
            moving_var_init, use_batch_statistics, dtype=dtype,
        )  # fmt: skip
        self.process_groups = process_groups


class BatchNorm3d(Cell):
    """Batch normalization of volumes (N, C, D, H, W)."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.bn2d = BatchNorm2d(
            num_features, eps, momentum, affine, gamma_init, beta_init, moving_mean_init,
            moving_var_init, use_batch_statistics, dtype=dtype,
        )  # fmt: skip

    def construct(self, input_x: Any) -> Any:
        check_rank("BatchNorm3d", input_x, 5)
        batch, channels, depth, height, width = input_x.shape
        flat = reshape(input_x, (batch, channels, depth * height, width))
        return reshape(self.bn2d(flat), (batch, channels, depth, height, width))


class LayerNorm(Cell):
    """Layer normalization over the axes from `begin_norm_axis` to the last (Ba et al. 2016)."""

    def __init__(
        self,
        normalized_shape: Any,
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.normalized_shape = _check_normalized_shape("LayerNorm", normalized_shape)
        self.begin_norm_axis = begin_norm_axis
        self.begin_params_axis = begin_params_axis
        self.epsilon = epsilon
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, normalized_shape, dtype), name="beta")
        self.layer_norm = LayerNormOp(begin_norm_axis, begin_params_axis, epsilon)

    def construct(self, input_x: Any) -> Any:
        shape, wanted = input_x.shape, tuple(self.normalized_shape)
        if self.begin_norm_axis == -1 and len(wanted) == 1 and shape[-1:] != wanted:
            check_axis("LayerNorm", "normalized_shape", wanted[0], input_x, -1)
        return self.layer_norm(input_x, self.gamma, self.beta)[0]

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}, "
            f"begin_params_axis={self.begin_params_axis}, gamma{self.gamma}, beta={self.beta}"
        )


class RMSNorm(Cell):
    """Root mean square normalization over the last axes (Zhang and Sennrich 2019)."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-6,
        gamma_init: Any = "ones",
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            size = check_positive_int("RMSNorm", "normalized_shape", normalized_shape)
            normalized_shape = (size,)
        self.normalized_shape = _check_normalized_shape("RMSNorm", normalized_shape)
        self.eps = check_float("RMSNorm", "eps", eps)
        self.gamma = Parameter(initializer(gamma_init, normalized_shape, dtype), name="gamma")

    def construct(self, x: Any) -> Any:
        return rms_norm(x, self.gamma, self.eps)[0]

    def extend_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, gamma={self.gamma}"


def _check_normalized_shape(owner: str, shape: Any) -> Any:
    if not isinstance(shape, (tuple, list)):
        raise wrong_type(owner, "normalized_shape", shape, "tuple[int] or list[int]")
    if not shape:
        raise problem(
            ValueError,
            f"{owner}: the normalized_shape must have at least one dimension",
            got=f"{shape}",
        )
    return shape


class GroupNorm(Cell):
    """Group normalization: channels are normalized in `num_groups` groups (Wu and He 2018)."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = dtypes.float32,
    ) -> None:
        super().__init__()
        self.num_groups = check_positive_int("GroupNorm", "num_groups", num_groups)
        self.num_channels = check_positive_int("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise problem(
                ValueError,
                "GroupNorm: the 'num_channels' must be divisible by 'num_groups'",
                got=f"{num_channels} channels and {num_groups} groups",
            )
        self.eps = check_instance("GroupNorm", "eps", eps, float)
        self.affine = check_bool("GroupNorm", "affine", affine)
        gamma = initializer(gamma_init, (num_channels,), dtype)
        beta = initializer(beta_init, (num_channels,), dtype)
        self.gamma = Parameter(gamma, name="gamma", requires_grad=affine)
        self.beta = Parameter(beta, name="beta", requires_grad=affine)

    def construct(self, x: Any) -> Any:
        check_axis("GroupNorm", "num_channels", self.num_channels, x, 1)
        return group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}"


class _InstanceNormLayer(_MovingStatisticsNorm):
    """The base of instance normalizations (Ulyanov et al. 2016).

    Statistics are computed per sample and channel, in training and inference; the moving ones
    become (1 - momentum) x old + momentum x new.
    """

    rank = 4

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: DType = dtypes.float32,
    ) -> None:
        owner = type(self).__name__
        check_bool(owner, "affine", affine)
        check_instance(owner, "eps", eps, float)
        inits = ("zeros", "ones", gamma_init, beta_init)
        super().__init__(num_features, eps, momentum, affine, inits, dtype)
        self.momentum = momentum
        self.instance_bn = InstanceNormOp(eps, momentum)

    def construct(self, x: Any) -> Any:
        check_rank(type(self).__name__, x, self.rank)
        check_axis(type(self).__name__, "num_features", self.num_features, x, 1)
        return self.instance_bn(x, self.gamma, self.beta, self.moving_mean, self.moving_variance)[0]

    def extend_repr(self) -> str:
        return self._shown(self.momentum)


class InstanceNorm1d(_InstanceNormLayer):
    """Instance normalization of sequences (N, C, L)."""

    rank = 3


class InstanceNorm2d(_InstanceNormLayer):
    """Instance normalization of images (N, C, H, W)."""


class InstanceNorm3d(_InstanceNormLayer):
    """Instance normalization of volumes (N, C, D, H, W)."""

    rank = 5


class LRN(Cell):
    """Local response normalization across channels (Krizhevsky et al. 2012)."""

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        check_int("LRN", "depth_radius", depth_radius)
        check_string("LRN", "norm_region", norm_region, ("ACROSS_CHANNELS",))
        self.lrn_op = LRNOp(depth_radius, bias, alpha, beta, norm_region)

    def construct(self, input_x: Any) -> Any:
        check_rank("LRN", input_x, 4)
        return self.lrn_op(input_x)
