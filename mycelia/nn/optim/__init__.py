"""Optimizers: they update parameters from gradients."""

from mycelia.nn.optim.adadelta import Adadelta as Adadelta
from mycelia.nn.optim.adagrad import Adagrad as Adagrad
from mycelia.nn.optim.adam import Adam as Adam
from mycelia.nn.optim.adam import AdamWeightDecay as AdamWeightDecay
from mycelia.nn.optim.adam import LazyAdam as LazyAdam
from mycelia.nn.optim.adamax import AdaMax as AdaMax
from mycelia.nn.optim.ftrl import FTRL as FTRL
from mycelia.nn.optim.lamb import Lamb as Lamb
from mycelia.nn.optim.lars import LARS as LARS
from mycelia.nn.optim.momentum import Momentum as Momentum
from mycelia.nn.optim.optimizer import Optimizer as Optimizer
from mycelia.nn.optim.proximal_adagrad import ProximalAdagrad as ProximalAdagrad
from mycelia.nn.optim.rmsprop import RMSProp as RMSProp
from mycelia.nn.optim.sgd import SGD as SGD
