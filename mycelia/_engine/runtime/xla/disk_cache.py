"""The on-disk cache of compiled programs, which later processes load instead of compiling.

Whole programs are stored as executables (`executable_cache.py`), the small ones of eager mode by
JAX's cache. Every file is named by a hash of its dependencies, written to a temporary file, and
renamed, so processes can share a folder. The files contain machine code: a folder that other users
can write to is rejected.
"""

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

from mycelia._engine.core import settings
from mycelia._engine.core.errors import problem

_LEAST_KEY = "jax_persistent_cache_min_compile_time_secs"
LEAST_SECONDS = 0.1  # programs that compile faster are not worth a file


class _AppliedCacheFolder:
    folder: str | None = None


def folder() -> Path:
    """The cache folder: from the setting, else the user's cache folder."""
    chosen = settings.current().compile_cache_path or os.environ.get("MS_COMPILER_CACHE_PATH")
    if chosen:
        return Path(chosen) / "programs"
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mycelia" / "programs"


def is_wanted() -> bool:
    """Whether the settings or the environment enable the cache."""
    asked = os.environ.get("MS_COMPILER_CACHE_ENABLE") == "1"
    return settings.current().enable_compile_cache or asked


def apply() -> None:
    """Enable or disable JAX's cache, according to the settings."""
    wanted = str(folder()) if is_wanted() else None
    if wanted == _AppliedCacheFolder.folder:
        return
    if wanted is not None:
        _check_trusted(Path(wanted))
    _AppliedCacheFolder.folder = wanted
    jax.config.update("jax_compilation_cache_dir", wanted)
    jax.config.update(_LEAST_KEY, LEAST_SECONDS)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()


@contextmanager
def without_engine_cache() -> Iterator[None]:
    """Disable JAX's cache: executables loaded from it cannot be serialized again."""
    jax.config.update(_LEAST_KEY, math.inf)
    try:
        yield
    finally:
        jax.config.update(_LEAST_KEY, LEAST_SECONDS)


def _check_trusted(path: Path) -> None:
    """Create the folder if it is missing; raise if anyone but its owner may write to it."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name != "posix":
        return
    about = path.stat()
    if about.st_uid not in (os.getuid(), 0) or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise problem(
            PermissionError,
            f"other users can write to the cache of compiled programs {path}, and inject code",
            got=f"owner {about.st_uid}, mode {stat.filemode(about.st_mode)}",
            expected="a folder that only you can write to",
            fix=f"chmod go-w {path}, or another compile_cache_path",
        )
