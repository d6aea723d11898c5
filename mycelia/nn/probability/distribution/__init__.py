"""Probability distributions: densities, moments, divergences, and samples."""

from mycelia.nn.probability.distribution.bernoulli import Bernoulli as Bernoulli
from mycelia.nn.probability.distribution.beta import Beta as Beta
from mycelia.nn.probability.distribution.categorical import Categorical as Categorical
from mycelia.nn.probability.distribution.cauchy import Cauchy as Cauchy
from mycelia.nn.probability.distribution.distribution import Distribution as Distribution
from mycelia.nn.probability.distribution.distribution import (
    TransformedDistribution as TransformedDistribution,
)
from mycelia.nn.probability.distribution.exponential import Exponential as Exponential
from mycelia.nn.probability.distribution.gamma import Gamma as Gamma
from mycelia.nn.probability.distribution.geometric import Geometric as Geometric
from mycelia.nn.probability.distribution.gumbel import Gumbel as Gumbel
from mycelia.nn.probability.distribution.half_normal import HalfNormal as HalfNormal
from mycelia.nn.probability.distribution.laplace import Laplace as Laplace
from mycelia.nn.probability.distribution.log_normal import LogNormal as LogNormal
from mycelia.nn.probability.distribution.logistic import Logistic as Logistic
from mycelia.nn.probability.distribution.normal import Normal as Normal
from mycelia.nn.probability.distribution.poisson import Poisson as Poisson
from mycelia.nn.probability.distribution.student_t import StudentT as StudentT
from mycelia.nn.probability.distribution.uniform import Uniform as Uniform
