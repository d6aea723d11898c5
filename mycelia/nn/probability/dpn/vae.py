"""Variational autoencoders (Kingma and Welling, 2013), plain and class-conditional."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core import dtype as dtypes
from mycelia._engine.core.checks import check_instance, check_positive_int
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dense
from mycelia.nn.probability.distribution.normal import Normal
from mycelia.ops.elementwise.exponential import exp
from mycelia.ops.shapes.concat import concat
from mycelia.ops.shapes.creation import one_hot, ones, zeros
from mycelia.ops.shapes.reshape import cast, reshape


class VAE(Cell):
    """Encode inputs to normal distributions, draw codes from them, decode the codes.

    Gives (reconstruction, x, mean, standard deviation), as the ELBO loss takes them.
    """

    def __init__(self, encoder: Cell, decoder: Cell, hidden_size: int, latent_size: int) -> None:
        super().__init__()
        self._make(encoder, decoder, hidden_size, latent_size, beside=0)

    def _make(
        self, encoder: Cell, decoder: Cell, hidden_size: int, latent_size: int, *, beside: int
    ) -> None:
        """Make the parts; `beside` numbers stand next to the code and the encoded input."""
        owner = type(self).__name__
        self.encoder = check_instance(owner, "encoder", encoder, Cell)
        self.decoder = check_instance(owner, "decoder", decoder, Cell)
        self.hidden_size = check_positive_int(owner, "hidden_size", hidden_size)
        self.latent_size = check_positive_int(owner, "latent_size", latent_size)
        self.normal = Normal()
        self.dense1 = Dense(hidden_size + beside, latent_size)
        self.dense2 = Dense(hidden_size + beside, latent_size)
        self.dense3 = Dense(latent_size + beside, hidden_size)

    def construct(self, x: Any) -> Any:
        return self._through(x)

    def generate_sample(self, generate_nums: int, shape: Any) -> Any:
        """New samples: `generate_nums` decoded codes from the standard normal, in `shape`."""
        count = check_positive_int(type(self).__name__, "generate_nums", generate_nums)
        return self._generate(count, shape)

    def reconstruct_sample(self, x: Any) -> Any:
        """The reconstruction of x from a sampled code."""
        return self._through(x)[0]

    def _generate(self, count: int, shape: Any, *beside: Any) -> Any:
        sizes = (count, self.latent_size)
        code = self.normal("sample", (), zeros(sizes, dtypes.float32), ones(sizes, dtypes.float32))
        return reshape(self._decode(code, *beside), shape)

    def _through(self, x: Any, *beside: Any) -> Any:
        encoded = _joined(self.encoder(x), *beside)
        mean = self.dense1(encoded)
        deviation = exp(0.5 * self.dense2(encoded))
        code = self.normal("sample", (), mean, deviation)
        return self._decode(code, *beside), x, mean, deviation

    def _decode(self, code: Any, *beside: Any) -> Any:
        return self.decoder(self.dense3(_joined(code, *beside)))


class ConditionalVAE(VAE):
    """A conditional variational autoencoder, which also sees the class (Sohn et al., 2015)."""

    def __init__(
        self, encoder: Cell, decoder: Cell, hidden_size: int, latent_size: int, num_classes: int
    ) -> None:
        Cell.__init__(self)
        self.num_classes = check_positive_int("ConditionalVAE", "num_classes", num_classes)
        self._make(encoder, decoder, hidden_size, latent_size, beside=num_classes)

    def construct(self, x: Any, y: Any) -> Any:
        return self._through(x, self._classes(y))

    def generate_sample(self, sample_y: Any, generate_nums: int, shape: Any) -> Any:
        """New samples of the classes `sample_y`, in `shape`."""
        count = check_positive_int("ConditionalVAE", "generate_nums", generate_nums)
        return self._generate(count, shape, self._classes(sample_y))

    def reconstruct_sample(self, x: Any, y: Any) -> Any:
        """The reconstruction of x with class y."""
        return self._through(x, self._classes(y))[0]

    def _classes(self, y: Any) -> Any:
        return cast(one_hot(y, self.num_classes), dtypes.float32)


def _joined(x: Any, *beside: Any) -> Any:
    return concat((x, *beside), 1) if beside else x
