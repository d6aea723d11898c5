"""Converters of networks and models for THOR, with the names of MindSpore's scripts."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import wrong_type
from mycelia.nn.cell import Cell
from mycelia.nn.layer.curvature import watched_layers
from mycelia.nn.optim.thor import Thor
from mycelia.train.model import Model


class ConvertNetUtils:
    """Adds curvature probes to the layers of a network; `nn.thor` does so automatically."""

    def convert_to_thor_net(self, net: Cell) -> None:
        """Watch all supported layers of `net`, in place."""
        watched_layers(net)


class ConvertModelUtils:
    """Creates a model that trains with THOR from another model."""

    @staticmethod
    def convert_to_thor_model(
        model: Model,
        network: Cell,
        loss_fn: Any = None,
        optimizer: Any = None,
        metrics: Any = None,
        amp_level: str = "O0",
        loss_scale_manager: Any = None,
        keep_batchnorm_fp32: bool = False,
    ) -> Model:
        """A model that trains `network` with `optimizer`, which `nn.thor` returned."""
        if not isinstance(model, Model):
            raise wrong_type("convert_to_thor_model", "model", model, "Model")
        if not isinstance(optimizer, Thor):
            raise wrong_type("convert_to_thor_model", "optimizer", optimizer, "nn.thor(...)")
        return Model(
            network,
            loss_fn,
            optimizer,
            metrics,
            amp_level=amp_level,
            loss_scale_manager=loss_scale_manager,
            keep_batchnorm_fp32=keep_batchnorm_fp32,
        )
