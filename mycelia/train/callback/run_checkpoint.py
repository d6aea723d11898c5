"""Saves a training network together with the state of its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mycelia._engine.core.warn_once import logger
from mycelia.train.checkpoint import save_checkpoint


def run_entries(facts: Any) -> dict[str, Any]:
    """The state of a run as checkpoint entries; empty if the run has none."""
    state_of = getattr(facts, "run_state", None)
    state = None if state_of is None else state_of()
    return {} if state is None else state.entries()


def save_run(owner: str, facts: Any, path: Path) -> bool:
    """Save everything needed to resume; returns False if writing failed, such as on a full disk."""
    try:
        save_checkpoint(
            facts.train_network, str(path), append_dict=run_entries(facts), crc_check=True
        )
    except OSError as error:
        logger.warning(
            "%s: %s was not saved: %s. The previous file is kept, and the next save tries again: "
            "free disk space, or choose another directory",
            *(owner, path, error),
        )
        return False
    return True
