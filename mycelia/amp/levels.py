"""Mixed precision levels O0 to O3 and auto, and custom lists."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from mycelia._engine.core.dtype import DType, bfloat16, float16, float32
from mycelia._engine.core.errors import did_you_mean, problem, wrong_type
from mycelia._engine.ir.primitive import Primitive
from mycelia._engine.operators.operator import REGISTRY
from mycelia.amp.casting import (
    OutputCast,
    PrecisionRuleCell,
    balancing,
    cast_floats,
    function_under_rule,
    lower_all_but,
    lower_only,
    lowering,
)
from mycelia.amp.loss_scale_manager import DynamicLossScaleManager, LossScaleManager
from mycelia.boost.boost_cell_wrapper import (
    BoostTrainOneStepCell,
    BoostTrainOneStepWithLossScaleCell,
)
from mycelia.nn import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    Cell,
    Conv1d,
    Conv1dTranspose,
    Conv2d,
    Conv2dTranspose,
    Conv3d,
    Conv3dTranspose,
    Dense,
    GRUCell,
    LayerNorm,
    LSTMCell,
    Optimizer,
    RNNCell,
    TrainOneStepCell,
    TrainOneStepWithLossScaleCell,
    WithLossCell,
)

LEVELS = ("O0", "O1", "O2", "O3", "auto")
BOOST_LEVELS = ("O0", "O1", "O2")
_STEPS: dict[bool, tuple[type[TrainOneStepCell], type[TrainOneStepWithLossScaleCell]]] = {
    False: (TrainOneStepCell, TrainOneStepWithLossScaleCell),
    True: (BoostTrainOneStepCell, BoostTrainOneStepWithLossScaleCell),
}


def _operators(*groups: str) -> list[type]:
    return [REGISTRY[name] for group in groups for name in group.split()]


# Sums of many products: most of the computation, which half precision speeds up.
_MATRIX_PRODUCTS = "MatMul BatchMatMul"
_CONVOLUTIONS = "Conv2D Conv2DTranspose Conv3D Conv3DTranspose"

_WHITE_LIST: list[type] = [
    # cells made of matrix products
    *(Dense, RNNCell, GRUCell, LSTMCell),
    # cells made of convolutions
    *(Conv1d, Conv1dTranspose, Conv2d, Conv2dTranspose, Conv3d, Conv3dTranspose),
    *_operators(_MATRIX_PRODUCTS, _CONVOLUTIONS, "Ger", "Conv2DBackpropInput"),
    # operators after such a product, which preserve its range
    *_operators("ReLU PReLU"),
]

# Means and variances of many values lose too much accuracy in half precision.
_BLACK_LIST: list[type] = [BatchNorm1d, BatchNorm2d, BatchNorm3d, LayerNorm]

_AUTO_LOWER = _operators(_MATRIX_PRODUCTS, _CONVOLUTIONS, "Einsum", "PReLU")
_AUTO_UPPER = _operators(
    # results easily exceed the range of half precision
    "Exp Expm1 Sinh Cosh Softplus Pow",
    # steep near zero, or near the limits of their domains
    "Log Log1p Log2 Log10 Reciprocal Rsqrt Asin ACos Tan Erfinv",
    # rounding errors accumulate over many values
    "CumSum CumProd ReduceProd Softmax LogSoftmax BatchNorm LayerNorm GroupNorm Cdist Pdist",
    # losses: long sums, from which gradients start
    "NLLLoss BCEWithLogitsLoss KLDivLoss SmoothL1Loss SoftMarginLoss MultiMarginLoss "
    "MultilabelMarginLoss TripletMarginLoss",
)


def get_white_list() -> list[type]:
    """The cells and operators that compute in half precision at level O1, as a new list."""
    return list(_WHITE_LIST)


def get_black_list() -> list[type]:
    """The cells that compute in float32 at level O2, as a new list."""
    return list(_BLACK_LIST)


def auto_mixed_precision(network: Any, amp_level: str = "O0", dtype: DType = float16) -> Any:
    """A network that computes partly in `dtype` and returns float32.

    O1: the white list. O2: all but the black list. O3: everything. auto: operators that benefit,
    while operators that need the range compute in float32; also accepts a function.
    """
    _check_network(network, amp_level)
    _check_dtype(dtype)
    if amp_level == "O0":
        return network
    if amp_level == "O1":
        return _lowered_by_list(network, _WHITE_LIST, dtype)
    if amp_level == "O2":
        lower_all_but(network, _BLACK_LIST, dtype)
        return OutputCast(network, float32)
    if amp_level == "O3":
        return OutputCast(network.to_float(dtype), float32)
    if amp_level == "auto":
        rule = balancing(_AUTO_LOWER, _AUTO_UPPER, dtype)
        make = PrecisionRuleCell if isinstance(network, Cell) else function_under_rule
        return make(network, rule)
    raise problem(
        ValueError,
        "auto_mixed_precision: unknown amp_level",
        got=repr(amp_level),
        expected=", ".join(LEVELS),
    )


def custom_mixed_precision(
    network: Cell,
    *,
    white_list: list[type] | None = None,
    black_list: list[type] | None = None,
    dtype: DType = float16,
) -> Cell:
    """A network that computes in `dtype`, either the white list or all but the black list."""
    if not isinstance(network, Cell):
        raise wrong_type("custom_mixed_precision", "network", network, "Cell")
    if (white_list is None) == (black_list is None):
        raise problem(
            ValueError,
            "custom_mixed_precision: pass either a white_list or a black_list",
            got="neither" if white_list is None else "both",
        )
    _check_dtype(dtype)
    if white_list is not None:
        _check_list("white_list", white_list, (Cell, Primitive))
        return _lowered_by_list(network, white_list, dtype)
    _check_list("black_list", black_list, (Cell,))
    assert black_list is not None
    lower_all_but(network, black_list, dtype)
    return OutputCast(network, float32)


def build_train_network(
    network: Cell,
    optimizer: Any,
    loss_fn: Any = None,
    level: str = "O0",
    boost_level: str = "O0",
    **kwargs: Any,
) -> Cell:
    """A cell that runs training steps: the network with its loss, gradients, and the optimizer.

    `level` is the mixed precision level of `auto_mixed_precision`; O2 scales the loss
    automatically. `cast_model_type`, `keep_batchnorm_fp32`, and `loss_scale_manager` override the
    level. With a `boost_level` from O1, the steps are those of `boost.BoostTrainOneStepCell`.
    """
    if not isinstance(optimizer, (Optimizer, Cell)):
        raise wrong_type("build_train_network", "optimizer", optimizer, "Optimizer or Cell")
    check_levels(level, boost_level)
    _check_options(kwargs)
    chosen = _level_options(level) | kwargs
    network = _in_precision(network, chosen, level)
    if loss_fn is not None:
        network = _with_loss(network, loss_fn, chosen, level)
    plain_step, scaled_step = _STEPS[boost_level != "O0"]
    manager = chosen["loss_scale_manager"]
    if manager is None:
        return plain_step(network, optimizer).set_train()
    update = manager.get_update_cell()
    if update is None:
        return plain_step(network, optimizer, manager.get_loss_scale()).set_train()
    return scaled_step(network, optimizer, update).set_train()


def check_levels(level: Any, boost_level: Any) -> None:
    """Check the mixed precision level and the boost level."""
    if not isinstance(level, str):
        raise wrong_type("mixed precision", "level", level, f"one of {', '.join(LEVELS)}")
    for name, value, allowed in (
        ("level", level, LEVELS),
        ("boost_level", boost_level, BOOST_LEVELS),
    ):
        if value not in allowed:
            raise problem(
                ValueError,
                f"mixed precision: unknown {name}",
                got=repr(value),
                expected=", ".join(allowed),
            )


class _LossInFloat32(WithLossCell):
    """A half-precision network with its loss in float32."""

    def construct(self, data: Any, label: Any) -> Any:
        output = cast_floats(self._backbone(data), float32)
        return self._loss_fn(output, cast_floats(label, float32))


def _lowered_by_list(network: Cell, white_list: Sequence[type], dtype: DType) -> Cell:
    cells = [kind for kind in white_list if issubclass(kind, Cell)]
    operators = [kind for kind in white_list if issubclass(kind, Primitive)]
    lowered = lower_only(network, cells, dtype) if cells else network
    return PrecisionRuleCell(lowered, lowering(operators, dtype))


def _level_options(level: str) -> dict[str, Any]:
    return {
        "cast_model_type": float16 if level in ("O2", "O3") else float32,
        "keep_batchnorm_fp32": level == "O2",
        "loss_scale_manager": DynamicLossScaleManager() if level == "O2" else None,
    }


def _in_precision(network: Cell, chosen: dict[str, Any], level: str) -> Cell:
    kept = _BLACK_LIST if chosen["keep_batchnorm_fp32"] else ()
    if chosen["cast_model_type"] is float16 or (level == "O2" and not kept):
        lower_all_but(network, kept, float16)
        return network
    return network if level in ("O2", "O3") else auto_mixed_precision(network, level)


def _with_loss(network: Cell, loss_fn: Any, chosen: dict[str, Any], level: str) -> Cell:
    if not isinstance(loss_fn, Cell):
        raise wrong_type("build_train_network", "loss_fn", loss_fn, "Cell")
    if chosen["cast_model_type"] is float16 or level in ("O2", "O3", "auto"):
        return _LossInFloat32(network, loss_fn)
    return WithLossCell(network, loss_fn)


def _check_network(network: Any, level: Any) -> None:
    is_function = inspect.isfunction(network) or inspect.ismethod(network)
    if not isinstance(network, Cell) and not (level == "auto" and is_function):
        raise problem(
            TypeError,
            f"auto_mixed_precision: level {level!r} does not support this network",
            got=type(network).__name__,
            expected="a Cell or a function" if level == "auto" else "a Cell",
        )


def _check_dtype(dtype: Any) -> None:
    if dtype not in (float16, bfloat16):
        raise problem(
            ValueError,
            "mixed precision: unsupported lower precision",
            got=f"dtype={dtype}",
            expected="float16 or bfloat16",
        )


def _check_list(name: str, given: Any, kinds: tuple[type, ...]) -> None:
    names = " and ".join(kind.__name__ for kind in kinds)
    if not isinstance(given, list):
        raise wrong_type("custom_mixed_precision", name, given, "list")
    for kind in given:
        if not isinstance(kind, type) or not issubclass(kind, kinds):
            raise problem(
                TypeError,
                f"custom_mixed_precision: {name} must contain classes of {names}",
                got=repr(kind),
            )


_OPTIONS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "cast_model_type": (lambda v: v in (float16, float32), "float16 or float32"),
    "keep_batchnorm_fp32": (lambda v: isinstance(v, bool), "bool"),
    "loss_scale_manager": (
        lambda v: v is None or isinstance(v, LossScaleManager),
        "LossScaleManager",
    ),
}


def _check_options(options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name not in _OPTIONS:
            raise problem(
                ValueError,
                f"build_train_network: unknown option {name!r}",
                expected=f"one of {', '.join(_OPTIONS)}",
                fix=did_you_mean(name, _OPTIONS),
            )
        is_right, expected = _OPTIONS[name]
        if not is_right(value):
            raise problem(
                TypeError,
                f"build_train_network: the option {name!r} has a wrong value",
                got=repr(value),
                expected=expected,
            )
