"""All that a checkpoint in parts holds, whole: for one process, or to go on with a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.core.process_groups import world
from mycelia.train.distributed_checkpoint.catalogue import ShardCatalogue


def all_of(index: Path) -> dict[str, Any]:
    """Arrays and texts by name."""
    found = ShardCatalogue.of_index(index)
    return {name: found.whole(name) for name in found.names} | found.texts


def all_of_run(index: Path) -> dict[str, Any]:
    """The same, with what this process had saved of its own; what the first one had, if there
    were more or fewer processes then.
    """
    found = ShardCatalogue.of_index(index)
    rank = world().rank if len(found.files) == world().size else 0
    arrays = {name: found.whole(name) for name in found.names}
    return arrays | found.texts | found.own_entries(rank)
