"""Deep probabilistic networks: variational autoencoders."""

from mycelia.nn.probability.dpn.vae import VAE as VAE
from mycelia.nn.probability.dpn.vae import ConditionalVAE as ConditionalVAE
