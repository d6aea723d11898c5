"""Boost: algorithms that make training steps cheaper."""

from mycelia.boost.boost import AutoBoost as AutoBoost
from mycelia.boost.boost_cell_wrapper import BoostTrainOneStepCell as BoostTrainOneStepCell
from mycelia.boost.boost_cell_wrapper import (
    BoostTrainOneStepWithLossScaleCell as BoostTrainOneStepWithLossScaleCell,
)
from mycelia.boost.grad_accumulation import GradientAccumulation as GradientAccumulation
from mycelia.boost.grad_freeze import FreezeOpt as FreezeOpt
from mycelia.boost.grad_freeze import GradientFreeze as GradientFreeze
from mycelia.boost.grad_freeze import freeze_cell as freeze_cell
from mycelia.boost.less_batch_normalization import LessBN as LessBN
from mycelia.boost.optimizer_process import OptimizerProcess as OptimizerProcess
from mycelia.boost.parameter_process import ParameterProcess as ParameterProcess
