"""Mixed precision: levels, operator lists, and loss scaling."""

from mycelia.amp.levels import auto_mixed_precision as auto_mixed_precision
from mycelia.amp.levels import build_train_network as build_train_network
from mycelia.amp.levels import custom_mixed_precision as custom_mixed_precision
from mycelia.amp.levels import get_black_list as get_black_list
from mycelia.amp.levels import get_white_list as get_white_list
from mycelia.amp.loss_scale_manager import DynamicLossScaleManager as DynamicLossScaleManager
from mycelia.amp.loss_scale_manager import FixedLossScaleManager as FixedLossScaleManager
from mycelia.amp.loss_scale_manager import LossScaleManager as LossScaleManager
from mycelia.amp.loss_scaler import DynamicLossScaler as DynamicLossScaler
from mycelia.amp.loss_scaler import LossScaler as LossScaler
from mycelia.amp.loss_scaler import StaticLossScaler as StaticLossScaler
from mycelia.amp.loss_scaler import all_finite as all_finite
