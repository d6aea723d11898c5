"""SciPy's signal processing, if it is installed: recursive filters, resampling."""

from __future__ import annotations

from typing import Any

from mycelia._engine.core.errors import problem

try:
    from scipy import signal
except ImportError:  # the extra is not installed
    signal = None


def scipy_signal(owner: str) -> Any:
    """The module scipy.signal; an error that names the extra if it is absent."""
    if signal is None:
        raise problem(
            ImportError,
            f"{owner}: needs SciPy, which is not installed",
            fix="pip install 'mycelia[audio]'",
        )
    return signal
