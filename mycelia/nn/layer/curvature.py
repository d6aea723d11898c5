"""Curvature probes, which expose the curvature of layers to second-order optimizers.

`watch` wraps the product of a supported layer in a probe. In training, the probe accumulates the
second moment of the layer's inputs, and returns the second moment of the gradients at its outputs
as its own "gradient". The layer's results do not change.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from mycelia._engine.core.errors import problem
from mycelia.nn.cell import Cell
from mycelia.nn.layer.basic import Dense
from mycelia.nn.layer.convolution import Conv2d
from mycelia.nn.layer.embedding import Embedding, EmbeddingLookup, MultiFieldEmbeddingLookup
from mycelia.nn.layer.normalization import LayerNorm
from mycelia.ops.elementwise.arithmetic import add, mul
from mycelia.ops.optimizer.curvature import (
    DUE,
    STATE_SIZE,
    GradientProbe,
    InputMoment,
    ScaleProbe,
    TokenMoment,
)
from mycelia.ops.shapes.creation import ones_like, zeros_like
from mycelia.tensor.parameter import Parameter
from mycelia.tensor.tensor import Tensor

BLOCK_SIZE = 1024  # larger factors are split into blocks
DECAY = 0.95  # of the moments, from one sampled batch to the next


class CurvatureProbe(Cell):
    """Wraps the product of a layer. `weights` are the parameters whose curvature it measures."""

    weights: tuple[Parameter, ...]

    def __init__(self, product: Any, weights: tuple[Any, ...], outputs: tuple[int, ...]) -> None:
        super().__init__(auto_prefix=False)
        self.product = product
        self.weights = tuple(weight for weight in weights if weight is not None)
        self._add("matrix_g", np.zeros(outputs, np.float32)).measures_gradients = True
        first = np.zeros(STATE_SIZE, np.float32)
        first[DUE] = 1
        self._add("curvature", first)

    def _add(self, name: str, value: Any) -> Parameter:
        parameter = Parameter(Tensor(value), name=name, requires_grad=False)
        self.insert_param_to_cell(name, parameter)
        return parameter

    # Read from _params directly: half-precision cells cast parameters that are read as attributes.

    @property
    def matrix_a(self) -> Parameter:
        """The second moment of the inputs."""
        return self._params["matrix_a"]

    @property
    def matrix_g(self) -> Parameter:
        """The second moment of the gradients at the outputs."""
        return self._params["matrix_g"]

    @property
    def curvature(self) -> Parameter:
        """The state of both moments: see ops.curvature."""
        return self._params["curvature"]


class ProductCurvatureProbe(CurvatureProbe):
    """The probe of matrix products and convolutions."""

    def __init__(self, layer: Dense | Conv2d, product: Any, block_size: int) -> None:
        outputs = layer.weight.shape[0]
        inputs = prod(layer.weight.shape[1:]) + layer.has_bias
        super().__init__(product, (layer.weight, layer.bias), blocks(outputs, block_size))
        self._add("matrix_a", np.zeros(blocks(inputs, block_size), np.float32))
        window = product.window if isinstance(layer, Conv2d) else None
        self.collect = InputMoment(DECAY, layer.has_bias, window)
        self.probe = GradientProbe("NCHW" if window else "")

    def construct(self, x: Any, weight: Any) -> Any:
        if not self.training:
            return self.product(x, weight)
        self.collect(x, self.matrix_a, self.curvature)
        return self.probe(self.product(x, weight), self.matrix_g, self.curvature)


class EmbeddingCurvatureProbe(CurvatureProbe):
    """The probe of embedding lookups."""

    def __init__(self, layer: Embedding | EmbeddingLookup, product: Any, block_size: int) -> None:
        table = layer.embedding_table
        super().__init__(product, (table,), blocks(table.shape[1], block_size))
        self._add("matrix_a", np.zeros(table.shape[0], np.float32))
        self.collect = TokenMoment(DECAY)
        self.probe = GradientProbe()

    def construct(self, table: Any, ids: Any, axis: Any) -> Any:
        if not self.training:
            return self.product(table, ids, axis)
        self.collect(ids, self.matrix_a, self.curvature)
        return self.probe(self.product(table, ids, axis), self.matrix_g, self.curvature)


class ScaleCurvatureProbe(CurvatureProbe):
    """The probe of a normalization's scale and shift."""

    def __init__(self, layer: LayerNorm, product: Any, block_size: int) -> None:
        super().__init__(product, (layer.gamma, layer.beta), (2, prod(layer.gamma.shape)))
        self.probe = ScaleProbe()

    def construct(self, x: Any, gamma: Any, beta: Any) -> Any:
        if not self.training:
            return self.product(x, gamma, beta)
        normal, mean, variance = self.product(x, ones_like(gamma), zeros_like(beta))
        scaled = add(mul(normal, gamma), beta)
        return self.probe(scaled, normal, self.matrix_g, self.curvature), mean, variance


