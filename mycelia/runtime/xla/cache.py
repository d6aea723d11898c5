"""Compiled programs kept on disk, so that the next process need not compile them again.

The engine's own cache does the work: an entry is named by a hash of the program, the types, the
compiler's version and options, and the device; files are written beside and moved into place, so
processes can share a folder.
"""

from __future__ import annotations

import os
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from mycelia.core import settings

_LEAST_SECONDS = 0.1  # programs that compile faster are not worth a file


class _Applied:
    folder: str | None = None


def folder() -> Path:
    """Where programs are kept: the setting, else the user's cache folder."""
    chosen = settings.current().compile_cache_path or os.environ.get("MS_COMPILER_CACHE_PATH")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mycelia" / "programs"


def is_wanted() -> bool:
    """Whether the settings or the environment ask for the cache."""
    asked = os.environ.get("MS_COMPILER_CACHE_ENABLE") == "1"
    return settings.current().enable_compile_cache or asked


def apply() -> None:
    """Switch the engine's cache on or off, as the settings say now."""
    wanted = str(folder()) if is_wanted() else None
    if wanted == _Applied.folder:
        return
    _Applied.folder = wanted
    if wanted is not None:
        Path(wanted).mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_compilation_cache_dir", wanted)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", _LEAST_SECONDS)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()
