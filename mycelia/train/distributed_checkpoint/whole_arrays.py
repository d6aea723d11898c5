"""Reading all of a sharded checkpoint as whole arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.core.process_groups import world
from mycelia.train.distributed_checkpoint.catalogue import ShardCatalogue


def all_of(index: Path) -> dict[str, Any]:
    """Arrays and strings by name."""
    catalogue = ShardCatalogue.of_index(index)
    return {name: catalogue.whole(name) for name in catalogue.names} | catalogue.texts


def all_of_run(index: Path) -> dict[str, Any]:
    """The same, with the private entries of this process; those of rank 0 if the number of
    processes has changed.
    """
    catalogue = ShardCatalogue.of_index(index)
    rank = world().rank if len(catalogue.files) == world().size else 0
    arrays = {name: catalogue.whole(name) for name in catalogue.names}
    return arrays | catalogue.texts | catalogue.own_entries(rank)
