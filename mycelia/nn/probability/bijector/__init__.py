"""Bijectors: invertible transforms with log-determinants of their Jacobians."""

from mycelia.nn.probability.bijector.bijector import Bijector as Bijector
from mycelia.nn.probability.bijector.exp import Exp as Exp
from mycelia.nn.probability.bijector.gumbel_cdf import GumbelCDF as GumbelCDF
from mycelia.nn.probability.bijector.invert import Invert as Invert
from mycelia.nn.probability.bijector.power_transform import PowerTransform as PowerTransform
from mycelia.nn.probability.bijector.scalar_affine import ScalarAffine as ScalarAffine
from mycelia.nn.probability.bijector.softplus import Softplus as Softplus
