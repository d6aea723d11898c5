"""Optimizers with parameter groups, as in PyTorch, and learning rate schedulers."""

from mycelia.experimental.optim import lr_scheduler as lr_scheduler
from mycelia.experimental.optim.adaptive import Adadelta as Adadelta
from mycelia.experimental.optim.adaptive import Adagrad as Adagrad
from mycelia.experimental.optim.adaptive import RMSprop as RMSprop
from mycelia.experimental.optim.adaptive import Rprop as Rprop
from mycelia.experimental.optim.averaging import (
    ExponentialMovingAverage as ExponentialMovingAverage,
)
from mycelia.experimental.optim.descent import ASGD as ASGD
from mycelia.experimental.optim.descent import SGD as SGD
from mycelia.experimental.optim.kfac import KFAC as KFAC
from mycelia.experimental.optim.moments import Adam as Adam
from mycelia.experimental.optim.moments import Adamax as Adamax
from mycelia.experimental.optim.moments import AdamW as AdamW
from mycelia.experimental.optim.moments import NAdam as NAdam
from mycelia.experimental.optim.moments import RAdam as RAdam
from mycelia.experimental.optim.muon import Muon as Muon
from mycelia.experimental.optim.optimizer import Optimizer as Optimizer
from mycelia.experimental.optim.shampoo import Shampoo as Shampoo
from mycelia.experimental.optim.soap import SOAP as SOAP