# The attribute of each layer that holds its product, and the probe that wraps it.
_WATCHERS: dict[type[Cell], tuple[str, Any]] = {
    Dense: ("matmul", ProductCurvatureProbe),
    Conv2d: ("conv2d", ProductCurvatureProbe),
    Embedding: ("gather", EmbeddingCurvatureProbe),
    EmbeddingLookup: ("embeddinglookup", EmbeddingCurvatureProbe),
    LayerNorm: ("layer_norm", ScaleCurvatureProbe),
}


def watch(layer: Cell, block_size: int = BLOCK_SIZE) -> CurvatureProbe | None:
    """Watch a layer, unless it is already watched; returns None for unsupported layers."""
    for kind, (attribute, watcher) in _WATCHERS.items():
        if isinstance(layer, kind) and _is_plain(layer):
            product = getattr(layer, attribute)
            if isinstance(product, CurvatureProbe):
                return product
            delattr(layer, attribute)
            watched = watcher(layer, product, block_size)
            setattr(layer, attribute, watched)
            return watched
    return None


def watched_layers(network: Cell, block_size: int = BLOCK_SIZE) -> list[CurvatureProbe]:
    """Watch all trainable, supported layers of a network; returns their probes.

    A weight that several layers share is skipped: its curvature is not a product of two factors.
    """
    if not isinstance(network, Cell):
        raise problem(TypeError, "thor: 'net' must be a Cell", got=type(network).__name__)
    probes: list[CurvatureProbe] = []
    owners: dict[int, int] = {}
    for path, layer in list(network.cells_and_names()):
        if isinstance(layer, CurvatureProbe) or not _trains(layer):
            continue
        watched = watch(layer, block_size)
        if watched is not None:
            _name(watched, path)
            probes.append(watched)
    for watched in probes:
        for weight in watched.weights:
            owners[id(weight)] = owners.get(id(weight), 0) + 1
    return [w for w in probes if all(owners[id(weight)] == 1 for weight in w.weights)]


def blocks(size: int, limit: int) -> tuple[int, int, int]:
    """The shape of a factor split into equal diagonal blocks of at most `limit`."""
    count = -(-size // limit)
    block_size = -(-size // count)
    return count, block_size, block_size


def _is_plain(layer: Cell) -> bool:
    """Whether the layer's product is supported: ungrouped NCHW, and no one-hot or field lookup."""
    if isinstance(layer, Conv2d):
        return layer.group == 1 and layer.data_format == "NCHW"
    if isinstance(layer, Embedding):
        return not layer.use_one_hot
    return not isinstance(layer, MultiFieldEmbeddingLookup)


def _trains(layer: Cell) -> bool:
    own = list(layer.get_parameters(expand=False))
    return bool(own) and all(parameter.requires_grad for parameter in own)


def _name(watched: CurvatureProbe, path: str) -> None:
    for name, parameter in watched.parameters_and_names(expand=False):
        parameter.name = f"{path}.{name}" if path else name
