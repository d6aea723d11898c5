"""Saving a training network with the state of its run, for a run that goes on later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.core.warn_once import logger
from mycelia.train.checkpoint import save_checkpoint


def run_entries(facts: Any) -> dict[str, Any]:
    """The state of a run as entries of a checkpoint, if the run tells it."""
    tell = getattr(facts, "run_state", None)
    state = None if tell is None else tell()
    return {} if state is None else state.entries()


def save_run(owner: str, facts: Any, path: Path) -> bool:
    """Save all that a run needs to go on; whether it worked. A full disk does not end the run."""
    try:
        save_checkpoint(
            facts.train_network, str(path), append_dict=run_entries(facts), crc_check=True
        )
    except OSError as error:
        logger.warning(
            "%s: %s was not saved: %s. What was there stays, and the next save tries again: "
            "make room there, or choose another directory",
            *(owner, path, error),
        )
        return False
    return True
