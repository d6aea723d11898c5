"""Logging by severity; `GLOG_v` sets the lowest level shown, 0 (debug) to 4 (critical)."""

from __future__ import annotations

import logging
import os
from typing import Any

from mycelia._engine.core.warn_once import logger

_LEVEL, _TO_STDERR = "GLOG_v", "GLOG_logtostderr"
_DEFAULT = "2"
_LEVELS = {
    "0": logging.DEBUG,
    "1": logging.INFO,
    "2": logging.WARNING,
    "3": logging.ERROR,
    "4": logging.CRITICAL,
}


def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message that helps to diagnose a problem."""
    _say(logging.DEBUG, msg, args, kwargs)


def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log a message about normal progress."""
    _say(logging.INFO, msg, args, kwargs)


def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log something that may be a mistake; the program continues."""
    _say(logging.WARNING, msg, args, kwargs)


def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log an error."""
    _say(logging.ERROR, msg, args, kwargs)


def critical(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log an error that the program cannot continue after."""
    _say(logging.CRITICAL, msg, args, kwargs)


def get_level() -> str:
    """Return the lowest severity that is shown, as a value of `GLOG_v`."""
    found = os.environ.get(_LEVEL, _DEFAULT)
    return found if found in _LEVELS else _DEFAULT


def get_log_config() -> dict[str, str]:
    """Return the logging settings, keyed by their environment variables."""
    given = {
        name: os.environ[name] for name in ("GLOG_log_dir", "logger_maxBytes") if name in os.environ
    }
    stderr = os.environ.get(_TO_STDERR, "1")
    return {_LEVEL: get_level(), _TO_STDERR: stderr} | given


def _say(level: int, msg: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    lowest = _LEVELS[get_level()]
    if level < lowest:
        return
    if not logger.hasHandlers():
        logger.addHandler(logging.StreamHandler())
    logger.setLevel(lowest)
    logger.log(level, msg, *args, stacklevel=3, **kwargs)
